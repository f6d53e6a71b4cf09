/**
 * Compares two evals of the same cases. Pure; chance is seeded, so that a comparison says the same each time.
 *
 * C1  Only cases that are in both and were not changed between are compared; the others are listed.
 * C2  Cases are the units: several runs of one case make its rate sharper, and are not several cases.
 */

import type { Interval } from "./interval.ts";
import { wilson } from "./interval.ts";

/** One case of one eval. */
export interface ComparedCase {
  readonly hash: string;
  readonly passed: number;
  /** Runs that could be judged. */
  readonly scored: number;
}

/** A case whose rate changed. */
export interface Flip {
  readonly id: string;
  readonly before: number;
  readonly after: number;
  /** The change is more than its own noise: the new rate lies outside of the old interval, and the old outside of the new. */
  readonly isClear: boolean;
}

/** What the comparison says. */
export interface Comparison {
  readonly compared: number;
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly string[];
  readonly rateBefore: number;
  readonly rateAfter: number;
  /** Of the mean difference, at 95 %. */
  readonly difference: { readonly value: number; readonly interval: Interval | undefined };
  readonly pValue: number | undefined;
  readonly method: "mcnemar exact" | "paired permutation";
  readonly broken: readonly Flip[];
  readonly mended: readonly Flip[];
  readonly verdict: "regressed" | "improved" | "no detectable change" | "too few data";
}

const PERMUTATIONS = 10_000;
const ALPHA = 0.05;
const Z = 1.959963984540054;
// With fewer changes the same way no outcome could be told from chance.
const LEAST_FLIPS = 6;

/** Compares the second eval with the first. */
export function compare(
  before: ReadonlyMap<string, ComparedCase>,
  after: ReadonlyMap<string, ComparedCase>,
): Comparison {
  const shared = [...before].flatMap(([id, old]) => {
    const now = after.get(id);
    return now === undefined ? [] : [{ id, old, now }];
  });
  const changed = shared.filter(({ old, now }) => old.hash !== now.hash).map(({ id }) => id);
  const pairs = shared.filter(({ old, now }) => old.hash === now.hash && old.scored > 0 && now.scored > 0);
  const flips = pairs.flatMap(({ id, old, now }) => flipOf(id, old, now) ?? []);
  const isSingle = pairs.every(({ old, now }) => old.scored === 1 && now.scored === 1);
  const differences = pairs.map(({ old, now }) => rate(now) - rate(old));
  const pValue = pairs.length === 0 ? undefined : isSingle ? mcnemar(flips) : permutation(differences);
  const value = mean(differences);
  return {
    compared: pairs.length,
    added: [...after.keys()].filter((id) => !before.has(id)),
    removed: [...before.keys()].filter((id) => !after.has(id)),
    changed,
    rateBefore: mean(pairs.map(({ old }) => rate(old))),
    rateAfter: mean(pairs.map(({ now }) => rate(now))),
    difference: { value, interval: intervalOf(differences) },
    pValue,
    method: isSingle ? "mcnemar exact" : "paired permutation",
    broken: flips.filter((flip) => flip.after < flip.before),
    mended: flips.filter((flip) => flip.after > flip.before),
    verdict: verdictOf(value, pValue, flips.length),
  };
}

function verdictOf(value: number, pValue: number | undefined, flips: number): Comparison["verdict"] {
  if (pValue === undefined) return "too few data";
  if (pValue < ALPHA) return value < 0 ? "regressed" : "improved";
  return flips > 0 && flips < LEAST_FLIPS ? "too few data" : "no detectable change";
}

function flipOf(id: string, old: ComparedCase, now: ComparedCase): Flip | undefined {
  const [before, after] = [rate(old), rate(now)];
  if (before === after) return undefined;
  const isOutside = (value: number, interval: Interval | undefined): boolean =>
    interval !== undefined && (value < interval.low || value > interval.high);
  const isClear = isOutside(after, wilson(old.passed, old.scored)) && isOutside(before, wilson(now.passed, now.scored));
  return { id, before, after, isClear };
}

/** Two-sided exact test on the cases that changed. */
function mcnemar(flips: readonly Flip[]): number {
  const count = flips.length;
  const broken = flips.filter(({ before, after }) => after < before).length;
  const least = Math.min(broken, count - broken);
  let tail = 0;
  // C(count, k) / 2^count, from one k to the next, in logarithms so that nothing overflows.
  let log = -count * Math.LN2;
  for (let k = 0; k <= least; k += 1) {
    tail += Math.exp(log);
    log += Math.log(count - k) - Math.log(k + 1);
  }
  return Math.min(1, 2 * tail);
}

/** Two-sided test by changing signs at random: under no difference each sign was chance. */
function permutation(differences: readonly number[]): number {
  const random = generator(differences.length);
  const seen = Math.abs(sum(differences)) - 1e-12;
  let atLeast = 1;
  for (let round = 0; round < PERMUTATIONS; round += 1) {
    let total = 0;
    for (const each of differences) total += random() < 0.5 ? each : -each;
    if (Math.abs(total) >= seen) atLeast += 1;
  }
  return atLeast / (PERMUTATIONS + 1);
}

/** Of the mean over cases; each case is one observation. */
function intervalOf(values: readonly number[]): Interval | undefined {
  if (values.length < 2) return undefined;
  const middle = mean(values);
  const variance = sum(values.map((each) => (each - middle) ** 2)) / (values.length - 1);
  const half = Z * Math.sqrt(variance / values.length);
  return { low: Math.max(-1, middle - half), high: Math.min(1, middle + half) };
}

function rate({ passed, scored }: ComparedCase): number {
  return passed / scored;
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : sum(values) / values.length;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, each) => total + each, 0);
}

/** Numbers in [0, 1) that are the same for the same seed (mulberry32). */
function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
