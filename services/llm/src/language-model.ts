/**
 * Any language model of the `ai` package's provider interface (V2, V3, V4) as a provider, for the long tail of services
 * that have a package there. The interface is described here by its shape, so that nothing needs to be installed.
 *
 * L1  Nothing runs that the model did not finish: a stream without a finish part was cut.
 * L2  What the package wants back with a part (`providerMetadata`) goes back to the same model.
 */

import { type Clock, isObject, type JsonObject } from "@mesh/kernel";

import { countAt, nonEmpty } from "./json-field.ts";
import type { ApiProtocol, AssistantMessage, Message, StopReason, Usage } from "./message.ts";
import { MessageAssembler } from "./message-assembler.ts";
import type { StreamConfig, StreamProvider } from "./provider.ts";
import { ProviderError } from "./provider-error.ts";
import { faultOf, retryAfterMs, say, streamedError } from "./provider-failure.ts";
import { sendable, temperatureOf } from "./request-part.ts";
import { soundTranscript } from "./transcript.ts";
import { timeoutsOf } from "./wire.ts";
import { Watchdog } from "./watchdog.ts";

/** The part of the provider interface that is used; V2, V3 and V4 share it. */
export interface LanguageModelLike {
  readonly specificationVersion: string;
  readonly provider: string;
  readonly modelId: string;
  doStream(options: never): PromiseLike<{ readonly stream: ReadableStream<unknown> }>;
}

type Part = Record<string, unknown>;

const REASONS: Readonly<Record<string, StopReason | undefined>> = {
  stop: "stop",
  length: "length",
  "tool-calls": "toolUse",
  "content-filter": "refusal",
};

/** Makes a provider that calls `model` whatever the config's address says; register it for the protocol of your configs. */
export function languageModelProvider(
  model: LanguageModelLike,
  deps: { readonly clock: Clock; readonly protocol: ApiProtocol },
): StreamProvider {
  if (!/^v[234]$/.test(model.specificationVersion)) {
    throw new ProviderError({
      errorClass: "config",
      message: `the language model ${model.modelId} has interface ${model.specificationVersion}; v2, v3 and v4 are supported`,
    });
  }
  return {
    protocol: deps.protocol,
    async stream(config, sink, signal) {
      const assembler = new MessageAssembler({ config, sink, clock: deps.clock, malformedCalls: "tell" });
      const watchdog = new Watchdog(deps.clock, timeoutsOf(config), signal);
      try {
        const message = await read(model, { config, assembler, watchdog, clock: deps.clock });
        sink({ type: "done", message });
        return message;
      } catch (thrown) {
        const error = failureOf(thrown, config, deps.clock);
        error.partial = assembler.partial(error);
        sink({ type: "error", error, message: error.partial });
        throw error;
      } finally {
        watchdog.close();
      }
    },
  };
}

interface Reading {
  readonly config: StreamConfig;
  readonly assembler: MessageAssembler;
  readonly watchdog: Watchdog;
  readonly clock: Clock;
}

async function read(model: LanguageModelLike, reading: Reading): Promise<AssistantMessage> {
  const { config, assembler, watchdog, clock } = reading;
  const options = { ...callOptions(config, model), abortSignal: watchdog.signal };
  const { stream } = await watchdog.wait(Promise.resolve(model.doStream(options as never)));
  const source = stream.getReader();
  let finish: StopReason | undefined;
  try {
    for (;;) {
      const { done, value } = await watchdog.wait(source.read());
      if (done) break;
      watchdog.byte();
      watchdog.progress();
      if (!isObject(value)) continue;
      if (value["type"] === "error") throw failureOf(value["error"], config, clock);
      finish = take(value, assembler) ?? finish;
    }
  } finally {
    source.cancel().catch(() => undefined);
  }
  if (finish === undefined) {
    throw new ProviderError({ errorClass: "network", message: say(config, "the answer was cut off before its end") });
  }
  if (finish === "error") {
    throw new ProviderError({ errorClass: "server", message: say(config, "the model stopped with an error") });
  }
  return assembler.finish(
    finish,
    finish === "refusal" ? "the provider's content filter stopped the answer" : undefined,
  );
}

/** Reads one part; gives the stop reason when it is the last. */
function take(part: Part, assembler: MessageAssembler): StopReason | undefined {
  if (part["type"] === "finish") {
    assembler.setUsage(usageOf(part["usage"]));
    return stopReason(part["finishReason"], assembler);
  }
  const metadata = isObject(part["providerMetadata"]) ? (part["providerMetadata"] as JsonObject) : undefined;
  PARTS[String(part["type"])]?.(assembler, {
    id: textAt(part, "id") || textAt(part, "toolCallId"),
    delta: textAt(part, "delta"),
    name: textAt(part, "toolName"),
    input: textAt(part, "input"),
    ...(metadata === undefined ? {} : { metadata }),
  });
  return undefined;
}

interface SeenPart {
  readonly id: string;
  readonly delta: string;
  readonly name: string;
  readonly input: string;
  readonly metadata?: JsonObject;
}

const PARTS: Readonly<Record<string, ((assembler: MessageAssembler, part: SeenPart) => void) | undefined>> = {
  "response-metadata": (assembler, { id }) => assembler.start(id),
  "text-delta": (assembler, { id, delta }) => assembler.text(`text-${id}`, delta),
  "text-end": (assembler, { id, metadata }) => {
    if (metadata !== undefined) assembler.text(`text-${id}`, "", { ai: metadata });
  },
  "reasoning-delta": (assembler, { id, delta }) => assembler.thinking(`reasoning-${id}`, delta),
  "reasoning-end": (assembler, { id, metadata }) => {
    if (metadata !== undefined) assembler.redacted(`reasoning-${id}`, JSON.stringify(metadata));
    assembler.close(`reasoning-${id}`);
  },
  "tool-input-start": (assembler, { id, name }) => assembler.call(`call-${id}`, { id, name }),
  "tool-input-delta": (assembler, { id, delta }) => assembler.callArguments(`call-${id}`, delta),
  "tool-call": (assembler, { id, name, input, metadata }) => {
    assembler.call(`call-${id}`, { id, name, ...(metadata === undefined ? {} : { metadata: { ai: metadata } }) });
    assembler.close(`call-${id}`, input);
  },
};

function textAt(part: Part, name: string): string {
  return nonEmpty(part[name]) ?? "";
}

function stopReason(reason: unknown, assembler: MessageAssembler): StopReason {
  // V3 tells its own word and the service's.
  const word = isObject(reason) ? reason["unified"] : reason;
  if (word === "error") return "error";
  const known = typeof word === "string" ? REASONS[word] : undefined;
  if (known === undefined)
    assembler.warn("stop-reason", `an unknown finish reason was taken as an end: ${String(word)}`);
  return known ?? "stop";
}

function usageOf(usage: unknown): Usage {
  const input = countAt(usage, "inputTokens", "total") ?? countAt(usage, "inputTokens") ?? 0;
  const output = countAt(usage, "outputTokens", "total") ?? countAt(usage, "outputTokens") ?? 0;
  const cacheRead = countAt(usage, "inputTokens", "cacheRead") ?? countAt(usage, "cachedInputTokens") ?? 0;
  const cacheWrite = countAt(usage, "inputTokens", "cacheWrite") ?? 0;
  const reasoning = countAt(usage, "outputTokens", "reasoning") ?? countAt(usage, "reasoningTokens") ?? 0;
  return {
    input: Math.max(0, input - cacheRead - cacheWrite),
    output,
    cacheRead,
    cacheWrite,
    totalTokens: input + output,
    ...(reasoning === 0 ? {} : { reasoning }),
  };
}

function callOptions(config: StreamConfig, model: LanguageModelLike): Record<string, unknown> {
  const temperature = temperatureOf(config);
  const { maxTokens, responseFormat, toolChoice, tools = [] } = config;
  return {
    prompt: promptOf(config, model),
    ...(maxTokens === undefined ? {} : { maxOutputTokens: maxTokens }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(tools.length === 0
      ? {}
      : {
          tools: tools.map(({ name, description, parameters }) => ({
            type: "function",
            name,
            ...(description.trim() === "" ? {} : { description }),
            inputSchema: parameters,
          })),
        }),
    ...(toolChoice === undefined
      ? {}
      : {
          toolChoice:
            typeof toolChoice === "object" ? { type: "tool", toolName: toolChoice.name } : { type: toolChoice },
        }),
    ...(responseFormat === undefined
      ? {}
      : { responseFormat: { type: "json", name: responseFormat.name, schema: responseFormat.schema } }),
    ...(config.model.headers === undefined ? {} : { headers: config.model.headers }),
    includeRawChunks: false,
  };
}

function promptOf(config: StreamConfig, model: LanguageModelLike): readonly Part[] {
  const prompt: Part[] = config.systemPrompt === "" ? [] : [{ role: "system", content: config.systemPrompt }];
  for (const message of soundTranscript(config.messages)) {
    const content = contentOf(message, config, model);
    const role = message.role === "toolResult" ? "tool" : message.role;
    const last = prompt.at(-1);
    // All results of a batch share one message.
    if (role === "tool" && last?.["role"] === "tool") (last["content"] as unknown[]).push(...content);
    else if (content.length > 0) prompt.push({ role, content: [...content] });
  }
  return prompt;
}

function contentOf(message: Message, config: StreamConfig, model: LanguageModelLike): readonly Part[] {
  if (message.role === "user") {
    return sendable(message.content, config).map((part) =>
      part.type === "text"
        ? { type: "text", text: part.text }
        : { type: "file", mediaType: part.mimeType, data: fileData(part.data, model) },
    );
  }
  if (message.role === "toolResult") {
    const value = message.content.map((part) => (part.type === "text" ? part.text : "[image]")).join("\n");
    const output = { type: message.isError ? "error-text" : "text", value: value === "" ? "(no output)" : value };
    return [{ type: "tool-result", toolCallId: message.toolCallId, toolName: message.toolName, output }];
  }
  const isOwn = message.model === config.model.id;
  return message.content.flatMap((part): readonly Part[] => {
    if (part.type === "text") {
      return part.text === "" ? [] : [{ type: "text", text: part.text, ...replayed(isOwn, part.providerMetadata) }];
    }
    if (part.type === "toolCall") {
      const call = { type: "tool-call", toolCallId: part.id, toolName: part.name, input: part.arguments };
      return [{ ...call, ...replayed(isOwn, part.providerMetadata) }];
    }
    if (part.type !== "thinking" || !isOwn || part.redactedProtocol !== config.model.api) return [];
    return [
      { type: "reasoning", text: part.thinking, providerOptions: JSON.parse(part.redacted ?? "{}") as JsonObject },
    ];
  });
}

// V4 names what kind of data a file part holds.
function fileData(data: string, model: LanguageModelLike): unknown {
  return model.specificationVersion === "v4" ? { type: "data", data } : data;
}

function replayed(isOwn: boolean, metadata: JsonObject | undefined): Part {
  const own = isOwn ? metadata?.["ai"] : undefined;
  return isObject(own) ? { providerOptions: own } : {};
}

function failureOf(thrown: unknown, config: StreamConfig, clock: Clock): ProviderError {
  if (thrown instanceof ProviderError) return thrown;
  const status = countAt(thrown, "statusCode");
  const body = isObject(thrown) ? nonEmpty(thrown["responseBody"]) : undefined;
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  if (status === undefined) {
    const fault = faultOf(thrown instanceof Error ? text : thrown);
    return fault === undefined
      ? new ProviderError({ errorClass: "server", message: say(config, text) })
      : streamedError(fault, config);
  }
  const fault = faultOf({ code: status, message: body ?? text });
  const headers = isObject(thrown) && isObject(thrown["responseHeaders"]) ? thrown["responseHeaders"] : {};
  const wait = retryAfterMs(new Headers(headers as Record<string, string>), clock);
  return new ProviderError({
    errorClass: fault?.errorClass ?? "server",
    message: say(config, text),
    status,
    ...(wait === undefined ? {} : { retryAfterMs: wait }),
    cause: thrown,
  });
}
