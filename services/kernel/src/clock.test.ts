import { expect, test } from "vitest";

import { parseDuration, rfc3339, systemClock } from "./clock.ts";
import { FakeClock } from "./testing/fake-clock.ts";

test.each([
  ["500ms", 500],
  ["90s", 90_000],
  ["1h30m", 5_400_000],
  ["1.5h", 5_400_000],
  ["7d", 604_800_000],
])("%s is %d ms", (text, ms) => expect(parseDuration(text)).toBe(ms));

test.each(["", "5", "-1s", "1s x", "s", "1y"])("%j is not a duration", (text) =>
  expect(parseDuration(text)).toBeUndefined(),
);

test("times are UTC with milliseconds", () => expect(rfc3339(0)).toBe("1970-01-01T00:00:00.000Z"));

test("a sleep ends at once when its signal is or becomes aborted", async () => {
  await systemClock.sleep(60_000, AbortSignal.abort());
  const stop = new AbortController();
  const sleeping = systemClock.sleep(60_000, stop.signal);
  stop.abort();
  await sleeping;
});

test("a fake clock fires timers in order of time", async () => {
  const clock = new FakeClock();
  const fired: string[] = [];
  clock.after(20, () => fired.push("b"));
  clock.every(15, () => fired.push("e"));
  const cancel = clock.after(10, () => fired.push("never"));
  clock.after(5, () => fired.push("a"));
  cancel();
  await clock.advance(31);
  expect(fired).toEqual(["a", "e", "b", "e"]);
});
