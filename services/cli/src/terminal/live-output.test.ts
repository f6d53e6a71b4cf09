import { FakeClock } from "@mesh/kernel/testing";
import { expect, test } from "vitest";

import { LiveOutput } from "./live-output.ts";

function watched(showsProgress: boolean): { live: LiveOutput; clock: FakeClock; told: string[] } {
  const told: string[] = [];
  const clock = new FakeClock();
  const terminal = {
    showsProgress,
    out: (text: string) => void told.push(`out ${text}`),
    err: (text: string) => void told.push(`err ${text}`),
  };
  return { live: new LiveOutput(terminal, clock), clock, told };
}

test("texts are joined, and written within a moment or when there is much of them", async () => {
  const { live, clock, told } = watched(false);
  live.write("a\n");
  live.write("b\n");
  expect(told).toEqual([]);
  await clock.advance(50);
  expect(told).toEqual(["out a\nb\n"]);
  live.write("x".repeat(40_000));
  expect(told).toHaveLength(2);
});

test("the line of progress is taken away before text is written and is gone at the end", async () => {
  const { live, clock, told } = watched(true);
  live.progress("1 of 2");
  await clock.advance(50);
  live.write("done\n");
  live.progress("2 of 2");
  await clock.advance(50);
  live.close();
  expect(told).toEqual(["err 1 of 2", "err \r\u001B[K", "out done\n", "err 2 of 2", "err \r\u001B[K"]);
});

test("nobody who does not watch is shown progress", async () => {
  const { live, clock, told } = watched(false);
  live.progress("1 of 2");
  await clock.advance(1_000);
  live.close();
  expect(told).toEqual([]);
});
