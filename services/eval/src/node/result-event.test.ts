import { expect, test } from "vitest";

import type { CaseResult } from "../result.ts";
import { aroundEvent, resultEvent } from "./result-event.ts";

const UNIT = { case: {}, ordinal: 3, run: 2, copy: 1 };
const LARGE = "é".repeat(200 * 1024);
const RESULT: CaseResult = { id: "a", run: 2, status: "failed", input: "x", output: "y", duration_ms: 1, hash: "h" };

function sent(result: CaseResult): CaseResult {
  const { kind, body } = resultEvent(UNIT, result);
  expect(kind).toBe("eval.result");
  expect(Buffer.byteLength(body)).toBeLessThanOrEqual(256 * 1024);
  const row = JSON.parse(body) as { ordinal: number; run: number; copy: number; result: CaseResult };
  expect([row.ordinal, row.run, row.copy]).toEqual([3, 2, 1]);
  return row.result;
}

test("a result that fits travels as it is", () => {
  const whole: CaseResult = { ...RESULT, output: "é".repeat(60_000), trace: { next: 1 }, warnings: ["w"] };
  expect(sent(whole)).toEqual(whole);
});

test("the trace goes first, and nothing else when that is enough", () => {
  const { warnings, ...rest } = sent({ ...RESULT, trace: { next: LARGE } });
  expect(rest).toEqual(RESULT);
  expect(warnings).toEqual(["the result was too large to send: the trace is left out"]);
});

test("then output and input are cut, and the details of assertions left out", () => {
  const cut = sent({ ...RESULT, output: { text: LARGE }, input: LARGE });
  expect(cut.output).toMatch(/^\{"text":"é+…$/);
  expect(JSON.stringify(cut.input).length).toBeLessThan(20_000);
  const assertions = [
    { type: "equals", status: "failed" as const, expected: LARGE, actual: LARGE, message: "not equal" },
  ];
  const brief = sent({ ...RESULT, assertions, expected: LARGE });
  expect(brief.assertions).toEqual([{ type: "equals", status: "failed", message: "not equal" }]);
  expect(brief.expected).toBeUndefined();
  expect(brief.warnings).toHaveLength(4);
});

test("in the end the verdict is left, whatever the result was made of", () => {
  const worst: CaseResult = {
    ...RESULT,
    error: LARGE,
    warnings: [LARGE],
    metadata: { mode: LARGE },
    retries: [LARGE],
    cause: "agent",
    device: "laptop",
  };
  const left = sent(worst);
  expect(left).toMatchObject({ id: "a", run: 2, status: "failed", hash: "h", cause: "agent", device: "laptop" });
  expect(left.error?.length).toBeLessThan(3_000);
});

test("what a hook around the eval returns is an error when it is too large", () => {
  expect(aroundEvent("eval.before", { data: 1 })).toEqual({ kind: "eval.before", body: '{"data":1}' });
  const { body } = aroundEvent("eval.before", { data: LARGE });
  expect(JSON.parse(body)).toEqual({ error: "what it returned is larger than 256 KB; return less" });
});
