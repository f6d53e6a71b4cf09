/** A clock that stands still until a test moves it. */

import type { Clock } from "../app/clock.ts";

interface Timer {
  readonly atMs: number;
  readonly work: () => void;
}

/** See the file comment. */
export class ManualClock implements Clock {
  #now = 1_000_000;
  readonly #timers = new Set<Timer>();

  now(): number {
    return this.#now;
  }

  random(): number {
    return 0.5;
  }

  after(ms: number, work: () => void): () => void {
    const timer: Timer = { atMs: this.#now + ms, work };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Number of timers that wait. */
  get waiting(): number {
    return this.#timers.size;
  }

  /** Lets time pass; what is due is called in its order. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const due = [...this.#timers].filter(({ atMs }) => atMs <= end).sort((a, b) => a.atMs - b.atMs)[0];
      if (due === undefined) break;
      this.#timers.delete(due);
      this.#now = Math.max(this.#now, due.atMs);
      due.work();
    }
    this.#now = end;
  }
}
