/** The spaces of a trace: containers for what is shown together. Their number and what they hold are bounded. */

import { type Json, MeshError } from "@mesh/kernel";

import { type Held, HeldEntries, readKey } from "./trace-bound.ts";

const MAX_SPACES = 200;
const MAX_SPACE_CHARS = 1024 * 1024;

/** See the file comment. */
export class TraceSpaces {
  readonly #held: Held;
  readonly #spaces = new Map<string, HeldEntries>();
  readonly #before: number;

  /** `before`: how many there were in segments of the run before this one. */
  constructor(held: Held, before: number) {
    this.#held = held;
    this.#before = before;
  }

  /** How many there have been. */
  get count(): number {
    return this.#before + this.#spaces.size;
  }

  /** Makes a space; one that there was is made anew. */
  create(wanted: Json | undefined): string {
    const id = typeof wanted === "string" && wanted !== "" ? readKey(wanted, "the id of a space") : this.#freeId();
    if (this.count >= MAX_SPACES && !this.#spaces.has(id)) {
      throw new MeshError("resource_exhausted", `a trace has ${MAX_SPACES} spaces at most`);
    }
    this.#spaces.get(id)?.clear();
    this.#spaces.set(id, new HeldEntries(this.#held));
    return id;
  }

  has(id: string): boolean {
    return this.#spaces.has(id);
  }

  /** Keeps a value; gives what was kept of it. */
  set(id: string, key: string, value: Json): Json {
    return this.#space(id).set(readKey(key, "a key of a space"), value, MAX_SPACE_CHARS);
  }

  get(id: string, key: string): Json {
    return this.#space(id).get(key) ?? null;
  }

  keys(id: string): readonly string[] {
    return this.#space(id).keys();
  }

  /** Without a key: everything in it. */
  delete(id: string, key: string | undefined): void {
    if (key === undefined) this.#space(id).clear();
    else this.#space(id).delete(key);
  }

  #freeId(): string {
    let n = this.count + 1;
    while (this.#spaces.has(`S${n}`)) n += 1;
    return `S${n}`;
  }

  #space(id: string): HeldEntries {
    const space = this.#spaces.get(id);
    if (space === undefined) throw new MeshError("not_found", `this trace has no space ${id.slice(0, 100)}`);
    return space;
  }
}
