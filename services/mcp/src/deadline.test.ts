import { FakeClock } from "@mesh/kernel/testing";
import { expect, test } from "vitest";

import { sharedWait, withDeadline } from "./deadline.ts";

const never = (): Promise<never> => new Promise(() => undefined);

test("work that does not listen is left at its deadline, and its signal aborts", async () => {
  const clock = new FakeClock();
  const stop = new AbortController();
  let inner: AbortSignal | undefined;
  const waiting = withDeadline(clock, { signal: stop.signal, timeoutMs: 1000, what: "it" }, (signal) => {
    inner = signal;
    return never();
  });
  const refused = expect(waiting).rejects.toMatchObject({ code: "deadline_exceeded", message: /within 1 s/ });
  await clock.advance(1000);
  await refused;
  expect(inner?.aborted).toBe(true);
});

test("progress starts the time anew, but not without end", async () => {
  const clock = new FakeClock();
  let touch: () => void = () => undefined;
  const waiting = withDeadline(
    clock,
    { signal: new AbortController().signal, timeoutMs: 1000, what: "it" },
    (_, again) => {
      touch = again;
      return never();
    },
  );
  let isOver = false;
  const settled = waiting.catch(() => {
    isOver = true;
  });
  for (let index = 0; index < 100; index += 1) {
    await clock.advance(900);
    touch();
  }
  expect(isOver).toBe(false);
  for (let index = 0; index < 4000; index += 1) {
    await clock.advance(900);
    touch();
  }
  await settled;
  expect(isOver).toBe(true);
});

test("the caller's signal ends the wait, and the work's signal never aborts after the work is done", async () => {
  const clock = new FakeClock();
  const stop = new AbortController();
  const bounds = { signal: stop.signal, timeoutMs: 1000, what: "it" };
  let inner: AbortSignal | undefined;
  let touch: () => void = () => undefined;
  await withDeadline(clock, bounds, (signal, again) => {
    inner = signal;
    touch = again;
    return Promise.resolve(1);
  });
  // Progress that comes late.
  touch();
  const waiting = withDeadline(clock, bounds, never);
  stop.abort();
  await expect(waiting).rejects.toMatchObject({ code: "cancelled" });
  await clock.advance(10_000);
  expect(inner?.aborted).toBe(false);
});

test("one who gives up does not end what others wait for", async () => {
  const stop = new AbortController();
  let resolve: (value: number) => void = () => undefined;
  const shared = new Promise<number>((done) => {
    resolve = done;
  });
  const first = sharedWait(shared, stop.signal, "it");
  const second = sharedWait(shared, new AbortController().signal, "it");
  stop.abort();
  await expect(first).rejects.toMatchObject({ code: "cancelled" });
  resolve(7);
  expect(await second).toBe(7);
});
