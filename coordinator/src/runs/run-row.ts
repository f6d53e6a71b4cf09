/** A run as stored, and the statements that read runs. */

import type { Sql, Tx } from "@mesh/store";

import type { Verdict } from "../placement/placement.ts";
import type { OnLost, RunFailure, RunState } from "./run-state.ts";

/** What a run demands of a node, as stored. */
export interface StoredRequirements {
  readonly node_id: string;
  /** Name the caller used; for people only. */
  readonly node: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly os: string;
  readonly arch: string;
  readonly tools: readonly string[];
  /** Set once the run has waited for a person. */
  readonly home?: StoredHome;
}

/** The device that holds the files of a run, as stored. */
export interface StoredHome {
  readonly node_id: string;
  /** Its name when the run left it; for people only. */
  readonly node: string;
  /** The run is worth nothing without its files: it waits for the device however long that is away. */
  readonly is_only: boolean;
}

/** The newest placement decision, as stored. */
export interface StoredPlacement {
  readonly node_id?: string;
  readonly node?: string;
  readonly summary: string;
  readonly verdicts: readonly Verdict[];
  readonly decided_at: string;
}

/** One row of `runs` with the name of its node. */
export interface RunRow {
  readonly id: string;
  readonly workspace_id: string;
  readonly assistant_id: string;
  readonly app_name: string;
  readonly app_version: number;
  readonly bundle_digest: string;
  readonly input: string;
  readonly options: Readonly<Record<string, unknown>>;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly requirements: StoredRequirements;
  readonly state: RunState;
  readonly reason: string;
  readonly node_id: string | null;
  readonly node_name: string | null;
  readonly lease_epoch: number;
  readonly attempt: number;
  readonly on_lost: OnLost;
  readonly priority: number;
  readonly timeout_ms: number;
  readonly cancel_requested_at: Date | null;
  readonly last_seq: number;
  readonly placement: StoredPlacement | null;
  readonly error: RunFailure | null;
  readonly output: string;
  readonly usage: Readonly<Record<string, unknown>> | null;
  readonly retry_of: string | null;
  readonly created_by: string;
  readonly created_at: Date;
  readonly started_at: Date | null;
  readonly finished_at: Date | null;
  readonly task_id: string | null;
  /** Set when it is a batch of that eval. */
  readonly eval_id?: string | null;
  /** What it asks and nobody has answered: `PendingItem`s as JSON, with commas between; absent in lists. */
  readonly pending?: string;
}

function columns(sql: Sql | Tx): ReturnType<Sql> {
  return sql`r.id, r.workspace_id, r.assistant_id, r.app_name, r.app_version, r.bundle_digest, r.input, r.options,
    r.metadata, r.requirements, r.state, r.reason, r.node_id, n.name AS node_name, r.lease_epoch, r.attempt, r.on_lost,
    r.priority, r.timeout_ms, r.cancel_requested_at, r.last_seq, r.placement, r.error, r.output, r.usage, r.retry_of,
    r.created_by, r.created_at, r.started_at, r.finished_at, r.task_id, r.eval_id`;
}

/** Runs by id; unknown ids are missing. */
export async function findRuns(sql: Sql | Tx, runIds: readonly string[]): Promise<readonly RunRow[]> {
  return sql<RunRow[]>`
    SELECT ${columns(sql)}, CASE WHEN r.state = 'waiting' THEN (
        SELECT coalesce(string_agg(q.item, ',' ORDER BY q.position), '') FROM run_questions q
        WHERE q.run_id = r.id AND q.epoch = r.saved_epoch AND q.answer IS NULL
      ) ELSE '' END AS pending
    FROM runs r LEFT JOIN nodes n ON n.id = r.node_id WHERE r.id = ANY (${[...runIds]})`;
}

/** Filters of {@link listRuns}; empty strings filter nothing. */
export interface RunFilter {
  readonly workspaceId: string;
  readonly state: string;
  readonly nodeId: string;
  /** Only runs of these; undefined filters nothing. */
  readonly assistants?: readonly string[] | undefined;
  /** Id of the last run of the page before. */
  readonly before: string;
  readonly limit: number;
}

/** A page of a task's runs, newest first; `before` is the last id of the page before. */
export async function listRunsOfTask(
  sql: Sql,
  taskId: string,
  before: string,
  limit: number,
): Promise<readonly RunRow[]> {
  return sql<RunRow[]>`
    SELECT ${columns(sql)} FROM runs r LEFT JOIN nodes n ON n.id = r.node_id
    WHERE r.task_id = ${taskId} ${before === "" ? sql`` : sql`AND r.id < ${before}`} ORDER BY r.id DESC LIMIT ${limit}`;
}

/** A page of runs, newest first; batches of evals are not among them. */
export async function listRuns(sql: Sql, filter: RunFilter): Promise<readonly RunRow[]> {
  return sql<RunRow[]>`
    SELECT ${columns(sql)} FROM runs r LEFT JOIN nodes n ON n.id = r.node_id
    WHERE r.workspace_id = ${filter.workspaceId} AND r.eval_id IS NULL
      ${filter.state === "" ? sql`` : sql`AND r.state = ${filter.state}`}
      ${filter.nodeId === "" ? sql`` : sql`AND r.node_id = ${filter.nodeId}`}
      ${filter.assistants === undefined ? sql`` : sql`AND r.assistant_id = ANY (${[...filter.assistants]})`}
      ${filter.before === "" ? sql`` : sql`AND r.id < ${filter.before}`}
    ORDER BY r.id DESC LIMIT ${filter.limit}`;
}

/** One stored event. */
export interface EventRow {
  readonly run_id: string;
  readonly seq: number;
  readonly epoch: number;
  readonly at: Date;
  readonly kind: string;
  readonly body: string;
}

/** Bodies of one page; a larger event makes a page of its own. */
const MAX_PAGE_BYTES = 4 * 1024 * 1024;

/** Events after a cursor, oldest first: at most `limit`, and fewer when they are large. */
export async function listEvents(
  sql: Sql,
  runId: string,
  afterSeq: number,
  limit: number,
): Promise<readonly EventRow[]> {
  return sql<EventRow[]>`${pageOf(sql, sql`${runId}`, sql`${afterSeq}`, limit)} ORDER BY seq`;
}

/** The statement behind {@link listEvents}, to be part of others. */
export function pageOf(sql: Sql, runId: ReturnType<Sql>, afterSeq: ReturnType<Sql>, limit: number): ReturnType<Sql> {
  return sql`
    SELECT run_id, seq, epoch, at, kind, body FROM (
      SELECT p.*, sum(octet_length(body)) OVER (ORDER BY seq) - octet_length(body) AS bytes_before FROM (
        SELECT run_id, seq, epoch, at, kind, body FROM run_events
        WHERE run_id = ${runId} AND seq > ${afterSeq} ORDER BY seq LIMIT ${limit}
      ) p
    ) q WHERE bytes_before < ${MAX_PAGE_BYTES}`;
}

/** The next starts and ends of streamed messages after `afterSeq`. */
export async function listMessageEdges(
  sql: Sql,
  runId: string,
  afterSeq: number,
  limit: number,
): Promise<readonly EventRow[]> {
  return sql<EventRow[]>`
    SELECT run_id, seq, epoch, at, kind, body FROM run_events
    WHERE run_id = ${runId} AND seq > ${afterSeq} AND kind = 'message' AND delta_of IS NULL
      AND (body LIKE '%"message_start"%' OR body LIKE '%"message_end"%')
    ORDER BY seq LIMIT ${limit}`;
}
