/** The place of a card in its column: a text between those of its neighbours, so that a move changes one card. Pure. */

import { MeshError } from "@mesh/kernel";
import { generateKeyBetween, generateNKeysBetween } from "fractional-indexing";

/** A rank after `after` and before `before`; null is the end of the column. Ranks are compared byte by byte. */
export function rankBetween(after: string | null, before: string | null): string {
  if (after !== null && before !== null && after >= before) {
    throw new MeshError("failed_precondition", "these cards are not neighbours in that order; read the column again");
  }
  return generateKeyBetween(after, before);
}

/** A rank longer than this says that the column is to be numbered anew. */
export const MAX_RANK = 100;

/** Fresh ranks for a whole column, in order. */
export function freshRanks(count: number): readonly string[] {
  return generateNKeysBetween(null, null, count);
}
