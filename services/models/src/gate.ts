/** Keeps one workspace from taking all connections: so many calls run at once, so many wait, the rest is refused. */

import { MeshError } from "@mesh/kernel";

interface Lane {
  running: number;
  readonly waiting: (() => void)[];
}

/** Bounds of each key's lane. */
export interface GateLimits {
  readonly maxRunning: number;
  readonly maxWaiting: number;
}

/** A lane for each key; lanes exist only while they are used. */
export class Gate {
  readonly #lanes = new Map<string, Lane>();
  readonly #limits: GateLimits;

  constructor(limits: GateLimits) {
    this.#limits = limits;
  }

  /** Runs `work` when its key's lane has room, in the order of calls. */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const lane = this.#lanes.get(key) ?? { running: 0, waiting: [] };
    this.#lanes.set(key, lane);
    if (lane.running >= this.#limits.maxRunning) {
      if (lane.waiting.length >= this.#limits.maxWaiting) {
        throw new MeshError(
          "resource_exhausted",
          "too many model calls of this workspace are waiting; try again later",
        );
      }
      // Whoever ends hands its place on, so `running` stays as it is.
      await new Promise<void>((resolve) => lane.waiting.push(resolve));
    } else lane.running += 1;
    try {
      return await work();
    } finally {
      const next = lane.waiting.shift();
      if (next !== undefined) next();
      else {
        lane.running -= 1;
        if (lane.running === 0) this.#lanes.delete(key);
      }
    }
  }
}
