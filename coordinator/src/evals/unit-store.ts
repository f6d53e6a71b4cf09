/** Statements about the units of an eval; the caller's transaction holds the eval's row. */

import type { Tx } from "@mesh/store";

import type { EvalRow, StoredEvalPlacement } from "./eval-row.ts";

/** One unit, by its place in the eval. */
export interface UnitKey {
  readonly ordinal: number;
  readonly run: number;
  readonly copy: number;
}

/** How many units an eval has. */
export function countUnits(of: {
  readonly cases: number;
  readonly runs: number;
  readonly placement: StoredEvalPlacement;
  /** How many take part now: of a placement that runs everything on each. */
  readonly devices: number;
}): number {
  const { mode, copies } = of.placement;
  return of.cases * of.runs * (mode === "each" ? of.devices : mode === "mirror" ? copies : 1);
}

/** Makes the units and sets their number; of a placement on each device none while no device takes part. */
export async function makeUnits(
  tx: Tx,
  { id, placement, settings }: EvalRow,
  active: readonly { readonly id: string }[],
): Promise<void> {
  const isEach = placement.mode === "each";
  const copies: readonly (string | null)[] = isEach
    ? active.map((device) => device.id)
    : Array.from({ length: placement.mode === "mirror" ? placement.copies : 1 }, () => null);
  if (copies.length === 0) return;
  const made = await tx`
    INSERT INTO eval_units (eval_id, ordinal, run, copy, node_id)
    SELECT ${id}, c.ordinal, r.run, k.copy, nullif(k.node_id, '') FROM eval_cases c
    CROSS JOIN generate_series(1, ${settings.runs}::int) AS r (run)
    CROSS JOIN unnest(${copies.map((nodeId) => nodeId ?? "")}::text[]) WITH ORDINALITY AS k (node_id, copy)
    WHERE c.eval_id = ${id}`;
  await tx`UPDATE evals SET total = ${made.count} WHERE id = ${id}`;
  if (isEach)
    await joinNodes(
      tx,
      id,
      active.map((device) => device.id),
    );
}

/** Notes that devices take part. */
export async function joinNodes(tx: Tx, evalId: string, nodeIds: readonly string[]): Promise<void> {
  await tx`
    INSERT INTO eval_nodes (eval_id, node_id) SELECT ${evalId}, n FROM unnest(${[...nodeIds]}::text[]) AS n
    ON CONFLICT DO NOTHING`;
}

/**
 * Gives every unit without a result back to the queue with its tries forgotten; with `errors` also those whose result is an error,
 * which becomes an observation. Returns how many of the latter there were.
 */
export async function reopenUnits(tx: Tx, evalId: string, errors: boolean): Promise<number> {
  let reopened = 0;
  if (errors) {
    const rows = await tx<{ node_id: string; count: number }[]>`
      WITH freed AS (
        UPDATE eval_results SET observation = true WHERE eval_id = ${evalId} AND NOT observation AND status = 'error'
        RETURNING ordinal, run, copy, node_id
      ), opened AS (
        UPDATE eval_units u SET settled = false FROM freed f
        WHERE u.eval_id = ${evalId} AND u.ordinal = f.ordinal AND u.run = f.run AND u.copy = f.copy
      )
      SELECT node_id, count(*)::int AS count FROM freed GROUP BY node_id`;
    reopened = rows.reduce((sum, row) => sum + row.count, 0);
    await tx`
      UPDATE eval_nodes n SET errors = n.errors - f.count
      FROM unnest(${rows.map((row) => row.node_id)}::text[], ${rows.map((row) => row.count)}::int[]) AS f (node_id, count)
      WHERE n.eval_id = ${evalId} AND n.node_id = f.node_id`;
    await tx`
      UPDATE evals SET errors = errors - ${reopened}, observations = observations + ${reopened} WHERE id = ${evalId}`;
  }
  await tx`
    UPDATE eval_units SET run_id = NULL, attempts = 0, tried_nodes = '{}',
      node_id = CASE WHEN (SELECT placement ->> 'mode' FROM evals WHERE id = ${evalId}) = 'each' THEN node_id END
    WHERE eval_id = ${evalId} AND NOT settled`;
  return reopened;
}
