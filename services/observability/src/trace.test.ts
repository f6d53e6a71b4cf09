import { expect, test } from "vitest";

import { childSpan, formatTraceparent, newTrace, parseTraceparent } from "./trace.ts";

const VALID = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

test("what is formatted is read back", () => {
  for (const sampled of [true, false]) {
    const trace = { ...newTrace(), sampled };
    expect(parseTraceparent(formatTraceparent(trace))).toEqual(trace);
  }
});

test("a child span keeps the trace and the decision to record, under an id of its own", () => {
  const parent = parseTraceparent(VALID)!;
  const child = childSpan(parent);
  expect(child).toMatchObject({ traceId: parent.traceId, sampled: true });
  expect(child.spanId).not.toBe(parent.spanId);
});

test("only the last bit of the flags says sampled", () => {
  expect(parseTraceparent(VALID.replace(/01$/, "fe"))?.sampled).toBe(false);
  expect(parseTraceparent(VALID.replace(/01$/, "03"))?.sampled).toBe(true);
});

test("a later version may have more parts, version 00 may not", () => {
  expect(parseTraceparent(VALID.replace(/^00/, "01") + "-more")?.traceId).toBe("0af7651916cd43dd8448eb211c80319c");
  expect(parseTraceparent(`${VALID}-more`)).toBeUndefined();
});

test.each([
  ["nothing", undefined],
  ["an empty value", ""],
  ["the forbidden version", VALID.replace(/^00/, "ff")],
  ["an all-zero trace", VALID.replace("0af7651916cd43dd8448eb211c80319c", "0".repeat(32))],
  ["an all-zero span", VALID.replace("b7ad6b7169203331", "0".repeat(16))],
  ["upper case", VALID.toUpperCase()],
  ["a short trace", VALID.replace("0af7", "")],
  ["an overlong value", `01-${"0".repeat(300)}`],
])("%s is no trace", (_what, value) => {
  expect(parseTraceparent(value)).toBeUndefined();
});
