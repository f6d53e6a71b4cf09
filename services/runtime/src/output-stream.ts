/**
 * Writes the output of one run: numbers messages and chunks, stamps events, keeps starts and ends in pairs.
 *
 * O1  Message ids (M1, M2, ...) and chunk ids (C1, C2, ...) are unique in the run and count up, also over its segments.
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

/** How far a stream has counted. */
export interface OutputPosition {
  readonly messages: number;
  readonly chunks: number;
}

/** The writer of one run; see the file comment. */
export class OutputStream {
  readonly #clock: Clock;
  readonly #write: (message: OutputMessage) => void;
  readonly #open = new Set<OpenMessage>();
  #messages: number;
  #chunks: number;

  /** `from`: where the segment before this one left off. */
  constructor(clock: Clock, write: (message: OutputMessage) => void, from?: OutputPosition) {
    this.#clock = clock;
    this.#write = write;
    this.#messages = from?.messages ?? 0;
    this.#chunks = from?.chunks ?? 0;
  }

  get position(): OutputPosition {
    return { messages: this.#messages, chunks: this.#chunks };
  }

  /** Writes a lifecycle event; `data` gets the timestamp. */
  event(event: string, message: string, data: JsonObject): void {
    this.#write({ type: "event", props: { event, message, data: { ...data, timestamp: this.#clock.now() } } });
  }

  /** Writes a whole message; with the id of an earlier one it stands in its place. Returns the id. */
  send(type: string, props: JsonObject, id: string = this.#nextId()): string {
    this.#write({ type, props, message_id: id });
    return id;
  }

  /** Changes fields of a message that was sent whole. */
  merge(type: string, props: JsonObject, id: string): void {
    this.#chunks += 1;
    const chunk_id = `C${this.#chunks}`;
    this.#write({ type, delta: true, props, delta_action: "merge", message_id: id, chunk_id });
  }

  /** Begins a streamed message. */
  begin(type: OpenMessage["type"], toolCall?: ToolCallHead): OpenMessage {
    const message = new OpenMessage({ type, id: this.#nextId(), toolCall, startedMs: this.#clock.monotonic() });
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
    this.#chunks += 1;
    this.#write({
      type: message.type,
      delta: true,
      ...deltaOf(message, piece, isFirst),
      message_id: message.id,
      chunk_id: `C${this.#chunks}`,
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

  #nextId(): string {
    this.#messages += 1;
    return `M${this.#messages}`;
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
