/** Clocks, quantiles and load loops of the benchmarks. */

/** Milliseconds of the machine's monotonic clock: comparable between processes, unlike `performance.now()`. */
export function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** The q-quantile (0 to 1) by nearest rank; NaN without values. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(q * sorted.length) - 1))] ?? Number.NaN;
}

/** The middle value. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** Runs `work` `total` times with at most `inFlight` at once; returns the results and the rate per second. */
export async function closedLoop<T>(
  inFlight: number,
  total: number,
  work: (index: number) => Promise<T>,
): Promise<{ readonly results: readonly T[]; readonly perSecond: number }> {
  const results: T[] = [];
  let next = 0;
  const startMs = nowMs();
  const lane = async (): Promise<void> => {
    while (next < total) {
      const index = next;
      next += 1;
      results.push(await work(index));
    }
  };
  await Promise.all(Array.from({ length: Math.min(inFlight, total) }, lane));
  return { results, perSecond: (total / (nowMs() - startMs)) * 1000 };
}

/**
 * Calls `work` `total` times at a fixed rate, whatever earlier calls do, so that a system that falls behind shows it.
 * `work` gets the time at which it was due: delays of the load generator count as latency.
 */
export async function openLoop<T>(
  perSecond: number,
  total: number,
  work: (dueMs: number, index: number) => Promise<T>,
): Promise<{ readonly results: readonly T[]; readonly perSecond: number }> {
  const startMs = nowMs();
  const running: Promise<T>[] = [];
  const endsMs: number[] = [];
  while (running.length < total) {
    const due = Math.min(total, Math.floor(((nowMs() - startMs) * perSecond) / 1000) + 1);
    while (running.length < due) {
      const promise = work(startMs + (running.length * 1000) / perSecond, running.length);
      promise.then(
        () => endsMs.push(nowMs()),
        () => undefined,
      );
      running.push(promise);
    }
    await sleep(1);
  }
  const results = await Promise.all(running);
  // From the first end to the last: what a constant latency adds is no lack of throughput.
  const spanMs = Math.max(...endsMs) - Math.min(...endsMs);
  return { results, perSecond: ((total - 1) / spanMs) * 1000 };
}

/** Waits. Benchmarks pace load with it; they never wait for a fact with it. */
export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
