/**
 * Cases of a large file: kept as the text they were written as, and read again when they run. Read cases are some ten times
 * the size of their text, and nearly all of them wait.
 */

import type { EvalCase } from "../eval-case.ts";

/** Reads a case that was read before, from its text. */
export type ReadAgain = (text: string, line: number) => EvalCase;

/** More than run at a time, as a rule; one that is no longer here is read once more. */
const MAX_READ = 64;

/** Packs the cases of one file. */
export class CasePacker {
  readonly #file: string;
  readonly #readAgain: ReadAgain;
  readonly #read = new Map<PackedCase, EvalCase>();

  constructor(file: string, readAgain: ReadAgain) {
    this.#file = file;
    this.#readAgain = readAgain;
  }

  /** The case, kept as its text; as it is when it names anything that must be looked at before cases run. */
  pack(test: EvalCase, text: string): EvalCase {
    return isPlain(test) ? new PackedCase(this, test, text) : test;
  }

  placeOf(line: number): EvalCase["place"] {
    return { file: this.#file, line };
  }

  read(packed: PackedCase, text: string, line: number): EvalCase {
    const known = this.#read.get(packed);
    if (known !== undefined) return known;
    const test = this.#readAgain(text, line);
    const [oldest] = this.#read.keys();
    if (this.#read.size >= MAX_READ && oldest !== undefined) this.#read.delete(oldest);
    this.#read.set(packed, test);
    return test;
  }
}

/** Whether there is nothing to look up for a case: no hook, script, validator, simulator, connector or file. */
export function isPacked(test: EvalCase): boolean {
  return test instanceof PackedCase;
}

function isPlain({ before, after, dialogue, options, messages, assertions }: EvalCase): boolean {
  return (
    before === undefined &&
    after === undefined &&
    dialogue === undefined &&
    options["connector"] === undefined &&
    messages.every(({ content }) => !Array.isArray(content)) &&
    assertions.every(({ type }) => type !== "script" && type !== "agent")
  );
}

class PackedCase implements EvalCase {
  readonly id: string;
  readonly hash: string;
  readonly #packer: CasePacker;
  readonly #text: string;
  readonly #line: number;

  constructor(packer: CasePacker, { id, hash, place }: EvalCase, text: string) {
    this.id = id;
    this.hash = hash;
    this.#packer = packer;
    this.#text = text;
    this.#line = place.line;
  }

  get place(): EvalCase["place"] {
    return this.#packer.placeOf(this.#line);
  }

  get messages(): EvalCase["messages"] {
    return this.#read().messages;
  }

  get assertions(): EvalCase["assertions"] {
    return this.#read().assertions;
  }

  get user(): string | undefined {
    return this.#read().user;
  }

  get team(): string | undefined {
    return this.#read().team;
  }

  get metadata(): EvalCase["metadata"] {
    return this.#read().metadata;
  }

  get options(): EvalCase["options"] {
    return this.#read().options;
  }

  get contextMetadata(): EvalCase["contextMetadata"] {
    return this.#read().contextMetadata;
  }

  get timeoutMs(): number | undefined {
    return this.#read().timeoutMs;
  }

  get isSkipped(): boolean {
    return this.#read().isSkipped;
  }

  get raw(): EvalCase["raw"] {
    return this.#read().raw;
  }

  #read(): EvalCase {
    return this.#packer.read(this, this.#text, this.#line);
  }
}
