import { expect, test } from "vitest";

import { Doorbell } from "./doorbell.ts";
import { FakeClock } from "./testing/fake-clock.ts";

const never = new AbortController().signal;

test("a ring wakes the waiting loop; a ring before it waits is kept, once", async () => {
  const bell = new Doorbell();
  const waiting = bell.wait(never);
  bell.ring();
  expect(await waiting).toBe(true);
  bell.ring();
  bell.ring();
  expect(await bell.wait(never)).toBe(true);
  const stop = new AbortController();
  const second = bell.wait(stop.signal);
  stop.abort();
  expect(await second).toBe(false);
});

test("a wait ends at its limit and when its signal is aborted already", async () => {
  const clock = new FakeClock();
  const bell = new Doorbell(clock);
  const waiting = bell.wait(never, 1000);
  await clock.advance(1000);
  expect(await waiting).toBe(false);
  expect(await bell.wait(AbortSignal.abort())).toBe(false);
});
