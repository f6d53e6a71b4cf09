/** Wires evals. */

import type { Bus } from "@mesh/bus";
import { type Service, systemClock } from "@mesh/kernel";

import { EvalTail } from "../evals/eval-tail.ts";

/** The wired evals. */
export interface Evals {
  readonly services: readonly Service[];
  readonly tail: EvalTail;
  /** To be called after a commit that gave the scheduler something to do. */
  readonly poke: () => void;
}

/** Puts them together. */
export function createEvals({ bus }: { readonly bus: Bus }): Evals {
  const tail = new EvalTail({ bus, clock: systemClock });
  return { services: [tail], tail, poke: () => undefined };
}
