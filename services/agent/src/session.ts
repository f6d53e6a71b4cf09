/**
 * A conversation as a tree: going back and going on makes a branch, and no branch is ever lost.
 *
 * One JSON object per line, append-only: an entry, or a move of the head. A file whose last line was torn by a crash
 * loads without that line; any other bad line is an error that names it.
 */

import { isObject, MeshError } from "@mesh/kernel";

import { type AgentMessage, readMessage } from "./message.ts";

/** One message with its place in the tree. */
export interface SessionEntry {
  readonly id: string;
  /** Null for a first message. */
  readonly parentId: string | null;
  readonly message: AgentMessage;
  readonly timestamp: number;
  /** Name of the checkpoint that was set here. */
  readonly label?: string;
}

/** One line of a session file. */
type SessionLine =
  | { readonly entry: SessionEntry }
  | { readonly head: string | null }
  | { readonly label: string; readonly at: string };

/** Why history could not be appended: it parts from the branch at this index. */
export interface Divergence {
  readonly divergedAt: number;
}

/** A tree of messages with a head; see the file comment. */
export class Session {
  readonly #entries = new Map<string, SessionEntry>();
  readonly #children = new Map<string | null, string[]>();
  readonly #labels = new Map<string, string>();
  readonly #onLine: (line: string) => void;
  #head: string | null = null;
  #next = 1;

  /** `onLine` is given each line to append to a file. */
  constructor(onLine: (line: string) => void = () => undefined) {
    this.#onLine = onLine;
  }

  /** A session of one branch. */
  static fromMessages(messages: readonly AgentMessage[]): Session {
    const session = new Session();
    for (const message of messages) session.append(message);
    return session;
  }

  /** Reads a session; its head is where the last line left it. */
  static fromJsonl(text: string, onLine?: (line: string) => void): Session {
    const session = new Session(onLine);
    const lines = text.split("\n");
    const isTorn = lines.at(-1) !== "";
    for (const [index, line] of lines.entries()) {
      if (line.trim() === "") continue;
      const isLast = index === lines.length - 1;
      const parsed = parseLine(line);
      if (parsed === undefined) {
        if (isLast && isTorn) break;
        throw new MeshError("invalid_argument", `line ${index + 1} of the session is not a JSON object`);
      }
      session.#load(parsed, index + 1);
    }
    return session;
  }

  get head(): string | null {
    return this.#head;
  }

  get size(): number {
    return this.#entries.size;
  }

  entry(id: string): SessionEntry {
    const entry = this.#entries.get(id);
    if (entry === undefined) throw new MeshError("not_found", `the session has no entry ${JSON.stringify(id)}`);
    return entry;
  }

  /** Adds a message below the head and moves the head to it; gives its id. */
  append(message: AgentMessage, timestamp: number = message.timestamp ?? 0): string {
    while (this.#entries.has(`e${this.#next}`)) this.#next += 1;
    const entry: SessionEntry = { id: `e${this.#next}`, parentId: this.#head, message, timestamp };
    this.#add(entry);
    this.#write({ entry });
    return entry.id;
  }

  /** Appends what `history` has beyond the current branch; says where it parts when it is not a continuation. */
  appendNew(history: readonly AgentMessage[]): readonly string[] | Divergence {
    const path = this.pathMessages();
    const at = path.findIndex((message, index) => JSON.stringify(message) !== JSON.stringify(history[index]));
    if (at >= 0) return { divergedAt: at };
    return history.slice(path.length).map((message) => this.append(message));
  }

  /** Moves the head; the next append starts a branch there. Null is before the first message. */
  seek(id: string | null): void {
    if (id !== null) this.entry(id);
    this.#head = id;
    this.#write({ head: id });
  }

  /** Names the head. A name used again means the newer place. */
  checkpoint(label: string): void {
    if (this.#head === null) throw new MeshError("failed_precondition", "there is no message to set a checkpoint at");
    this.#label(label, this.#head);
    this.#write({ label, at: this.#head });
  }

  /** Moves the head to a named place. */
  seekCheckpoint(label: string): void {
    const id = this.#labels.get(label);
    if (id === undefined) {
      throw new MeshError("not_found", `the session has no checkpoint named ${JSON.stringify(label)}`);
    }
    this.seek(id);
  }

  /** Ids from the first message to the head. */
  pathIds(): readonly string[] {
    const ids: string[] = [];
    for (let id = this.#head; id !== null; id = this.entry(id).parentId) ids.push(id);
    return ids.toReversed();
  }

  /** Messages from the first one to the head: a history. */
  pathMessages(): readonly AgentMessage[] {
    return this.pathIds().map((id) => this.entry(id).message);
  }

  /** Ids directly below an entry; null for the first messages. */
  children(id: string | null): readonly string[] {
    return [...(this.#children.get(id) ?? [])];
  }

  /** Ends of all branches. */
  tips(): readonly string[] {
    return [...this.#entries.keys()].filter((id) => this.children(id).length === 0);
  }

  /** The whole tree and its head, as lines. */
  toJsonl(): string {
    const lines: SessionLine[] = [...this.#entries.values()].map((entry) => ({ entry }));
    lines.push({ head: this.#head });
    return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  }

  #load(line: Record<string, unknown>, number: number): void {
    const where = `line ${number} of the session`;
    if ("head" in line) {
      const { head } = line;
      if (head !== null && (typeof head !== "string" || !this.#entries.has(head))) {
        throw new MeshError("invalid_argument", `${where} moves to an entry that does not exist`);
      }
      this.#head = head;
      return;
    }
    if (typeof line["label"] === "string" && typeof line["at"] === "string") {
      if (!this.#entries.has(line["at"])) throw new MeshError("invalid_argument", `${where} names an unknown entry`);
      this.#label(line["label"], line["at"]);
      return;
    }
    this.#add(readEntry(line["entry"] ?? line, where, this.#entries));
  }

  #add(entry: SessionEntry): void {
    this.#entries.set(entry.id, entry);
    const siblings = this.#children.get(entry.parentId);
    if (siblings === undefined) this.#children.set(entry.parentId, [entry.id]);
    else siblings.push(entry.id);
    if (entry.label !== undefined) this.#labels.set(entry.label, entry.id);
    this.#head = entry.id;
  }

  #label(label: string, id: string): void {
    this.#labels.delete(label);
    this.#labels.set(label, id);
    this.#entries.set(id, { ...this.entry(id), label });
  }

  #write(line: SessionLine): void {
    this.#onLine(`${JSON.stringify(line)}\n`);
  }
}

function parseLine(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function readEntry(value: unknown, where: string, known: ReadonlyMap<string, SessionEntry>): SessionEntry {
  if (!isObject(value)) throw new MeshError("invalid_argument", `${where} is not an entry`);
  const parentId = value["parentId"] ?? value["parent_id"] ?? null;
  const { id, label, timestamp } = value;
  if (typeof id !== "string" || id === "") throw new MeshError("invalid_argument", `${where} has no "id"`);
  if (known.has(id)) throw new MeshError("invalid_argument", `${where} repeats the id ${id}`);
  if (parentId !== null && (typeof parentId !== "string" || !known.has(parentId))) {
    throw new MeshError("invalid_argument", `${where} has a parent that does not come before it`);
  }
  return {
    id,
    parentId,
    message: readMessage(value["message"], where),
    timestamp: typeof timestamp === "number" ? timestamp : 0,
    ...(typeof label === "string" ? { label } : {}),
  };
}
