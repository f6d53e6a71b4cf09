/** A deadline that can be pushed back, and the caller's signal, as one signal. */

import type { Clock } from "@mesh/kernel";

/** Aborts its signal when the time is over or the caller gives up; disposed of, it leaves no timer behind. */
export class Deadline implements Disposable {
  readonly signal: AbortSignal;
  readonly ms: number;
  readonly #clock: Pick<Clock, "after">;
  readonly #late = new AbortController();
  #cancel: () => void;

  constructor(clock: Pick<Clock, "after">, outer: AbortSignal, ms: number) {
    this.#clock = clock;
    this.ms = ms;
    this.signal = AbortSignal.any([outer, this.#late.signal]);
    this.#cancel = this.#start();
  }

  /** Whether the time was over. */
  isOver(): boolean {
    return this.#late.signal.aborted;
  }

  /** Stops counting; what goes on until {@link restart} is not the other party's fault. */
  pause(): void {
    this.#cancel();
  }

  /** Counts from the beginning. */
  restart(): void {
    this.#cancel();
    if (!this.isOver()) this.#cancel = this.#start();
  }

  /** The same parts; each pushes the deadline back. */
  async *watching<T>(parts: AsyncIterable<T> | Iterable<T>): AsyncGenerator<T> {
    for await (const part of parts) {
      this.restart();
      yield part;
    }
  }

  [Symbol.dispose](): void {
    this.#cancel();
  }

  #start(): () => void {
    return this.#clock.after(this.ms, () => this.#late.abort());
  }
}
