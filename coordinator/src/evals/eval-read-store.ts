/** Statements that read evals for those who look at them. */

import type { JsonObject } from "@mesh/kernel";
import type { Sql, Tx } from "@mesh/store";

import type { EvalState, StoredEvalPlacement, StoredEvalSettings } from "./eval-row.ts";

/** One eval as it is shown. */
export interface ShownEval {
  readonly id: string;
  readonly workspace_id: string;
  readonly name: string;
  readonly assistant_id: string;
  readonly app_name: string;
  readonly bundle_digest: string;
  readonly placement: Partial<StoredEvalPlacement>;
  readonly settings: Partial<StoredEvalSettings>;
  readonly state: EvalState;
  readonly reason: string;
  readonly cases: number;
  readonly suite: string;
  readonly last_seq: number;
  readonly total: number;
  readonly passed: number;
  readonly failed: number;
  readonly errors: number;
  readonly timeouts: number;
  readonly skipped: number;
  readonly observations: number;
  readonly usage: JsonObject;
  readonly warnings: readonly string[];
  readonly created_by: string;
  readonly created_at: Date;
  readonly started_at: Date | null;
  readonly finished_at: Date | null;
}

function columns(sql: Sql | Tx): ReturnType<Sql> {
  return sql`e.id, e.workspace_id, e.name, e.assistant_id, e.app_name, e.bundle_digest, e.placement, e.settings, e.state, e.reason,
    e.cases, e.suite, e.last_seq, e.total, e.passed, e.failed, e.errors, e.timeouts, e.skipped, e.observations, e.usage, e.warnings,
    e.created_by, e.created_at, e.started_at, e.finished_at`;
}

/** One eval; undefined when there is none. */
export async function findEval(sql: Sql | Tx, evalId: string): Promise<ShownEval | undefined> {
  const [row] = await sql<ShownEval[]>`SELECT ${columns(sql)} FROM evals e WHERE e.id = ${evalId}`;
  return row;
}

/** Filters of {@link listEvals}; empty strings filter nothing. */
export interface EvalFilter {
  readonly workspaceId: string;
  readonly assistant: string;
  readonly state: string;
  /** Id of the last eval of the page before. */
  readonly before: string;
  readonly limit: number;
}

/** A page of evals, newest first. */
export async function listEvals(sql: Sql, filter: EvalFilter): Promise<readonly ShownEval[]> {
  return sql<ShownEval[]>`
    SELECT ${columns(sql)} FROM evals e WHERE e.workspace_id = ${filter.workspaceId}
      ${filter.assistant === "" ? sql`` : sql`AND e.assistant_id = ${filter.assistant}`}
      ${filter.state === "" ? sql`` : sql`AND e.state = ${filter.state}`}
      ${filter.before === "" ? sql`` : sql`AND e.id < ${filter.before}`}
    ORDER BY e.id DESC LIMIT ${filter.limit}`;
}

/** A device's part in an eval. */
export interface EvalNodeRow {
  readonly node_id: string;
  readonly name: string;
  readonly os: string;
  readonly arch: string;
  readonly slots: number;
  readonly quarantined: string | null;
  readonly infra_errors: number;
  readonly passed: number;
  readonly failed: number;
  readonly errors: number;
  readonly timeouts: number;
  readonly skipped: number;
}

/** The devices that take or took part, by name; one that was removed keeps its part. */
export async function listEvalNodes(sql: Sql | Tx, evalId: string): Promise<readonly EvalNodeRow[]> {
  return sql<EvalNodeRow[]>`
    SELECT p.node_id, coalesce(n.name, p.node_id) AS name, coalesce(n.facts ->> 'os', '') AS os,
      coalesce(n.facts ->> 'arch', '') AS arch,
      coalesce(n.slots, 0) AS slots, p.quarantined, p.infra_errors, p.passed, p.failed, p.errors, p.timeouts, p.skipped
    FROM eval_nodes p LEFT JOIN nodes n ON n.id = p.node_id WHERE p.eval_id = ${evalId} ORDER BY name LIMIT 1000`;
}

/** How many units of these evals each device has now. */
export async function unitsOut(
  sql: Sql | Tx,
  evalIds: readonly string[],
): Promise<readonly { readonly eval_id: string; readonly node_id: string; readonly units: number }[]> {
  return sql<{ eval_id: string; node_id: string; units: number }[]>`
    SELECT b.eval_id, b.node_id, count(*)::int AS units FROM eval_batches b
    JOIN eval_units u ON u.run_id = b.run_id AND u.eval_id = b.eval_id AND NOT u.settled
    WHERE b.eval_id = ANY (${[...evalIds]}) AND NOT b.closed AND u.run_id IS NOT NULL GROUP BY b.eval_id, b.node_id`;
}

/** One row of the log with the name of its device. */
export interface ResultRow {
  readonly seq: number;
  readonly case_id: string;
  readonly ordinal: number;
  readonly run: number;
  readonly copy: number;
  readonly status: string;
  readonly node_id: string;
  readonly node: string;
  readonly attempt: number;
  readonly observation: boolean;
  readonly duration_ms: number;
  /** JSON text. */
  readonly result: string;
  readonly created_at: Date;
}

/** Which rows of a log; empty strings filter nothing. */
export interface ResultFilter {
  readonly evalId: string;
  readonly afterSeq: number;
  readonly limit: number;
  readonly caseId?: string;
  readonly status?: string;
  /** Id or name. */
  readonly node?: string;
}

/** Results of one page; a larger one makes a page of its own. */
const MAX_PAGE_BYTES = 4 * 1024 * 1024;

/** Rows after a cursor, oldest first: at most `limit`, and fewer when they are large. */
export async function listResults(sql: Sql, filter: ResultFilter): Promise<readonly ResultRow[]> {
  const { evalId, afterSeq, limit, caseId = "", status = "", node = "" } = filter;
  return sql<ResultRow[]>`
    SELECT seq, case_id, ordinal, run, copy, status, node_id, node, attempt, observation, duration_ms, result, created_at FROM (
      SELECT p.*, sum(octet_length(result)) OVER (ORDER BY seq) - octet_length(result) AS bytes_before FROM (
        SELECT r.seq, r.case_id, r.ordinal, r.run, r.copy, r.status, r.node_id, coalesce(n.name, '') AS node, r.attempt, r.observation,
          r.duration_ms, r.result, r.created_at
        FROM eval_results r LEFT JOIN nodes n ON n.id = r.node_id
        WHERE r.eval_id = ${evalId} AND r.seq > ${afterSeq}
          ${caseId === "" ? sql`` : sql`AND r.case_id = ${caseId}`}
          ${status === "" ? sql`` : sql`AND r.status = ${status}`}
          ${node === "" ? sql`` : sql`AND (r.node_id = ${node} OR n.name = ${node})`}
        ORDER BY r.seq LIMIT ${limit}
      ) p
    ) q WHERE bytes_before < ${MAX_PAGE_BYTES} ORDER BY seq`;
}

/** Texts of the cases from a position on: at most `limit`, and fewer when they are large. */
export async function listCases(sql: Sql, evalId: string, at: number, limit: number): Promise<readonly string[]> {
  const rows = await sql<{ body: string }[]>`
    SELECT body FROM (
      SELECT p.*, sum(octet_length(body)) OVER (ORDER BY ordinal) - octet_length(body) AS bytes_before FROM (
        SELECT ordinal, body FROM eval_cases WHERE eval_id = ${evalId} AND ordinal >= ${at} ORDER BY ordinal LIMIT ${limit}
      ) p
    ) q WHERE bytes_before < ${MAX_PAGE_BYTES} ORDER BY ordinal`;
  return rows.map(({ body }) => body);
}
