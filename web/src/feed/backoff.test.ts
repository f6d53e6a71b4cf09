import { expect, test } from "vitest";

import { backoffMs } from "./backoff.ts";

test("waits double from one second to thirty, each between half and all of it", () => {
  expect([0, 1, 2, 3, 4, 5, 6, 100].map((attempt) => backoffMs(attempt, 0))).toEqual([
    500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000,
  ]);
  expect(backoffMs(0, 0.999)).toBeLessThanOrEqual(1_000);
  expect(backoffMs(9, 0.999)).toBeLessThanOrEqual(30_000);
});
