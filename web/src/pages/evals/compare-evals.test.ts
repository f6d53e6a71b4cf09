import { expect, test } from "vitest";

import { FakeEvals } from "../../testing/fake-evals.ts";
import { compareEvals } from "./compare-evals.ts";
import { addResults, EMPTY_LOG, type EvalLog } from "./eval-log.ts";
import { intervalOfMean, signTest, wilson } from "./statistic.ts";

/** A log of cases case-1, … with their runs: p passed, f failed, e error. `hashes` are those of the cases. */
function logOf(cases: readonly string[], hashes: Readonly<Record<number, string>> = {}): EvalLog {
  const fake = new FakeEvals();
  const { id } = fake.add({ cases: cases.length });
  for (const [ordinal, runs] of cases.entries()) {
    for (const [index, letter] of runs.split("").entries()) {
      const status = { p: "passed", f: "failed", e: "error" }[letter] ?? "skipped";
      fake.result(id, { ordinal, run: index + 1, status }, { hash: hashes[ordinal] ?? "h" });
    }
  }
  return addResults(EMPTY_LOG, fake.results.get(id) ?? []);
}

test.each([
  [4, 5, 0.376, 0.964],
  [10, 10, 0.722, 1],
  [0, 10, 0, 0.278],
  [50, 100, 0.404, 0.596],
])("the interval of %i passes in %i results is %f to %f", (passed, scored, low, high) => {
  const interval = wilson(passed, scored);
  expect(interval?.low).toBeCloseTo(low, 3);
  expect(interval?.high).toBeCloseTo(high, 3);
});

test("nothing has no interval, and one difference none of its mean", () => {
  expect([wilson(0, 0), intervalOfMean([0.5])]).toEqual([undefined, undefined]);
  expect(intervalOfMean([0.5, -0.5])?.high).toBeCloseTo(0.98, 2);
});

test.each([
  [5, 0, 0.0625],
  [6, 0, 0.03125],
  [8, 1, 0.0390625],
  [5, 5, 1],
  [0, 0, 1],
])("the sign test of %i against %i gives %f", (worse, better, p) => {
  expect(signTest(worse, better)).toBeCloseTo(p, 8);
});

test("flips are told with the clearest first, and rates are means over cases", () => {
  const comparison = compareEvals(logOf(["pp", "pp", "ff", "pf", "pp"]), logOf(["pf", "ff", "pp", "pf", "pp"]));
  expect(comparison.broken.map(({ id, rateAfter }) => `${id} ${rateAfter}`)).toEqual(["case-2 0", "case-1 0.5"]);
  expect(comparison.mended.map(({ id }) => id)).toEqual(["case-3"]);
  expect(comparison).toMatchObject({ compared: 5, rateBefore: 0.7, rateAfter: 0.6, verdict: "tooFew" });
  expect(comparison.difference).toBeCloseTo(-0.1, 10);
});

test("cases that one lacks, that were changed, or that nobody could judge are not compared", () => {
  const before = logOf(["p", "p", "e", "p"], { 1: "old" });
  const after = logOf(["f", "f", "p"], { 1: "new" });
  expect(compareEvals(before, after)).toMatchObject({ compared: 1, onlyBefore: 1, onlyAfter: 0, changed: 1 });
});

test.each([
  [6, 0, "worse"],
  [0, 6, "better"],
  [3, 2, "tooFew"],
  [5, 5, "same"],
  [0, 0, "same"],
] as const)("%i broken and %i mended cases: %s", (broken, mended, verdict) => {
  const rest = Array<string>(20).fill("p");
  const before = [...Array<string>(broken).fill("p"), ...Array<string>(mended).fill("f"), ...rest];
  const after = [...Array<string>(broken).fill("f"), ...Array<string>(mended).fill("p"), ...rest];
  expect(compareEvals(logOf(before), logOf(after)).verdict).toBe(verdict);
});
