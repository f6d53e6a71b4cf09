/** Wires evals. */

import type { Bus } from "@mesh/bus";
import { type Ids, type Service, systemClock } from "@mesh/kernel";
import type { Logger } from "@mesh/observability";
import type { Store } from "@mesh/store";

import { EvalScheduler } from "../evals/eval-scheduler.ts";
import { EvalTail } from "../evals/eval-tail.ts";

/** What evals are made of. */
export interface EvalCore {
  readonly store: Store;
  readonly bus: Bus;
  readonly ids: Ids;
  readonly log: Logger;
  readonly elector: { readonly isLeader: boolean };
  readonly pokeQueue: () => void;
  readonly committed: (runIds: readonly string[]) => void;
}

/** The wired evals. */
export interface Evals {
  readonly services: readonly Service[];
  /** For followers. */
  readonly tail: Pick<EvalTail, "open">;
  /** To be called after a commit that started, stopped or resumed an eval: its next step and its followers' news come at once. */
  readonly changed: (evalId: string) => void;
}

/** Puts them together. */
export function createEvals({ store, bus, ids, log, elector, pokeQueue, committed }: EvalCore): Evals {
  const clock = systemClock;
  const tail = new EvalTail({ bus, clock });
  const scheduler = new EvalScheduler({
    store,
    bus,
    ids,
    clock,
    log: log.child({ component: "evals" }),
    isLeader: () => elector.isLeader,
    pokeQueue,
    grown: (evalId) => tail.grown(evalId),
    committed,
  });
  return {
    services: [tail, scheduler],
    tail,
    changed: (evalId) => {
      tail.grown(evalId);
      scheduler.poke();
    },
  };
}
