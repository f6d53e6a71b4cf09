/** Time as a port: code takes a {@link Clock}; only this file and the entry points touch timers. */

/** Cancels a timer; calling it twice is harmless. */
export type CancelTimer = () => void;

/** Wall time, monotonic time and timers. */
export interface Clock {
  /** Wall clock, milliseconds since the Unix epoch; may jump. */
  now(): number;
  /** Monotonic clock, milliseconds from an arbitrary start; never jumps back. */
  monotonic(): number;
  /** Runs `fire` once after `delayMs`. */
  after(delayMs: number, fire: () => void): CancelTimer;
  /** Runs `fire` every `periodMs` until cancelled. */
  every(periodMs: number, fire: () => void): CancelTimer;
  /** Resolves after `delayMs`, or as soon as `signal` aborts (it never rejects: check the signal). */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>;
}

/** The machine's clock. Timers keep the process alive, except those of `every` with `unref`. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(delayMs, fire) {
    const timer = setTimeout(fire, delayMs);
    return () => clearTimeout(timer);
  },
  every(periodMs, fire) {
    const timer = setInterval(fire, periodMs);
    return () => clearInterval(timer);
  },
  sleep: (delayMs, signal) => sleepOn(systemClock, delayMs, signal),
};

/** `sleep` for any clock that has `after`. */
export function sleepOn(clock: Pick<Clock, "after">, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) {
      resolve();
      return;
    }
    const finish = (): void => {
      cancel();
      signal?.removeEventListener("abort", finish);
      resolve();
    };
    const cancel = clock.after(delayMs, finish);
    signal?.addEventListener("abort", finish, { once: true });
  });
}

/** RFC 3339 in UTC with milliseconds. */
export function rfc3339(ms: number): string {
  return new Date(ms).toISOString();
}

const UNITS: Readonly<Record<string, number | undefined>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * Milliseconds of a duration such as `500ms`, `90s`, `15m`, `1h30m`, `7d`; a bare number is not accepted.
 * Returns undefined for anything else.
 */
export function parseDuration(text: string): number | undefined {
  const parts = [...text.trim().matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/gy)];
  if (parts.length === 0 || parts.map((part) => part[0]).join("") !== text.trim()) return undefined;
  return Math.round(parts.reduce((total, part) => total + Number(part[1]) * (UNITS[part[2] ?? ""] ?? 0), 0));
}
