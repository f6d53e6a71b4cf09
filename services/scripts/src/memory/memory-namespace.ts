/**
 * `ctx.memory.context` and its copies: a {@link LocalMemory} that journals what happens to it. Runs inside a script's
 * context and in the host alike, without any global of either.
 *
 * N1  Values are copied on the way in and out: what a script does to an object it stored or got changes nothing here.
 * N2  Every change is journaled, at most one entry per key; `takeChanges` gives the journal and empties it.
 * N3  What a method does to a key is what it does to a key of every other memory.
 */

import type { Json } from "@mesh/kernel";
import { itemsOf, type KeyChange, LocalMemory, type MemoryEntry } from "@mesh/memory";

/** A key with its value, as it travels: `expiresAt` is a wall-clock time in ms, or null for never. */
export type KeyedEntry = readonly [key: string, value: Json, expiresAt: number | null];

/** What happened to a namespace, in a form that can be applied to another copy of it. */
export interface MemoryChanges {
  /** Whether everything was deleted before the rest. */
  readonly cleared: boolean;
  readonly set: readonly KeyedEntry[];
  readonly deleted: readonly string[];
  /** Relative changes add up when several calls of a run make them at once. */
  readonly added: readonly (readonly [key: string, by: number])[];
  readonly pushed: readonly (readonly [key: string, values: readonly Json[]])[];
}

type Change =
  | { readonly kind: "put"; readonly entry: MemoryEntry | undefined }
  | { readonly kind: "added"; readonly by: number }
  | { readonly kind: "pushed"; readonly values: Json[] };

/** Keys and values of one namespace, with the methods scripts use. */
export class MemoryNamespace {
  readonly #now: () => number;
  #memory: LocalMemory;
  #changes = new Map<string, Change>();
  #cleared = false;

  constructor(now: () => number) {
    this.#now = now;
    this.#memory = this.#holding([]);
  }

  /** Applies one method of the memory API; values may be anything, JSON is what is kept of them. */
  call(method: string, args: readonly unknown[]): Json | undefined {
    if (method === "Clear") this.#clear();
    const result = this.#memory.call(method, args.map(copy));
    return result === undefined ? undefined : copy(result);
  }

  /** Replaces everything; not a change of its own. */
  load(entries: readonly KeyedEntry[]): void {
    this.#memory = this.#holding(entries);
  }

  entries(): KeyedEntry[] {
    return this.#memory.entries().map(([key, { value, expiresAt }]) => [key, value, expiresAt]);
  }

  /** What changed since the last time, or undefined when nothing did. */
  takeChanges(): MemoryChanges | undefined {
    if (this.#changes.size === 0 && !this.#cleared) return undefined;
    const set: KeyedEntry[] = [];
    const deleted: string[] = [];
    const added: [string, number][] = [];
    const pushed: [string, Json[]][] = [];
    for (const [key, change] of this.#changes) {
      if (change.kind === "added") added.push([key, change.by]);
      else if (change.kind === "pushed") pushed.push([key, change.values]);
      else if (change.entry === undefined) deleted.push(key);
      else set.push([key, change.entry.value, change.entry.expiresAt]);
    }
    const changes = { cleared: this.#cleared, set, deleted, added, pushed };
    this.#changes = new Map();
    this.#cleared = false;
    return changes;
  }

  /**
   * Applies what happened to another copy, and journals nothing; where both changed a key, the later call wins.
   * @throws MeshError where what both added to a key is more than it can hold; the rest may be applied or not
   */
  apply(changes: MemoryChanges): void {
    const memory = this.#memory;
    if (changes.cleared) memory.call("Clear", []);
    for (const key of changes.deleted) memory.put(key, undefined);
    for (const [key, value, expiresAt] of changes.set) memory.put(key, { value, expiresAt });
    for (const [key, by] of changes.added) this.#onto(key, (value) => typeof value === "number", "Incr", by);
    for (const [key, values] of changes.pushed) this.#onto(key, Array.isArray, "Push", values);
    this.#changes = new Map();
  }

  #onto(key: string, fits: (value: Json) => boolean, method: "Incr" | "Push", arg: Json): void {
    const held = this.#memory.entry(key);
    // Another call has put something else there meanwhile.
    if (held !== undefined && held.value !== null && !fits(held.value)) this.#memory.put(key, undefined);
    this.#memory.call(method, [key, arg]);
  }

  #holding(entries: readonly KeyedEntry[]): LocalMemory {
    const held = entries.map(([key, value, expiresAt]) => [key, { value, expiresAt }] as const);
    return new LocalMemory(this.#now, held, { onChange: (change) => this.#journal(change), isOwned: true });
  }

  #clear(): void {
    this.#changes.clear();
    this.#cleared = true;
  }

  #journal({ key, method, args, existed, after }: KeyChange): void {
    const known = this.#changes.get(key);
    if (known === undefined && !existed && after === undefined) return;
    // Relative only while nothing else happened to the key; what was added to an entry that has ended is lost with it.
    const relative = known === undefined || existed ? relativeChange(known, method, args) : undefined;
    this.#changes.set(key, relative ?? { kind: "put", entry: after });
  }
}

/** A change with one more in it, when both only add to what is there. */
function relativeChange(known: Change | undefined, method: string, args: readonly Json[]): Change | undefined {
  if (method === "Incr" || method === "Decr") {
    const step = typeof args[0] === "number" ? args[0] : 1;
    return added(known, method === "Incr" ? step : -step);
  }
  return method === "Push" ? pushed(known, itemsOf(args)) : undefined;
}

function added(known: Change | undefined, step: number): Change | undefined {
  if (known !== undefined && known.kind !== "added") return undefined;
  const by = (known?.by ?? 0) + step;
  return Number.isFinite(by) ? { kind: "added", by } : undefined;
}

function pushed(known: Change | undefined, items: readonly Json[]): Change | undefined {
  if (known !== undefined && known.kind !== "pushed") return undefined;
  const values = known?.values ?? [];
  for (const item of items) values.push(item);
  return { kind: "pushed", values };
}

/** The value as JSON would carry it: dates as text, no functions, no shared objects. */
function copy(value: unknown): Json {
  if (typeof value === "string" || typeof value === "boolean" || Number.isFinite(value)) return value as Json;
  if (typeof value !== "object" && typeof value !== "bigint") return null;
  const text = JSON.stringify(value) as string | undefined;
  return text === undefined ? null : (JSON.parse(text) as Json);
}
