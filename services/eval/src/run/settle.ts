/** Waiting for work that may not listen: it is told to stop, given a moment, and then left behind. */

import { type CancelTimer, type Clock, MeshError } from "@mesh/kernel";

const GRACE_MS = 2_000;

/** What became of bounded work. */
export type Settled<T> =
  | { readonly kind: "done"; readonly value: T }
  | { readonly kind: "failed"; readonly error: MeshError }
  /** Its own time was over. */
  | { readonly kind: "late" }
  /** `signal` asked for the end of everything. */
  | { readonly kind: "stopped" };

/** Bounds of work. */
export interface Bounds {
  readonly clock: Clock;
  readonly limitMs: number;
  readonly signal: AbortSignal;
}

/** Runs work for at most `limitMs`; never rejects. Work that ignores its signal is left behind after a moment. */
export function settle<T>(
  work: (signal: AbortSignal) => Promise<T>,
  { clock, limitMs, signal }: Bounds,
): Promise<Settled<T>> {
  if (signal.aborted) return Promise.resolve({ kind: "stopped" });
  return new Promise((resolve) => {
    const own = new AbortController();
    let given: "late" | "stopped" | undefined;
    let cancelGrace: CancelTimer | undefined;
    const end = (ended: Settled<T>): void => {
      cancelLimit();
      cancelGrace?.();
      unfollow();
      resolve(ended);
    };
    const giveUp = (kind: "late" | "stopped", reason: unknown): void => {
      if (given !== undefined) return;
      given = kind;
      cancelGrace = clock.after(GRACE_MS, () => end({ kind }));
      own.abort(reason);
    };
    const cancelLimit = clock.after(limitMs, () =>
      giveUp("late", new MeshError("deadline_exceeded", "the time is over")),
    );
    const unfollow = onAbort(signal, () => giveUp("stopped", signal.reason));
    void attempt(work, own.signal).then((ended) => end(given === undefined ? ended : { kind: given }));
  });
}

// One listener per signal, however many cases run: adding one costs more than many a case.
const followers = new WeakMap<AbortSignal, Set<() => void>>();

function onAbort(signal: AbortSignal, follow: () => void): () => void {
  let all = followers.get(signal);
  if (all === undefined) {
    const created = new Set<() => void>();
    followers.set(signal, created);
    signal.addEventListener("abort", () => created.forEach((each) => each()), { once: true });
    all = created;
  }
  const set = all;
  set.add(follow);
  return () => set.delete(follow);
}

async function attempt<T>(work: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<Settled<T>> {
  try {
    return { kind: "done", value: await work(signal) };
  } catch (error) {
    return { kind: "failed", error: MeshError.from(error) };
  }
}
