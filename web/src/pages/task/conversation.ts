/**
 * A conversation as it is shown: whole messages from the server, then the events of the run that goes on.
 *
 * V1  Applying the same event twice changes nothing; the cursor only grows.
 * V2  The end of a message supersedes its pieces.
 * V3  A run adds at most 400 entries; the oldest make room.
 * V4  A piece costs the same however long the message is.
 */

import type { PendingItem, RunEvent, TaskMessage } from "@mesh/proto";

import { isRecord } from "../../api/error.ts";

/** One entry of the conversation; `version` counts its changes. */
export interface Entry {
  readonly id: string;
  readonly role: "user" | "assistant";
  readonly author: string;
  readonly at: string;
  readonly runId: string | undefined;
  readonly threadId: string | undefined;
  type: string;
  props: Readonly<Record<string, unknown>>;
  /** The text, or the arguments of a tool call. */
  text: string;
  isOpen: boolean;
  version: number;
}

const MAX_ENTRIES = 400;
const NOT_SHOWN = new Set(["event", "loading", "trace", "log"]);

/** The conversation of one task; tells its listeners at most once per `flush`. */
export class Conversation {
  #entries: readonly Entry[] = [];
  readonly #byId = new Map<string, Entry>();
  readonly #listeners = new Set<() => void>();
  #cursor = 0;
  #runId = "";
  #version = 0;
  #isTold = true;
  /** What the run asks, as its events say. */
  pending: readonly PendingItem[] | undefined;
  /** The state that the events tell; undefined before they do. */
  runState: string | undefined;

  /** The entries, oldest first; another list whenever one is added. */
  get entries(): readonly Entry[] {
    return this.#entries;
  }

  /** The `seq` of the last event that was applied. */
  get cursor(): number {
    return this.#cursor;
  }

  /** Counts all changes; for `useSyncExternalStore`. */
  readonly snapshot = (): number => this.#version;

  /** Calls back after changes. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Puts whole messages before what is there, or in the place of what they repeat. */
  addPage(messages: readonly TaskMessage[]): void {
    const fresh = messages.flatMap((message) => {
      const entry = entryOf(message);
      return entry === undefined || this.#byId.has(entry.id) ? [] : [entry];
    });
    for (const entry of fresh) this.#byId.set(entry.id, entry);
    this.#entries = [...fresh, ...this.#entries];
    this.#change();
    this.flush();
  }

  /** Puts newer whole messages after what is there. */
  addNewer(messages: readonly TaskMessage[]): void {
    for (const message of messages) {
      const entry = entryOf(message);
      if (entry !== undefined && !this.#byId.has(entry.id)) this.#add(entry);
    }
    this.flush();
  }

  /** Says which run goes on, and after which event. */
  follow(runId: string, cursor: number): void {
    if (runId === this.#runId) return;
    this.#runId = runId;
    this.#cursor = cursor;
  }

  /** Applies an event of the run; what was applied already is ignored. */
  apply(event: RunEvent): void {
    if (event.run_id !== this.#runId || event.seq <= this.#cursor) return;
    this.#cursor = event.seq;
    const { data } = event;
    if (event.kind === "message" && data !== undefined) this.#message(event, data);
    else if (event.kind === "snapshot" && data !== undefined) this.#snapshot(event, data);
    else if (event.kind.startsWith("run.")) this.#lifecycle(event);
  }

  /** Tells the listeners, when anything changed. */
  flush(): void {
    if (this.#isTold) return;
    this.#isTold = true;
    for (const listener of this.#listeners) listener();
  }

  #change(): void {
    this.#version += 1;
    this.#isTold = false;
  }

  #lifecycle({ kind, data }: RunEvent): void {
    const name = kind.slice("run.".length);
    if (name === "asked" && Array.isArray(data?.["pending"])) {
      this.pending = data["pending"].filter(isPending);
      this.runState = "waiting";
    } else if (name === "answered") {
      const id: unknown = data?.["call_id"];
      this.pending = this.pending?.filter((item) => item.id !== id);
    } else if (name === "finished") {
      this.pending = [];
      this.runState = typeof data?.["state"] === "string" ? data["state"] : undefined;
      for (const entry of this.#entries) if (entry.isOpen) this.#update(entry, { isOpen: false });
    } else if (name === "started") this.runState = "running";
    this.#change();
  }

  #snapshot(event: RunEvent, data: Readonly<Record<string, unknown>>): void {
    const messages: unknown = data["messages"];
    if (!Array.isArray(messages)) return;
    for (const message of messages) if (isRecord(message)) this.#message(event, message);
  }

  #message(event: RunEvent, message: Readonly<Record<string, unknown>>): void {
    const type = textOf(message["type"]);
    const props = isRecord(message["props"]) ? message["props"] : {};
    if (type === "event") this.#event(event, message, props);
    else if (!NOT_SHOWN.has(type)) this.#piece(event, message, type, props);
  }

  #event(event: RunEvent, message: Readonly<Record<string, unknown>>, props: Readonly<Record<string, unknown>>): void {
    const data = isRecord(props["data"]) ? props["data"] : {};
    const id = textOf(data["message_id"]);
    if (id === "") return;
    const type = textOf(data["type"]);
    const call = isRecord(data["tool_call"]) ? data["tool_call"] : {};
    if (props["event"] === "message_start") {
      const entry = this.#entryFor(event, { ...message, thread_id: data["thread_id"], message_id: id }, type);
      this.#update(entry, { isOpen: true, props: { ...entry.props, ...call } });
    } else if (props["event"] === "message_end") {
      const entry = this.#entryFor(event, { ...message, thread_id: data["thread_id"], message_id: id }, type);
      const extra = isRecord(data["extra"]) ? data["extra"] : {};
      const text = typeof extra["content"] === "string" ? extra["content"] : entry.text;
      const facts = { duration_ms: data["duration_ms"], status: data["status"] };
      this.#update(entry, { isOpen: false, text, props: { ...entry.props, ...call, ...facts } });
    }
  }

  #piece(
    event: RunEvent,
    message: Readonly<Record<string, unknown>>,
    type: string,
    props: Readonly<Record<string, unknown>>,
  ): void {
    const entry = this.#entryFor(event, message, type);
    if (message["delta"] !== true) {
      this.#update(entry, { type, props, text: contentOf(type, props), isOpen: props["status"] === "running" });
      return;
    }
    const action = message["delta_action"];
    const path = textOf(message["delta_path"]) || "content";
    const field = type === "tool_call" ? "arguments" : "content";
    const { [path]: piece, ...rest } = props;
    if (action === "merge") {
      const isFirst = type === "tool_call" && typeof props["arguments"] === "string";
      this.#update(entry, {
        props: { ...entry.props, ...props },
        ...(isFirst ? { text: textOf(props["arguments"]) } : {}),
      });
    } else if (path === field || (path === "content" && action === undefined)) {
      const text = action === "replace" || action === "set" ? textOf(piece) : entry.text + textOf(piece);
      this.#update(entry, Object.keys(rest).length === 0 ? { text } : { text, props: { ...entry.props, ...rest } });
    } else {
      const before = action === "append" ? textOf(entry.props[path]) : "";
      const value = action === "append" ? before + textOf(piece) : piece;
      this.#update(entry, { props: { ...entry.props, ...rest, [path]: value } });
    }
  }

  #entryFor(event: RunEvent, message: Readonly<Record<string, unknown>>, type: string): Entry {
    const messageId = textOf(message["message_id"]) || `seq${event.seq}`;
    const id = `${event.run_id} ${messageId}`;
    const known = this.#byId.get(id);
    if (known !== undefined) return known;
    const entry: Entry = {
      id,
      role: "assistant",
      author: "",
      at: event.at,
      runId: event.run_id,
      threadId: textOf(message["thread_id"]) || undefined,
      type,
      props: {},
      text: "",
      isOpen: false,
      version: 0,
    };
    this.#add(entry);
    return entry;
  }

  #add(entry: Entry): void {
    this.#byId.set(entry.id, entry);
    const all = [...this.#entries, entry];
    for (const old of all.splice(0, Math.max(0, all.length - MAX_ENTRIES))) this.#byId.delete(old.id);
    this.#entries = all;
    this.#change();
  }

  #update(entry: Entry, change: Partial<Pick<Entry, "type" | "props" | "text" | "isOpen">>): void {
    Object.assign(entry, change);
    entry.version += 1;
    this.#change();
  }
}

function entryOf({ seq, role, author, at, run_id, message }: TaskMessage): Entry | undefined {
  const type = textOf(message?.["type"]);
  const props = isRecord(message?.["props"]) ? message["props"] : {};
  if (message === undefined || NOT_SHOWN.has(type)) return undefined;
  const messageId = textOf(message["message_id"]);
  return {
    id: run_id !== undefined && run_id !== "" && messageId !== "" ? `${run_id} ${messageId}` : `seq ${seq}`,
    role: role === "user" ? "user" : "assistant",
    author,
    at,
    runId: run_id,
    threadId: textOf(message["thread_id"]) || undefined,
    type,
    props,
    text: contentOf(type, props),
    isOpen: false,
    version: 0,
  };
}

function contentOf(type: string, props: Readonly<Record<string, unknown>>): string {
  if (type === "tool_call") return textOf(props["arguments"]) || textOf(props["content"]);
  return textOf(props["content"]) || textOf(props["text"]) || textOf(props["message"]);
}

function isPending(value: unknown): value is PendingItem {
  return isRecord(value) && typeof value["id"] === "string" && typeof value["kind"] === "string";
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
