/**
 * A memory space in this process: the space `context` of a run, and every space where there is no mesh.
 *
 * Entries that have ended are dropped when they are met; a space holds a bounded number of keys.
 */

import { type Json, MeshError } from "@mesh/kernel";

import {
  applyToEntry,
  ENTRY_METHODS,
  type EntryMethod,
  isEntryMethod,
  type MemoryEntry,
  readKey,
} from "./memory-entry.ts";
import { isWildcard, matches } from "./memory-pattern.ts";

const MAX_KEYS = 100_000;

/** All methods of the memory API: those that concern one key, and those that concern all. */
export const MEMORY_METHODS: readonly (EntryMethod | "Keys" | "Len" | "Clear")[] = [
  ...ENTRY_METHODS,
  "Keys",
  "Len",
  "Clear",
];

/** A key that a method has changed. */
export interface KeyChange {
  readonly key: string;
  readonly method: EntryMethod;
  /** What the method was given after the key. */
  readonly args: readonly Json[];
  /** Whether it held anything; what has ended is nothing. */
  readonly existed: boolean;
  readonly after: MemoryEntry | undefined;
}

/** What a holder of a {@link LocalMemory} may ask for. */
export interface LocalMemoryOptions {
  /** Hears of every changed key, after the change; not of `Clear`, and not of what is put. */
  readonly onChange?: (change: KeyChange) => void;
  /** The holder copies every value on the way in and out, so that lists may be changed in place. */
  readonly isOwned?: boolean;
}

/** See the file comment. */
export class LocalMemory {
  readonly #entries: Map<string, MemoryEntry>;
  readonly #now: () => number;
  readonly #onChange: ((change: KeyChange) => void) | undefined;
  readonly #isOwned: boolean;

  constructor(
    now: () => number,
    entries: Iterable<readonly [string, MemoryEntry]> = [],
    { onChange, isOwned = false }: LocalMemoryOptions = {},
  ) {
    this.#now = now;
    this.#entries = new Map(entries);
    this.#onChange = onChange;
    this.#isOwned = isOwned;
  }

  /** What it holds now. */
  entries(): readonly (readonly [string, MemoryEntry])[] {
    this.#dropEnded();
    return [...this.#entries];
  }

  /** What a key holds now. */
  entry(key: string): MemoryEntry | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined || entry.expiresAt === null || entry.expiresAt > this.#now()) return entry;
    this.#entries.delete(key);
    return undefined;
  }

  /** Makes a key hold an entry, or (undefined) nothing. */
  put(key: string, entry: MemoryEntry | undefined): void {
    if (entry === undefined) this.#entries.delete(key);
    else if (this.#entries.has(key) || this.#entries.size < MAX_KEYS) this.#entries.set(key, entry);
    else throw new MeshError("resource_exhausted", `this memory holds ${MAX_KEYS} keys; delete some first`);
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

  #callEntry(method: string, all: readonly Json[]): Json | undefined {
    if (!isEntryMethod(method)) throw new MeshError("not_found", `memory has no method ${method}`);
    const first = all[0];
    const args = all.slice(1);
    // A key that is there has been read before.
    const key = typeof first === "string" && this.#entries.has(first) ? first : readKey(first);
    if ((method === "Del" || method === "Delete") && isWildcard(key)) {
      for (const each of this.#keys(key)) this.#apply(method, each, args);
      return undefined;
    }
    return this.#apply(method, key, args);
  }

  #apply(method: EntryMethod, key: string, args: readonly Json[]): Json | undefined {
    const before = this.entry(key);
    // What is here has not ended, so that only a new time to live counts from now; asking a clock costs more than the rest.
    const now = typeof args[1] === "number" ? this.#now() : 0;
    const at = { entry: before, now, isOwned: this.#isOwned };
    const { result, change } = applyToEntry(method, key, args, at);
    if (change !== undefined) {
      this.put(key, change.entry);
      this.#onChange?.({ key, method, args, existed: before !== undefined, after: change.entry });
    }
    return result;
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
