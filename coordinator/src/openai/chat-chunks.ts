/**
 * The event log of a run as the chunks of one chat completion. Pure.
 *
 * W1  Every chunk has the same id, `created` and model; the first says the role, exactly one has a finish reason, and after it
 *     comes at most the one with the usage.
 * W2  What the assistant says is `content`, what it thinks `reasoning_content`. Tools that run on a device are hidden, as are
 *     agents that the assistant calls; a call of one of the request's own functions is a tool call.
 * W3  A tool call is told once it is whole: a model that is asked again after half a call would else have called twice.
 * W4  A run that ends without an answer ends as a failure: never as an answer that merely stops.
 */

import { isObject } from "@mesh/kernel";
import type { RunEvent } from "@mesh/proto";

import { RUN_EVENT } from "../runs/run-state.ts";
import type { ChatFailure } from "./chat-failure.ts";

/** What all chunks of a completion have in common. */
export interface ChatHead {
  readonly id: string;
  /** Seconds since 1970. */
  readonly created: number;
  readonly model: string;
  readonly includesUsage: boolean;
  /** Names of the functions that the request brought along. */
  readonly functions: ReadonlySet<string>;
}

/** Why a completion ends. */
export type FinishReason = "stop" | "length" | "tool_calls" | "content_filter";

/** A call of a function of the request. */
export interface ToolCallDelta {
  readonly index: number;
  readonly id: string;
  readonly type: "function";
  readonly function: { readonly name: string; readonly arguments: string };
}

/** What a chunk adds. */
export interface ChatDelta {
  readonly role?: "assistant";
  readonly content?: string;
  readonly reasoning_content?: string;
  readonly tool_calls?: readonly ToolCallDelta[];
}

/** Tokens. */
export interface ChatUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly prompt_tokens_details: { readonly cached_tokens: number };
  readonly completion_tokens_details: { readonly reasoning_tokens: number };
}

/** One chunk as it stands on the wire. */
export interface ChatChunk {
  readonly id: string;
  readonly object: "chat.completion.chunk";
  readonly created: number;
  readonly model: string;
  readonly choices: readonly {
    readonly index: 0;
    readonly delta: ChatDelta;
    readonly logprobs: null;
    readonly finish_reason: FinishReason | null;
  }[];
  /** Null on all but the last where usage is asked for. */
  readonly usage?: ChatUsage | null;
}

/** What one event of the run comes to. */
export type ChatStep =
  | { readonly kind: "chunk"; readonly chunk: ChatChunk }
  | { readonly kind: "failure"; readonly failure: ChatFailure }
  /** Nothing follows. */
  | { readonly kind: "end"; readonly usage: ChatUsage };

/** A reader of one run's log: give it every event in order. */
export function chatChunks(head: ChatHead): (event: RunEvent) => readonly ChatStep[] {
  const reader = new LogReader(head);
  return (event) => reader.read(event);
}

type Fields = Readonly<Record<string, unknown>>;

/** A message that is being said. */
interface Said {
  readonly field: "content" | "reasoning_content";
  chars: number;
}

const REASONS: Readonly<Record<string, FinishReason | undefined>> = {
  length: "length",
  // A limit of the loop, such as its turns.
  stopped: "length",
  content_filter: "content_filter",
};

class LogReader {
  readonly #head: ChatHead;
  readonly #messages = new Map<string, Said>();
  /** The message that spoke last in each field. */
  readonly #speaking = new Map<Said["field"], string>();
  #hasBegun = false;
  #calls = 0;
  #reason = "";

  constructor(head: ChatHead) {
    this.#head = head;
  }

  read({ run_id: runId, kind, data }: RunEvent): readonly ChatStep[] {
    const body: unknown = data;
    if (!isObject(body)) return [];
    if (kind === "message") return this.#message(body);
    if (kind === RUN_EVENT.asked) {
      return [{ kind: "failure", failure: { kind: "asks", runId, pending: body["pending"] } }];
    }
    return kind === RUN_EVENT.finished ? this.#finish(runId, body) : [];
  }

  #message(body: Fields): readonly ChatStep[] {
    // Agents that this one calls speak to it, not to the user.
    if (typeof body["thread_id"] === "string") return [];
    const props = fieldsOf(body["props"]);
    const type = textOf(body["type"]);
    if (type === "event") return this.#lifecycle(textOf(props["event"]), fieldsOf(props["data"]));
    if (type !== "text" && type !== "thinking") return [];
    const id = textOf(body["message_id"]);
    const action = body["delta_action"] ?? "append";
    const isAppended = body["delta"] === true && action === "append";
    // What was said cannot be taken back: only the first word of a message that is replaced counts.
    if (!isAppended && this.#messages.has(id)) return [];
    return this.#say(id, type, textOf(props["content"]));
  }

  #lifecycle(event: string, data: Fields): readonly ChatStep[] {
    if (typeof data["thread_id"] === "string") return [];
    if (event === "stream_end") this.#reason = textOf(fieldsOf(data["metadata"])["finish_reason"]);
    if (event !== "message_end") return [];
    const type = textOf(data["type"]);
    if (type === "tool_call") return this.#call(textOf(data["status"]), fieldsOf(data["tool_call"]));
    if (type !== "text" && type !== "thinking") return [];
    // Its deltas may be gone by now; its end has all of it.
    const id = textOf(data["message_id"]);
    const content = textOf(fieldsOf(data["extra"])["content"]);
    return this.#say(id, type, content.slice(this.#messages.get(id)?.chars ?? 0));
  }

  #say(id: string, type: "text" | "thinking", piece: string): readonly ChatStep[] {
    if (piece === "") return [];
    const said = this.#messages.get(id) ?? { field: type === "text" ? "content" : "reasoning_content", chars: 0 };
    this.#messages.set(id, said);
    const before = this.#speaking.get(said.field);
    this.#speaking.set(said.field, id);
    said.chars += piece.length;
    const gap = before === undefined || before === id ? "" : "\n\n";
    return this.#chunks({ [said.field]: `${gap}${piece}` });
  }

  #call(status: string, call: Fields): readonly ChatStep[] {
    const name = textOf(call["name"]);
    if (status !== "completed" || !this.#head.functions.has(name)) return [];
    const index = this.#calls;
    this.#calls += 1;
    const args = textOf(call["arguments"]);
    const whole = { name, arguments: args === "" ? "{}" : args };
    return this.#chunks({ tool_calls: [{ index, id: textOf(call["id"]), type: "function", function: whole }] });
  }

  #finish(runId: string, body: Fields): readonly ChatStep[] {
    const state = textOf(body["state"]);
    if (state !== "succeeded") {
      const { code, message } = fieldsOf(body["error"]);
      const failure = { kind: "ended", runId, state, code: textOf(code), message: textOf(message) } as const;
      return [{ kind: "failure", failure }];
    }
    // Hooks may answer with a value and say nothing.
    const isSilent = !this.#speaking.has("content") && this.#calls === 0;
    const output = isSilent ? this.#say("", "text", textOf(body["output"])) : [];
    const usage = usageOf(fieldsOf(body["usage"]));
    const reason = this.#calls > 0 ? "tool_calls" : (REASONS[this.#reason] ?? "stop");
    const last = this.#chunks({}, reason);
    const told = this.#head.includesUsage ? [chunkStep({ ...this.#base(), choices: [], usage })] : [];
    return [...output, ...last, ...told, { kind: "end", usage }];
  }

  #chunks(delta: ChatDelta, finish_reason: FinishReason | null = null): readonly ChatStep[] {
    const first = this.#hasBegun ? [] : [this.#chunk({ role: "assistant", content: "" }, null)];
    this.#hasBegun = true;
    return [...first, this.#chunk(delta, finish_reason)];
  }

  #chunk(delta: ChatDelta, finish_reason: FinishReason | null): ChatStep {
    const choices = [{ index: 0 as const, delta, logprobs: null, finish_reason }];
    return chunkStep({ ...this.#base(), choices, ...(this.#head.includesUsage ? { usage: null } : {}) });
  }

  #base(): Omit<ChatChunk, "choices"> {
    const { id, created, model } = this.#head;
    return { id, object: "chat.completion.chunk", created, model };
  }
}

function chunkStep(chunk: ChatChunk): ChatStep {
  return { kind: "chunk", chunk };
}

function usageOf(usage: Fields): ChatUsage {
  const prompt_tokens = countOf(usage["prompt_tokens"]);
  const completion_tokens = countOf(usage["completion_tokens"]);
  return {
    prompt_tokens,
    completion_tokens,
    total_tokens: prompt_tokens + completion_tokens,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0 },
  };
}

function countOf(value: unknown): number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : 0;
}

function fieldsOf(value: unknown): Fields {
  return isObject(value) ? value : {};
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
