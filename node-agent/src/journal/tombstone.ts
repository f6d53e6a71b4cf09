/** Runs this node has finished with: a late copy of their work message must not start them again. Bounded, newest kept. */

import type { RunKey } from "./record.ts";

const MAX_TOMBSTONES = 16_384;

/** The newest epochs of runs that are over here. */
export class Tombstones {
  readonly #epochs = new Map<string, number>();

  /** Highest epoch known for a run; 0 when none. */
  epochOf(runId: string): number {
    return this.#epochs.get(runId) ?? 0;
  }

  add(run: RunKey): void {
    const epoch = Math.max(run.epoch, this.epochOf(run.runId));
    // Deleted first so that the newest is last.
    this.#epochs.delete(run.runId);
    this.#epochs.set(run.runId, epoch);
    if (this.#epochs.size <= MAX_TOMBSTONES) return;
    for (const oldest of this.#epochs.keys()) {
      this.#epochs.delete(oldest);
      break;
    }
  }

  /** Oldest first. */
  list(): RunKey[] {
    return [...this.#epochs].map(([runId, epoch]) => ({ runId, epoch }));
  }
}
