/** How much a trace may hold: texts that are too long are cut, keys that are too long and what is too much are refused. */

import { type Json, MeshError } from "@mesh/kernel";

const MAX_JSON_CHARS = 64 * 1024;
const HEAD_CHARS = 2_000;
const MAX_KEY_CHARS = 200;
// Of everything that nodes and spaces hold: it is kept as long as the run.
const MAX_HELD_CHARS = 4 * 1024 * 1024;

/** A text of an event. */
export function boundedText(value: Json): string {
  return (typeof value === "string" ? value : JSON.stringify(value)).slice(0, MAX_JSON_CHARS);
}

/** Traces are for people: what is too large to read is replaced by its beginning. */
export function bounded(value: Json): Json {
  const text = JSON.stringify(value);
  if (text.length <= MAX_JSON_CHARS) return value;
  return { truncated: true, bytes: text.length, head: text.slice(0, HEAD_CHARS) };
}

/** A key or an id that a script has chosen. */
export function readKey(key: string, what: string): string {
  if (key !== "" && key.length <= MAX_KEY_CHARS) return key;
  throw new MeshError("invalid_argument", `${what} must have at most ${MAX_KEY_CHARS} characters and at least one`);
}

/** Entries by key, counted together with others of the same trace. */
export class HeldEntries {
  readonly #entries = new Map<string, Json>();
  readonly #held: Held;
  #chars = 0;

  constructor(held: Held) {
    this.#held = held;
  }

  /** Keeps a value, cut to what is readable; `maxChars` bounds all values here together. */
  set(key: string, value: Json, maxChars: number): Json {
    const kept = bounded(value);
    const chars = charsOf(key, kept);
    const before = this.#entries.get(key);
    const freed = before === undefined ? 0 : charsOf(key, before);
    if (this.#chars - freed + chars > maxChars) {
      throw new MeshError("resource_exhausted", `this part of the trace holds at most ${maxChars / 1024} KiB`);
    }
    this.#held.change(chars - freed);
    this.#chars += chars - freed;
    this.#entries.set(key, kept);
    return kept;
  }

  get(key: string): Json | undefined {
    return this.#entries.get(key);
  }

  delete(key: string): void {
    const before = this.#entries.get(key);
    if (before === undefined) return;
    this.#held.change(-charsOf(key, before));
    this.#chars -= charsOf(key, before);
    this.#entries.delete(key);
  }

  clear(): void {
    for (const key of this.keys()) this.delete(key);
  }

  keys(): readonly string[] {
    return [...this.#entries.keys()];
  }

  entries(): readonly (readonly [string, Json])[] {
    return [...this.#entries];
  }
}

/** What a whole trace holds. */
export class Held {
  #chars = 0;

  change(chars: number): void {
    if (chars > 0 && this.#chars + chars > MAX_HELD_CHARS) {
      throw new MeshError("resource_exhausted", `a trace holds at most ${MAX_HELD_CHARS / 1024 / 1024} MB`);
    }
    this.#chars += chars;
  }
}

function charsOf(key: string, value: Json): number {
  return key.length + JSON.stringify(value).length;
}
