/** Statements that make and stop batches; the caller's transaction holds the eval's row. */

import type { Ids } from "@mesh/kernel";
import type { Tx } from "@mesh/store";

import { fromDraft, insertRuns } from "../runs/dispatch-store.ts";
import type { RunDraft } from "../runs/run-draft.ts";
import { appendToLogs } from "../runs/run-log.ts";
import { RUN_EVENT } from "../runs/run-state.ts";
import { finishRuns } from "../runs/sweep-store.ts";
import type { EvalPhase, EvalRow } from "./eval-row.ts";
import { joinNodes, type UnitKey } from "./unit-store.ts";

/** How long a batch may wait for the slot it was made for; then its units go elsewhere. */
const QUEUE_TTL_MS = 30_000;
/** What a batch may take beside its cases: the bundle, the start of a runner. */
const MARGIN_MS = 120_000;
const MAX_TIMEOUT_MS = 24 * 3_600_000;
const MAX_HOOK_MS = 3_600_000;

/** A batch to be. */
export interface NewBatch {
  readonly device: { readonly id: string; readonly name: string };
  readonly phase: Exclude<EvalPhase, "over">;
  readonly units: readonly UnitKey[];
  readonly isDuplicate: boolean;
}

/** What making batches uses. */
export interface BatchMaker {
  readonly ids: Ids;
  /** RFC 3339. */
  readonly at: string;
}

/** Makes batches: their runs, which wait for the dispatcher, and their units' places in them. */
export async function insertBatches(
  tx: Tx,
  row: EvalRow,
  batches: readonly NewBatch[],
  { ids, at }: BatchMaker,
): Promise<readonly string[]> {
  if (batches.length === 0) return [];
  const made = batches.map((batch) => ({ ...batch, runId: ids.next("run") as string }));
  await joinNodes(tx, row.id, [...new Set(made.map(({ device }) => device.id))]);
  await insertRuns(
    tx,
    made.map((batch) => ({
      run: fromDraft(draftOf(row, batch)),
      decision: { kind: "wait", reason: `waiting for device ${batch.device.name}`, verdicts: [] },
    })),
    at,
  );
  await tx`
    INSERT INTO eval_batches (run_id, eval_id, node_id, phase, units, is_duplicate)
    SELECT b.run_id, ${row.id}, b.node_id, b.phase, b.units::jsonb, b.is_duplicate = 1 FROM unnest(
      ${made.map((b) => b.runId)}::text[], ${made.map((b) => b.device.id)}::text[], ${made.map((b) => b.phase)}::text[],
      ${made.map((b) => JSON.stringify(b.units.map(({ ordinal, run, copy }) => [ordinal, run, copy])))}::text[],
      ${made.map((b) => Number(b.isDuplicate))}::int[]
    ) AS b (run_id, node_id, phase, units, is_duplicate)`;
  const units = made.flatMap((batch) => batch.units.map((unit) => ({ unit, batch })));
  const tie = Number(row.placement.mode === "mirror" || row.placement.mode === "sticky");
  await tx`
    UPDATE eval_units u SET run_id = b.run_id, node_id = CASE WHEN ${tie} = 1 THEN b.node_id ELSE u.node_id END
    FROM unnest(
      ${units.map(({ unit }) => unit.ordinal)}::int[], ${units.map(({ unit }) => unit.run)}::int[],
      ${units.map(({ unit }) => unit.copy)}::int[], ${units.map(({ batch }) => batch.runId)}::text[],
      ${units.map(({ batch }) => batch.device.id)}::text[]
    ) AS b (ordinal, run, copy, run_id, node_id)
    WHERE u.eval_id = ${row.id} AND u.ordinal = b.ordinal AND u.run = b.run AND u.copy = b.copy`;
  return made.map((batch) => batch.runId);
}

function draftOf(row: EvalRow, batch: NewBatch & { readonly runId: string }): RunDraft {
  return {
    id: batch.runId,
    workspaceId: row.workspace_id,
    assistantId: row.assistant_id,
    appId: "",
    appName: row.app_name,
    appVersion: 0,
    bundleDigest: row.bundle_digest,
    input: "",
    // Cases may name connectors of their own, so the device gets the keys of all.
    options: {},
    metadata: { eval_id: row.id, phase: batch.phase },
    requirements: { node_id: batch.device.id, node: batch.device.name, labels: {}, os: "", arch: "", tools: [] },
    onLost: "fail",
    priority: 0,
    timeoutMs: timeoutOf(row, batch),
    queueTtlMs: QUEUE_TTL_MS,
    retryOf: undefined,
    createdBy: row.created_by,
    idempotencyKey: "",
    evalId: row.id,
  };
}

// Cases end themselves; this bounds a device that does not.
function timeoutOf({ settings }: EvalRow, { phase, units }: NewBatch): number {
  if (phase !== "units") return Math.min(MAX_HOOK_MS, settings.timeout_ms + MARGIN_MS);
  const turns = Math.ceil(units.length / Math.max(1, settings.parallel));
  return Math.min(MAX_TIMEOUT_MS, turns * (settings.timeout_ms + 10_000) + MARGIN_MS);
}

/** A batch that has not ended. */
export interface OpenBatch {
  readonly runId: string;
  readonly nodeId: string;
  readonly phase: Exclude<EvalPhase, "over">;
  readonly isDuplicate: boolean;
  readonly isQueued: boolean;
  /** Since its newest result, or its start. */
  readonly quietMs: number;
  /** Units that it is the newest to have, and that have no result. */
  readonly out: number;
}

/** The batches of an eval that have not ended, oldest first. */
export async function openBatches(tx: Tx, evalId: string): Promise<readonly OpenBatch[]> {
  return tx<OpenBatch[]>`
    SELECT b.run_id AS "runId", b.node_id AS "nodeId", b.phase, b.is_duplicate AS "isDuplicate", r.state = 'queued' AS "isQueued",
      (extract(epoch FROM clock_timestamp() - greatest(b.progress_at, r.started_at)) * 1000)::float8 AS "quietMs",
      (SELECT count(*)::int FROM eval_units u WHERE u.run_id = b.run_id AND NOT u.settled) AS out
    FROM eval_batches b JOIN runs r ON r.id = b.run_id WHERE b.eval_id = ${evalId} AND NOT b.closed ORDER BY b.run_id`;
}

/** Batches of all evals that wait for the dispatcher, by device: slots that are as good as taken. */
export async function queuedBatches(tx: Tx): Promise<ReadonlyMap<string, number>> {
  const rows = await tx<{ node_id: string; count: number }[]>`
    SELECT b.node_id, count(*)::int AS count FROM runs r JOIN eval_batches b ON b.run_id = r.id
    WHERE r.state = 'queued' AND NOT b.closed GROUP BY b.node_id`;
  return new Map(rows.map((row) => [row.node_id, row.count]));
}

/** A run that a device must be told to stop. */
export interface ToldToStop {
  readonly runId: string;
  readonly digest: string;
  readonly epoch: number;
}

/** Stops batches: those that wait end at once, those on devices are asked to; returns whom to tell after the commit. */
export async function stopBatches(tx: Tx, runIds: readonly string[]): Promise<readonly ToldToStop[]> {
  if (runIds.length === 0) return [];
  const rows = await tx<{ id: string; state: string; lease_epoch: number; digest: string | null; asked: boolean }[]>`
    SELECT r.id, r.state, r.lease_epoch, n.digest, r.cancel_requested_at IS NOT NULL AS asked
    FROM runs r LEFT JOIN nodes n ON n.id = r.node_id
    WHERE r.id = ANY (${[...runIds]}) AND r.finished_at IS NULL ORDER BY r.id FOR UPDATE OF r`;
  const isOnDevice = (row: (typeof rows)[number]): boolean => ["placed", "accepted", "running"].includes(row.state);
  await finishRuns(
    tx,
    rows.filter((row) => !isOnDevice(row)).map((row) => row.id),
    { state: "cancelled" },
  );
  const asked = rows.filter((row) => isOnDevice(row) && !row.asked);
  await tx`UPDATE runs SET cancel_requested_at = now() WHERE id = ANY (${asked.map((row) => row.id)})`;
  await appendToLogs(
    tx,
    asked.map((row) => ({ runId: row.id, kind: RUN_EVENT.cancelling, body: { by: "eval" } })),
  );
  return asked.flatMap(({ id, digest, lease_epoch: epoch }) => (digest === null ? [] : [{ runId: id, digest, epoch }]));
}

/** Looks at these batches no more: what they still say is not for this eval. */
export async function closeBatches(tx: Tx, evalId: string): Promise<void> {
  await tx`UPDATE eval_batches SET closed = true WHERE eval_id = ${evalId} AND NOT closed`;
}
