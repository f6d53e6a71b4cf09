import { type CancelTimer, type Clock, sleepOn } from "../clock.ts";

interface Timer {
  readonly fire: () => void;
  readonly periodMs: number | undefined;
  dueMs: number;
}

/** A clock that moves only when told to. */
export class FakeClock implements Clock {
  #nowMs: number;
  readonly #timers = new Set<Timer>();

  constructor(startMs = 1_700_000_000_000) {
    this.#nowMs = startMs;
  }

  now(): number {
    return this.#nowMs;
  }

  monotonic(): number {
    return this.#nowMs;
  }

  after(delayMs: number, fire: () => void): CancelTimer {
    return this.#add({ fire, periodMs: undefined, dueMs: this.#nowMs + delayMs });
  }

  every(periodMs: number, fire: () => void): CancelTimer {
    return this.#add({ fire, periodMs, dueMs: this.#nowMs + periodMs });
  }

  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    return sleepOn(this, delayMs, signal);
  }

  /** Moves time forward, firing timers in order and letting promise callbacks run between them. */
  async advance(ms: number): Promise<void> {
    const end = this.#nowMs + ms;
    for (;;) {
      const next = [...this.#timers].filter((timer) => timer.dueMs <= end).toSorted((a, b) => a.dueMs - b.dueMs)[0];
      if (next === undefined) break;
      this.#nowMs = next.dueMs;
      if (next.periodMs === undefined) this.#timers.delete(next);
      else next.dueMs += next.periodMs;
      next.fire();
      await new Promise((resolve) => setImmediate(resolve));
    }
    this.#nowMs = end;
    await new Promise((resolve) => setImmediate(resolve));
  }

  #add(timer: Timer): CancelTimer {
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }
}
