/** The built-in demo model as a provider: the same one that connectors of type `demo` use. */

import { MeshError } from "@mesh/kernel";

import type { ChatMessage } from "./chat.ts";
import { createDemoChat } from "./demo-chat.ts";
import { type Message, type StopReason, textOf } from "./message.ts";
import { MessageAssembler } from "./message-assembler.ts";
import type { StreamConfig, StreamProvider } from "./provider.ts";
import { type ErrorClass, ProviderError } from "./provider-error.ts";
import { syntheticCallId } from "./tool-call-id.ts";
import { soundTranscript } from "./transcript.ts";
import type { ProviderDeps } from "./wire.ts";

const REASONS: Readonly<Record<string, StopReason | undefined>> = {
  length: "length",
  tool_calls: "toolUse",
  content_filter: "refusal",
};

const CLASSES: Readonly<Record<string, ErrorClass | undefined>> = {
  cancelled: "aborted",
  unavailable: "server",
  resource_exhausted: "rateLimit",
  unauthenticated: "auth",
  permission_denied: "auth",
  not_found: "notFound",
  deadline_exceeded: "timeout",
  out_of_range: "overflow",
};

/** Makes the provider of `demo`. */
export function createDemo(deps: ProviderDeps): StreamProvider {
  const chat = createDemoChat({ clock: deps.clock });
  return {
    protocol: "demo",
    async stream(config, sink, signal) {
      const assembler = new MessageAssembler({ config, sink, clock: deps.clock, malformedCalls: "tell" });
      const request = {
        messages: messagesOf(config),
        ...(config.tools === undefined ? {} : { tools: config.tools }),
      };
      let reason = "stop";
      try {
        assembler.start();
        for await (const event of chat(request, signal)) {
          if (event.kind === "text") assembler.text("text", event.text);
          else if (event.kind === "thinking") assembler.thinking("thinking", event.text);
          else if (event.kind === "tool_call") {
            const key = `call-${event.index}`;
            // The demo's own ids repeat with every answer; a conversation needs unique ones.
            if (event.name !== undefined) assembler.call(key, { id: syntheticCallId(), name: event.name });
            assembler.callArguments(key, event.arguments);
          } else {
            reason = event.reason;
            const { prompt_tokens: input = 0, completion_tokens: output = 0 } = event.usage ?? {};
            assembler.setUsage({ input, output, cacheRead: 0, cacheWrite: 0, totalTokens: input + output });
          }
        }
        assembler.closeAll();
        const message = assembler.finish(REASONS[reason] ?? "stop");
        sink({ type: "done", message });
        return message;
      } catch (thrown) {
        const error = failureOf(thrown);
        error.partial = assembler.partial(error);
        sink({ type: "error", error, message: error.partial });
        throw error;
      }
    },
  };
}

function failureOf(thrown: unknown): ProviderError {
  if (thrown instanceof ProviderError) return thrown;
  const error = MeshError.from(thrown);
  return new ProviderError({
    errorClass: CLASSES[error.code] ?? "invalidRequest",
    code: error.code,
    message: error.message,
    // It says the same whenever it is asked.
    retryable: false,
    cause: thrown,
  });
}

function messagesOf(config: StreamConfig): readonly ChatMessage[] {
  const system: ChatMessage[] = config.systemPrompt === "" ? [] : [{ role: "system", content: config.systemPrompt }];
  return [...system, ...soundTranscript(config.messages).map(chatMessage)];
}

function chatMessage(message: Message): ChatMessage {
  const role = message.role === "toolResult" ? "tool" : message.role;
  return { role, content: textOf(message.content) };
}
