/** What k passes of n runs say about the chance to pass. Pure. */

/** A rate with its interval. */
export interface Interval {
  readonly low: number;
  readonly high: number;
}

// Of the normal distribution, for 95 %.
const Z = 1.959963984540054;

/** Wilson's interval at 95 %; undefined without a run. */
export function wilson(passed: number, runs: number): Interval | undefined {
  if (runs === 0) return undefined;
  const rate = passed / runs;
  const z2 = (Z * Z) / runs;
  const centre = (rate + z2 / 2) / (1 + z2);
  const half = (Z / (1 + z2)) * Math.sqrt((rate * (1 - rate)) / runs + z2 / (4 * runs));
  return { low: passed === 0 ? 0 : Math.max(0, centre - half), high: passed === runs ? 1 : Math.min(1, centre + half) };
}

/** Chance that at least one of k runs passes, without bias; undefined with fewer than k runs. */
export function passAtK(passed: number, runs: number, k: number): number | undefined {
  if (k < 1 || runs < k) return undefined;
  return 1 - choices(runs - passed, runs, k);
}

/** Chance that all of k runs pass, without bias; undefined with fewer than k runs. */
export function passHatK(passed: number, runs: number, k: number): number | undefined {
  return k < 1 || runs < k ? undefined : choices(passed, runs, k);
}

/** C(part, k) / C(whole, k), factor by factor so that nothing overflows. */
function choices(part: number, whole: number, k: number): number {
  if (part < k) return 0;
  let product = 1;
  for (let index = 0; index < k; index += 1) product *= (part - index) / (whole - index);
  return product;
}
