/**
 * The events of OpenAI's Responses API.
 *
 * N1  `response.completed`, `.incomplete` and `.failed` are the only ends; a body without one was cut.
 * N2  A tool call is finished by its own done event only: a completed response with an open call is an error.
 * N3  A failure that the API reports is classified by what it says, never taken for a cut connection.
 */

import { isObject } from "@mesh/kernel";

import { count, countAt, nonEmpty } from "./json-field.ts";
import type { Usage } from "./message.ts";
import type { MessageAssembler } from "./message-assembler.ts";
import type { StreamConfig } from "./provider.ts";
import { ProviderError } from "./provider-error.ts";
import { faultOf, streamedError } from "./provider-failure.ts";
import { keptReasoning, type SeenItem } from "./responses-reasoning.ts";
import type { AnswerEnd, ProtocolState } from "./sse-reader.ts";

type Fields = Record<string, unknown>;

const MAX_ITEMS = 10_000;

/** Reads one response; see the file comment. */
export class ResponsesState implements ProtocolState {
  readonly #assembler: MessageAssembler;
  readonly #config: StreamConfig;
  readonly #items: (SeenItem | undefined)[] = [];
  readonly #summaryParts = new Map<string, number>();
  #end: AnswerEnd | undefined;
  #refusal = "";

  constructor(assembler: MessageAssembler, config: StreamConfig) {
    this.#assembler = assembler;
    this.#config = config;
  }

  get isComplete(): boolean {
    return this.#end !== undefined;
  }

  get isDone(): boolean {
    return this.#end !== undefined;
  }

  event(payload: Fields, name: string | undefined): void {
    const type = nonEmpty(payload["type"]) ?? name ?? "";
    const handler = HANDLERS[type];
    if (handler !== undefined) handler(this, payload);
    else if (isObject(payload["error"])) this.fail(payload["error"]);
    else if (!QUIET.test(type))
      this.#assembler.warn(`event-${type}`, `an event of an unknown kind was ignored: ${type}`);
  }

  document(body: unknown): void {
    const response = isObject(body) ? body : {};
    if (isObject(response["error"])) this.fail(response["error"]);
    if (!Array.isArray(response["output"])) {
      throw new ProviderError({ errorClass: "protocol", message: "the answer is not a response; check the address" });
    }
    this.finish(response, response["status"] === "incomplete");
  }

  end(): AnswerEnd {
    for (const [index, item] of this.#items.entries()) {
      const kept = item?.type === "reasoning" ? keptReasoning(this.#items, index) : undefined;
      if (kept === undefined) continue;
      const key = this.#assembler.has(`summary-${index}`) ? `summary-${index}` : `reasoning-${index}`;
      this.#assembler.redacted(key, JSON.stringify(kept));
    }
    const end = this.#end ?? { reason: "stop" };
    if (this.#refusal !== "") return { reason: "refusal", explanation: this.#refusal.slice(0, 500) };
    return end;
  }

  start(payload: Fields): void {
    const response = payload["response"];
    this.#assembler.start(isObject(response) ? nonEmpty(response["id"]) : undefined);
  }

  text(payload: Fields): void {
    this.#assembler.text(
      `text-${indexOf(payload)}-${count(payload["content_index"]) ?? 0}`,
      nonEmpty(payload["delta"]) ?? "",
    );
  }

  refusal(payload: Fields): void {
    this.#refusal += nonEmpty(payload["delta"]) ?? "";
    this.text(payload);
  }

  summary(payload: Fields): void {
    const key = `summary-${indexOf(payload)}`;
    const part = count(payload["summary_index"]) ?? 0;
    const before = this.#summaryParts.get(key);
    this.#summaryParts.set(key, part);
    const gap = before === undefined || before === part ? "" : "\n\n";
    this.#assembler.thinking(key, gap + (nonEmpty(payload["delta"]) ?? ""));
  }

  reasoning(payload: Fields): void {
    this.#assembler.thinking(`reasoning-${indexOf(payload)}`, nonEmpty(payload["delta"]) ?? "");
  }

  argumentsDelta(payload: Fields): void {
    this.#assembler.callArguments(`call-${indexOf(payload)}`, nonEmpty(payload["delta"]) ?? "");
  }

  argumentsDone(payload: Fields): void {
    const args = payload["arguments"];
    this.#assembler.close(`call-${indexOf(payload)}`, typeof args === "string" ? args : undefined);
  }

  itemAdded(payload: Fields): void {
    const item = payload["item"];
    if (!isObject(item)) return;
    const index = indexOf(payload);
    const type = String(item["type"]);
    this.#see(index, item, false);
    if (type === "function_call") this.#call(index, item);
    else if (!SHOWN.has(type)) {
      this.#assembler.warn(`item-${type}`, `an output item of an unknown kind was left out: ${type}`);
    }
  }

  itemDone(payload: Fields): void {
    const item = payload["item"];
    if (!isObject(item)) return;
    const index = indexOf(payload);
    this.#see(index, item, true);
    if (item["type"] === "function_call") {
      this.#call(index, item);
      const args = item["arguments"];
      this.#assembler.close(`call-${index}`, typeof args === "string" ? args : undefined);
    } else if (item["type"] === "message") this.#wholeMessage(index, item);
    else if (item["type"] === "reasoning") this.#wholeReasoning(index, item);
  }

  finish(response: unknown, isIncomplete: boolean): void {
    const body = isObject(response) ? response : {};
    this.#assembler.start(nonEmpty(body["id"]));
    const usage = usageOf(body["usage"]);
    if (usage !== undefined) this.#assembler.setUsage(usage);
    // Some gateways send the output only with the last event.
    if (this.#assembler.isEmpty && Array.isArray(body["output"])) {
      for (const [index, item] of (body["output"] as readonly unknown[]).entries()) {
        this.itemDone({ output_index: index, item });
      }
    }
    const details = body["incomplete_details"];
    const why = isObject(details) ? nonEmpty(details["reason"]) : undefined;
    if (!isIncomplete) this.#end = { reason: "stop" };
    else if (why === "content_filter") {
      this.#end = { reason: "refusal", explanation: "the provider's content filter stopped the answer" };
    } else this.#end = { reason: "length" };
  }

  /** Throws what an error object says. */
  fail(error: unknown): never {
    throw streamedError(faultOf(error) ?? { errorClass: "server", text: "the response failed" }, this.#config);
  }

  #see(index: number, item: Fields, isFinished: boolean): void {
    if (index < 0 || index >= MAX_ITEMS) return;
    const callId = nonEmpty(item["call_id"]);
    this.#items[index] = {
      type: String(item["type"]),
      id: nonEmpty(item["id"]) ?? "",
      ...(callId === undefined ? {} : { callId }),
      ...(isFinished ? { item } : {}),
    };
  }

  #call(index: number, item: Fields): void {
    const id = nonEmpty(item["call_id"]) ?? nonEmpty(item["id"]);
    const name = nonEmpty(item["name"]);
    this.#assembler.call(`call-${index}`, {
      ...(id === undefined ? {} : { id }),
      ...(name === undefined ? {} : { name }),
    });
  }

  #wholeMessage(index: number, item: Fields): void {
    if (!Array.isArray(item["content"])) return;
    for (const [at, part] of (item["content"] as readonly unknown[]).entries()) {
      if (!isObject(part) || this.#assembler.has(`text-${index}-${at}`)) continue;
      const payload = { output_index: index, content_index: at };
      if (part["type"] === "refusal") this.refusal({ ...payload, delta: part["refusal"] });
      else this.text({ ...payload, delta: part["text"] });
    }
  }

  #wholeReasoning(index: number, item: Fields): void {
    if (this.#assembler.has(`summary-${index}`) || this.#assembler.has(`reasoning-${index}`)) return;
    const summary: readonly unknown[] = Array.isArray(item["summary"]) ? item["summary"] : [];
    for (const [at, part] of summary.entries()) {
      if (isObject(part)) this.summary({ output_index: index, summary_index: at, delta: part["text"] });
    }
    // Without words its place is still here, before the item that it led to.
    if (!this.#assembler.has(`summary-${index}`)) this.#assembler.thinking(`reasoning-${index}`, "");
  }
}

const SHOWN: ReadonlySet<string> = new Set(["message", "reasoning", "function_call"]);
const QUIET =
  /^(response\.(queued|in_progress|content_part\.|output_text\.(done|annotation)|refusal\.done|reasoning_|.*_call\.)|keepalive|ping)/;

const HANDLERS: Readonly<Record<string, ((state: ResponsesState, payload: Fields) => void) | undefined>> = {
  "response.created": (state, payload) => state.start(payload),
  "response.output_item.added": (state, payload) => state.itemAdded(payload),
  "response.output_item.done": (state, payload) => state.itemDone(payload),
  "response.output_text.delta": (state, payload) => state.text(payload),
  "response.refusal.delta": (state, payload) => state.refusal(payload),
  "response.reasoning_summary_text.delta": (state, payload) => state.summary(payload),
  "response.reasoning_text.delta": (state, payload) => state.reasoning(payload),
  "response.function_call_arguments.delta": (state, payload) => state.argumentsDelta(payload),
  "response.function_call_arguments.done": (state, payload) => state.argumentsDone(payload),
  "response.completed": (state, payload) => state.finish(payload["response"], false),
  "response.incomplete": (state, payload) => state.finish(payload["response"], true),
  "response.failed": (state, payload) => {
    const { response } = payload;
    state.fail(isObject(response) ? response["error"] : undefined);
  },
  error: (state, payload) => state.fail(payload["error"] ?? payload),
};

function indexOf(payload: Fields): number {
  return count(payload["output_index"]) ?? 0;
}

function usageOf(value: unknown): Usage | undefined {
  if (!isObject(value)) return undefined;
  const prompt = countAt(value, "input_tokens") ?? 0;
  const output = countAt(value, "output_tokens") ?? 0;
  const cacheRead = Math.min(countAt(value, "input_tokens_details", "cached_tokens") ?? 0, prompt);
  const reasoning = countAt(value, "output_tokens_details", "reasoning_tokens") ?? 0;
  return {
    input: prompt - cacheRead,
    output,
    cacheRead,
    cacheWrite: 0,
    totalTokens: prompt + output,
    ...(reasoning === 0 ? {} : { reasoning }),
  };
}
