/**
 * Compares the results of two evals. Pure.
 *
 * C1  Only cases that both have and that were not changed between are compared; the others are counted.
 * C2  Cases are the units: several runs of one case make its rate sharper, and are not several cases.
 */

import { type CaseRow, countsOf, type EvalLog } from "./eval-log.ts";
import { type Interval, intervalOfMean, mean, signTest } from "./statistic.ts";
import { scoredOf } from "./status.ts";

/** A case whose rate changed; rates are of the runs that could be judged. */
export interface Flip {
  readonly id: string;
  readonly before: CaseRow;
  readonly after: CaseRow;
  readonly rateBefore: number;
  readonly rateAfter: number;
}

/** What the comparison says. */
export interface Comparison {
  readonly compared: number;
  /** Cases that only one has, or that were changed between. */
  readonly onlyBefore: number;
  readonly onlyAfter: number;
  readonly changed: number;
  /** Means over the compared cases. */
  readonly rateBefore: number;
  readonly rateAfter: number;
  readonly difference: number;
  readonly interval: Interval | undefined;
  readonly pValue: number;
  readonly verdict: "worse" | "better" | "same" | "tooFew";
  readonly broken: readonly Flip[];
  readonly mended: readonly Flip[];
}

const ALPHA = 0.05;
// With fewer changes the same way no outcome could be told from chance.
const LEAST_FLIPS = 6;

/** Compares the second eval with the first. */
export function compareEvals(before: EvalLog, after: EvalLog): Comparison {
  const [old, now] = [byId(before), byId(after)];
  const shared = [...old.values()].flatMap((row) => {
    const other = now.get(row.id);
    return other === undefined ? [] : [[row, other] as const];
  });
  const same = shared.filter(([a, b]) => a.hash === b.hash || a.hash === "" || b.hash === "");
  const pairs = same.flatMap(([a, b]) => {
    const [rateBefore, rateAfter] = [rateOf(a), rateOf(b)];
    if (rateBefore === undefined || rateAfter === undefined) return [];
    return [{ id: a.id, before: a, after: b, rateBefore, rateAfter } satisfies Flip];
  });
  const broken = pairs.filter((pair) => pair.rateAfter < pair.rateBefore);
  const mended = pairs.filter((pair) => pair.rateAfter > pair.rateBefore);
  const differences = pairs.map((pair) => pair.rateAfter - pair.rateBefore);
  const pValue = signTest(broken.length, mended.length);
  return {
    compared: pairs.length,
    onlyBefore: old.size - shared.length,
    onlyAfter: now.size - shared.length,
    changed: shared.length - same.length,
    rateBefore: mean(pairs.map((pair) => pair.rateBefore)),
    rateAfter: mean(pairs.map((pair) => pair.rateAfter)),
    difference: mean(differences),
    interval: intervalOfMean(differences),
    pValue,
    verdict: verdictOf(pairs.length, broken.length, mended.length, pValue),
    broken: broken.sort((a, b) => a.rateAfter - a.rateBefore - (b.rateAfter - b.rateBefore)),
    mended: mended.sort((a, b) => b.rateAfter - b.rateBefore - (a.rateAfter - a.rateBefore)),
  };
}

function verdictOf(compared: number, broken: number, mended: number, pValue: number): Comparison["verdict"] {
  if (compared === 0) return "tooFew";
  if (pValue < ALPHA) return broken > mended ? "worse" : "better";
  return broken + mended > 0 && broken + mended < LEAST_FLIPS ? "tooFew" : "same";
}

function byId(log: EvalLog): ReadonlyMap<string, CaseRow> {
  return new Map(log.rows.flatMap((row) => (row === undefined ? [] : [[row.id, row] as const])));
}

function rateOf({ cells }: CaseRow): number | undefined {
  const counts = countsOf(cells);
  const scored = scoredOf(counts);
  return scored === 0 ? undefined : counts.passed / scored;
}
