/**
 * Events between a run and a reader that may be slower.
 *
 * Text deltas that nobody has read yet are joined, so what waits grows with what was said, not with how finely it came.
 */

import type { AgentEvent } from "./event.ts";

/** A queue of events that one reader takes from. */
export class EventStream implements AsyncIterableIterator<AgentEvent, undefined> {
  readonly #queue: AgentEvent[] = [];
  readonly #onAbandon: () => void;
  #wake: (() => void) | undefined;
  #isEnded = false;

  /** `onAbandon` is called when the reader leaves before the end. */
  constructor(onAbandon: () => void) {
    this.#onAbandon = onAbandon;
  }

  readonly push = (event: AgentEvent): void => {
    if (this.#isEnded) return;
    const last = this.#queue.at(-1);
    if (event.type === "messageUpdate" && last?.type === "messageUpdate" && last.delta.type === event.delta.type) {
      const delta = { ...event.delta, delta: last.delta.delta + event.delta.delta };
      this.#queue[this.#queue.length - 1] = { ...event, delta };
    } else this.#queue.push(event);
    this.#wake?.();
  };

  /** No event will follow. */
  end(): void {
    this.#isEnded = true;
    this.#wake?.();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<AgentEvent, undefined>> {
    for (;;) {
      const event = this.#queue.shift();
      if (event !== undefined) return { done: false, value: event };
      if (this.#isEnded) return { done: true, value: undefined };
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
    }
  }

  return(): Promise<IteratorResult<AgentEvent, undefined>> {
    if (!this.#isEnded) this.#onAbandon();
    this.#queue.length = 0;
    this.#isEnded = true;
    this.#wake?.();
    return Promise.resolve({ done: true, value: undefined });
  }
}
