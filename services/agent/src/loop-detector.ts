/**
 * Notices a model that repeats one call.
 *
 * Counts consecutive identical calls (same name, same arguments whatever the order of their keys), also inside one
 * response. The first trip asks for a nudge, the second trip of the same call asks for a stop. Alternating calls are
 * not a loop by design: polling two things in turn is legitimate work.
 */

import { canonicalJson, type JsonObject } from "@mesh/kernel";

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
  #last: string | null;
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
  observe(calls: readonly { readonly name: string; readonly arguments: JsonObject }[]): LoopVerdict {
    if (this.#threshold <= 0) return FINE;
    let worst = FINE;
    const nudged: string[] = [];
    for (const { name: toolName, arguments: args } of calls) {
      const signature = fingerprint(`${toolName}\n${canonicalJson(args)}`);
      this.#count = signature === this.#last ? this.#count + 1 : 1;
      this.#last = signature;
      if (this.#count < this.#threshold) continue;
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
    return { last: this.#last, count: this.#count, steered: [...this.#steered] };
  }
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
