/** The bounded buffer between the arrival of stream messages and their handler; both buses use it. */

import type { StreamMessage } from "./bus.ts";

const DELAYS_MS = [1_000, 5_000, 15_000, 30_000];

/** How long a message that failed for the `deliveryCount`-th time waits before it comes again. */
export function redeliveryDelayMs(deliveryCount: number): number {
  return DELAYS_MS[Math.min(Math.max(deliveryCount, 1), DELAYS_MS.length) - 1] ?? 30_000;
}

/** Holds up to `capacity` messages; `drain` hands over greedily what has arrived. */
export class StreamQueue {
  readonly #capacity: number;
  #held: StreamMessage[] = [];
  #ended = false;
  #wake: () => void = () => undefined;
  #changed: Promise<void>;

  constructor(capacity: number) {
    this.#capacity = capacity;
    this.#changed = this.#nextChange();
  }

  /** Adds a message, waiting for room; a queue that has ended gives it back. */
  async put(message: StreamMessage): Promise<void> {
    while (!this.#ended && this.#held.length >= this.#capacity) await this.#changed;
    if (this.#ended) {
      message.nak(0);
      return;
    }
    this.#held.push(message);
    this.#notify();
  }

  /** No more messages come; `drain` returns after the batch in hand. */
  end(): void {
    this.#ended = true;
    this.#notify();
  }

  /** Gives back what nobody handled. */
  giveBack(): void {
    for (const message of this.#held) message.nak(0);
    this.#held = [];
  }

  /** Calls `handler` with batches until the queue ends; a batch whose handler throws is delivered again later. */
  async drain(
    handler: (messages: readonly StreamMessage[]) => Promise<void>,
    onFailure: (error: unknown) => void,
  ): Promise<void> {
    while (!this.#ended) {
      if (this.#held.length === 0) await this.#changed;
      // One turn of the event loop: what came in the same packet belongs to the same batch.
      await new Promise((resolve) => setImmediate(resolve));
      if (this.#ended || this.#held.length === 0) continue;
      const batch = this.#held.splice(0, this.#capacity);
      this.#notify();
      try {
        await handler(batch);
      } catch (error) {
        onFailure(error);
        for (const message of batch) message.nak(redeliveryDelayMs(message.deliveryCount));
      }
    }
  }

  #notify(): void {
    const wake = this.#wake;
    this.#changed = this.#nextChange();
    wake();
  }

  #nextChange(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}
