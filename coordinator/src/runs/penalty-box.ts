/** Remembers for a while which nodes did not accept work, so that placement tries others first. */

import type { Clock } from "@mesh/kernel";

const PENALTY_MS = 60_000;

/** A forgetful set of node ids. */
export class PenaltyBox {
  readonly #clock: Clock;
  readonly #until = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Puts a node last in line for a minute. */
  add(nodeId: string): void {
    this.#until.set(nodeId, this.#clock.monotonic() + PENALTY_MS);
  }

  /** Whether the node is still last in line. */
  has(nodeId: string): boolean {
    const until = this.#until.get(nodeId);
    if (until === undefined) return false;
    if (until > this.#clock.monotonic()) return true;
    this.#until.delete(nodeId);
    return false;
  }
}
