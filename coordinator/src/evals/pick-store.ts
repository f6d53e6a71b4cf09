/** Statements that choose the units of the next batches; the caller's transaction holds the eval's row. */

import type { Tx } from "@mesh/store";

import { ALONE_AFTER_LOSSES } from "./eval-fold.ts";
import type { EvalRow } from "./eval-row.ts";
import type { UnitKey } from "./unit-store.ts";

/** Text of the cases of one batch. */
const MAX_BATCH_BYTES = 2 * 1024 * 1024;

/** A unit that waits for a device. */
interface OpenUnit extends UnitKey {
  readonly losses: number;
  /** Of its case. */
  readonly bytes: number;
}

/** Chooses units for batches of these sizes on one device; fewer when there are none that it may run. */
export async function pickUnits(
  tx: Tx,
  row: EvalRow,
  device: { readonly id: string; readonly activeIds: readonly string[] },
  sizes: readonly number[],
): Promise<readonly (readonly UnitKey[])[]> {
  const limit = sizes.reduce((sum, size) => sum + size, 0);
  if (limit === 0) return [];
  const units = await openUnits(tx, row, device, limit);
  return sliceUnits(units, sizes, row.placement.mode === "sticky");
}

/** Cuts a list of units into batches, each within its size and the bytes it may have. Pure. */
export function sliceUnits(
  units: readonly OpenUnit[],
  sizes: readonly number[],
  keepsCases: boolean,
): readonly (readonly UnitKey[])[] {
  const batches: OpenUnit[][] = [];
  let at = 0;
  for (const size of sizes) {
    const batch: OpenUnit[] = [];
    let bytes = 0;
    for (let unit = units[at]; unit !== undefined; unit = units[at]) {
      const before = batch.at(-1);
      const isSameCase = before?.ordinal === unit.ordinal;
      const added = isSameCase ? 0 : unit.bytes;
      const isFull = batch.length >= size || bytes + added > MAX_BATCH_BYTES;
      if (before !== undefined && (isAlone(before) || isAlone(unit) || (isFull && !(keepsCases && isSameCase)))) break;
      bytes += added;
      batch.push(unit);
      at += 1;
    }
    if (batch.length > 0) batches.push(batch);
  }
  return batches;
}

function isAlone(unit: OpenUnit): boolean {
  return unit.losses >= ALONE_AFTER_LOSSES;
}

async function openUnits(
  tx: Tx,
  row: EvalRow,
  { id: nodeId, activeIds }: { readonly id: string; readonly activeIds: readonly string[] },
  limit: number,
): Promise<readonly OpenUnit[]> {
  const open = tx`u.eval_id = ${row.id} AND NOT u.settled AND u.run_id IS NULL`;
  // On another device than those that failed it, as long as there is one.
  const fresh = tx`(u.tried_nodes = '{}' OR NOT (${nodeId} = ANY (u.tried_nodes)) OR u.tried_nodes @> ${[...activeIds]}::text[])`;
  const hasCopyOn = (id: ReturnType<Tx>): ReturnType<Tx> => tx`EXISTS (
    SELECT 1 FROM eval_units o WHERE o.eval_id = u.eval_id AND o.ordinal = u.ordinal AND o.run = u.run
      AND o.copy <> u.copy AND o.node_id = ${id})`;
  const picked = ((): ReturnType<Tx> => {
    switch (row.placement.mode) {
      case "spread":
        return tx`SELECT u.* FROM eval_units u WHERE ${open} AND ${fresh} ORDER BY u.ordinal, u.run, u.copy LIMIT ${limit}`;
      case "each":
        return tx`
          SELECT u.* FROM eval_units u WHERE ${open} AND u.node_id = ${nodeId} ORDER BY u.ordinal, u.run, u.copy LIMIT ${limit}`;
      case "mirror":
        // A copy runs where no other copy of its unit runs or ran.
        return tx`
          SELECT DISTINCT ON (u.ordinal, u.run) u.* FROM eval_units u
          WHERE ${open} AND NOT ${hasCopyOn(tx`${nodeId}`)} AND (NOT (${nodeId} = ANY (u.tried_nodes)) OR NOT EXISTS (
            SELECT 1 FROM unnest(${[...activeIds]}::text[]) AS a (id) WHERE NOT (a.id = ANY (u.tried_nodes)) AND NOT ${hasCopyOn(tx`a.id`)}
          )) ORDER BY u.ordinal, u.run, u.copy LIMIT ${limit}`;
      case "sticky":
        // A case stays with the device that has begun it, for as long as that takes part.
        return tx`
          SELECT u.* FROM eval_units u WHERE ${open} AND coalesce((
            SELECT o.node_id FROM eval_units o WHERE o.eval_id = u.eval_id AND o.ordinal = u.ordinal
              AND o.node_id = ANY (${[...activeIds]}::text[]) ORDER BY o.settled, o.run DESC LIMIT 1
          ), ${nodeId}) = ${nodeId} ORDER BY u.ordinal, u.run, u.copy LIMIT ${limit}`;
    }
  })();
  return tx<OpenUnit[]>`
    SELECT p.ordinal, p.run, p.copy, p.losses, octet_length(c.body) AS bytes FROM (${picked}) p
    JOIN eval_cases c ON c.eval_id = ${row.id} AND c.ordinal = p.ordinal ORDER BY p.ordinal, p.run, p.copy`;
}
