/**
 * The chunks of Gemini's generateContent API.
 *
 * N1  A finish reason completes an answer; a body without one was cut, unless the prompt itself was blocked.
 * N2  Parts keep their order; a call is whole in one part.
 * N3  Signatures are kept on the part they came with.
 */

import { isObject, type JsonObject } from "@mesh/kernel";

import { count, nonEmpty } from "./json-field.ts";
import type { Usage } from "./message.ts";
import type { MessageAssembler } from "./message-assembler.ts";
import type { StreamConfig } from "./provider.ts";
import { ProviderError } from "./provider-error.ts";
import { faultOf, streamedError } from "./provider-failure.ts";
import type { AnswerEnd, ProtocolState } from "./sse-reader.ts";

const REFUSALS: ReadonlySet<string> = new Set([
  "SAFETY",
  "PROHIBITED_CONTENT",
  "BLOCKLIST",
  "SPII",
  "IMAGE_SAFETY",
  "IMAGE_PROHIBITED_CONTENT",
  "LANGUAGE",
]);
const BAD_CALLS: ReadonlySet<string> = new Set([
  "MALFORMED_FUNCTION_CALL",
  "UNEXPECTED_TOOL_CALL",
  "TOO_MANY_TOOL_CALLS",
  "MISSING_THOUGHT_SIGNATURE",
  "MALFORMED_RESPONSE",
]);
const HIDDEN_PARTS: ReadonlySet<string> = new Set(["executableCode", "codeExecutionResult", "inlineData", "fileData"]);

/** Reads one answer; see the file comment. */
export class GeminiState implements ProtocolState {
  readonly #assembler: MessageAssembler;
  readonly #config: StreamConfig;
  #segment = 0;
  #segmentKind = "";
  #finish: string | undefined;
  #finishMessage: string | undefined;
  #blocked: string | undefined;

  constructor(assembler: MessageAssembler, config: StreamConfig) {
    this.#assembler = assembler;
    this.#config = config;
  }

  get isComplete(): boolean {
    return this.#finish !== undefined || this.#blocked !== undefined;
  }

  get isDone(): boolean {
    return false;
  }

  event(payload: Record<string, unknown>): void {
    const fault = faultOf(payload["error"]);
    if (fault !== undefined) throw streamedError(fault, this.#config);
    this.#assembler.start(nonEmpty(payload["responseId"]));
    const usage = usageOf(payload["usageMetadata"]);
    if (usage !== undefined) this.#assembler.setUsage(usage);
    const feedback = payload["promptFeedback"];
    if (isObject(feedback)) this.#blocked = nonEmpty(feedback["blockReason"]) ?? this.#blocked;
    const { candidates } = payload;
    const candidate = Array.isArray(candidates) ? (candidates as readonly unknown[]).find(isFirst) : undefined;
    if (!isObject(candidate)) return;
    const content = candidate["content"];
    if (isObject(content) && Array.isArray(content["parts"])) {
      for (const part of content["parts"] as readonly unknown[]) if (isObject(part)) this.#part(part);
    }
    this.#finish = nonEmpty(candidate["finishReason"]) ?? this.#finish;
    this.#finishMessage = nonEmpty(candidate["finishMessage"]) ?? this.#finishMessage;
  }

  document(body: unknown): void {
    const chunks: readonly unknown[] = Array.isArray(body) ? body : [body];
    for (const chunk of chunks) if (isObject(chunk)) this.event(chunk);
    if (!this.isComplete) {
      throw new ProviderError({
        errorClass: "protocol",
        message: "the answer is not a generated content; check the address",
      });
    }
  }

  end(): AnswerEnd {
    const reason = this.#finish ?? "";
    if (this.#blocked !== undefined || REFUSALS.has(reason)) {
      const why = this.#finishMessage ?? `the provider's filter stopped the answer (${this.#blocked ?? reason})`;
      return { reason: "refusal", explanation: why };
    }
    if (BAD_CALLS.has(reason)) {
      throw new ProviderError({
        errorClass: "protocol",
        message: `the model wrote a tool call that cannot be read (${reason})${this.#finishMessage === undefined ? "" : `: ${this.#finishMessage}`}`,
        // The same prompt usually comes out well the next time.
        retryable: true,
        isFinished: true,
      });
    }
    if (reason === "OTHER" || (reason === "STOP" && this.#assembler.isEmpty)) {
      throw new ProviderError({
        errorClass: "server",
        isFinished: true,
        message:
          reason === "OTHER" ? "the provider stopped the answer without a reason" : "the provider sent an empty answer",
      });
    }
    if (reason === "MAX_TOKENS" || reason === "RECITATION") return { reason: "length" };
    if (reason !== "STOP") {
      this.#assembler.warn("stop-reason", `an unknown finish reason was taken as an end: ${reason}`);
    }
    return { reason: "stop" };
  }

  #part(part: Record<string, unknown>): void {
    const signature = nonEmpty(part["thoughtSignature"]);
    const metadata: JsonObject | undefined = signature === undefined ? undefined : { thoughtSignature: signature };
    const call = part["functionCall"];
    const { text } = part;
    if (isObject(call)) this.#call(call, metadata);
    else if (part["thought"] === true) {
      if (typeof text === "string" && text !== "") this.#assembler.thinking(this.#key("thinking"), text);
    } else if (typeof text === "string") {
      if (text !== "" || metadata !== undefined) this.#assembler.text(this.#key("text"), text, metadata);
    } else {
      const kind = Object.keys(part).find((name) => HIDDEN_PARTS.has(name)) ?? Object.keys(part)[0] ?? "empty";
      this.#assembler.warn(`part-${kind}`, `a part of an unknown kind was left out: ${kind}`);
    }
  }

  #call(call: Record<string, unknown>, metadata: JsonObject | undefined): void {
    const key = this.#key("call");
    this.#segmentKind = "";
    const id = nonEmpty(call["id"]);
    this.#assembler.call(key, {
      ...(id === undefined ? {} : { id }),
      name: nonEmpty(call["name"]) ?? "",
      ...(metadata === undefined ? {} : { metadata }),
    });
    this.#assembler.callArguments(key, isObject(call["args"]) ? JSON.stringify(call["args"]) : "");
    this.#assembler.close(key);
  }

  #key(kind: string): string {
    if (kind !== this.#segmentKind) this.#segment += 1;
    this.#segmentKind = kind;
    return `${kind}-${this.#segment}`;
  }
}

function isFirst(candidate: unknown): boolean {
  return isObject(candidate) && (candidate["index"] ?? 0) === 0;
}

function usageOf(value: unknown): Usage | undefined {
  if (!isObject(value)) return undefined;
  const prompt = (count(value["promptTokenCount"]) ?? 0) + (count(value["toolUsePromptTokenCount"]) ?? 0);
  const reasoning = count(value["thoughtsTokenCount"]) ?? 0;
  const output = (count(value["candidatesTokenCount"]) ?? 0) + reasoning;
  const cacheRead = Math.min(count(value["cachedContentTokenCount"]) ?? 0, prompt);
  return {
    input: prompt - cacheRead,
    output,
    cacheRead,
    cacheWrite: 0,
    totalTokens: prompt + output,
    ...(reasoning === 0 ? {} : { reasoning }),
  };
}
