/** The statements of one placement pass. All run in one transaction, under one lock, so that slots are never given twice. */

import type { Tx } from "@mesh/store";

import type { Decision } from "../placement/placement.ts";
import { queueKeyOf, type RunDraft } from "./run-draft.ts";
import { appendToLogs, timeLeft } from "./run-log.ts";
import type { StoredPlacement, StoredRequirements } from "./run-row.ts";
import { LEASE_MS, RUN_EVENT } from "./run-state.ts";

// Any constant will do; it only has to differ from the other advisory locks of this database.
const PLACEMENT_LOCK = 7_402_001;
/** Queued runs of one group that are told a new reason in one pass. */
const MAX_TOLD = 1000;

/** What dispatch needs to know of a run that may be placed now. */
export interface Dispatchable {
  readonly id: string;
  readonly workspaceId: string;
  readonly assistantId: string;
  readonly bundleDigest: string;
  readonly input: string;
  readonly options: Readonly<Record<string, unknown>>;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly requirements: StoredRequirements;
  readonly priority: number;
  readonly timeoutMs: number;
  readonly createdBy: string;
  readonly resume: boolean;
  /** The eval it is a batch of. */
  readonly evalId: string | null;
  readonly attempt: number;
  readonly epoch: number;
  /** See `queueKeyOf`. */
  readonly queueKey: string;
  /** Set when the run has no row yet. */
  readonly draft: RunDraft | undefined;
}

/** A run with the decision made for it. */
export interface Decided {
  readonly run: Dispatchable;
  readonly decision: Decision;
}

/** One group of queued runs with equal demands. */
export interface QueueGroup {
  readonly queueKey: string;
  readonly workspaceId: string;
  readonly requirements: StoredRequirements;
  readonly reason: string;
}

/** Serializes placement over all replicas until the transaction ends. */
export async function lockPlacement(tx: Tx): Promise<void> {
  await tx`SELECT pg_advisory_xact_lock(${PLACEMENT_LOCK})`;
}

/** The next `limit` queue keys after `after` that have queued runs; finding each costs one look into the index. */
export async function queueKeys(tx: Tx, after: string, limit: number): Promise<readonly string[]> {
  const rows = await tx<{ key: string }[]>`
    WITH RECURSIVE keys (key) AS (
      (SELECT queue_key FROM runs WHERE state = 'queued' AND queue_key > ${after} ORDER BY queue_key LIMIT 1)
      UNION ALL
      SELECT (SELECT r.queue_key FROM runs r WHERE r.state = 'queued' AND r.queue_key > k.key ORDER BY r.queue_key LIMIT 1)
      FROM keys k WHERE k.key IS NOT NULL
    ) SELECT key FROM keys WHERE key IS NOT NULL LIMIT ${limit}`;
  return rows.map((row) => row.key);
}

/** The demands behind queue keys, each with the reason its first run is told; keys without a run to place are left out. */
export async function queueGroups(tx: Tx, keys: readonly string[]): Promise<readonly QueueGroup[]> {
  if (keys.length === 0) return [];
  return tx<QueueGroup[]>`
    SELECT k.key AS "queueKey", r.* FROM unnest(${[...keys]}::text[]) AS k (key) CROSS JOIN LATERAL (
      SELECT workspace_id AS "workspaceId", requirements, reason
      FROM runs WHERE state = 'queued' AND queue_key = k.key AND not_before <= now() AND cancel_requested_at IS NULL
      ORDER BY priority DESC, id LIMIT 1
    ) r`;
}

/** How many runs a group could place now. */
export interface OpenGroup {
  readonly queueKey: string;
  readonly capacity: number;
}

/** The first queued runs of each group as far as it has capacity; of all these the first `limit`, by priority, then age. */
export async function pickQueued(
  tx: Tx,
  groups: readonly OpenGroup[],
  limit: number,
): Promise<readonly Dispatchable[]> {
  if (groups.length === 0) return [];
  const rows = await tx<Omit<Dispatchable, "draft">[]>`
    SELECT r.id, r.workspace_id AS "workspaceId", r.assistant_id AS "assistantId", r.bundle_digest AS "bundleDigest", r.input,
      r.options, r.metadata, r.requirements, r.priority, ${timeLeft(tx)} AS "timeoutMs", r.created_by AS "createdBy",
      r.attempt, r.saved_epoch IS NOT NULL AS resume, r.eval_id AS "evalId", r.lease_epoch AS epoch, r.queue_key AS "queueKey"
    FROM runs r WHERE r.state = 'queued' AND r.cancel_requested_at IS NULL AND r.id IN (
      SELECT q.id FROM unnest(${groups.map((g) => g.queueKey)}::text[], ${groups.map((g) => Math.min(g.capacity, limit))}::int[])
        AS k (key, capacity) CROSS JOIN LATERAL (
        SELECT id, priority FROM runs
        WHERE state = 'queued' AND queue_key = k.key AND not_before <= now() AND cancel_requested_at IS NULL
        ORDER BY priority DESC, id LIMIT k.capacity
      ) q ORDER BY q.priority DESC, q.id LIMIT ${limit}
    ) ORDER BY r.id FOR UPDATE SKIP LOCKED`;
  return rows.map((row) => ({ ...row, draft: undefined }));
}

/** Inserts new runs in the state their decision gives them, with the first events of their logs. */
export async function insertRuns(tx: Tx, decided: readonly Decided[], at: string): Promise<void> {
  const rows = decided.flatMap(({ run, decision }) =>
    run.draft === undefined ? [] : [insertRow(run, run.draft, decision, at)],
  );
  if (rows.length === 0) return;
  const inserted = tx`
    INSERT INTO runs (id, workspace_id, assistant_id, app_id, app_name, app_version, bundle_digest, input, options, metadata,
      requirements, queue_key, state, reason, node_id, lease_epoch, lease_until, attempt, on_lost, priority, timeout_ms,
      queue_until, last_seq, placement, retry_of, created_by, placed_at, task_id, eval_id)
    SELECT id, workspace_id, assistant_id, app_id, app_name, app_version, bundle_digest, input, options, metadata,
      requirements, queue_key, state, reason, node_id, lease_epoch,
      CASE WHEN node_id IS NULL THEN NULL ELSE now() + ${LEASE_MS} * interval '1 ms' END, lease_epoch, on_lost, priority,
      timeout_ms, now() + queue_ttl_ms * interval '1 ms', 2, placement, retry_of, created_by,
      CASE WHEN node_id IS NULL THEN NULL ELSE now() END, task_id, eval_id
    FROM jsonb_to_recordset(${tx.json(rows as never)}::jsonb) AS d (id text, workspace_id text, assistant_id text,
      app_id text, app_name text, app_version int, bundle_digest text, input text, options jsonb, metadata jsonb,
      requirements jsonb, queue_key text, state text, reason text, node_id text, lease_epoch int, on_lost text, priority int,
      timeout_ms bigint, queue_ttl_ms bigint, placement jsonb, retry_of text, created_by text, task_id text, eval_id text)`;
  const events = decided.flatMap(({ run, decision }) => {
    if (run.draft === undefined) return [];
    const epoch = decision.kind === "place" ? 1 : 0;
    const second = decisionEvent(decision, epoch);
    return [
      { runId: run.id, seq: 1, epoch: 0, kind: RUN_EVENT.queued, body: { assistant: run.assistantId } },
      { runId: run.id, seq: 2, epoch, kind: second.kind, body: second.body },
    ];
  });
  const logged = tx`
    INSERT INTO run_events (run_id, seq, epoch, n, at, kind, body)
    SELECT run_id, seq, epoch, NULL, clock_timestamp(), kind, body FROM unnest(
      ${events.map((e) => e.runId)}::text[], ${events.map((e) => e.seq)}::int[], ${events.map((e) => e.epoch)}::int[],
      ${events.map((e) => e.kind)}::text[], ${events.map((e) => JSON.stringify(e.body))}::text[]
    ) AS e (run_id, seq, epoch, kind, body)`;
  await Promise.all([inserted, logged]);
}

/** A run that has no row yet. */
export type Fresh = Dispatchable & { readonly draft: RunDraft };

/** A draft as dispatch sees it. */
export function fromDraft(draft: RunDraft): Fresh {
  const { workspaceId, requirements } = draft;
  return {
    id: draft.id,
    workspaceId,
    assistantId: draft.assistantId,
    bundleDigest: draft.bundleDigest,
    input: draft.input,
    options: draft.options,
    metadata: draft.metadata,
    requirements,
    priority: draft.priority,
    timeoutMs: draft.timeoutMs,
    createdBy: draft.createdBy,
    resume: false,
    evalId: draft.evalId ?? null,
    attempt: 0,
    epoch: 0,
    queueKey: queueKeyOf(workspaceId, requirements),
    draft,
  };
}

/** Inserts a run that waits for the next look at the queue; to be followed by a poke of the dispatcher. */
export async function insertQueued(tx: Tx, draft: RunDraft, reason: string, at: string): Promise<void> {
  await insertRuns(tx, [{ run: fromDraft(draft), decision: { kind: "wait", reason, verdicts: [] } }], at);
}

/** Moves queued runs to their nodes: next epoch, fresh lease, empty event cursor of the epoch. */
export async function placeQueued(tx: Tx, decided: readonly Decided[], at: string): Promise<void> {
  const placed = decided.flatMap(({ run, decision }) =>
    run.draft === undefined && decision.kind === "place" ? [{ run, decision }] : [],
  );
  if (placed.length === 0) return;
  await tx`
    UPDATE runs r SET state = 'placed', reason = '', node_id = p.node_id, lease_epoch = r.lease_epoch + 1, committed_n = 0,
      lease_until = now() + ${LEASE_MS} * interval '1 ms', attempt = r.attempt + 1, placed_at = now(), hold_until = NULL,
      placement = p.placement::jsonb
    FROM unnest(
      ${placed.map((p) => p.run.id)}::text[], ${placed.map((p) => p.decision.nodeId)}::text[],
      ${placed.map((p) => JSON.stringify(toPlacement(p.decision, at)))}::text[]
    ) AS p (id, node_id, placement) WHERE r.id = p.id`;
  await appendToLogs(
    tx,
    placed.map(({ run, decision }) => ({ runId: run.id, ...decisionEvent(decision, run.epoch + 1) })),
  );
}

/**
 * Tells the queued runs of a group why they wait, where that changed: a bounded number per call, the first of the group last,
 * so that the group is found again until all are told. Returns the ids of runs whose log grew.
 *
 * A run's row always tells the newest reason. Its log tells a change only when the run has waited a tenth longer since the last
 * one: a reason that flips every second grows the log of a run that waits a day by a hundred events, not by a hundred thousand.
 */
export async function explainWaiting(
  tx: Tx,
  group: QueueGroup,
  decision: Extract<Decision, { kind: "wait" }>,
  at: string,
): Promise<string[]> {
  if (decision.reason === group.reason) return [];
  const rows = await tx<{ id: string; tell: boolean }[]>`
    UPDATE runs r SET reason = ${decision.reason}, placement = ${JSON.stringify(toPlacement(decision, at))}::text::jsonb
    FROM (
      SELECT id FROM runs WHERE state = 'queued' AND queue_key = ${group.queueKey} AND reason <> ${decision.reason}
      ORDER BY queue_key DESC, priority, id DESC LIMIT ${MAX_TOLD} FOR UPDATE SKIP LOCKED
    ) changed
    WHERE r.id = changed.id RETURNING r.id, coalesce((
      SELECT now() - e.at >= (now() - r.created_at) / 10 FROM run_events e WHERE e.run_id = r.id AND e.seq = r.last_seq
    ), true) AS tell`;
  const ids = rows.filter((row) => row.tell).map((row) => row.id);
  await appendToLogs(
    tx,
    ids.map((runId) => ({ runId, ...decisionEvent(decision, 0) })),
  );
  return ids;
}

function insertRow(run: Dispatchable, draft: RunDraft, decision: Decision, at: string): Record<string, unknown> {
  const placed = decision.kind === "place";
  return {
    id: draft.id,
    workspace_id: draft.workspaceId,
    assistant_id: draft.assistantId,
    app_id: draft.appId,
    app_name: draft.appName,
    app_version: draft.appVersion,
    bundle_digest: draft.bundleDigest,
    input: draft.input,
    options: draft.options,
    metadata: draft.metadata,
    requirements: draft.requirements,
    queue_key: run.queueKey,
    state: placed ? "placed" : "queued",
    reason: placed ? "" : decision.reason,
    node_id: placed ? decision.nodeId : null,
    lease_epoch: placed ? 1 : 0,
    on_lost: draft.onLost,
    priority: draft.priority,
    timeout_ms: draft.timeoutMs,
    queue_ttl_ms: draft.queueTtlMs,
    placement: toPlacement(decision, at),
    retry_of: draft.retryOf ?? null,
    created_by: draft.createdBy,
    task_id: draft.taskId ?? null,
    eval_id: draft.evalId ?? null,
  };
}

function decisionEvent(decision: Decision, epoch: number): { kind: string; body: Record<string, unknown> } {
  if (decision.kind === "wait") return { kind: RUN_EVENT.waiting, body: { reason: decision.reason } };
  const { nodeId, node, summary } = decision;
  return { kind: RUN_EVENT.placed, body: { node, node_id: nodeId, epoch, summary } };
}

function toPlacement(decision: Decision, at: string): StoredPlacement {
  return decision.kind === "place"
    ? {
        node_id: decision.nodeId,
        node: decision.node,
        summary: decision.summary,
        verdicts: decision.verdicts,
        decided_at: at,
      }
    : { summary: decision.reason, verdicts: decision.verdicts, decided_at: at };
}
