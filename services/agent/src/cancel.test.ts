import { expect, test } from "vitest";

import { bounded, CallSignals, onAbort, raced } from "./cancel.ts";

function aborted(): AbortSignal {
  const stop = new AbortController();
  stop.abort();
  return stop.signal;
}

test("work of a cancelled run never starts", async () => {
  let isStarted = false;
  const work = (): Promise<never> => ((isStarted = true), new Promise(() => undefined));
  expect(await raced(work, aborted())).toEqual({ kind: "cancelled" });
  expect(isStarted).toBe(false);
});

test("both endings and a throw before the first await are values", async () => {
  const { signal } = new AbortController();
  expect(await raced(() => 1, signal)).toEqual({ kind: "value", value: 1 });
  expect(await raced(() => Promise.reject(new Error("x")), signal)).toMatchObject({ kind: "error" });
  const thrower = (): never => {
    throw new Error("sync");
  };
  expect(await raced(thrower, signal)).toMatchObject({ kind: "error", error: { message: "sync" } });
});

test("cancelled work gets its grace to unwind, and no more", async () => {
  const stop = new AbortController();
  const unwinding = raced(
    () => new Promise((resolve) => onAbort(stop.signal, () => queueMicrotask(() => resolve("said goodbye")))),
    stop.signal,
    50,
  );
  const stuck = raced(() => new Promise(() => undefined), stop.signal, 50);
  stop.abort();
  expect(await unwinding).toEqual({ kind: "value", value: "said goodbye" });
  expect(await stuck).toEqual({ kind: "cancelled" });
});

test("who stopped following is not called", () => {
  const stop = new AbortController();
  const called: string[] = [];
  onAbort(stop.signal, () => called.push("a"));
  onAbort(stop.signal, () => called.push("b"))();
  stop.abort();
  expect(called).toEqual(["a"]);
});

test("bounded work starts although its run is cancelled, and is left alone when patience ends", async () => {
  let isStarted = false;
  const never = (): Promise<never> => ((isStarted = true), new Promise(() => undefined));
  expect(await bounded(never, aborted(), () => Promise.resolve())).toEqual({ kind: "cancelled" });
  expect(isStarted).toBe(true);
  const patient = (): Promise<void> => new Promise(() => undefined);
  expect(await bounded(() => "saved", aborted(), patient)).toEqual({ kind: "value", value: "saved" });
});

test("patience begins with the cancellation, and is told when nobody waits any more", async () => {
  const stop = new AbortController();
  const told: string[] = [];
  let finish = (_value: string): void => undefined;
  const work = new Promise<string>((resolve) => {
    finish = resolve;
  });
  const outcome = bounded(
    () => work,
    stop.signal,
    (done) => {
      told.push("begun");
      onAbort(done, () => told.push("over"));
      return new Promise(() => undefined);
    },
  );
  expect(told).toEqual([]);
  stop.abort();
  finish("saved");
  expect(await outcome).toEqual({ kind: "value", value: "saved" });
  expect(told).toEqual(["begun", "over"]);
});

test("calls side by side share a signal, five at most; calls one after another have their own", () => {
  const signals = new CallSignals(new AbortController().signal);
  const together = Array.from({ length: 7 }, () => signals.take());
  expect(new Set(together.map(({ signal }) => signal)).size).toBe(2);
  expect(together[4]?.signal).toBe(together[0]?.signal);
  for (const each of together) signals.release(each);
  const [first, second] = [signals.take(), signals.take()];
  expect(second.signal).toBe(first.signal);
  expect(together.map(({ signal }) => signal)).not.toContain(first.signal);
});

test("a shared signal aborts with the run while any of its calls goes on, and not once all have ended", () => {
  const stop = new AbortController();
  const signals = new CallSignals(stop.signal);
  const ended = signals.take();
  signals.release(ended);
  const [going, over] = [signals.take(), signals.take()];
  signals.release(over);
  stop.abort();
  expect(going.signal.aborted).toBe(true);
  expect(ended.signal.aborted).toBe(false);
  expect(signals.take().signal.aborted).toBe(true);
});
