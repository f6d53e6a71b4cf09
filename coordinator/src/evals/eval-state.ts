/** States of an eval, as far as those who read one need them. Pure. */

import { MeshError } from "@mesh/kernel";

const ENDED: ReadonlySet<string> = new Set(["ended", "cancelled", "failed"]);

/** Nothing of it runs, and nothing will unless it is resumed. */
export function isEnded(state: string): boolean {
  return ENDED.has(state);
}

/** Throws `out_of_range` for a cursor that the log has not reached. */
export function requireLogged(row: { readonly id: string; readonly last_seq: number }, afterSeq: number): void {
  if (afterSeq <= row.last_seq) return;
  throw new MeshError(
    "out_of_range",
    `eval ${row.id} has ${row.last_seq} results; there is none after ${afterSeq} yet`,
  );
}
