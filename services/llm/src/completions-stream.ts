/**
 * The chunks of OpenAI's Chat Completions API and of the servers that imitate it.
 *
 * N1  A finish reason, or `[DONE]` after something was said, completes an answer; anything else was cut.
 * N2  Pieces of a tool call find each other by index, id or order: vendors omit, repeat or reset each of them.
 * N3  Usage may come with any chunk, also after the finish reason; the last one counts.
 */

import { isObject, type Json, type JsonObject } from "@mesh/kernel";

import { count, countAt, nonEmpty } from "./json-field.ts";
import type { Usage } from "./message.ts";
import type { MessageAssembler } from "./message-assembler.ts";
import type { StreamConfig } from "./provider.ts";
import { ProviderError } from "./provider-error.ts";
import { faultOf, streamedError } from "./provider-failure.ts";
import type { AnswerEnd, ProtocolState } from "./sse-reader.ts";

interface Slot {
  readonly key: string;
  readonly wireIndex: number | undefined;
  id: string | undefined;
}

const LENGTH: ReadonlySet<string> = new Set(["length", "max_tokens", "model_length"]);
const TOOLS: ReadonlySet<string> = new Set(["tool_calls", "function_call", "tool_use"]);
const STOP: ReadonlySet<string> = new Set(["stop", "eos", "end_turn", "stop_sequence", "end"]);

/** Reads one answer; see the file comment. */
export class CompletionsState implements ProtocolState {
  readonly #assembler: MessageAssembler;
  readonly #config: StreamConfig;
  readonly #slots: Slot[] = [];
  readonly #details: Record<string, Json>[] = [];
  #segment = 0;
  #segmentKind = "";
  #segmentKey = "";
  #finish: string | undefined;
  #refusal = "";

  constructor(assembler: MessageAssembler, config: StreamConfig) {
    this.#assembler = assembler;
    this.#config = config;
  }

  get isComplete(): boolean {
    return this.#finish !== undefined;
  }

  get isDone(): boolean {
    return false;
  }

  done(): void {
    // Without a finish reason, `[DONE]` may be a proxy's goodbye: a call without arguments yet must not run with none.
    if (!this.#assembler.isEmpty && !this.#assembler.hasBareCall) this.#finish ??= "stop";
  }

  event(chunk: Record<string, unknown>): void {
    this.#throwIfError(chunk);
    const choice = firstChoice(chunk);
    this.#read(chunk, choice, choice?.["delta"] ?? choice?.["message"]);
  }

  document(body: unknown): void {
    const answer = isObject(body) ? body : {};
    this.#throwIfError(answer);
    const choice = firstChoice(answer);
    if (choice === undefined) {
      throw new ProviderError({
        errorClass: "protocol",
        message: "the answer is not a chat completion; check the address",
      });
    }
    this.#read(answer, choice, choice["message"]);
    this.#finish ??= "stop";
  }

  end(): AnswerEnd {
    this.#assembler.closeAll();
    if (this.#details.length > 0) this.#assembler.redacted("reasoning-details", JSON.stringify(this.#details));
    const reason = this.#finish ?? "stop";
    if (reason === "error" || reason === "insufficient_system_resource") {
      throw new ProviderError({
        errorClass: reason === "error" ? "server" : "rateLimit",
        message: `the model stopped with "${reason}"; try again later`,
      });
    }
    if (reason === "content_filter" || reason === "sensitive") {
      return { reason: "refusal", explanation: "the provider's content filter stopped the answer" };
    }
    if (this.#refusal !== "") return { reason: "refusal", explanation: this.#refusal.slice(0, 500) };
    if (LENGTH.has(reason)) return { reason: "length" };
    if (TOOLS.has(reason)) return { reason: "toolUse" };
    if (!STOP.has(reason)) {
      this.#assembler.warn("stop-reason", `an unknown finish reason was taken as an end: ${reason}`);
    }
    return { reason: "stop" };
  }

  #throwIfError(body: Record<string, unknown>): void {
    // Chunks of some servers carry "error": null.
    const isErrorItself =
      body["object"] === "error" || body["type"] === "error" || ("detail" in body && !("choices" in body));
    const fault = faultOf(body["error"] ?? (isErrorItself ? body : undefined));
    if (fault !== undefined) throw streamedError(fault, this.#config);
  }

  #read(chunk: Record<string, unknown>, choice: Record<string, unknown> | undefined, said: unknown): void {
    this.#assembler.start(nonEmpty(chunk["id"]));
    const groq = chunk["x_groq"];
    const usage =
      usageOf(chunk["usage"]) ?? usageOf(choice?.["usage"]) ?? usageOf(isObject(groq) ? groq["usage"] : undefined);
    if (usage !== undefined) this.#assembler.setUsage(usage);
    if (isObject(said)) {
      this.#pieces(said);
      this.#toolCalls(said["tool_calls"]);
    }
    this.#finish = nonEmpty(choice?.["finish_reason"]) ?? this.#finish;
  }

  #pieces(said: Record<string, unknown>): void {
    const thought =
      nonEmpty(said["reasoning_content"]) ?? nonEmpty(said["reasoning"]) ?? nonEmpty(said["reasoning_text"]);
    if (thought !== undefined) this.#thinking(thought);
    this.#reasoningDetails(said["reasoning_details"]);
    const { content } = said;
    if (Array.isArray(content)) this.#parts(content as readonly unknown[]);
    else if (typeof content === "string" && content !== "") this.#text(content);
    const refusal = nonEmpty(said["refusal"]);
    if (refusal === undefined) return;
    this.#refusal += refusal;
    this.#text(refusal);
  }

  // Mistral sends content as a list of typed parts, thinking nested in them.
  #parts(content: readonly unknown[]): void {
    for (const part of content) {
      if (!isObject(part)) continue;
      const text = nonEmpty(part["text"]);
      if (text !== undefined) this.#text(text);
      const { thinking } = part;
      for (const inner of Array.isArray(thinking) ? (thinking as readonly unknown[]) : [thinking]) {
        const thought = isObject(inner) ? nonEmpty(inner["text"]) : nonEmpty(inner);
        if (thought !== undefined) this.#thinking(thought);
      }
    }
  }

  // OpenRouter: pieces of one detail share an index; they go back whole.
  #reasoningDetails(list: unknown): void {
    if (!Array.isArray(list)) return;
    for (const piece of list as readonly unknown[]) {
      if (!isObject(piece)) continue;
      const index = count(piece["index"]) ?? this.#details.length;
      const known = this.#details.find((detail) => detail["index"] === index && detail["type"] === piece["type"]);
      if (known === undefined) this.#details.push({ ...(piece as JsonObject), index });
      else {
        for (const [name, value] of Object.entries(piece as JsonObject)) {
          const before = known[name];
          const grows = name === "text" || name === "summary" || name === "data";
          if (value === null) continue;
          known[name] = grows && typeof before === "string" && typeof value === "string" ? before + value : value;
        }
      }
    }
  }

  #text(delta: string): void {
    this.#assembler.text(this.#key("text"), delta);
  }

  #thinking(delta: string): void {
    this.#assembler.thinking(this.#key("thinking"), delta);
  }

  // Text after reasoning after text is a part of its own.
  #key(kind: string): string {
    if (kind !== this.#segmentKind) {
      this.#segment += 1;
      this.#segmentKind = kind;
      this.#segmentKey = `${kind}-${this.#segment}`;
    }
    return this.#segmentKey;
  }

  #toolCalls(list: unknown): void {
    if (!Array.isArray(list)) return;
    for (const call of list as readonly unknown[]) {
      if (!isObject(call)) continue;
      const fn: Record<string, unknown> = isObject(call["function"]) ? call["function"] : {};
      const id = nonEmpty(call["id"]);
      const name = nonEmpty(fn["name"]);
      const args = fn["arguments"];
      const extra = call["extra_content"];
      const { key } = this.#slotOf(call["index"], id, name);
      this.#segmentKind = "call";
      // Gemini hides a thought signature here and wants it back.
      const metadata = isObject(extra) ? { extra_content: extra as JsonObject } : undefined;
      this.#assembler.call(key, { id, name, metadata });
      this.#assembler.callArguments(key, typeof args === "string" ? args : isObject(args) ? JSON.stringify(args) : "");
    }
  }

  #slotOf(index: unknown, id: string | undefined, name: string | undefined): Slot {
    const wireIndex = typeof index === "number" ? index : undefined;
    const known = this.#slots.findLast((call) => {
      // Every call under index 0, told apart by ids only: seen from more than one vendor.
      const sameId = id === undefined || call.id === undefined || call.id === id;
      if (wireIndex !== undefined) return call.wireIndex === wireIndex && sameId;
      // Without index and id, a name starts a call and anything else continues the newest.
      return id === undefined ? name === undefined : call.id === id;
    });
    if (known === undefined) {
      const slot = { key: `call-${this.#slots.length}`, wireIndex, id };
      this.#slots.push(slot);
      return slot;
    }
    known.id ??= id;
    return known;
  }
}

function firstChoice(body: Record<string, unknown>): Record<string, unknown> | undefined {
  const choices = body["choices"];
  if (!Array.isArray(choices)) return undefined;
  for (const choice of choices as readonly unknown[]) {
    if (isObject(choice) && (choice["index"] ?? 0) === 0) return choice;
  }
  return undefined;
}

function usageOf(value: unknown): Usage | undefined {
  if (!isObject(value)) return undefined;
  const prompt = countAt(value, "prompt_tokens");
  const completion = countAt(value, "completion_tokens");
  if (prompt === undefined && completion === undefined) return undefined;
  const all = prompt ?? 0;
  const cacheRead = Math.min(cachedOf(value), all);
  const cacheWrite = Math.min(countAt(value, "prompt_tokens_details", "cache_write_tokens") ?? 0, all - cacheRead);
  const reasoning = countAt(value, "completion_tokens_details", "reasoning_tokens") ?? 0;
  const said = completion ?? 0;
  // xAI leaves reasoning out of the completion's tokens, and in the total.
  const isApart = reasoning > 0 && countAt(value, "total_tokens") === all + said + reasoning;
  const output = isApart ? said + reasoning : said;
  return {
    input: all - cacheRead - cacheWrite,
    output,
    cacheRead,
    cacheWrite,
    totalTokens: all + output,
    ...(reasoning === 0 ? {} : { reasoning }),
  };
}

// DeepSeek, OpenAI and Moonshot each have their own place for it.
function cachedOf(value: unknown): number {
  return (
    countAt(value, "prompt_cache_hit_tokens") ??
    countAt(value, "prompt_tokens_details", "cached_tokens") ??
    countAt(value, "cached_tokens") ??
    0
  );
}
