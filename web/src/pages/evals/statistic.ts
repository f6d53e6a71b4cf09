/** What counts say about rates. Pure. */

/** A rate or a difference of rates, between its bounds at 95 %. */
export interface Interval {
  readonly low: number;
  readonly high: number;
}

// Of the normal distribution, for 95 %.
const Z = 1.959963984540054;

/** Wilson's interval of a rate at 95 %; undefined without a result. */
export function wilson(passed: number, scored: number): Interval | undefined {
  if (scored === 0) return undefined;
  const rate = passed / scored;
  const z2 = Z ** 2 / scored;
  const centre = (rate + z2 / 2) / (1 + z2);
  const half = (Z / (1 + z2)) * Math.sqrt((rate * (1 - rate)) / scored + z2 / (4 * scored));
  const low = passed === 0 ? 0 : Math.max(0, centre - half);
  return { low, high: passed === scored ? 1 : Math.min(1, centre + half) };
}

/** The mean; 0 of nothing. */
export function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Interval of the mean of differences, each of one case; undefined for less than two. */
export function intervalOfMean(differences: readonly number[]): Interval | undefined {
  if (differences.length < 2) return undefined;
  const middle = mean(differences);
  const squares = differences.reduce((sum, value) => sum + (value - middle) ** 2, 0);
  const half = Z * Math.sqrt(squares / (differences.length - 1) / differences.length);
  return { low: Math.max(-1, middle - half), high: Math.min(1, middle + half) };
}

/** Chance of a split at least this uneven when neither side is likelier: the exact two-sided sign test. */
export function signTest(worse: number, better: number): number {
  const count = worse + better;
  // C(count, k) / 2^count, from one k to the next, in logarithms so that nothing overflows.
  let log = -count * Math.LN2;
  let tail = 0;
  for (let k = 0; k <= Math.min(worse, better); k += 1) {
    tail += Math.exp(log);
    log += Math.log(count - k) - Math.log(k + 1);
  }
  return Math.min(1, 2 * tail);
}
