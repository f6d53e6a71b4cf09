/** Waiting that ends: at a deadline, at a signal, or with what was waited for. */

import { type Clock, MeshError } from "@mesh/kernel";

/** What bounds a wait. */
export interface Bounds {
  readonly signal: AbortSignal;
  /** How long without {@link Touch}. */
  readonly timeoutMs: number;
  /** Begins the sentence "… did not answer within 30 s". */
  readonly what: string;
}

/** Starts the time anew, because something was heard. */
export type Touch = () => void;

/** However much progress is reported. */
const MAX_TOTAL_MS = 3_600_000;

/**
 * Runs `work` with a signal that aborts at the deadline or with the caller's, and settles at that moment even when `work` does
 * not listen. The signal never aborts after `work` has settled.
 */
export async function withDeadline<T>(
  clock: Clock,
  bounds: Bounds,
  work: (signal: AbortSignal, touch: Touch) => Promise<T>,
): Promise<T> {
  const { signal, timeoutMs, what } = bounds;
  if (signal.aborted) throw cancelled(what);
  const stop = new AbortController();
  const lastMs = clock.monotonic() + Math.max(timeoutMs, MAX_TOTAL_MS);
  const late = (): void =>
    stop.abort(new MeshError("deadline_exceeded", `${what} did not answer within ${forPeople(timeoutMs)}`));
  let cancelTimer = clock.after(timeoutMs, late);
  let isOver = false;
  const touch = (): void => {
    cancelTimer();
    if (!isOver) cancelTimer = clock.after(Math.min(timeoutMs, lastMs - clock.monotonic()), late);
  };
  const onAbort = (): void => stop.abort(cancelled(what));
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([work(stop.signal, touch), rejectionOf(stop.signal)]);
  } catch (error) {
    // `work` may have noticed first, in words of its own.
    throw stop.signal.aborted ? stop.signal.reason : error;
  } finally {
    isOver = true;
    cancelTimer();
    signal.removeEventListener("abort", onAbort);
  }
}

/** Waits for a promise others wait for as well: the signal ends this wait, not theirs. */
export function sharedWait<T>(promise: Promise<T>, signal: AbortSignal, what: string): Promise<T> {
  if (signal.aborted) return Promise.reject(cancelled(what));
  return new Promise<T>((resolve, reject) => {
    const onAbort = (): void => reject(cancelled(what));
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

/** What a caller gets whose own signal ended the call. */
export function cancelled(what: string): MeshError {
  return new MeshError("cancelled", `${what} was cancelled`);
}

/** A duration for people. */
export function forPeople(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${Number((ms / 1000).toFixed(1))} s`;
}

function rejectionOf(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(MeshError.from(signal.reason)), { once: true });
  });
}
