/** Waiting for facts instead of sleeping. */

import { systemClock } from "./clock.ts";
import { MeshError } from "./errors.ts";

/** How long and how often to look. */
export interface UntilOptions {
  readonly timeoutMs?: number;
  readonly everyMs?: number;
  /** Completes "timed out waiting for …". */
  readonly what?: string;
  readonly signal?: AbortSignal;
}

/** Calls `probe` until it gives a value other than undefined or false, and returns that; throws `deadline_exceeded` otherwise. */
export async function until<T>(
  probe: () => T | undefined | false | Promise<T | undefined | false>,
  options: UntilOptions = {},
): Promise<T> {
  const { timeoutMs = 10_000, everyMs = 20, what = "a condition", signal } = options;
  const end = systemClock.monotonic() + timeoutMs;
  for (;;) {
    const value = await probe();
    if (value !== undefined && value !== false) return value;
    if (signal?.aborted === true) throw new MeshError("cancelled", `stopped waiting for ${what}`);
    if (systemClock.monotonic() >= end) {
      throw new MeshError("deadline_exceeded", `timed out after ${timeoutMs} ms waiting for ${what}`);
    }
    await systemClock.sleep(everyMs, signal);
  }
}
