/** How stable a case is over its runs. Pure; the bands are half open and computed on exact counts. */

import type { Interval } from "./interval.ts";
import { passAtK, passHatK, wilson } from "./interval.ts";

/** Name of a band. */
export type StabilityClass = "stable" | "mostly_stable" | "unstable" | "highly_unstable";

/** Counts of one case. */
export interface CaseCounts {
  readonly passed: number;
  readonly failed: number;
  readonly errors: number;
  readonly timeouts: number;
  readonly skipped: number;
}

/** What the runs of one case say. */
export interface Stability {
  /** Runs that could be judged: passed, failed, timed out. */
  readonly scored: number;
  readonly passRate: number | undefined;
  readonly class: StabilityClass | undefined;
  readonly interval: Interval | undefined;
  /** The interval lies in more than one band: more runs are needed to tell. */
  readonly isUndecided: boolean;
  /** For k from 1 to the number of scored runs. */
  readonly passAt: readonly number[];
  readonly passHat: readonly number[];
}

const NAMES: Readonly<Record<StabilityClass, string>> = {
  stable: "Stable",
  mostly_stable: "Mostly Stable",
  unstable: "Unstable",
  highly_unstable: "Highly Unstable",
};
const MAX_K = 100;

/** A band as people read it. */
export function stabilityName(band: StabilityClass): string {
  return NAMES[band];
}

/** The band of k passes in n runs. */
export function stabilityClass(passed: number, runs: number): StabilityClass {
  if (passed === runs) return "stable";
  if (passed * 10 >= runs * 8) return "mostly_stable";
  return passed * 2 >= runs ? "unstable" : "highly_unstable";
}

/** Judges the counts of one case. Runs that could not be judged are left out, not failed. */
export function stabilityOf({ passed, failed, timeouts }: CaseCounts): Stability {
  const scored = passed + failed + timeouts;
  const interval = wilson(passed, scored);
  const ks = Array.from({ length: Math.min(scored, MAX_K) }, (_none, index) => index + 1);
  return {
    scored,
    passRate: scored === 0 ? undefined : passed / scored,
    class: scored === 0 ? undefined : stabilityClass(passed, scored),
    interval,
    isUndecided: interval !== undefined && bandOf(interval.low) !== bandOf(interval.high),
    passAt: ks.map((k) => passAtK(passed, scored, k) ?? 0),
    passHat: ks.map((k) => passHatK(passed, scored, k) ?? 0),
  };
}

function bandOf(rate: number): StabilityClass {
  if (rate >= 1) return "stable";
  if (rate >= 0.8) return "mostly_stable";
  return rate >= 0.5 ? "unstable" : "highly_unstable";
}
