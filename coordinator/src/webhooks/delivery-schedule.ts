/** When a message is sent again, and when it is given up. Pure. */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Wait before each attempt, the first included. */
const DELAYS_MS: readonly number[] = [
  0,
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
];
const JITTER = 0.1;

/** Attempts of one message. */
export const MAX_DELIVERY_ATTEMPTS: number = DELAYS_MS.length;

/** Milliseconds to the next attempt after `attempts` failed ones; undefined when there is none. `random` is in [0, 1). */
export function retryDelayMs(attempts: number, random: number): number | undefined {
  const delayMs = DELAYS_MS[attempts];
  return delayMs === undefined ? undefined : Math.round(delayMs * (1 - JITTER + 2 * JITTER * random));
}
