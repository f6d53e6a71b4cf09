/**
 * Whether this device may trust that what it was given to do is still its own.
 *
 * A device that slept, was paused or was cut off may find work that was given to another one meanwhile. Both clocks count,
 * since the monotonic one stands still while a machine sleeps. Pure but for the clock.
 */

import type { Clock } from "@mesh/kernel";

/** A little more than one heartbeat with its jitter. */
const SILENCE_MS = 8_000;
/** Work that waited during a cut arrives soon after it. */
const SETTLING_MS = 30_000;

interface Moment {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/** Remembers the signs of being in touch. */
export class Certainty {
  readonly #clock: Clock;
  #connected: Moment | undefined;
  #answered: Moment | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The coordinator greeted a new connection. */
  connected(): void {
    this.#connected = this.#now();
  }

  /** A heartbeat was answered. */
  answered(): void {
    this.#answered = this.#now();
  }

  /** In touch without a break, for long enough. */
  get isCertain(): boolean {
    if (this.#connected === undefined || this.#answered === undefined) return false;
    return this.#ageMs(this.#answered) <= SILENCE_MS && this.#ageMs(this.#connected) >= SETTLING_MS;
  }

  #now(): Moment {
    return { monotonicMs: this.#clock.monotonic(), wallMs: this.#clock.now() };
  }

  #ageMs(moment: Moment): number {
    const { monotonicMs, wallMs } = this.#now();
    return Math.max(monotonicMs - moment.monotonicMs, wallMs - moment.wallMs);
  }
}
