import { expect, test } from "vitest";

import { onAbort, raced } from "./cancel.ts";

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
