/** Wakes a loop that has nothing to do. A ring while nobody waits is kept, so that it is never missed. */

import type { Clock } from "./clock.ts";

/** One loop waits, anybody rings. */
export class Doorbell {
  readonly #clock: Clock | undefined;
  #isRung = false;
  #wake: () => void = () => undefined;

  /** The clock is only needed for waits with a limit. */
  constructor(clock?: Clock) {
    this.#clock = clock;
  }

  /** Lets the loop look again; several rings before it does count as one. */
  ring(): void {
    this.#isRung = true;
    this.#wake();
  }

  /** Resolves at the next ring, when `signal` aborts, or after `limitMs`; true when it was a ring. */
  async wait(signal: AbortSignal, limitMs?: number): Promise<boolean> {
    if (!this.#isRung && !signal.aborted) await this.#sleep(signal, limitMs);
    const isRung = this.#isRung;
    this.#isRung = false;
    return isRung;
  }

  #sleep(signal: AbortSignal, limitMs: number | undefined): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        cancel?.();
        signal.removeEventListener("abort", done);
        this.#wake = () => undefined;
        resolve();
      };
      const cancel = limitMs === undefined ? undefined : this.#clock?.after(limitMs, done);
      this.#wake = done;
      signal.addEventListener("abort", done, { once: true });
    });
  }
}
