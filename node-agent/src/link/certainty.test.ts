import { FakeClock } from "@mesh/kernel/testing";
import { expect, test } from "vitest";

import { Certainty } from "./certainty.ts";

async function inTouch(): Promise<{ clock: FakeClock; certainty: Certainty }> {
  const clock = new FakeClock();
  const certainty = new Certainty(clock);
  certainty.connected();
  await clock.advance(31_000);
  certainty.answered();
  return { clock, certainty };
}

test("a device is certain once it has been in touch for a while", async () => {
  const clock = new FakeClock();
  const certainty = new Certainty(clock);
  expect(certainty.isCertain).toBe(false);
  certainty.connected();
  certainty.answered();
  expect(certainty.isCertain).toBe(false);
  expect((await inTouch()).certainty.isCertain).toBe(true);
});

test("silence, a pause and a new connection end the certainty", async () => {
  const { clock, certainty } = await inTouch();
  await clock.advance(9_000);
  expect(certainty.isCertain).toBe(false);
  certainty.answered();
  expect(certainty.isCertain).toBe(true);
  certainty.connected();
  expect(certainty.isCertain).toBe(false);
});

test("sleep is noticed by the wall clock alone", async () => {
  const { clock, certainty } = await inTouch();
  const monotonicMs = clock.monotonic();
  clock.monotonic = () => monotonicMs;
  await clock.advance(3_600_000);
  expect(certainty.isCertain).toBe(false);
});
