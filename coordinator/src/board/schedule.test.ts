import fc from "fast-check";
import { expect, test } from "vitest";

import { nextTimes, stepOf } from "./schedule.ts";

const at = (text: string): Date => new Date(text);
const iso = (dates: readonly Date[]): string[] => dates.map((date) => date.toISOString());

test("times are those of the zone, whatever the zone of this machine", () => {
  const table = { cron: "0 9 * * 1-5", timeZone: "Europe/Berlin" };
  expect(iso(nextTimes(table, at("2026-07-03T10:00:00Z"), 2))).toEqual([
    "2026-07-06T07:00:00.000Z",
    "2026-07-07T07:00:00.000Z",
  ]);
  const shanghai = { cron: "30 0 1 * *", timeZone: "Asia/Shanghai" };
  expect(iso(nextTimes(shanghai, at("2026-01-15T00:00:00Z"), 1))).toEqual(["2026-01-31T16:30:00.000Z"]);
});

test("a time that the clocks jump over fires once, right after the jump", () => {
  const times = iso(nextTimes({ cron: "30 2 * * *", timeZone: "Europe/Berlin" }, at("2026-03-28T12:00:00Z"), 2));
  expect(times).toEqual(["2026-03-29T01:00:00.000Z", "2026-03-30T00:30:00.000Z"]);
});

test("a time that comes twice fires once", () => {
  const times = iso(nextTimes({ cron: "30 2 * * *", timeZone: "Europe/Berlin" }, at("2026-10-24T12:00:00Z"), 2));
  expect(times).toHaveLength(2);
  expect(times[1]).toBe("2026-10-26T01:30:00.000Z");
  expect(["2026-10-25T00:30:00.000Z", "2026-10-25T01:30:00.000Z"]).toContain(times[0]);
});

test("a late time is skipped, or made up for once, and the next one is in the future", () => {
  const due = at("2026-06-01T09:00:00Z");
  const now = at("2026-06-04T12:00:00Z");
  const table = { cron: "0 9 * * *", timeZone: "UTC" };
  expect(stepOf({ ...table, missed: "skip" }, due, now)).toEqual({ fires: false, next: at("2026-06-05T09:00:00Z") });
  expect(stepOf({ ...table, missed: "once" }, due, now)).toEqual({ fires: true, next: at("2026-06-05T09:00:00Z") });
  expect(stepOf({ ...table, missed: "skip" }, due, at("2026-06-01T09:00:30Z")).fires).toBe(true);
});

test("the next time is always after now, and times only grow", () => {
  const zones = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "Pacific/Apia"];
  const crons = ["*/15 * * * *", "30 1 * * *", "30 2 * * *", "0 0 29 2 *", "0 3 * * 0", "5,35 2-3 * 3,10,11 *"];
  fc.assert(
    fc.property(
      fc.constantFrom(...zones),
      fc.constantFrom(...crons),
      fc.date({ min: at("2025-01-01T00:00:00Z"), max: at("2027-12-31T00:00:00Z"), noInvalidDate: true }),
      (timeZone, cron, from) => {
        const times = nextTimes({ cron, timeZone }, from, 4).map((time) => time.getTime());
        for (const [i, time] of times.entries()) expect(time).toBeGreaterThan(times[i - 1] ?? from.getTime());
      },
    ),
    { numRuns: 300 },
  );
});

test.each([
  ["", "UTC", "five fields"],
  ["* * * * * *", "UTC", "five fields"],
  ["61 * * * *", "UTC", "not understood"],
  ["0 0 31 2 *", "UTC", "never comes"],
  ["0 9 * * *", "Mars/Olympus", "no time zone"],
  ["0 9 * * *", "", "no time zone"],
  ["@daily", "UTC", "five fields"],
])("%j in %j is refused with what is wrong", (cron, timeZone, text) => {
  expect(() => nextTimes({ cron, timeZone }, at("2026-01-01T00:00:00Z"), 1)).toThrow(text);
});
