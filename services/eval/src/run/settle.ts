/** Waiting for work that may not listen: it is told to stop, given a moment, and then left behind. */

import { type Clock, MeshError } from "@mesh/kernel";

const GRACE_MS = 2_000;

/** What became of bounded work. */
export type Settled<T> =
  | { readonly kind: "done"; readonly value: T }
  | { readonly kind: "failed"; readonly error: MeshError }
  /** Its own time was over. */
  | { readonly kind: "late" }
  /** `signal` asked for the end of everything. */
  | { readonly kind: "stopped" };

/** Runs work for at most `limitMs`; never rejects. Work that ignores its signal is left behind after a moment. */
export async function settle<T>(
  work: (signal: AbortSignal) => Promise<T>,
  { clock, limitMs, signal }: { readonly clock: Clock; readonly limitMs: number; readonly signal: AbortSignal },
): Promise<Settled<T>> {
  const own = new AbortController();
  const stop = (): void => own.abort(signal.reason);
  if (signal.aborted) return { kind: "stopped" };
  signal.addEventListener("abort", stop, { once: true });
  let isLate = false;
  let cancelGrace = (): void => undefined;
  const cancelLimit = clock.after(limitMs, () => {
    isLate = true;
    own.abort(new MeshError("deadline_exceeded", "the time is over"));
  });
  const left = new Promise<undefined>((resolve) => {
    own.signal.addEventListener(
      "abort",
      () => {
        cancelGrace = clock.after(GRACE_MS, () => resolve(undefined));
      },
      { once: true },
    );
  });
  try {
    const ended = await Promise.race([attempt(work, own.signal), left]);
    if (isLate) return { kind: "late" };
    if (signal.aborted || ended === undefined) return { kind: "stopped" };
    return ended;
  } finally {
    cancelLimit();
    cancelGrace();
    signal.removeEventListener("abort", stop);
  }
}

async function attempt<T>(work: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<Settled<T>> {
  try {
    return { kind: "done", value: await work(signal) };
  } catch (error) {
    return { kind: "failed", error: MeshError.from(error) };
  }
}
