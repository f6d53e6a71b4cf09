/**
 * The frames of Bedrock's ConverseStream.
 *
 * N1  A tool call is finished by its `contentBlockStop` only; what comes for it later is ignored.
 * N2  `messageStop` ends an answer; once `metadata` came too, nothing that happens to the connection matters.
 * N3  What is not shown (images, citations, unknown members) is dropped with one warning per kind.
 */

import { isObject } from "@mesh/kernel";

import { EventFrameDecoder, type EventFrame } from "./event-frame.ts";
import { count, nonEmpty } from "./json-field.ts";
import type { AssistantMessage, StopReason } from "./message.ts";
import type { MessageAssembler } from "./message-assembler.ts";
import type { StreamConfig } from "./provider.ts";
import { type ErrorClass, ProviderError } from "./provider-error.ts";
import { classOf, isOverflowText, say } from "./provider-failure.ts";
import type { BodyReader } from "./wire.ts";

type Fields = Record<string, unknown>;

// By their documented HTTP status.
const EXCEPTIONS: Readonly<Record<string, ErrorClass | undefined>> = {
  throttlingException: "rateLimit",
  serviceUnavailableException: "rateLimit",
  internalServerException: "server",
  modelStreamErrorException: "server",
  modelErrorException: "server",
  modelTimeoutException: "server",
  modelNotReadyException: "rateLimit",
  accessDeniedException: "auth",
  resourceNotFoundException: "notFound",
  serviceQuotaExceededException: "quota",
};

/** Reads one answer; see the file comment. */
export class BedrockReader implements BodyReader {
  readonly #assembler: MessageAssembler;
  readonly #config: StreamConfig;
  readonly #decoder = new EventFrameDecoder();
  readonly #redacted = new Map<string, string>();
  readonly #unshown = new Set<string>();
  #stopReason: string | undefined;
  #hasMetadata = false;
  #events = 0;
  #isFirst = true;
  /** The start of a body that is no event stream. */
  #foreign: string | undefined;

  constructor(assembler: MessageAssembler, config: StreamConfig) {
    this.#assembler = assembler;
    this.#config = config;
  }

  get isComplete(): boolean {
    return this.#stopReason !== undefined && this.#hasMetadata;
  }

  get isDone(): boolean {
    return this.isComplete;
  }

  get events(): number {
    return this.#events;
  }

  feed(chunk: Uint8Array): void {
    // Frames start with a zero byte: none is longer than 16 MB.
    if (this.#isFirst && chunk.length > 0) {
      this.#isFirst = false;
      if (chunk[0] !== 0) this.#foreign = "";
    }
    if (this.#foreign !== undefined) {
      this.#foreign = (this.#foreign + new TextDecoder().decode(chunk)).slice(0, 200);
      return;
    }
    for (const frame of this.#decoder.feed(chunk)) {
      this.#events += 1;
      this.#frame(frame);
    }
  }

  end(): void {
    if (this.isComplete) return;
    if (this.#foreign !== undefined) {
      throw new ProviderError({
        errorClass: "protocol",
        message: `the server's answer is not an event stream: ${this.#foreign}; check the address`,
      });
    }
    if (this.#stopReason !== undefined && this.#decoder.pending === 0) {
      this.#assembler.warn("usage", "the provider sent no usage");
      return;
    }
    throw new ProviderError({
      errorClass: "network",
      message: this.#events === 0 ? "the server answered nothing" : "the answer was cut off before its end",
    });
  }

  result(): AssistantMessage {
    const [reason, explanation] = this.#verdict();
    return this.#assembler.finish(reason, explanation);
  }

  #verdict(): readonly [StopReason, string?] {
    switch (this.#stopReason) {
      case "end_turn":
      case "stop_sequence":
        return ["stop"];
      case "tool_use":
        return ["toolUse"];
      case "max_tokens":
        return ["length"];
      case "guardrail_intervened":
      case "content_filtered":
        return ["refusal", `the provider's filter stopped the answer (${this.#stopReason})`];
      case "refusal":
        return ["refusal", "the model refused to answer"];
      case "model_context_window_exceeded":
        throw new ProviderError({
          errorClass: "overflow",
          message: "the conversation filled the model's context window (model_context_window_exceeded)",
        });
      case "malformed_model_output":
      case "malformed_tool_use":
        throw new ProviderError({
          errorClass: "protocol",
          message: `the model wrote an answer that cannot be read (${this.#stopReason})`,
          retryable: true,
          isFinished: true,
        });
      default:
        this.#assembler.warn("stop-reason", `an unknown stop reason was taken as an end: ${this.#stopReason}`);
        return ["stop"];
    }
  }

  #frame(frame: EventFrame): void {
    const payload = parsePayload(frame.payload);
    const kind = String(frame.headers[":message-type"] ?? "event");
    if (kind === "exception") throw this.#exception(String(frame.headers[":exception-type"] ?? ""), payload);
    if (kind === "error") {
      const code = String(frame.headers[":error-code"] ?? "");
      throw this.#exception(code, { message: frame.headers[":error-message"] ?? code });
    }
    const type = String(frame.headers[":event-type"] ?? "");
    switch (type) {
      case "messageStart":
        this.#assembler.start();
        return;
      case "contentBlockStart":
        this.#blockStart(payload);
        return;
      case "contentBlockDelta":
        this.#delta(payload);
        return;
      case "contentBlockStop":
        this.#assembler.close(keyOf(payload));
        return;
      case "messageStop":
        this.#stopReason = nonEmpty(payload["stopReason"]) ?? "unknown";
        return;
      case "metadata":
        this.#metadata(payload);
        return;
      default:
        this.#assembler.warn(`event-${type}`, `an event of an unknown kind was ignored: ${type}`);
    }
  }

  #blockStart(payload: Fields): void {
    const { start } = payload;
    const call = isObject(start) ? start["toolUse"] : undefined;
    if (isObject(call)) {
      this.#assembler.call(keyOf(payload), {
        id: nonEmpty(call["toolUseId"]) ?? "",
        name: nonEmpty(call["name"]) ?? "",
      });
      return;
    }
    const kind = isObject(start) ? Object.keys(start)[0] : undefined;
    // The first delta of a block decides what it is, unless its start says that it is nothing we show.
    if (kind === undefined || kind === "text" || kind === "reasoningContent") return;
    this.#unshown.add(keyOf(payload));
    this.#assembler.warn(`block-${kind}`, `a content block of an unknown kind was left out: ${kind}`);
  }

  #delta(payload: Fields): void {
    const { delta } = payload;
    const key = keyOf(payload);
    if (!isObject(delta) || this.#unshown.has(key)) return;
    const { text, toolUse, reasoningContent } = delta;
    if (typeof text === "string") this.#assembler.text(key, text);
    else if (isObject(toolUse)) {
      if (this.#assembler.has(key)) this.#assembler.callArguments(key, nonEmpty(toolUse["input"]) ?? "");
    } else if (isObject(reasoningContent)) this.#reasoning(key, reasoningContent);
    else {
      const kind = Object.keys(delta)[0] ?? "empty";
      this.#assembler.warn(`delta-${kind}`, `a delta of an unknown kind was ignored: ${kind}`);
    }
  }

  #reasoning(key: string, reasoning: Fields): void {
    const bytes = nonEmpty(reasoning["redactedContent"]);
    if (bytes === undefined) {
      this.#assembler.thinking(key, nonEmpty(reasoning["text"]) ?? "");
      this.#assembler.signature(key, nonEmpty(reasoning["signature"]) ?? "");
      return;
    }
    // Pieces of bytes, each in its own base64.
    const whole = (this.#redacted.get(key) ?? "") + fromBase64(bytes);
    this.#redacted.set(key, whole);
    this.#assembler.redacted(key, btoa(whole));
  }

  #metadata(payload: Fields): void {
    this.#hasMetadata = true;
    const { usage } = payload;
    if (!isObject(usage)) return;
    const parts = {
      input: count(usage["inputTokens"]) ?? 0,
      output: count(usage["outputTokens"]) ?? 0,
      cacheRead: count(usage["cacheReadInputTokens"]) ?? 0,
      cacheWrite: count(usage["cacheWriteInputTokens"]) ?? 0,
    };
    this.#assembler.setUsage({
      ...parts,
      totalTokens: parts.input + parts.output + parts.cacheRead + parts.cacheWrite,
    });
  }

  #exception(name: string, payload: Fields): ProviderError {
    const text = nonEmpty(payload["message"]) ?? nonEmpty(payload["Message"]) ?? name;
    const key = name.charAt(0).toLowerCase() + name.slice(1);
    const known = EXCEPTIONS[key] ?? (isOverflowText(text) ? "overflow" : classOf([name.toLowerCase()], text));
    return new ProviderError({ errorClass: known, message: say(this.#config, `${text} (${name})`) });
  }
}

function keyOf(payload: Fields): string {
  return String(payload["contentBlockIndex"]);
}

function parsePayload(bytes: Uint8Array): Fields {
  try {
    const value: unknown = bytes.length === 0 ? {} : JSON.parse(new TextDecoder().decode(bytes));
    if (isObject(value)) return value;
  } catch {
    // Told below.
  }
  throw new ProviderError({ errorClass: "protocol", message: "the server sent an event that is not a JSON object" });
}

function fromBase64(text: string): string {
  try {
    return atob(text);
  } catch {
    throw new ProviderError({ errorClass: "protocol", message: "the server sent reasoning that is not base64" });
  }
}
