/**
 * The statements that move runs on when time passes. Each is safe when two replicas run it: it changes a row only while the
 * row still is as described, and it writes the event in the same transaction.
 */

import { forgetIdempotency, type Sql, type Tx } from "@mesh/store";

import { noteRunEvents, runEventOf } from "../webhooks/note-event.ts";
import { appendToLogs, freshQueueUntil, type LogEntry, timeLeft } from "./run-log.ts";
import { ACCEPT_MS, HOLD_MS, LEASE_MS, MAX_ATTEMPTS, RUN_EVENT } from "./run-state.ts";
import type { Assignment, Work } from "./work-publisher.ts";

const BATCH = 200;
const IDEMPOTENCY_MS = 24 * 3_600_000;

/** A run that left the hands of a node. */
export interface Released {
  readonly runId: string;
  readonly nodeId: string;
  readonly digest: string;
  readonly epoch: number;
}

interface ReleasedRow {
  readonly id: string;
  readonly old_node: string;
  readonly digest: string;
  readonly lease_epoch: number;
  readonly node_name: string;
  readonly attempt: number;
}

/** Ends runs; the caller's transaction holds or takes their rows. */
export async function finishRuns(
  tx: Tx,
  runIds: readonly string[],
  end: { readonly state: "failed" | "cancelled" | "lost"; readonly code?: string; readonly message?: string },
): Promise<string[]> {
  const error = end.code === undefined ? null : JSON.stringify({ code: end.code, message: end.message ?? "" });
  const rows = await tx<{ id: string }[]>`
    UPDATE runs SET state = ${end.state}, reason = '', error = ${error}::text::jsonb, finished_at = clock_timestamp(),
      lease_until = NULL, hold_until = NULL
    WHERE id = ANY (${[...runIds]}) AND state IN ('queued', 'placed', 'accepted', 'running', 'waiting') RETURNING id`;
  const ids = rows.map((row) => row.id);
  const type = runEventOf(end.state);
  if (type !== undefined)
    await noteRunEvents(
      tx,
      ids.map((runId) => ({ runId, type })),
    );
  const body = { state: end.state, ...(error === null ? {} : { error: JSON.parse(error) as unknown }) };
  await appendToLogs(
    tx,
    ids.map((runId): LogEntry => ({ runId, kind: RUN_EVENT.finished, body })),
  );
  return ids;
}

// A node that reported a placed run holds it: its lease was renewed, and only its events are late. Starting it again would
// do its work twice.
function isUnreported(sql: Sql | Tx): ReturnType<Sql> {
  return sql`r.lease_until <= r.placed_at + ${LEASE_MS} * interval '1 ms'`;
}

/** Takes placed runs back that their node did not accept in time; gives up after several attempts. */
export async function requeueUnaccepted(sql: Sql): Promise<readonly Released[]> {
  return sql.begin(async (tx) => {
    const rows = await tx<(ReleasedRow & { cancelled: boolean })[]>`
      SELECT r.id, r.node_id AS old_node, n.digest, r.lease_epoch, n.name AS node_name, r.attempt,
        r.cancel_requested_at IS NOT NULL AS cancelled
      FROM runs r JOIN nodes n ON n.id = r.node_id
      WHERE r.state = 'placed' AND r.placed_at < now() - ${ACCEPT_MS} * interval '1 ms' AND ${isUnreported(tx)}
      ORDER BY r.id LIMIT ${BATCH} FOR UPDATE OF r SKIP LOCKED`;
    await finishRuns(
      tx,
      rows.filter((row) => row.cancelled).map((row) => row.id),
      { state: "cancelled" },
    );
    const hopeless = rows.filter((row) => !row.cancelled && row.attempt >= MAX_ATTEMPTS).map((row) => row.id);
    await finishRuns(tx, hopeless, {
      state: "failed",
      code: "not_accepted",
      message: `no device started this run in ${MAX_ATTEMPTS} attempts; check the devices with: yao node list`,
    });
    await release(
      tx,
      rows.filter((row) => !row.cancelled && row.attempt < MAX_ATTEMPTS),
      (row) => `${row.node_name} did not start it in ${ACCEPT_MS / 1000} s`,
    );
    return rows.map(toReleased);
  });
}

/** Applies each run's policy where the lease has ended and the node is silent. */
export async function expireLeases(sql: Sql): Promise<{ released: readonly Released[]; touched: readonly string[] }> {
  return sql.begin(async (tx) => {
    const rows = await tx<
      (ReleasedRow & {
        on_lost: string;
        cancelled: boolean;
        hold_until: Date | null;
        held_out: boolean;
        alive: boolean;
      })[]
    >`
      SELECT r.id, r.node_id AS old_node, n.digest, r.lease_epoch, n.name AS node_name, r.attempt, r.on_lost, r.hold_until,
        r.cancel_requested_at IS NOT NULL AS cancelled, coalesce(r.hold_until < now(), false) AS held_out,
        coalesce(l.seen_at > now() - interval '15 s' AND NOT l.goodbye, false) AS alive
      FROM runs r JOIN nodes n ON n.id = r.node_id LEFT JOIN node_liveness l ON l.node_id = n.id
      WHERE r.state IN ('placed', 'accepted', 'running') AND r.lease_until < now()
        AND NOT (r.state = 'placed' AND ${isUnreported(tx)})
        AND (r.hold_until IS NULL OR r.hold_until < now() OR r.cancel_requested_at IS NOT NULL
          OR (l.seen_at > now() - interval '15 s' AND NOT l.goodbye))
      ORDER BY r.id LIMIT ${BATCH} FOR UPDATE OF r SKIP LOCKED`;
    const of = (test: (row: (typeof rows)[number]) => boolean): (typeof rows)[number][] => rows.filter(test);
    const cancelled = of((row) => row.cancelled);
    const replaced = of((row) => !row.cancelled && row.on_lost === "replace" && row.attempt < MAX_ATTEMPTS);
    const held = of((row) => !row.cancelled && row.on_lost === "hold" && !row.alive && !row.held_out);
    const lost = of((row) => !row.cancelled && !replaced.includes(row) && !held.includes(row));
    await finishRuns(
      tx,
      cancelled.map((row) => row.id),
      { state: "cancelled" },
    );
    for (const row of lost)
      await finishRuns(tx, [row.id], { state: "lost", code: "device_lost", message: lostText(row) });
    await release(tx, replaced, (row) => `${row.node_name} went away`);
    await hold(tx, held);
    const released = [...cancelled, ...replaced, ...lost].map(toReleased);
    return { released, touched: rows.map((row) => row.id) };
  });
}

/** Ends queued runs that waited too long, and runs whose own time limit passed long ago without a word of the node. */
export async function expireRuns(sql: Sql): Promise<readonly string[]> {
  return sql.begin(async (tx) => {
    const queued = await tx<{ id: string; reason: string }[]>`
      SELECT id, reason FROM runs WHERE state = 'queued' AND queue_until < now() ORDER BY id LIMIT ${BATCH} FOR UPDATE SKIP LOCKED`;
    for (const row of queued) {
      await finishRuns(tx, [row.id], {
        state: "failed",
        code: "queue_expired",
        message: `it waited too long (${row.reason})`,
      });
    }
    const overdue = await tx<{ id: string }[]>`
      SELECT id FROM runs r WHERE state IN ('running', 'accepted') AND started_at IS NOT NULL
        AND greatest(started_at, placed_at) < now() - (${timeLeft(tx)} + 120000) * interval '1 ms'
      ORDER BY id LIMIT ${BATCH} FOR UPDATE SKIP LOCKED`;
    const overdueIds = overdue.map((row) => row.id);
    await finishRuns(tx, overdueIds, {
      state: "failed",
      code: "timeout",
      message: "it took longer than its time limit",
    });
    return [...queued.map((row) => row.id), ...overdueIds];
  });
}

/**
 * Takes everything from a device that is being removed. What may run elsewhere and has not begun, or may be replaced, is queued;
 * the rest ends, runs that wait for just this device included. Returns the ids of runs whose log grew.
 */
export async function takeFromRemoved(
  tx: Tx,
  node: { readonly id: string; readonly name: string },
): Promise<readonly string[]> {
  const rows = await tx<{ id: string; state: string; cancelled: boolean; movable: boolean }[]>`
    SELECT r.id, r.state, r.cancel_requested_at IS NOT NULL AS cancelled,
      r.requirements ->> 'node_id' <> ${node.id} AND ((r.state = 'placed' AND ${isUnreported(tx)}
          AND NOT ${isBoundTo(tx, node.id)}) OR (r.on_lost = 'replace' AND r.attempt < ${MAX_ATTEMPTS})) AS movable
    FROM runs r WHERE (r.node_id = ${node.id} AND r.state IN ('placed', 'accepted', 'running'))
      OR (r.state IN ('queued', 'waiting') AND ${isBoundTo(tx, node.id)})
    ORDER BY r.id FOR UPDATE`;
  const idsOf = (test: (row: (typeof rows)[number]) => boolean): string[] => rows.filter(test).map((row) => row.id);
  const isOff = (row: (typeof rows)[number]): boolean => row.state === "queued" || row.state === "waiting";
  const isLeft = (row: (typeof rows)[number]): boolean => !row.cancelled && (isOff(row) || !row.movable);
  const code = "device_removed";
  await finishRuns(
    tx,
    idsOf((row) => row.cancelled),
    { state: "cancelled" },
  );
  await finishRuns(
    tx,
    idsOf((row) => isLeft(row) && !isOff(row)),
    { state: "lost", code, message: `device ${node.name} was removed while it held this run` },
  );
  await finishRuns(
    tx,
    idsOf((row) => isLeft(row) && isOff(row)),
    { state: "failed", code, message: `device ${node.name}, which this run needs, was removed` },
  );
  await release(
    tx,
    rows.filter((row) => !row.cancelled && !isLeft(row)),
    () => `${node.name} was removed`,
  );
  return rows.map((row) => row.id);
}

// It may run nowhere else: it names the device, or has its files there and cannot do without them.
function isBoundTo(sql: Sql | Tx, nodeId: string): ReturnType<Sql> {
  return sql`(r.requirements ->> 'node_id' = ${nodeId} OR coalesce(r.requirements #>> '{home,node_id}' = ${nodeId}
    AND (r.requirements #>> '{home,is_only}')::boolean, false))`;
}

/** Placed runs to publish again, since their message may be lost. */
export async function unacceptedWork(sql: Sql, olderThanMs: number): Promise<readonly Assignment[]> {
  const rows = await sql<(Work & { digest: string })[]>`
    SELECT r.id, r.lease_epoch AS epoch, r.attempt, r.workspace_id AS "workspaceId", r.assistant_id AS "assistantId",
      r.bundle_digest AS "bundleDigest", r.input, r.options, r.metadata, ${timeLeft(sql)} AS "timeoutMs",
      r.created_by AS "createdBy", r.saved_epoch IS NOT NULL AS resume, r.eval_id AS "evalId", n.digest
    FROM runs r JOIN nodes n ON n.id = r.node_id
    WHERE r.state = 'placed' AND r.placed_at < now() - ${olderThanMs} * interval '1 ms' AND ${isUnreported(sql)}
    ORDER BY r.id LIMIT ${BATCH}`;
  return rows.map((row) => ({ run: row, node: { digest: row.digest } }));
}

/** Runs that should stop on their nodes. */
export async function pendingCancels(sql: Sql): Promise<readonly Released[]> {
  const rows = await sql<ReleasedRow[]>`
    SELECT r.id, r.node_id AS old_node, n.digest, r.lease_epoch, n.name AS node_name, r.attempt
    FROM runs r JOIN nodes n ON n.id = r.node_id
    WHERE r.state IN ('placed', 'accepted', 'running') AND r.cancel_requested_at IS NOT NULL LIMIT ${BATCH}`;
  return rows.map(toReleased);
}

/** Forgets what is only kept for a while. */
export async function dropExpired(sql: Sql): Promise<void> {
  await forgetIdempotency(sql, IDEMPOTENCY_MS);
  await sql`DELETE FROM http_idempotency WHERE started_at < now() - ${IDEMPOTENCY_MS} * interval '1 ms'`;
  // A used one stays until then, so that who tries it again is told that it was used.
  await sql`DELETE FROM join_tokens WHERE expires_at < now() - interval '1 hour'`;
}

/** Gives runs back to the queue; the caller's transaction holds their rows. */
export async function release<Row extends { readonly id: string }>(
  tx: Tx,
  rows: readonly Row[],
  why: (row: Row) => string,
): Promise<void> {
  const ids = rows.map((row) => row.id);
  await tx`
    UPDATE runs r SET state = 'queued', reason = w.why, node_id = NULL, lease_until = NULL, hold_until = NULL,
      committed_n = 0, started_at = NULL, queue_until = ${freshQueueUntil(tx)}
    FROM unnest(${ids}::text[], ${rows.map(why)}::text[]) AS w (id, why) WHERE r.id = w.id`;
  await appendToLogs(
    tx,
    rows.map((row) => ({ runId: row.id, kind: RUN_EVENT.requeued, body: { reason: why(row) } })),
  );
}

async function hold(tx: Tx, rows: readonly ReleasedRow[]): Promise<void> {
  const ids = rows.map((row) => row.id);
  await tx`
    UPDATE runs r SET hold_until = now() + ${HOLD_MS} * interval '1 ms', reason = w.why
    FROM unnest(${ids}::text[], ${rows.map(heldText)}::text[]) AS w (id, why) WHERE r.id = w.id`;
  await appendToLogs(
    tx,
    rows.map((row) => ({ runId: row.id, kind: RUN_EVENT.unreachable, body: { reason: heldText(row) } })),
  );
}

function heldText(row: ReleasedRow): string {
  return `waiting for device ${row.node_name}: it holds this run and cannot be reached`;
}

function lostText(row: ReleasedRow & { readonly alive: boolean; readonly on_lost: string }): string {
  if (row.on_lost === "replace")
    return `device ${row.node_name} went away, as did those before it (${row.attempt} attempts); look at the devices, then run it again with: yao runs retry`;
  return row.alive
    ? `device ${row.node_name} no longer knows this run; run it again with: yao runs retry`
    : `device ${row.node_name} went away while it held this run; run it again with: yao runs retry`;
}

function toReleased(row: ReleasedRow): Released {
  return { runId: row.id, nodeId: row.old_node, digest: row.digest, epoch: row.lease_epoch };
}
