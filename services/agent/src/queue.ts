/** Messages waiting for a run: steering goes in at the next opportunity, follow-ups when the run would end. */

import type { AgentMessage } from "./message.ts";

/** How much one poll takes. */
export type QueueMode = "one-at-a-time" | "all";

/** One queue; bounded, so that a runaway producer is told and memory is not the limit. */
export class MessageQueue {
  mode: QueueMode;
  readonly #capacity: number;
  #messages: AgentMessage[] = [];

  constructor(mode: QueueMode = "one-at-a-time", capacity = 10_000) {
    this.mode = mode;
    this.#capacity = capacity;
  }

  get length(): number {
    return this.#messages.length;
  }

  /** Adds messages at the end, all or none; false when they do not fit. */
  push(...messages: readonly AgentMessage[]): boolean {
    if (this.#messages.length + messages.length > this.#capacity) return false;
    this.#messages.push(...messages);
    return true;
  }

  /** Puts back what was taken, ahead of everything else. */
  putBack(messages: readonly AgentMessage[]): void {
    this.#messages.unshift(...messages);
  }

  /** What waits, oldest first; a copy. */
  snapshot(): readonly AgentMessage[] {
    return [...this.#messages];
  }

  /** Takes everything at once. */
  take(): readonly AgentMessage[] {
    const taken = this.#messages;
    this.#messages = [];
    return taken;
  }

  /** Takes what one poll may take. */
  poll(): readonly AgentMessage[] {
    return this.mode === "all" ? this.take() : this.#messages.splice(0, 1);
  }

  clear(): void {
    this.#messages = [];
  }
}
