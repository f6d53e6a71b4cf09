/** Racing work against cancellation, so that a cancelled run settles even when the work does not. */

/** How raced work ended. */
export type Raced<T> =
  | { readonly kind: "value"; readonly value: T }
  | { readonly kind: "error"; readonly error: unknown }
  | { readonly kind: "cancelled" };

/**
 * The outcome of `work`, or `cancelled` as soon as `signal` aborts. The work is abandoned, not awaited: it is told by
 * its own signal, and a late failure is swallowed. A signal that was already aborted wins, and the work never starts.
 */
export async function raced<T>(work: () => Promise<T> | T, signal: AbortSignal): Promise<Raced<T>> {
  if (signal.aborted) return { kind: "cancelled" };
  let stop: (() => void) | undefined;
  const cancelled = new Promise<Raced<T>>((resolve) => {
    stop = () => resolve({ kind: "cancelled" });
    signal.addEventListener("abort", stop, { once: true });
  });
  try {
    return await Promise.race([settled(work), cancelled]);
  } finally {
    if (stop !== undefined) signal.removeEventListener("abort", stop);
  }
}

/** Runs work and turns both endings, and a synchronous throw, into a value. */
export async function settled<T>(work: () => Promise<T> | T): Promise<Raced<T>> {
  try {
    return { kind: "value", value: await work() };
  } catch (error) {
    return { kind: "error", error };
  }
}
