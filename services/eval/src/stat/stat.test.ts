import type { CaseResult } from "../result.ts";
import { expect, test } from "vitest";

import { compare, type ComparedCase } from "./compare.ts";
import { passAtK, passHatK, wilson } from "./interval.ts";
import { stabilityClass, stabilityOf } from "./stability.ts";
import { Tally } from "./tally.ts";

test.each([
  [5, 5, 0.566, 1],
  [4, 5, 0.376, 0.964],
  [3, 5, 0.231, 0.882],
  [10, 10, 0.722, 1],
  [20, 20, 0.839, 1],
  [50, 50, 0.929, 1],
  [3, 3, 0.439, 1],
  [0, 10, 0, 0.278],
])("the interval of %i passes in %i runs is %f to %f", (passed, runs, low, high) => {
  const interval = wilson(passed, runs);
  expect(interval?.low).toBeCloseTo(low, 3);
  expect(interval?.high).toBeCloseTo(high, 3);
});

test("no runs have no interval", () => {
  expect(wilson(0, 0)).toBeUndefined();
});

test("pass@k and pass^k are without bias, and undefined beyond the runs there are", () => {
  expect([1, 2, 3, 4, 5].map((k) => passAtK(4, 5, k))).toEqual([expect.closeTo(0.8), 1, 1, 1, 1]);
  const hat = [1, 2, 3, 4, 5].map((k) => passHatK(4, 5, k) ?? -1);
  for (const [index, value] of [0.8, 0.6, 0.4, 0.2, 0].entries()) expect(hat[index]).toBeCloseTo(value, 10);
  expect(passAtK(4, 5, 6)).toBeUndefined();
  expect(passHatK(1000, 1000, 1000)).toBe(1);
});

test.each([
  [5, 5, "stable"],
  [199, 200, "mostly_stable"],
  [4, 5, "mostly_stable"],
  [159, 200, "unstable"],
  [1, 2, "unstable"],
  [49, 100, "highly_unstable"],
  [0, 3, "highly_unstable"],
  [2, 3, "unstable"],
])("%i of %i runs are %s: the bands have no holes", (passed, runs, band) => {
  expect(stabilityClass(passed, runs)).toBe(band);
});

test("runs that could not be judged are in no rate", () => {
  const { scored, passRate, interval } = stabilityOf({ passed: 2, failed: 0, errors: 3, timeouts: 0, skipped: 0 });
  expect([scored, passRate, interval?.high]).toEqual([2, 1, 1]);
  expect(stabilityOf({ passed: 0, failed: 0, errors: 3, timeouts: 0, skipped: 0 }).class).toBeUndefined();
});

const row = (id: string, run: number, status: CaseResult["status"], ms = 10): CaseResult => ({
  id,
  run,
  status,
  input: "x",
  output: null,
  duration_ms: ms,
  hash: "h",
});

test("totals are a fold over the rows: a case counts once per run, whatever comes twice", () => {
  const tally = new Tally();
  for (const each of [row("a", 1, "passed"), row("b", 1, "error"), row("b", 1, "passed"), row("c", 1, "skipped")])
    tally.add(each);
  const summary = tally.summary({ durationMs: 5, isComplete: true, runs: 1 });
  expect(summary).toMatchObject({ total: 3, passed: 2, errors: 0, skipped: 1, pass_rate: 100, scored: 2 });
});

test("with several runs a case passes when all of them do", () => {
  const tally = new Tally();
  for (const [run, status] of (["passed", "failed", "passed", "timeout"] as const).entries())
    tally.add(row("a", run + 1, status, 10 * (run + 1)));
  for (let run = 1; run <= 4; run += 1) tally.add(row("b", run, "passed"));
  expect(tally.case("a")).toMatchObject({
    status: "failed",
    passed: 2,
    avgMs: 25,
    minMs: 10,
    maxMs: 40,
    stability: { class: "unstable" },
  });
  expect(tally.summary({ durationMs: 1, isComplete: true, runs: 4 })).toMatchObject({
    total: 2,
    passed: 1,
    failed: 1,
    total_runs: 8,
    overall_pass_rate: 75,
    stable_cases: 1,
    unstable_cases: 1,
  });
});

const one = (passed: number, scored = 1, hash = "h"): ComparedCase => ({ passed, scored, hash });
const suite = (passes: readonly number[], scored = 1): ReadonlyMap<string, ComparedCase> =>
  new Map(passes.map((passed, index) => [`c${index}`, one(passed, scored)]));
const flips = (broken: number, mended: number, same = 50) =>
  [
    suite([...Array<number>(broken).fill(1), ...Array<number>(mended).fill(0), ...Array<number>(same).fill(1)]),
    suite([...Array<number>(broken).fill(0), ...Array<number>(mended).fill(1), ...Array<number>(same).fill(1)]),
  ] as const;

test.each([
  [5, 0, 0.0625, "too few data"],
  [6, 0, 0.03125, "regressed"],
  [8, 1, 0.039, "regressed"],
  [2, 10, 0.039, "improved"],
  [12, 3, 0.035, "regressed"],
  [5, 5, 1, "no detectable change"],
  [0, 0, 1, "no detectable change"],
])("%i broken and %i mended cases: p = %f, %s", (broken, mended, p, verdict) => {
  const comparison = compare(...flips(broken, mended));
  expect(comparison.pValue).toBeCloseTo(p, 3);
  expect(comparison.verdict).toBe(verdict);
  expect([comparison.broken.length, comparison.mended.length]).toEqual([broken, mended]);
});

test("with several runs the cases' rates are compared, the same way each time", () => {
  const before = suite(Array<number>(20).fill(5), 5);
  const after = suite([...Array<number>(12).fill(5), ...Array<number>(8).fill(2)], 5);
  const comparison = compare(before, after);
  expect(comparison).toEqual(compare(before, after));
  expect(comparison).toMatchObject({ method: "paired permutation", verdict: "regressed" });
  expect(comparison.difference.value).toBeCloseTo(-0.24, 10);
  expect(comparison.difference.interval?.high).toBeLessThan(0);
});

test("cases that are new, gone or changed are listed and not averaged in", () => {
  const before = new Map([
    ["a", one(1)],
    ["b", one(1)],
    ["c", one(1)],
  ]);
  const after = new Map([
    ["a", one(1)],
    ["b", one(0, 1, "other")],
    ["d", one(0)],
  ]);
  expect(compare(before, after)).toMatchObject({
    compared: 1,
    added: ["d"],
    removed: ["c"],
    changed: ["b"],
    rateAfter: 1,
  });
});

test("a change within the noise of its runs is not clear", () => {
  const [flip] = compare(new Map([["a", one(4, 5)]]), new Map([["a", one(3, 5)]])).broken;
  expect(flip?.isClear).toBe(false);
  const [clear] = compare(new Map([["a", one(20, 20)]]), new Map([["a", one(2, 20)]])).broken;
  expect(clear?.isClear).toBe(true);
});
