/**
 * A memory space in this process: the space `context` of a run, and every space where there is no mesh.
 *
 * Entries that have ended are dropped when they are met; a space holds a bounded number of keys.
 */

import { type Json, MeshError } from "@mesh/kernel";

import { applyToEntry, isEntryMethod, type MemoryEntry, readKey } from "./memory-entry.ts";
import { isWildcard, matches } from "./memory-pattern.ts";

const MAX_KEYS = 100_000;

/** See the file comment. */
export class LocalMemory {
  readonly #entries: Map<string, MemoryEntry>;
  readonly #now: () => number;

  constructor(now: () => number, entries: Iterable<readonly [string, MemoryEntry]> = []) {
    this.#now = now;
    this.#entries = new Map(entries);
  }

  /** What it holds now. */
  entries(): readonly (readonly [string, MemoryEntry])[] {
    this.#dropEnded();
    return [...this.#entries];
  }

  /** Applies one method of the memory API. */
  call(method: string, args: readonly Json[]): Json | undefined {
    switch (method) {
      case "Keys":
        return this.#keys(args[0]);
      case "Len":
        return this.#keys(args[0]).length;
      case "Clear":
        this.#entries.clear();
        return undefined;
      default:
        return this.#callEntry(method, args);
    }
  }

  #callEntry(method: string, [first, ...rest]: readonly Json[]): Json | undefined {
    if (!isEntryMethod(method)) throw new MeshError("not_found", `memory has no method ${method}`);
    const key = readKey(first);
    if ((method === "Del" || method === "Delete") && isWildcard(key)) {
      for (const each of this.#keys(key)) this.#entries.delete(each);
      return undefined;
    }
    const { result, change } = applyToEntry(method, key, rest, { entry: this.#entries.get(key), now: this.#now() });
    if (change !== undefined) this.#put(key, change.entry);
    return result;
  }

  #put(key: string, entry: MemoryEntry | undefined): void {
    if (entry === undefined) this.#entries.delete(key);
    else if (this.#entries.has(key) || this.#entries.size < MAX_KEYS) this.#entries.set(key, entry);
    else throw new MeshError("resource_exhausted", `this memory holds ${MAX_KEYS} keys; delete some first`);
  }

  #keys(pattern: Json | undefined): string[] {
    this.#dropEnded();
    const keys = [...this.#entries.keys()];
    return typeof pattern === "string" && pattern !== "" ? keys.filter((key) => matches(pattern, key)) : keys;
  }

  #dropEnded(): void {
    const now = this.#now();
    for (const [key, { expiresAt }] of this.#entries) {
      if (expiresAt !== null && expiresAt <= now) this.#entries.delete(key);
    }
  }
}
