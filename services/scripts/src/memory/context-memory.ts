/**
 * `ctx.memory.context` and `ctx.space` of one run, as the host keeps them between and across its script calls.
 *
 * Scripts work on copies inside their contexts. A copy's changes come here before an operation starts and when the call
 * ends; a copy is replaced when an operation ends and other calls of the run changed something meanwhile. So nested
 * calls see what their callers wrote, callers see what nested calls wrote, and counters add up.
 */

import { isObject, type Json, MeshError } from "@mesh/kernel";

import { type KeyedEntry, type MemoryChanges, MemoryNamespace } from "./memory-namespace.ts";

const MAX_BYTES = 8 * 1024 * 1024;

/** Request-scoped memory of one run; hand the same one to each of its calls, drop it with the run. */
export class ContextMemory {
  readonly #namespace: MemoryNamespace;
  readonly #maxBytes: number;
  #version = 0;
  #snapshot: string | undefined;
  /** Bytes of changes since the size was last known, and that size. */
  #unmeasured = 0;

  constructor(now: () => number, maxBytes: number = MAX_BYTES) {
    this.#namespace = new MemoryNamespace(now);
    this.#maxBytes = maxBytes;
  }

  /** Grows with every change. */
  get version(): number {
    return this.#version;
  }

  /** All entries as JSON text, for a copy. */
  snapshot(): string {
    this.#snapshot ??= JSON.stringify(this.#namespace.entries());
    return this.#snapshot;
  }

  /** Takes the changes a script's copy reports; refuses what is no change or makes the memory too large. */
  apply(changesText: string): void {
    const changes = parseChanges(changesText);
    // Also when not all of it fits: the copy it came from must be replaced then.
    this.#version += 1;
    this.#snapshot = undefined;
    this.#namespace.apply(changes);
    // Measuring costs as much as a snapshot; a small change cannot have made a small memory large.
    this.#unmeasured += changesText.length;
    if (this.#unmeasured < this.#maxBytes) return;
    const bytes = this.snapshot().length;
    if (bytes > this.#maxBytes) {
      this.#namespace.load([]);
      this.#snapshot = undefined;
      throw new MeshError(
        "resource_exhausted",
        `ctx.memory.context holds ${bytes} bytes; a run may keep ${this.#maxBytes}. Store large data in files or in ctx.memory.chat`,
      );
    }
    this.#unmeasured = bytes;
  }
}

function parseChanges(text: string): MemoryChanges {
  const value = parsed(text);
  const entriesOf = <Item>(field: string, accepts: (item: unknown) => item is Item): readonly Item[] => {
    const list = value[field];
    if (Array.isArray(list) && list.every(accepts)) return list;
    throw unreadable();
  };
  return {
    cleared: value["cleared"] === true,
    set: entriesOf("set", isEntry),
    deleted: entriesOf("deleted", (item): item is string => typeof item === "string"),
    added: entriesOf("added", (item): item is [string, number] => isPair(item) && typeof item[1] === "number"),
    pushed: entriesOf("pushed", (item): item is [string, Json[]] => isPair(item) && Array.isArray(item[1])),
  };
}

function parsed(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return value;
  } catch {
    // Said below.
  }
  throw unreadable();
}

function unreadable(): MeshError {
  return new MeshError("invalid_argument", "A script reported changes of its memory that cannot be read");
}

function isPair(item: unknown): item is [string, unknown] {
  return Array.isArray(item) && typeof item[0] === "string";
}

function isEntry(item: unknown): item is KeyedEntry {
  if (!Array.isArray(item) || item.length !== 3) return false;
  const [key, , expiresAt]: readonly unknown[] = item;
  return typeof key === "string" && (expiresAt === null || typeof expiresAt === "number");
}
