import { expect, test } from "vitest";

import { until } from "./until.ts";

test("gives the first value the probe finds, and passes its errors on", async () => {
  let looks = 0;
  expect(await until(() => ((looks += 1) > 2 ? "there" : undefined), { everyMs: 1 })).toBe("there");
  await expect(until(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
});

test("says what it waited for when time is up or it is stopped", async () => {
  await expect(until(() => false, { timeoutMs: 5, everyMs: 1, what: "rain" })).rejects.toThrow(
    "timed out after 5 ms waiting for rain",
  );
  await expect(until(() => false, { signal: AbortSignal.abort(), what: "rain" })).rejects.toThrow(
    "stopped waiting for rain",
  );
});
