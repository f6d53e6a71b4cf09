/**
 * Names under which a model sees the tools of servers, and the way back.
 *
 * N1  Every pair of server and tool has one name, every name leads to one pair, whatever characters and lengths they have.
 * N2  A name is one all providers accept: a letter or `_`, then letters, digits, `_` and `-`, at most 64.
 * N3  It reads `<server, dots as underscores>__<tool>` unless that breaks N1 or N2; then it ends in a digest of the pair.
 */

import { createHash } from "node:crypto";

/** A tool of a server. */
export interface ToolAddress {
  readonly server: string;
  readonly tool: string;
}

const MAX_LENGTH = 64;
const DIGEST_LENGTH = 10;
const ACCEPTED = /^[A-Za-z_][A-Za-z0-9_-]*$/;

/** The names of one run. */
export class ToolNames {
  readonly #taken: ReadonlySet<string>;
  readonly #names = new Map<string, string>();
  readonly #addresses = new Map<string, ToolAddress>();

  /** `taken` are names the run uses otherwise. */
  constructor(taken: Iterable<string> = []) {
    this.#taken = new Set(taken);
  }

  /** The name of a tool; the same pair always has the same one. */
  encode(server: string, tool: string): string {
    const key = JSON.stringify([server, tool]);
    const known = this.#names.get(key);
    if (known !== undefined) return known;
    const plain = `${server.replaceAll(".", "_")}__${tool}`;
    const isUsable = plain.length <= MAX_LENGTH && ACCEPTED.test(plain) && this.#isFree(plain);
    const name = isUsable ? plain : this.#withDigest(plain, key);
    this.#names.set(key, name);
    this.#addresses.set(name, { server, tool });
    return name;
  }

  /** The tool behind a name that `encode` gave. */
  decode(name: string): ToolAddress | undefined {
    return this.#addresses.get(name);
  }

  #withDigest(plain: string, key: string): string {
    const readable = plain.replaceAll(/[^A-Za-z0-9_-]/g, "_").replace(/^[^A-Za-z_]/, "_");
    const prefix = readable.slice(0, MAX_LENGTH - DIGEST_LENGTH - 1);
    for (let attempt = 0; ; attempt += 1) {
      const digest = createHash("sha256").update(`${attempt}${key}`).digest("hex").slice(0, DIGEST_LENGTH);
      const name = `${prefix}_${digest}`;
      if (this.#isFree(name)) return name;
    }
  }

  #isFree(name: string): boolean {
    return !this.#taken.has(name) && !this.#addresses.has(name);
  }
}
