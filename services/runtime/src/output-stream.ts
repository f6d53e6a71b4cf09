/**
 * Writes the output of one run: numbers messages and chunks, stamps events, keeps starts and ends in pairs.
 *
 * O1  Message ids (M1, M2, ...) and chunk ids (C1, C2, ...) are unique in the run and count up, also over its segments; an id
 *     that a script has taken for itself is not given again.
 * O2  `message_end` carries the whole content, which supersedes the deltas before it.
 * O3  Every message that was begun is ended, whatever happens.
 */

import { type Clock, type Json, type JsonObject, MeshError } from "@mesh/kernel";

import type { OutputMessage } from "./message.ts";

/** How a message ended. */
export type MessageStatus = "completed" | "partial" | "error";

/** What identifies a tool call in the stream. */
export interface ToolCallHead {
  readonly id: string;
  readonly name: string;
  readonly index: number;
}

/** How far a run has counted. */
export interface OutputPosition {
  readonly messages: number;
  readonly chunks: number;
  readonly blocks?: number;
  readonly threads?: number;
}

/** Counts the ids of one run; the streams of its agents share it. */
export class OutputIds {
  #messages: number;
  #chunks: number;
  #blocks: number;
  #threads: number;

  /** `from`: where the segment before this one left off. */
  constructor(from?: OutputPosition) {
    this.#messages = from?.messages ?? 0;
    this.#chunks = from?.chunks ?? 0;
    this.#blocks = from?.blocks ?? 0;
    this.#threads = from?.threads ?? 0;
  }

  get position(): Required<OutputPosition> {
    return { messages: this.#messages, chunks: this.#chunks, blocks: this.#blocks, threads: this.#threads };
  }

  message(): string {
    return `M${(this.#messages += 1)}`;
  }

  /** Counts on from an id that somebody chose in the form of ours. */
  taken(id: string): void {
    const n = Number(/^M(\d{1,9})$/.exec(id)?.[1] ?? 0);
    this.#messages = Math.max(this.#messages, n);
  }

  chunk(): string {
    return `C${(this.#chunks += 1)}`;
  }

  block(): string {
    return `B${(this.#blocks += 1)}`;
  }

  thread(): string {
    return `T${(this.#threads += 1)}`;
  }
}

/** What a stream shares with others of its run. */
export interface OutputScope {
  readonly ids?: OutputIds;
  /** Stands on every message of an agent that another one called. */
  readonly threadId?: string;
}

/** The writer of one agent of a run; see the file comment. */
export class OutputStream {
  readonly ids: OutputIds;
  readonly #clock: Clock;
  readonly #sink: (message: OutputMessage) => void;
  readonly #threadId: string | undefined;
  readonly #open = new Set<OpenMessage>();

  constructor(clock: Clock, sink: (message: OutputMessage) => void, { ids, threadId }: OutputScope = {}) {
    this.#clock = clock;
    this.#sink = sink;
    this.ids = ids ?? new OutputIds();
    this.#threadId = threadId;
  }

  /** Writes a message as it is; its thread is the stream's unless it names another. */
  write(message: OutputMessage): void {
    const { thread_id = this.#threadId } = message;
    this.#sink(thread_id === undefined ? message : { ...message, thread_id });
  }

  /** Writes a lifecycle event; `data` gets the timestamp. */
  event(event: string, message: string, data: JsonObject): void {
    const thread = this.#threadId === undefined ? {} : { thread_id: this.#threadId };
    this.write({
      type: "event",
      props: { event, message, data: { timestamp: this.#clock.now(), ...thread, ...data } },
    });
  }

  /** Writes a whole message; with the id of an earlier one it stands in its place. Returns the id. */
  send(type: string, props: JsonObject, id: string = this.ids.message()): string {
    this.write({ type, props, message_id: id });
    return id;
  }

  /** Changes fields of a message that was sent whole. */
  merge(type: string, props: JsonObject, id: string): void {
    const chunk_id = this.ids.chunk();
    this.write({ type, delta: true, props, delta_action: "merge", message_id: id, chunk_id });
  }

  /** Begins a streamed message. */
  begin(type: OpenMessage["type"], toolCall?: ToolCallHead): OpenMessage {
    const message = new OpenMessage({ type, id: this.ids.message(), toolCall, startedMs: this.#clock.monotonic() });
    this.#open.add(message);
    this.event("message_start", "Message started", {
      message_id: message.id,
      type,
      ...(toolCall === undefined ? {} : { tool_call: { ...toolCall } }),
    });
    return message;
  }

  /** Writes the next piece of a streamed message. */
  append(message: OpenMessage, piece: string): void {
    if (!this.#open.has(message)) throw new MeshError("internal", `message ${message.id} has ended`);
    const isFirst = message.chunks === 0;
    message.add(piece);
    this.write({
      type: message.type,
      delta: true,
      ...deltaOf(message, piece, isFirst),
      message_id: message.id,
      chunk_id: this.ids.chunk(),
    });
  }

  /** Ends a streamed message with its whole content; harmless when it has ended. */
  end(message: OpenMessage, status: MessageStatus): void {
    if (!this.#open.delete(message)) return;
    const content = message.content();
    this.event("message_end", "Message completed", {
      message_id: message.id,
      type: message.type,
      duration_ms: Math.round(this.#clock.monotonic() - message.startedMs),
      chunk_count: message.chunks,
      status,
      ...(message.toolCall === undefined ? {} : { tool_call: { ...message.toolCall, arguments: content } }),
      extra: { content },
    });
  }

  /** Ends all that is still open. */
  endAll(status: MessageStatus): void {
    for (const message of this.#open) this.end(message, status);
  }
}

/** A message between its start and its end; made by {@link OutputStream.begin}. */
export class OpenMessage {
  readonly type: "text" | "thinking" | "tool_call";
  readonly id: string;
  readonly toolCall: ToolCallHead | undefined;
  readonly startedMs: number;
  readonly #pieces: string[] = [];

  constructor(init: Pick<OpenMessage, "type" | "id" | "toolCall" | "startedMs">) {
    this.type = init.type;
    this.id = init.id;
    this.toolCall = init.toolCall;
    this.startedMs = init.startedMs;
  }

  get chunks(): number {
    return this.#pieces.length;
  }

  content(): string {
    return this.#pieces.join("");
  }

  add(piece: string): void {
    this.#pieces.push(piece);
  }
}

type Delta = Pick<OutputMessage, "props" | "delta_path" | "delta_action">;

// Text needs no path: appending to `content` is what a reader does unless told otherwise.
function deltaOf({ toolCall }: OpenMessage, piece: string, isFirst: boolean): Delta {
  if (toolCall === undefined) return { props: { content: piece } };
  const props: Record<string, Json> = { arguments: piece };
  if (!isFirst) return { props, delta_path: "arguments", delta_action: "append" };
  return { props: { ...toolCall, type: "function", ...props }, delta_action: "merge" };
}
