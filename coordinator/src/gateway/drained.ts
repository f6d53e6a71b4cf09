/** Streams that go no faster than their reader. */

import type { ServerResponse } from "node:http";

import type { Clock } from "@mesh/kernel";

const BLOCKED_MS = 10_000;
const MAX_BUFFERED_BYTES = 1024 * 1024;

/** Waits until the client has read; false when it is too slow or gone. */
export function drained(clock: Clock, raw: ServerResponse, signal: AbortSignal): Promise<boolean> {
  if (raw.writableLength > MAX_BUFFERED_BYTES) return Promise.resolve(false);
  return new Promise((resolve) => {
    const finish = (inTime: boolean) => (): void => {
      cancelTimer();
      raw.off("drain", onDrain);
      signal.removeEventListener("abort", onGone);
      resolve(inTime);
    };
    const onDrain = finish(true);
    const onGone = finish(false);
    const cancelTimer = clock.after(BLOCKED_MS, onGone);
    raw.once("drain", onDrain);
    signal.addEventListener("abort", onGone, { once: true });
    if (signal.aborted) onGone();
  });
}
