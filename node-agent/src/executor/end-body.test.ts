import { expect, test } from "vitest";

import { endBody } from "./end-body.ts";

const MAX_EVENT_BYTES = 768 * 1024;

test.each([
  ["of letters", "x".repeat(3_000_000)],
  ["of wide characters", "漢".repeat(300_000)],
  ["of characters that JSON escapes", "\u0001".repeat(300_000)],
  ["of halves of characters", "\ud800".repeat(300_000)],
])("the end of a run fits into one event with an output %s, and says that it was cut", (_what, output) => {
  const body = endBody({ state: "succeeded", output }, 1);
  expect(Buffer.byteLength(JSON.stringify(body))).toBeLessThan(MAX_EVENT_BYTES);
  expect(body).toMatchObject({ state: "succeeded", output_truncated: true });
  expect(output.startsWith(body["output"] as string)).toBe(true);
});

test("an output that fits is whole", () => {
  expect(endBody({ state: "succeeded", output: "hi" }, 1.4)).toEqual({
    state: "succeeded",
    output: "hi",
    duration_ms: 1,
  });
});

test("a failure with a book for a message is told in part", () => {
  const body = endBody({ state: "failed", error: { code: "c".repeat(1e6), message: "\u0001".repeat(3_000_000) } }, 1);
  expect(Buffer.byteLength(JSON.stringify(body))).toBeLessThan(MAX_EVENT_BYTES);
});
