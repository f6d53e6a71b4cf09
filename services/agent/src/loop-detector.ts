/**
 * Notices a model that repeats one call.
 *
 * Counts consecutive identical calls (same name, same arguments whatever the order of their keys), also inside one
 * response. The first trip asks for a nudge, the second trip of the same call asks for a stop. Alternating calls are
 * not a loop by design: polling two things in turn is legitimate work.
 */

import { canonicalJson, isObject, type JsonObject } from "@mesh/kernel";

interface Call {
  readonly name: string;
  readonly arguments: JsonObject;
}

/** What the detector thinks of one response's calls. */
export type LoopVerdict =
  | { readonly kind: "fine" }
  | { readonly kind: "nudge"; readonly toolName: string; readonly repetitions: number }
  | { readonly kind: "stop"; readonly toolName: string; readonly repetitions: number };

/** The detector's memory, as saved with a run. */
export interface LoopDetectorState {
  readonly last: string | null;
  readonly count: number;
  readonly steered: readonly string[];
}

const MAX_STEERED = 32;
const FINE: LoopVerdict = { kind: "fine" };
const utf8 = new TextEncoder();

/** Watches the calls of one run. */
export class LoopDetector {
  readonly #threshold: number;
  /** The call before this one; of a saved run its signature. */
  #last: Call | string | null;
  #count: number;
  #steered: string[];

  /** `threshold` identical calls in a row trip it; 0 switches it off. */
  constructor(threshold: number, state: LoopDetectorState = { last: null, count: 0, steered: [] }) {
    this.#threshold = threshold;
    this.#last = state.last;
    this.#count = state.count;
    this.#steered = [...state.steered];
  }

  /** Judges the calls of one response together; the most severe verdict wins. */
  observe(calls: readonly Call[]): LoopVerdict {
    if (this.#threshold <= 0) return FINE;
    let worst = FINE;
    const nudged: string[] = [];
    for (const call of calls) {
      this.#count = this.#isLast(call) ? this.#count + 1 : 1;
      this.#last = call;
      if (this.#count < this.#threshold) continue;
      const { name: toolName } = call;
      const signature = signatureOf(call);
      const repetitions = this.#count;
      if (this.#steered.includes(signature)) return { kind: "stop", toolName, repetitions };
      nudged.push(signature);
      worst = { kind: "nudge", toolName, repetitions };
    }
    // Remembered only now: a response that repeats itself has not read the nudge yet.
    this.#steered = [...this.#steered, ...nudged].slice(-MAX_STEERED);
    return worst;
  }

  /** What to save with the run. */
  state(): LoopDetectorState {
    const last = typeof this.#last === "string" || this.#last === null ? this.#last : signatureOf(this.#last);
    return { last, count: this.#count, steered: [...this.#steered] };
  }

  #isLast(call: Call): boolean {
    if (this.#last === null) return false;
    if (typeof this.#last === "string") return signatureOf(call) === this.#last;
    return this.#last.name === call.name && isEqual(this.#last.arguments, call.arguments);
  }
}

function signatureOf(call: Call): string {
  return fingerprint(`${call.name}\n${canonicalJson(call.arguments)}`);
}

// Signatures say the same, at twenty times the cost: nearly all calls differ from the one before.
function isEqual(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, index) => isEqual(item, b[index]));
  }
  if (!isObject(a) || !isObject(b)) return a === b;
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length && names.every((name) => Object.hasOwn(b, name) && isEqual(a[name], b[name]))
  );
}

/** 64-bit FNV-1a of a text's UTF-8 bytes, as 16 hexadecimal digits. */
export function fingerprint(text: string): string {
  // Two 32-bit lanes multiplied by hand: BigInt would cost about fifty times as much on long texts.
  let high = 0xcbf29ce4;
  let low = 0x84222325;
  for (const byte of utf8.encode(text)) {
    low = (low ^ byte) >>> 0;
    const lowProduct = low * 0x1b3;
    high = (high * 0x1b3 + (low << 8) + Math.floor(lowProduct / 0x1_0000_0000)) >>> 0;
    low = lowProduct >>> 0;
  }
  return high.toString(16).padStart(8, "0") + low.toString(16).padStart(8, "0");
}
