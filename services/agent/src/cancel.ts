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
export async function raced<T>(work: () => Promise<T> | T, signal: AbortSignal, graceTicks = 0): Promise<Raced<T>> {
  if (signal.aborted) return { kind: "cancelled" };
  const race: { outcome?: Raced<T> } = {};
  let stop: (() => void) | undefined;
  const cancelled = new Promise<undefined>((resolve) => {
    stop = () => resolve(undefined);
    signal.addEventListener("abort", stop, { once: true });
  });
  const working = settled(work).then((ended) => {
    race.outcome = ended;
    return undefined;
  });
  await Promise.race([working, cancelled]);
  if (stop !== undefined) signal.removeEventListener("abort", stop);
  for (let tick = 0; tick < graceTicks && race.outcome === undefined; tick += 1) await Promise.resolve();
  return race.outcome ?? { kind: "cancelled" };
}

/** Runs work and turns both endings, and a synchronous throw, into a value. */
async function settled<T>(work: () => Promise<T> | T): Promise<Raced<T>> {
  try {
    return { kind: "value", value: await work() };
  } catch (error) {
    return { kind: "error", error };
  }
}
