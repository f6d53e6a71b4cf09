/** Statements of folding what batches said; the caller's transaction holds the eval's row. */

import type { Tx } from "@mesh/store";

import { isTerminal, type RunFailure, type RunState } from "../runs/run-state.ts";
import { type Folded, type FoldBatch, type FoldEvent, foldEval, type FoldUnit } from "./eval-fold.ts";
import type { EvalRow } from "./eval-row.ts";
import { appendResults } from "./result-store.ts";
import type { UnitKey } from "./unit-store.ts";

/** Of one transaction. */
const MAX_EVENTS = 2000;
const MAX_BYTES = 8 * 1024 * 1024;
const KINDS = ["eval.result", "eval.before", "eval.after"];

/** A unit as `eval_batches.units` has it: ordinal, run, copy. */
export type UnitTuple = readonly [number, number, number];

interface MovedBatch {
  readonly run_id: string;
  readonly node_id: string;
  readonly node_name: string;
  readonly phase: FoldBatch["phase"];
  readonly units: readonly UnitTuple[];
  readonly folded_seq: number;
  readonly last_seq: number;
  readonly state: RunState;
  readonly error: RunFailure | null;
}

/** What a fold did. */
export interface FoldOutcome extends Pick<Folded, "before" | "after" | "batchFailures" | "lastFailure" | "impossible"> {
  /** Rows were added or units changed. */
  readonly changed: boolean;
  /** There is more to fold. */
  readonly isCut: boolean;
}

/** Folds the next events of an eval's batches, and the ends of those whose events are all folded; undefined when there is nothing. */
export async function foldBatches(tx: Tx, row: EvalRow): Promise<FoldOutcome | undefined> {
  const moved = await movedBatches(tx, row.id);
  if (moved.length === 0) return undefined;
  const { events, isCut } = await nextEvents(tx, moved);
  const reached = reachedSeqs(moved, events, isCut);
  const read = moved.filter(({ run_id }) => reached.has(run_id));
  const isWhole = (batch: MovedBatch): boolean => reached.get(batch.run_id) === batch.last_seq;
  const ended = read.filter((batch) => isWhole(batch) && isTerminal(batch.state));
  const folded = foldEval({
    retries: row.settings.retries,
    phase: row.phase === "before" && row.fate !== "" ? "over" : row.phase,
    batchFailures: row.batch_failures,
    batches: read.map((batch) => toFoldBatch(batch, ended.includes(batch))),
    events,
    units: await unitsOf(
      tx,
      row.id,
      keysOf(events),
      ended.map((batch) => batch.run_id),
    ),
    infraInARow: await infraInARow(tx, row.id),
  });
  await appendResults(tx, row.id, folded.results);
  await storeUnits(tx, row, folded.units);
  await storeNodes(tx, row.id, folded);
  await storeBatches(tx, { read, reached, ended, progressed: folded.progressed });
  if (folded.batchFailures !== row.batch_failures) {
    await tx`UPDATE evals SET batch_failures = ${folded.batchFailures} WHERE id = ${row.id}`;
  }
  const { before, after, batchFailures, lastFailure, impossible } = folded;
  const changed = folded.results.length + folded.units.length > 0;
  return { before, after, batchFailures, lastFailure, impossible, changed, isCut };
}

async function movedBatches(tx: Tx, evalId: string): Promise<readonly MovedBatch[]> {
  return tx<MovedBatch[]>`
    SELECT b.run_id, b.node_id, coalesce(n.name, b.node_id) AS node_name, b.phase, b.units, b.folded_seq, r.last_seq, r.state, r.error
    FROM eval_batches b JOIN runs r ON r.id = b.run_id LEFT JOIN nodes n ON n.id = b.node_id
    WHERE b.eval_id = ${evalId} AND NOT b.closed AND (r.last_seq > b.folded_seq OR r.finished_at IS NOT NULL)
    ORDER BY b.run_id LIMIT ${MAX_EVENTS}`;
}

async function nextEvents(
  tx: Tx,
  batches: readonly MovedBatch[],
): Promise<{ readonly events: readonly FoldEvent[]; readonly isCut: boolean }> {
  const rows = await tx<(FoldEvent & { readonly found: number })[]>`
    SELECT run_id, seq, kind, body, found FROM (
      SELECT p.*, sum(octet_length(body)) OVER (ORDER BY run_id, seq) - octet_length(body) AS bytes_before,
        (count(*) OVER ())::int AS found
      FROM (
        SELECT e.run_id, e.seq, e.kind, e.body
        FROM unnest(
          ${batches.map((b) => b.run_id)}::text[], ${batches.map((b) => b.folded_seq)}::int[], ${batches.map((b) => b.last_seq)}::int[]
        ) AS b (run_id, folded_seq, last_seq)
        JOIN run_events e ON e.run_id = b.run_id AND e.seq > b.folded_seq AND e.seq <= b.last_seq AND e.kind = ANY (${KINDS})
        ORDER BY e.run_id, e.seq LIMIT ${MAX_EVENTS + 1}
      ) p
    ) q WHERE bytes_before < ${MAX_BYTES} ORDER BY run_id, seq`;
  const events = rows.slice(0, MAX_EVENTS);
  return { events, isCut: (rows[0]?.found ?? 0) > events.length };
}

/** How far each run was read; runs that the page did not come to are missing. */
function reachedSeqs(
  batches: readonly MovedBatch[],
  events: readonly FoldEvent[],
  isCut: boolean,
): ReadonlyMap<string, number> {
  const last = isCut ? events.at(-1) : undefined;
  const reached = new Map<string, number>();
  for (const { run_id: runId, last_seq: seq } of batches) {
    if (last === undefined || runId < last.run_id) reached.set(runId, seq);
    else if (runId === last.run_id) reached.set(runId, last.seq);
  }
  return reached;
}

function toFoldBatch(
  { run_id, node_id, node_name, phase, units, state, error }: MovedBatch,
  hasEnded: boolean,
): FoldBatch {
  return {
    runId: run_id,
    nodeId: node_id,
    nodeName: node_name,
    phase,
    units: new Set(units.map((unit) => unit.join("/"))),
    end: hasEnded ? { state, code: error?.code ?? "", message: error?.message ?? "" } : undefined,
  };
}

function keysOf(events: readonly FoldEvent[]): readonly UnitKey[] {
  return events.flatMap(({ kind, body }) => {
    if (kind !== "eval.result") return [];
    const key = keyOf(body);
    return key === undefined ? [] : [key];
  });
}

// The whole body is read once more by the fold: the key alone is a small part of the work, and keeps the fold pure.
function keyOf(body: string): UnitKey | undefined {
  try {
    const { ordinal, run, copy } = JSON.parse(body) as Partial<Record<keyof UnitKey, unknown>>;
    const isKey = [ordinal, run, copy].every((each) => Number.isInteger(each) && Math.abs(Number(each)) < 2 ** 31);
    return isKey ? { ordinal: Number(ordinal), run: Number(run), copy: Number(copy) } : undefined;
  } catch {
    return undefined;
  }
}

/** Units by their keys, and those that the ended batches still have, each once and locked. */
async function unitsOf(
  tx: Tx,
  evalId: string,
  keys: readonly UnitKey[],
  endedRuns: readonly string[],
): Promise<readonly FoldUnit[]> {
  const rows = await tx<
    (UnitKey & {
      caseId: string;
      hash: string;
      settled: boolean;
      runId: string | null;
      attempts: number;
      losses: number;
    })[]
  >`
    WITH wanted AS (
      SELECT k.ordinal, k.run, k.copy FROM unnest(
        ${keys.map((k) => k.ordinal)}::int[], ${keys.map((k) => k.run)}::int[], ${keys.map((k) => k.copy)}::int[]
      ) AS k (ordinal, run, copy)
      UNION
      SELECT ordinal, run, copy FROM eval_units
      WHERE eval_id = ${evalId} AND run_id = ANY (${[...endedRuns]}) AND NOT settled AND run_id IS NOT NULL
    )
    SELECT u.ordinal, u.run, u.copy, c.case_id AS "caseId", c.hash, u.settled, u.run_id AS "runId", u.attempts, u.losses
    FROM wanted w JOIN eval_units u ON u.eval_id = ${evalId} AND u.ordinal = w.ordinal AND u.run = w.run AND u.copy = w.copy
    JOIN eval_cases c ON c.eval_id = ${evalId} AND c.ordinal = w.ordinal`;
  return rows.map((row) => ({ ...row, tried: [], settledBy: undefined, changed: false }));
}

async function infraInARow(tx: Tx, evalId: string): Promise<ReadonlyMap<string, number>> {
  const rows = await tx<{ node_id: string; infra_in_a_row: number }[]>`
    SELECT node_id, infra_in_a_row FROM eval_nodes WHERE eval_id = ${evalId}`;
  return new Map(rows.map((row) => [row.node_id, row.infra_in_a_row]));
}

// What goes back to the queue is tied to no device, unless the placement runs everything on each.
async function storeUnits(tx: Tx, { id, placement }: EvalRow, units: readonly FoldUnit[]): Promise<void> {
  if (units.length === 0) return;
  const isEach = Number(placement.mode === "each");
  await tx`
    UPDATE eval_units u SET settled = f.settled = 1, run_id = nullif(f.run_id, ''), attempts = f.attempts, losses = f.losses,
      tried_nodes = u.tried_nodes || string_to_array(f.tried, ','),
      node_id = CASE WHEN ${isEach} = 1 THEN u.node_id WHEN f.settled_by <> '' THEN f.settled_by
        WHEN f.settled = 0 AND f.run_id = '' THEN NULL ELSE u.node_id END
    FROM unnest(
      ${units.map((u) => u.ordinal)}::int[], ${units.map((u) => u.run)}::int[], ${units.map((u) => u.copy)}::int[],
      ${units.map((u) => Number(u.settled))}::int[], ${units.map((u) => u.runId ?? "")}::text[],
      ${units.map((u) => u.attempts)}::int[], ${units.map((u) => u.losses)}::int[],
      ${units.map((u) => u.tried.join(","))}::text[], ${units.map((u) => u.settledBy ?? "")}::text[]
    ) AS f (ordinal, run, copy, settled, run_id, attempts, losses, tried, settled_by)
    WHERE u.eval_id = ${id} AND u.ordinal = f.ordinal AND u.run = f.run AND u.copy = f.copy`;
}

async function storeNodes(tx: Tx, evalId: string, { nodes }: Folded): Promise<void> {
  if (nodes.size === 0) return;
  const rows = [...nodes];
  await tx`
    UPDATE eval_nodes n SET infra_errors = n.infra_errors + f.errors, infra_in_a_row = f.in_a_row
    FROM unnest(
      ${rows.map(([id]) => id)}::text[], ${rows.map(([, n]) => n.infraErrors)}::int[], ${rows.map(([, n]) => n.infraInARow)}::int[]
    ) AS f (node_id, errors, in_a_row)
    WHERE n.eval_id = ${evalId} AND n.node_id = f.node_id`;
}

async function storeBatches(
  tx: Tx,
  of: {
    readonly read: readonly MovedBatch[];
    readonly reached: ReadonlyMap<string, number>;
    readonly ended: readonly MovedBatch[];
    readonly progressed: ReadonlySet<string>;
  },
): Promise<void> {
  const { read, reached, ended, progressed } = of;
  await tx`
    UPDATE eval_batches b SET folded_seq = f.seq, closed = f.closed = 1,
      progress_at = CASE WHEN f.progressed = 1 THEN clock_timestamp() ELSE b.progress_at END
    FROM unnest(
      ${read.map((b) => b.run_id)}::text[], ${read.map((b) => reached.get(b.run_id) ?? b.folded_seq)}::int[],
      ${read.map((b) => Number(ended.includes(b)))}::int[], ${read.map((b) => Number(progressed.has(b.run_id)))}::int[]
    ) AS f (run_id, seq, closed, progressed) WHERE b.run_id = f.run_id`;
}
