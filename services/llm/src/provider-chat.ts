/**
 * Any provider behind the plain chat port: for callers that make one call without tools of their own.
 *
 * H1  A failed attempt is repeated only while nothing was said: a reader of plain events cannot take words back.
 * H2  A reader that stops reading ends the call.
 */

import type { Clock } from "@mesh/kernel";

import type { ChatEvent, ChatMessage, ChatRequest, Connector, StreamChat } from "./chat.ts";
import { connectorModel, withOptions } from "./connector-model.ts";
import type { AssistantMessage, Message, StopReason } from "./message.ts";
import { NO_USAGE } from "./message.ts";
import type { ProviderRegistry, StreamConfig, StreamEvent } from "./provider.ts";
import { ProviderError } from "./provider-error.ts";
import { DEFAULT_RETRY, delayOf } from "./stream-with-retry.ts";

/** What {@link createProviderChat} needs from outside. */
export interface ProviderChatDeps {
  readonly clock: Clock;
  readonly providers: ProviderRegistry;
  /** Randomness in [0, 1), for the jitter of retries. */
  readonly random: () => number;
}

const MAX_ATTEMPTS = 3;

const REASONS: Readonly<Record<StopReason, string>> = {
  stop: "stop",
  length: "length",
  toolUse: "tool_calls",
  refusal: "content_filter",
  error: "stop",
  aborted: "stop",
};

/** Makes a chat protocol that serves every connector type that has a provider. */
export function createProviderChat(deps: ProviderChatDeps): StreamChat {
  return async function* chat(connector, request, signal) {
    const config = configOf(connector, request);
    for (let attempt = 1; ; attempt += 1) {
      let saidSomething = false;
      try {
        for await (const event of oneAttempt(deps, config, signal)) {
          saidSomething = true;
          yield event;
        }
        return;
      } catch (error) {
        // A server that was silent for minutes is not waited for three times.
        const isRetried =
          error instanceof ProviderError && error.retryable && error.errorClass !== "timeout" && !saidSomething;
        if (!isRetried || attempt >= MAX_ATTEMPTS || signal.aborted) throw error;
        // A server that asks for more is better asked again by a person than by a waiting run.
        if ((error.retryAfterMs ?? 0) > DEFAULT_RETRY.maxDelayMs) throw error;
        await deps.clock.sleep(delayOf(error, attempt, DEFAULT_RETRY, deps.random), signal);
        if (signal.aborted) throw new ProviderError({ errorClass: "aborted", message: "the model call was cancelled" });
      }
    }
  };
}

async function* oneAttempt(
  deps: ProviderChatDeps,
  config: StreamConfig,
  signal: AbortSignal,
): AsyncGenerator<ChatEvent> {
  const reader = new AbortController();
  const queue: ChatEvent[] = [];
  const calls: number[] = [];
  let wake: () => void = () => undefined;
  let ended = false;
  const sink = (event: StreamEvent): void => {
    const said = chatEvent(event, calls);
    if (said !== undefined) queue.push(said);
    wake();
  };
  const finished = deps.providers
    .stream(config, sink, AbortSignal.any([signal, reader.signal]))
    .then((message) => void queue.push(finishOf(message)))
    .finally(() => {
      ended = true;
      wake();
    });
  // Waited for below; without this a failure while a reader is busy would count as unhandled.
  finished.catch(() => undefined);
  try {
    for (;;) {
      const next = queue.shift();
      if (next !== undefined) yield next;
      else if (ended) break;
      else await new Promise<void>((resolve) => (wake = resolve));
    }
    await finished;
  } finally {
    reader.abort();
  }
}

function chatEvent(event: StreamEvent, calls: number[]): ChatEvent | undefined {
  switch (event.type) {
    case "textDelta":
      return { kind: "text", text: event.delta };
    case "thinkingDelta":
      return { kind: "thinking", text: event.delta };
    case "toolCallDelta": {
      // Readers count calls, not parts of the message.
      const known = calls.indexOf(event.contentIndex);
      const isNew = known < 0;
      return {
        kind: "tool_call",
        index: isNew ? calls.push(event.contentIndex) - 1 : known,
        ...(isNew && event.id !== "" ? { id: event.id } : {}),
        ...(isNew && event.name !== "" ? { name: event.name } : {}),
        arguments: event.delta,
      };
    }
    default:
      return undefined;
  }
}

function finishOf(message: AssistantMessage): ChatEvent {
  const { input, output, cacheRead, cacheWrite } = message.usage;
  const prompt = input + cacheRead + cacheWrite;
  return {
    kind: "finish",
    reason: REASONS[message.stopReason],
    ...(prompt + output === 0
      ? {}
      : { usage: { prompt_tokens: prompt, completion_tokens: output, total_tokens: prompt + output } }),
  };
}

function configOf(connector: Connector, request: ChatRequest): StreamConfig {
  const { model, defaults } = connectorModel(withOptions(connector, request.options));
  const system = request.messages.filter((message) => message.role === "system");
  return {
    ...defaults,
    model,
    systemPrompt: system.map((message) => message.content).join("\n\n"),
    messages: request.messages
      .filter((message) => message.role !== "system")
      .map((message) => messageOf(message, model.id)),
    ...(request.tools === undefined ? {} : { tools: request.tools }),
  };
}

function messageOf(message: ChatMessage, model: string): Message {
  const content = [{ type: "text", text: message.content }] as const;
  if (message.role !== "assistant") return { role: "user", content, timestamp: 0 };
  return { role: "assistant", content, stopReason: "stop", model, provider: "", usage: NO_USAGE, timestamp: 0 };
}
