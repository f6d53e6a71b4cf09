/** Growing delays with full jitter, reset only after a success that held for a while. */

import type { Clock } from "./clock.ts";

/** How delays grow. */
export interface BackoffOptions {
  /** Upper bound of the first delay. */
  readonly firstMs: number;
  /** Upper bound of any delay. */
  readonly maxMs: number;
  /** How long a success must hold before the next failure starts again from `firstMs`. */
  readonly heldMs?: number;
  /** Randomness in [0, 1). */
  readonly random?: () => number;
}

/** The state of one retrying loop. */
export class Backoff {
  readonly #options: Required<BackoffOptions>;
  readonly #clock: Clock;
  #failures = 0;
  #okSince: number | undefined;

  constructor(clock: Clock, options: BackoffOptions) {
    this.#clock = clock;
    this.#options = { heldMs: 10_000, random: Math.random, ...options };
  }

  /** Consecutive failures so far; log louder as it grows. */
  get failures(): number {
    return this.#failures;
  }

  /** Call when the guarded thing works; the delay is reset only once this has held for `heldMs`. */
  succeeded(): void {
    this.#okSince ??= this.#clock.monotonic();
  }

  /** Records a failure and returns how long to wait, in milliseconds. */
  nextDelayMs(): number {
    const held = this.#okSince !== undefined && this.#clock.monotonic() - this.#okSince >= this.#options.heldMs;
    this.#okSince = undefined;
    this.#failures = held ? 1 : this.#failures + 1;
    const ceiling = Math.min(this.#options.maxMs, this.#options.firstMs * 2 ** Math.min(this.#failures - 1, 30));
    // Never zero: a loop that fails at once must not spin.
    return Math.max(1, Math.round(ceiling * (0.25 + 0.75 * this.#options.random())));
  }

  /** Waits for the next delay or until `signal` aborts. */
  async wait(signal: AbortSignal): Promise<void> {
    await this.#clock.sleep(this.nextDelayMs(), signal);
  }
}
