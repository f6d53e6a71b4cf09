import { expect, test } from "vitest";

import { Backoff } from "./backoff.ts";
import { FakeClock } from "./testing/fake-clock.ts";

test("delays double up to the limit and never reach zero", () => {
  const backoff = new Backoff(new FakeClock(), { firstMs: 100, maxMs: 1000, random: () => 1 });
  expect(Array.from({ length: 6 }, () => backoff.nextDelayMs())).toEqual([100, 200, 400, 800, 1000, 1000]);
  const low = new Backoff(new FakeClock(), { firstMs: 1, maxMs: 1, random: () => 0 });
  expect(low.nextDelayMs()).toBe(1);
});

test("a success resets the delay only after it has held", async () => {
  const clock = new FakeClock();
  const backoff = new Backoff(clock, { firstMs: 100, maxMs: 10_000, heldMs: 5000, random: () => 1 });
  backoff.nextDelayMs();
  backoff.nextDelayMs();
  backoff.succeeded();
  await clock.advance(4000);
  expect(backoff.nextDelayMs()).toBe(400);
  backoff.succeeded();
  await clock.advance(5000);
  expect(backoff.nextDelayMs()).toBe(100);
  expect(backoff.failures).toBe(1);
});

test("a wait ends as soon as its signal aborts", async () => {
  const stop = new AbortController();
  const waiting = new Backoff(new FakeClock(), { firstMs: 60_000, maxMs: 60_000 }).wait(stop.signal);
  stop.abort();
  await waiting;
});
