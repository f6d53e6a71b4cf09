/**
 * One namespace of memory: keys with JSON values, times to live, counters and lists. Runs inside a script's context
 * and in the host alike, without any global of either.
 *
 * N1  Values are copied on the way in and out: what a script does to an object it stored or got changes nothing here.
 * N2  Every change is journaled, at most one entry per key; `takeChanges` gives the journal and empties it.
 * N3  An expired key does not exist for any method.
 */

import type { Json } from "@mesh/kernel";

/** A key with its value, as it travels: `expiresAt` is a wall-clock time in ms, or null for never. */
export type MemoryEntry = readonly [key: string, value: Json, expiresAt: number | null];

/** What happened to a namespace, in a form that can be applied to another copy of it. */
export interface MemoryChanges {
  /** Whether everything was deleted before the rest. */
  readonly cleared: boolean;
  readonly set: readonly MemoryEntry[];
  readonly deleted: readonly string[];
  /** Relative changes add up when several calls of a run make them at once. */
  readonly added: readonly (readonly [key: string, by: number])[];
  readonly pushed: readonly (readonly [key: string, values: readonly Json[]])[];
}

interface Entry {
  value: Json;
  expiresAt: number | null;
}

type Change =
  | { readonly kind: "set" | "deleted" }
  | { readonly kind: "added"; by: number }
  | { readonly kind: "pushed"; readonly values: Json[] };

/** A refusal: the method does not fit the value, or an argument is out of range. */
export class MemoryError extends Error {
  override readonly name = "MemoryError";
}

/** Keys and values of one namespace. Method names are the ones scripts use, in lower case. */
export class MemoryNamespace {
  readonly #now: () => number;
  readonly #entries = new Map<string, Entry>();
  #changes = new Map<string, Change>();
  #cleared = false;

  constructor(now: () => number) {
    this.#now = now;
  }

  get(key: string): Json {
    const entry = this.#live(key);
    return entry === undefined ? null : copy(entry.value);
  }

  /** `ttlSeconds` null or 0: for ever. */
  set(key: string, value: Json, ttlSeconds: number | null): void {
    const expiresAt = ttlSeconds === null || ttlSeconds <= 0 ? null : this.#now() + ttlSeconds * 1000;
    this.#put(key, { value: copy(value), expiresAt });
  }

  /** Deletes a key, or with `*` every key that matches. */
  del(pattern: string): void {
    if (!pattern.includes("*")) this.#remove(pattern);
    else for (const key of this.keys()) if (matches(pattern, key)) this.#remove(key);
  }

  has(key: string): boolean {
    return this.#live(key) !== undefined;
  }

  getDel(key: string): Json {
    const value = this.get(key);
    this.#remove(key);
    return value;
  }

  keys(): string[] {
    return [...this.#entries.keys()].filter((key) => this.#live(key) !== undefined);
  }

  len(): number {
    return this.keys().length;
  }

  clear(): void {
    this.#entries.clear();
    this.#changes.clear();
    this.#cleared = true;
  }

  /** Adds to a counter, keeping its time to live; what is no number counts as 0. */
  incr(key: string, by: number): number {
    const entry = this.#live(key);
    const before = typeof entry?.value === "number" ? entry.value : 0;
    this.#entries.set(key, { value: before + by, expiresAt: entry?.expiresAt ?? null });
    const change = this.#changes.get(key);
    if (change?.kind === "added") change.by += by;
    else this.#changes.set(key, change === undefined ? { kind: "added", by } : { kind: "set" });
    return before + by;
  }

  push(key: string, values: readonly Json[]): number {
    const list = this.#listToChange(key);
    const copies = values.map(copy);
    for (const value of copies) list.push(value);
    const change = this.#changes.get(key);
    if (change?.kind === "pushed") change.values.push(...copies);
    else this.#changes.set(key, change === undefined ? { kind: "pushed", values: copies } : { kind: "set" });
    return list.length;
  }

  pop(key: string): Json {
    return this.pull(key, 1)[0] ?? null;
  }

  /** Removes and returns the last `count` elements, in their order. */
  pull(key: string, count: number): Json[] {
    const list = this.#list(key);
    if (list === undefined || count <= 0) return [];
    this.#changes.set(key, { kind: "set" });
    return list.splice(Math.max(0, list.length - count));
  }

  pullAll(key: string): Json[] {
    return this.pull(key, Number.POSITIVE_INFINITY);
  }

  /** Appends the values that are not in the list yet; equal means equal JSON. */
  addToSet(key: string, values: readonly Json[]): number {
    const list = this.#listToChange(key);
    const known = new Set(list.map((value) => canonical(value)));
    for (const value of values) {
      const text = canonical(value);
      if (known.has(text)) continue;
      known.add(text);
      list.push(copy(value));
    }
    this.#changes.set(key, { kind: "set" });
    return list.length;
  }

  arrayLen(key: string): number {
    return this.#list(key)?.length ?? 0;
  }

  /** The element at `index`, from the end when negative; null when there is none. */
  arrayGet(key: string, index: number): Json {
    return copy(this.#list(key)?.at(index) ?? null);
  }

  arraySet(key: string, index: number, value: Json): void {
    const list = this.#list(key);
    const at = index < 0 ? (list?.length ?? 0) + index : index;
    if (list === undefined || !(at in list)) {
      throw new MemoryError(`"${key}" has ${list?.length ?? 0} elements: there is none at ${index} to set`);
    }
    list[at] = copy(value);
    this.#changes.set(key, { kind: "set" });
  }

  /** From `start` to `end`: a positive end is exclusive; a negative one counts from the end and is included. */
  arraySlice(key: string, start: number, end: number): Json[] {
    const list = this.#list(key) ?? [];
    return list.slice(start, end < 0 ? list.length + end + 1 : end).map(copy);
  }

  /** Page `page` (from 1) of `size` elements. */
  arrayPage(key: string, page: number, size: number): Json[] {
    if (page < 1 || size < 1) return [];
    return (this.#list(key) ?? []).slice((page - 1) * size, page * size).map(copy);
  }

  arrayAll(key: string): Json[] {
    return (this.#list(key) ?? []).map(copy);
  }

  /** Replaces everything; not a change of its own. */
  load(entries: readonly MemoryEntry[]): void {
    this.#entries.clear();
    for (const [key, value, expiresAt] of entries) this.#entries.set(key, { value, expiresAt });
  }

  entries(): MemoryEntry[] {
    return this.keys().map((key) => [
      key,
      this.#entries.get(key)?.value ?? null,
      this.#entries.get(key)?.expiresAt ?? null,
    ]);
  }

  /** What changed since the last time, or undefined when nothing did. */
  takeChanges(): MemoryChanges | undefined {
    if (this.#changes.size === 0 && !this.#cleared) return undefined;
    const set: MemoryEntry[] = [];
    const deleted: string[] = [];
    const added: [string, number][] = [];
    const pushed: [string, Json[]][] = [];
    for (const [key, change] of this.#changes) {
      const entry = this.#entries.get(key);
      if (change.kind === "added") added.push([key, change.by]);
      else if (change.kind === "pushed") pushed.push([key, change.values]);
      else if (change.kind === "deleted" || entry === undefined) deleted.push(key);
      else set.push([key, entry.value, entry.expiresAt]);
    }
    const changes = { cleared: this.#cleared, set, deleted, added, pushed };
    this.#changes = new Map();
    this.#cleared = false;
    return changes;
  }

  /** Applies what happened to another copy; where both changed a key, the later call wins. */
  apply(changes: MemoryChanges): void {
    if (changes.cleared) this.clear();
    for (const key of changes.deleted) this.#remove(key);
    for (const [key, value, expiresAt] of changes.set) this.#put(key, { value: copy(value), expiresAt });
    for (const [key, by] of changes.added) this.incr(key, by);
    for (const [key, values] of changes.pushed) {
      if (this.has(key) && !Array.isArray(this.#live(key)?.value)) this.#put(key, { value: [], expiresAt: null });
      this.push(key, values);
    }
  }

  #live(key: string): Entry | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined || entry.expiresAt === null || entry.expiresAt > this.#now()) return entry;
    this.#remove(key);
    return undefined;
  }

  #put(key: string, entry: Entry): void {
    this.#entries.set(key, entry);
    this.#changes.set(key, { kind: "set" });
  }

  #remove(key: string): void {
    if (this.#entries.delete(key)) this.#changes.set(key, { kind: "deleted" });
  }

  #list(key: string): Json[] | undefined {
    const value = this.#live(key)?.value;
    if (value === undefined) return undefined;
    if (!Array.isArray(value)) throw new MemoryError(`"${key}" holds ${kindOf(value)}, not a list`);
    return value as Json[];
  }

  #listToChange(key: string): Json[] {
    const list = this.#list(key);
    if (list !== undefined) return list;
    const created: Json[] = [];
    this.#entries.set(key, { value: created, expiresAt: null });
    return created;
  }
}

function copy<Value extends Json>(value: Value): Value {
  return typeof value === "object" && value !== null ? (JSON.parse(JSON.stringify(value)) as Value) : value;
}

function canonical(value: Json): string {
  return JSON.stringify(value, (_key, inner: Json) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

function kindOf(value: Json): string {
  return value === null ? "null" : `a${typeof value === "object" ? "n" : ""} ${typeof value}`;
}

/** `*` stands for any characters. Linear in both texts, so that no pattern can be slow. */
function matches(pattern: string, key: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop() ?? "";
  if (!key.startsWith(first) || !key.endsWith(last) || key.length < first.length + last.length) return false;
  let from = first.length;
  for (const part of rest) {
    const at = key.indexOf(part, from);
    if (at < 0) return false;
    from = at + part.length;
  }
  return from <= key.length - last.length;
}
