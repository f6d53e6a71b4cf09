/**
 * What a script sends: whole messages, messages that grow, and the blocks that hold them together.
 *
 * H1  Every message has one `message_start` and one `message_end`; what a script leaves open is ended with it.
 * H2  A message that was changed other than by appending is written whole before its end, so that a late reader sees what it became.
 * H3  Only a message that was started and not ended can change; anything else is an error that says so.
 * H4  Count and size of what one run sends are bounded, and so is each message: it fits into one event, also when it has grown.
 * H5  Events of the stream itself (`stream_end`, `message_end`, …) are not a script's to send.
 */

import { type Clock, isObject, type Json, type JsonObject, MeshError } from "@mesh/kernel";

import { jsonBytes, MAX_MESSAGE_BYTES, tooLarge } from "./event-size.ts";
import type { DeltaAction, OutputMessage } from "./message.ts";
import { changedProps, stepsOf } from "./message-path.ts";
import type { OutputStream } from "./output-stream.ts";

interface SentMessage {
  readonly head: Pick<OutputMessage, "message_id" | "block_id" | "thread_id" | "metadata">;
  readonly id: string;
  readonly startedMs: number;
  type: string;
  props: JsonObject;
  chunks: number;
  /** At least what the props have as JSON. */
  bytes: number;
  isAppendOnly: boolean;
}

interface Block {
  readonly startedMs: number;
  messages: number;
}

const MAX_MESSAGES = 20_000;
const MAX_BYTES = 64 * 1024 * 1024;
const MAX_OPEN = 1_000;
const MAX_TYPE_CHARS = 200;
// What the event log keeps of an id.
const MAX_ID_CHARS = 64;
const LIFECYCLE = /^(stream|message|block|thread|group)_(start|end)$/;

/** The messages of one agent's scripts; see the file comment. */
export class HookOutput {
  readonly #out: OutputStream;
  readonly #clock: Clock;
  readonly #open = new Map<string, SentMessage>();
  readonly #blocks = new Map<string, Block>();
  #count = 0;
  #bytes = 0;

  constructor(out: OutputStream, clock: Clock) {
    this.#out = out;
    this.#clock = clock;
  }

  /** Sends a whole message; returns its id. */
  send(message: Json, blockId?: string): string {
    const sent = this.#start(message, blockId);
    this.#end(sent);
    return sent.id;
  }

  /** Starts a message that grows until `end`; returns its id. */
  sendStream(message: Json, blockId?: string): string {
    const sent = this.#start(message, blockId);
    if (this.#open.size >= MAX_OPEN) {
      throw new MeshError("resource_exhausted", `${MAX_OPEN} messages are open; End some before starting more`);
    }
    this.#open.set(sent.id, sent);
    return sent.id;
  }

  /** Adds to a text or a list of a started message. */
  append(id: string, content: Json, path = ""): string {
    const value = isObject(content) ? textOf(content) : content;
    return this.#change(id, { action: "append", path: path === "" ? "props.content" : path, value });
  }

  /** Puts another message in the place of a started one. */
  replace(id: string, message: Json): string {
    const sent = this.#started(id);
    const { type, props } = readMessage(message);
    const isNewType = type !== sent.type;
    sent.bytes = this.#sizeOf({ ...sent.head, props });
    sent.type = type;
    sent.props = props;
    sent.isAppendOnly = false;
    this.#writeDelta(sent, { action: "replace", path: "", props, isNewType });
    return id;
  }

  /** Merges fields into a started message. */
  merge(id: string, data: Json, path = ""): string {
    const value = isObject(data) && typeof data["type"] === "string" && isObject(data["props"]) ? data["props"] : data;
    return this.#change(id, { action: "merge", path, value: value });
  }

  /** Sets one field of a started message. */
  set(id: string, value: Json, path: string): string {
    if (path === "") throw new MeshError("invalid_argument", "Set needs a path, such as props.status");
    return this.#change(id, { action: "set", path, value });
  }

  /** Ends a started message, after a last piece of text. */
  end(id: string, final?: Json): string {
    const sent = this.#started(id);
    if (final !== undefined && final !== null && final !== "") this.append(id, final);
    this.#open.delete(id);
    this.#end(sent);
    return id;
  }

  /** Ends a block; an unknown one changes nothing. */
  endBlock(id: string): void {
    const block = this.#blocks.get(id);
    if (block === undefined) return;
    this.#blocks.delete(id);
    this.#out.event("block_end", "Block ended", {
      block_id: id,
      duration_ms: Math.round(this.#clock.monotonic() - block.startedMs),
      message_count: block.messages,
      status: "completed",
    });
  }

  /** Ends what is still open. */
  endAll(): void {
    for (const sent of this.#open.values()) this.#end(sent);
    this.#open.clear();
  }

  #start(message: Json, blockId: string | undefined): SentMessage {
    const given = readMessage(message);
    const bytes = this.#sizeOf({ ...given });
    this.#spend(bytes);
    const block_id = given.block_id ?? (blockId === "" ? undefined : blockId);
    const id = given.message_id ?? this.#out.ids.message();
    this.#out.ids.taken(id);
    if (this.#open.has(id)) throw new MeshError("already_exists", `message ${id} was started already`);
    if (block_id !== undefined) this.#enterBlock(block_id);
    const { thread_id, metadata } = given;
    const head = {
      message_id: id,
      ...(block_id === undefined ? {} : { block_id }),
      ...(thread_id === undefined ? {} : { thread_id }),
      ...(metadata === undefined ? {} : { metadata }),
    };
    const sent: SentMessage = {
      head,
      id,
      type: given.type,
      props: given.props,
      startedMs: this.#clock.monotonic(),
      chunks: 1,
      bytes,
      isAppendOnly: true,
    };
    this.#out.event("message_start", "Message started", { message_id: id, type: sent.type });
    this.#out.write({ type: sent.type, props: sent.props, ...head });
    return sent;
  }

  #enterBlock(id: string): void {
    const block = this.#blocks.get(id);
    if (block !== undefined) {
      block.messages += 1;
      return;
    }
    if (this.#blocks.size >= MAX_OPEN)
      throw new MeshError("resource_exhausted", `${MAX_OPEN} blocks are open; end some`);
    this.#blocks.set(id, { startedMs: this.#clock.monotonic(), messages: 1 });
    this.#out.event("block_start", "Block started", { block_id: id, type: "mixed" });
  }

  #change(id: string, change: { readonly action: DeltaAction; readonly path: string; readonly value: Json }): string {
    const sent = this.#started(id);
    const next = changedProps(sent.props, change);
    const steps = stepsOf(change.path);
    // Measuring the whole at every piece would cost its square: it is measured when the pieces could have made it too large.
    const grown = sent.bytes + jsonBytes(nested(steps, change.value));
    sent.bytes = grown <= MAX_MESSAGE_BYTES ? grown : this.#sizeOf({ ...sent.head, props: next });
    sent.props = next;
    const isText = change.action === "append" && steps.length === 1 && steps[0] === "content";
    sent.isAppendOnly &&= isText;
    const props = nested(steps, change.value);
    this.#writeDelta(sent, { action: change.action, path: isText ? "" : steps.join("."), props, isNewType: false });
    return id;
  }

  #writeDelta(
    sent: SentMessage,
    delta: {
      readonly action: DeltaAction;
      readonly path: string;
      readonly props: JsonObject;
      readonly isNewType: boolean;
    },
  ): void {
    this.#spend(jsonBytes(delta.props));
    sent.chunks += 1;
    const isPlain = delta.action === "append" && delta.path === "";
    this.#out.write({
      type: sent.type,
      delta: true,
      props: delta.props,
      ...(isPlain ? {} : { delta_action: delta.action }),
      ...(delta.path === "" ? {} : { delta_path: delta.path }),
      ...(delta.isNewType ? { type_change: true } : {}),
      ...sent.head,
      chunk_id: this.#out.ids.chunk(),
    });
  }

  #end(sent: SentMessage): void {
    if (!sent.isAppendOnly) this.#out.write({ type: sent.type, props: sent.props, ...sent.head });
    const { content } = sent.props;
    this.#out.event("message_end", "Message completed", {
      message_id: sent.id,
      type: sent.type,
      duration_ms: Math.round(this.#clock.monotonic() - sent.startedMs),
      chunk_count: sent.chunks,
      status: "completed",
      extra: content === undefined ? {} : { content },
    });
  }

  #started(id: string): SentMessage {
    const sent = this.#open.get(id);
    if (sent !== undefined) return sent;
    throw new MeshError(
      "failed_precondition",
      `message ${id.slice(0, MAX_ID_CHARS)} is not open: only a message from SendStream can change, and only before its End`,
    );
  }

  #sizeOf(message: JsonObject): number {
    const bytes = jsonBytes(message);
    if (bytes <= MAX_MESSAGE_BYTES) return bytes;
    throw tooLarge(bytes, "a message", "send it in parts, or write it to a file and send its path");
  }

  #spend(bytes: number): void {
    this.#count += 1;
    this.#bytes += bytes;
    if (this.#count > MAX_MESSAGES) {
      throw new MeshError(
        "resource_exhausted",
        `a run may send ${MAX_MESSAGES} messages and pieces; this one has sent them all`,
      );
    }
    if (this.#bytes > MAX_BYTES) {
      throw new MeshError(
        "resource_exhausted",
        `a run may send ${MAX_BYTES / 1024 / 1024} MB; this one has sent them all`,
      );
    }
  }
}

interface GivenMessage {
  readonly type: string;
  readonly props: JsonObject;
  readonly message_id?: string;
  readonly block_id?: string;
  readonly thread_id?: string;
  readonly metadata?: JsonObject;
}

function readMessage(message: Json): GivenMessage {
  if (typeof message === "string") return { type: "text", props: { content: message } };
  if (!isObject(message)) throw new MeshError("invalid_argument", "a message is a text or an object {type, props}");
  const { type, props = {}, metadata } = message;
  if (typeof type !== "string" || type === "" || type.length > MAX_TYPE_CHARS) {
    throw new MeshError("invalid_argument", 'a message needs a "type", such as "text"');
  }
  if (!isObject(props)) throw new MeshError("invalid_argument", 'the "props" of a message must be an object');
  const { event } = props;
  if (type === "event" && typeof event === "string" && LIFECYCLE.test(event)) {
    throw new MeshError("invalid_argument", `the event ${event} is the stream's own; name yours otherwise`);
  }
  return {
    type,
    props: props,
    ...idIn(message, "message_id"),
    ...idIn(message, "block_id"),
    ...idIn(message, "thread_id"),
    ...(isObject(metadata) ? { metadata: metadata } : {}),
  };
}

function idIn<Key extends string>(message: JsonObject, key: Key): { readonly [K in Key]?: string } {
  const value = message[key];
  if (value === undefined || value === null || value === "") return {};
  if (typeof value === "string" && value.length <= MAX_ID_CHARS) return { [key]: value } as { [K in Key]: string };
  throw new MeshError("invalid_argument", `"${key}" must be a text of at most ${MAX_ID_CHARS} characters`);
}

function textOf(message: JsonObject): Json {
  const { props } = message;
  const content = isObject(props) ? props["content"] : undefined;
  return content ?? message;
}

function nested(steps: readonly string[], value: Json): JsonObject {
  let out: Json = value;
  for (const step of steps.toReversed()) out = { [step]: out };
  return isObject(out) ? out : { content: out };
}
