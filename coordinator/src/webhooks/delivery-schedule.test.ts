import { expect, test } from "vitest";

import { MAX_DELIVERY_ATTEMPTS, retryDelayMs } from "./delivery-schedule.ts";

const HOUR = 3_600_000;

test("W2 ten attempts: at once, then after 5 s, 5 m, 30 m, 2 h, 5 h, 10 h, 14 h, 20 h and 24 h, then no more", () => {
  const waits = Array.from({ length: MAX_DELIVERY_ATTEMPTS }, (_, attempts) => retryDelayMs(attempts, 0.5));
  expect(waits).toEqual([0, 5000, 300_000, 1_800_000, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR]);
  expect(retryDelayMs(MAX_DELIVERY_ATTEMPTS, 0.5)).toBeUndefined();
});

test("each wait varies by a tenth, so that many messages do not come at once", () => {
  expect(retryDelayMs(4, 0)).toBe(1.8 * HOUR);
  expect(retryDelayMs(4, 0.999_999_999)).toBeCloseTo(2.2 * HOUR, -2);
});
