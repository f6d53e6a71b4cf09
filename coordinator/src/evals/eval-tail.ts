/** Tells followers of evals, on all replicas, that there is news. The database is the only source: a lost hint only costs time. */

import { type Bus, evalOfSubject, subjects } from "@mesh/bus";
import { type Clock, Doorbell, type Service, ulidOf } from "@mesh/kernel";

/** Followers look this often even without a hint. */
const POLL_MS = 1000;

/** One follower. */
export interface EvalNews {
  /** Resolves at the next news, after a second without any, or when the signal aborts; news that came before the call counts. */
  next(signal: AbortSignal): Promise<void>;
  close(): void;
}

/** The followers of this replica. */
export class EvalTail implements Service {
  readonly name = "eval-tail";
  readonly #bus: Bus;
  readonly #clock: Clock;
  readonly #bells = new Map<string, Set<Doorbell>>();

  constructor(deps: { readonly bus: Bus; readonly clock: Clock }) {
    this.#bus = deps.bus;
    this.#clock = deps.clock;
  }

  /** After a commit: the log or the state of this eval changed. */
  grown(evalId: string): void {
    this.#ring(evalId);
    this.#bus.publish(subjects.evalNews(ulidOf(evalId)), new Uint8Array());
  }

  /** Open it before reading, so that nothing falls between. */
  open(evalId: string): EvalNews {
    const bell = new Doorbell(this.#clock);
    const bells = this.#bells.get(evalId) ?? new Set();
    this.#bells.set(evalId, bells.add(bell));
    return {
      next: async (signal) => void (await bell.wait(signal, POLL_MS)),
      close: () => {
        bells.delete(bell);
        if (bells.size === 0) this.#bells.delete(evalId);
      },
    };
  }

  async run(signal: AbortSignal): Promise<void> {
    const hints = this.#bus.subscribe(subjects.anyEvalNews, (_data, subject) =>
      this.#ring(`eval_${evalOfSubject(subject)}`),
    );
    try {
      await new Doorbell().wait(signal);
    } finally {
      hints.stop();
    }
  }

  #ring(evalId: string): void {
    for (const bell of this.#bells.get(evalId) ?? []) bell.ring();
  }
}
