/** Racing work against cancellation, so that a cancelled run settles even when the work does not. */

/** How raced work ended. */
export type Raced<T> =
  | { readonly kind: "value"; readonly value: T }
  | { readonly kind: "error"; readonly error: unknown }
  | { readonly kind: "cancelled" };

/**
 * The outcome of `work`, or `cancelled` as soon as `signal` aborts. The work is abandoned, not awaited: it is told by
 * its own signal, and a late failure is swallowed. A signal that was already aborted wins, and the work never starts.
 *
 * `graceTicks` is how many microtasks cancelled work gets to end by itself: enough for work that only has to unwind
 * (a child run that reports what it spent), nothing for work that waits.
 */
export function raced<T>(work: () => Promise<T> | T, signal: AbortSignal, graceTicks = 0): Promise<Raced<T>> {
  if (signal.aborted) return Promise.resolve({ kind: "cancelled" });
  return new Promise((resolve) => {
    const unfollow = onAbort(signal, () => {
      void ticks(graceTicks).then(() => resolve({ kind: "cancelled" }));
    });
    const end = (outcome: Raced<T>): void => {
      unfollow();
      resolve(outcome);
    };
    // Every call of a tool comes through here: one promise less per call is worth two handlers.
    started(work).then(
      (value) => end({ kind: "value", value }),
      (error: unknown) => end({ kind: "error", error }),
    );
  });
}

async function ticks(count: number): Promise<void> {
  for (let tick = 0; tick < count; tick += 1) await Promise.resolve();
}

/**
 * The outcome of work that must not be skipped: it starts even when `signal` has aborted, and from then on is waited
 * for as long as `patience` lasts, whose own signal aborts when nobody waits any more.
 */
export async function bounded<T>(
  work: () => Promise<T> | T,
  signal: AbortSignal,
  patience: (done: AbortSignal) => Promise<void>,
): Promise<Raced<T>> {
  const done = new AbortController();
  let unfollow = (): void => undefined;
  const late = new Promise<Raced<T>>((resolve) => {
    const expire = (): void => void patience(done.signal).then(() => resolve({ kind: "cancelled" }));
    if (signal.aborted) expire();
    else unfollow = onAbort(signal, expire);
  });
  const outcome = await Promise.race([settled(work), late]);
  unfollow();
  done.abort();
  return outcome;
}

// One listener per signal, whatever the number of parallel calls: runtimes warn about more than a few as a leak.
const followers = new WeakMap<AbortSignal, Set<() => void>>();

/** Calls `follow` when the signal aborts; returns how to stop following. */
export function onAbort(signal: AbortSignal, follow: () => void): () => void {
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

/** A signal that a few calls share. */
export interface SharedSignal {
  readonly signal: AbortSignal;
  readonly unfollow: () => void;
  /** Calls that were given it, and those of them that go on. */
  given: number;
  open: number;
}

/** Runtimes warn of a leak when a signal has more than ten listeners: each call may have two. */
const CALLS_PER_SIGNAL = 5;

/**
 * The signals of a run's calls. Calls that go on side by side share them, for making one costs more than all the rest of
 * a call; calls one after another do not, so that what a tool leaves behind on its signal goes with it.
 */
export class CallSignals {
  readonly #run: AbortSignal;
  #current: SharedSignal | undefined;

  constructor(run: AbortSignal) {
    this.#run = run;
  }

  /** A signal that aborts with the run until it is released. */
  take(): SharedSignal {
    const known = this.#current;
    const group = known === undefined || known.given >= CALLS_PER_SIGNAL ? this.#follow() : known;
    group.given += 1;
    group.open += 1;
    this.#current = group;
    return group;
  }

  /** The call has ended; once all that share its signal have, the run is followed no longer. */
  release(group: SharedSignal): void {
    group.open -= 1;
    if (group.open > 0) return;
    group.unfollow();
    if (this.#current === group) this.#current = undefined;
  }

  #follow(): SharedSignal {
    const stop = new AbortController();
    const { signal } = stop;
    if (this.#run.aborted) stop.abort();
    const unfollow = onAbort(this.#run, () => stop.abort());
    return { signal, unfollow, given: 0, open: 0 };
  }
}

/** The promise of work, also of work that throws before it has one. */
function started<T>(work: () => Promise<T> | T): Promise<T> {
  try {
    return Promise.resolve(work());
  } catch (error) {
    return Promise.reject(error);
  }
}

/** Runs work and turns both endings, and a synchronous throw, into a value. */
async function settled<T>(work: () => Promise<T> | T): Promise<Raced<T>> {
  try {
    return { kind: "value", value: await work() };
  } catch (error) {
    return { kind: "error", error };
  }
}
