/** The state of one OpenAI answer while its chunks arrive: which tool call a piece belongs to, how it ended, what it cost. */

import { isObject, type JsonObject } from "@mesh/kernel";

import type { ChatEvent } from "./chat.ts";
import { ProviderFaultError } from "./openai-failure.ts";

type Finish = Extract<ChatEvent, { readonly kind: "finish" }>;

const REASONS: Readonly<Record<string, string | undefined>> = {
  length: "length",
  max_tokens: "length",
  tool_calls: "tool_calls",
  function_call: "tool_calls",
  content_filter: "content_filter",
};

/** Collects the chunks of one answer; see the file comment. */
export class OpenAiAnswer {
  // Position in this list is the index that we report; vendors omit, repeat or reset theirs.
  readonly #calls: { readonly wireIndex: number | undefined; id: string | undefined }[] = [];
  #reason: string | undefined;
  #usage: Finish["usage"];
  #chunks = 0;

  /** The server said why it stopped. */
  get isFinished(): boolean {
    return this.#reason !== undefined;
  }

  get isEmpty(): boolean {
    return this.#chunks === 0;
  }

  /** Reads one streamed chunk. */
  *chunk(chunk: Record<string, unknown>): Generator<ChatEvent> {
    const choice = firstChoice(chunk);
    yield* this.#read(chunk, choice, choice?.["delta"] ?? choice?.["message"]);
  }

  /** Reads the whole answer of a server that does not stream. */
  *whole(body: Record<string, unknown>): Generator<ChatEvent> {
    const choice = firstChoice(body);
    yield* this.#read(body, choice, choice?.["message"]);
    if (choice !== undefined) this.#reason ??= "stop";
  }

  /** The closing event. */
  finish(): Finish {
    const reason = this.#reason ?? "stop";
    return {
      kind: "finish",
      // Several vendors say "stop" after a complete tool call.
      reason: reason === "stop" && this.#calls.length > 0 ? "tool_calls" : reason,
      ...(this.#usage === undefined ? {} : { usage: this.#usage }),
    };
  }

  *#read(
    body: Record<string, unknown>,
    choice: Record<string, unknown> | undefined,
    said: unknown,
  ): Generator<ChatEvent> {
    this.#chunks += 1;
    const groq = body["x_groq"];
    this.#usage =
      usageOf(body["usage"]) ??
      usageOf(choice?.["usage"]) ??
      usageOf(isObject(groq) ? groq["usage"] : undefined) ??
      this.#usage;
    if (isObject(said)) {
      yield* pieces(said);
      yield* this.#toolCalls(said["tool_calls"]);
    }
    const reason = choice?.["finish_reason"];
    if (typeof reason === "string" && reason !== "") this.#reason = finishReason(reason);
  }

  *#toolCalls(list: unknown): Generator<ChatEvent> {
    if (!Array.isArray(list)) return;
    for (const call of list as readonly unknown[]) {
      if (!isObject(call)) continue;
      const fn: Record<string, unknown> = isObject(call["function"]) ? call["function"] : {};
      const id = nonEmpty(call["id"]);
      const name = nonEmpty(fn["name"]);
      const args = fn["arguments"];
      yield {
        kind: "tool_call",
        index: this.#slotOf(call["index"], id, name),
        ...(id === undefined ? {} : { id }),
        ...(name === undefined ? {} : { name }),
        arguments: typeof args === "string" ? args : isObject(args) ? JSON.stringify(args) : "",
      };
    }
  }

  #slotOf(index: unknown, id: string | undefined, name: string | undefined): number {
    const wireIndex = typeof index === "number" ? index : undefined;
    const slot = this.#calls.findLastIndex((call) => {
      // Every call under index 0, told apart by ids only: seen from more than one vendor.
      const sameId = id === undefined || call.id === undefined || call.id === id;
      if (wireIndex !== undefined) return call.wireIndex === wireIndex && sameId;
      // Without index and id, a name starts a call and anything else continues the newest.
      return id === undefined ? name === undefined : call.id === id;
    });
    const known = this.#calls[slot];
    if (known === undefined) return this.#calls.push({ wireIndex, id }) - 1;
    known.id ??= id;
    return slot;
  }
}

function firstChoice(body: Record<string, unknown>): Record<string, unknown> | undefined {
  const choices = body["choices"];
  if (!Array.isArray(choices)) return undefined;
  return (choices as readonly unknown[]).filter(isObject).find((choice) => (choice["index"] ?? 0) === 0);
}

function* pieces(said: Record<string, unknown>): Generator<ChatEvent> {
  const thinking = nonEmpty(said["reasoning_content"]) ?? nonEmpty(said["reasoning"]);
  if (thinking !== undefined) yield { kind: "thinking", text: thinking };
  const { content } = said;
  if (Array.isArray(content)) yield* parts(content);
  else if (nonEmpty(content) !== undefined) yield { kind: "text", text: String(content) };
  const refusal = nonEmpty(said["refusal"]);
  if (refusal !== undefined) yield { kind: "text", text: refusal };
}

// Mistral sends content as a list of typed parts, thinking nested in them.
function* parts(content: readonly unknown[]): Generator<ChatEvent> {
  for (const part of content) {
    if (!isObject(part)) continue;
    const text = nonEmpty(part["text"]);
    if (text !== undefined) yield { kind: "text", text };
    const { thinking } = part;
    for (const inner of Array.isArray(thinking) ? (thinking as readonly unknown[]) : []) {
      const thought = isObject(inner) ? nonEmpty(inner["text"]) : undefined;
      if (thought !== undefined) yield { kind: "thinking", text: thought };
    }
  }
}

function finishReason(reason: string): string {
  if (reason === "error" || reason === "insufficient_system_resource") {
    throw new ProviderFaultError({
      code: "unavailable",
      text: `the model stopped with "${reason}"; try again later`,
      retry: true,
    });
  }
  return REASONS[reason] ?? "stop";
}

function usageOf(value: unknown): Finish["usage"] {
  if (!isObject(value)) return undefined;
  const usage = value as JsonObject;
  const prompt = count(usage["prompt_tokens"]);
  const completion = count(usage["completion_tokens"]);
  if (prompt === undefined && completion === undefined) return undefined;
  return {
    prompt_tokens: prompt ?? 0,
    completion_tokens: completion ?? 0,
    total_tokens: count(usage["total_tokens"]) ?? (prompt ?? 0) + (completion ?? 0),
  };
}

function count(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined;
}

function nonEmpty(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
