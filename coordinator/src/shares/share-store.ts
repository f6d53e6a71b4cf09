/** Statements on share links. */

import type { Sql, Tx } from "@mesh/store";

/** A link that works, with what it leads to. */
export interface ShareRow {
  readonly id: string;
  readonly workspace_id: string;
  readonly task_id: string | null;
  readonly agent_id: string | null;
  readonly access: "view" | "run";
  readonly title: string;
  readonly user_id: string;
  readonly user_name: string;
  readonly user_is_admin: boolean;
  readonly created_at: Date;
  readonly expires_at: Date | null;
  readonly opened: number;
  readonly last_opened_at: Date | null;
}

/** A link to be stored. */
export interface NewShare {
  readonly id: string;
  readonly workspaceId: string;
  readonly hash: Buffer;
  readonly taskId: string | undefined;
  readonly agentId: string | undefined;
  readonly access: "view" | "run";
  readonly userId: string;
  /** Undefined: it does not expire. */
  readonly ttlSeconds: number | undefined;
}

/** Stores a link. */
export async function insertShare(tx: Tx, share: NewShare): Promise<void> {
  await tx`
    INSERT INTO shares (id, workspace_id, hash, task_id, agent_id, access, user_id, expires_at)
    VALUES (${share.id}, ${share.workspaceId}, ${share.hash}, ${share.taskId ?? null}, ${share.agentId ?? null},
      ${share.access}, ${share.userId}, now() + make_interval(secs => ${share.ttlSeconds ?? null}::double precision))`;
}

// A link whose maker may no longer do what it allows is as good as gone.
function select(sql: Sql | Tx): ReturnType<Sql> {
  return sql`
    SELECT s.id, s.workspace_id, s.task_id, s.agent_id, s.access, coalesce(t.title, a.name, '') AS title, s.user_id,
      u.name AS user_name, u.is_admin AS user_is_admin, s.created_at, s.expires_at, s.opened, s.last_opened_at
    FROM shares s JOIN users u ON u.id = s.user_id AND u.disabled_at IS NULL
    LEFT JOIN tasks t ON t.id = s.task_id
    LEFT JOIN assistants a ON a.workspace_id = s.workspace_id AND a.id = s.agent_id
    WHERE (s.expires_at IS NULL OR s.expires_at > now()) AND (u.is_admin OR EXISTS (
      SELECT 1 FROM workspace_members m
      WHERE m.workspace_id = s.workspace_id AND m.user_id = s.user_id AND m.role <> 'viewer'))`;
}

/** Links of a workspace that work, the newest first. */
export async function listShares(sql: Sql | Tx, workspaceId: string): Promise<readonly ShareRow[]> {
  return sql<ShareRow[]>`${select(sql)} AND s.workspace_id = ${workspaceId} ORDER BY s.id DESC LIMIT 1000`;
}

/** The link with this hash, when it works. */
export async function findShare(sql: Sql | Tx, hash: Buffer): Promise<ShareRow | undefined> {
  const [row] = await sql<ShareRow[]>`${select(sql)} AND s.hash = ${hash}`;
  return row;
}

/** Removes links that have run out; returns how many are left. */
export async function trimShares(tx: Tx, workspaceId: string): Promise<number> {
  await tx`DELETE FROM shares WHERE workspace_id = ${workspaceId} AND expires_at <= now()`;
  const [row] = await tx<{ count: number }[]>`
    SELECT count(*)::int AS count FROM shares WHERE workspace_id = ${workspaceId}`;
  return row?.count ?? 0;
}

/** Removes a link; false when there was none. */
export async function deleteShare(tx: Tx, workspaceId: string, id: string): Promise<boolean> {
  const result = await tx`DELETE FROM shares WHERE id = ${id} AND workspace_id = ${workspaceId}`;
  return result.count === 1;
}

/** Counts one look. */
export async function countOpened(sql: Sql, id: string): Promise<void> {
  await sql`UPDATE shares SET opened = opened + 1, last_opened_at = now() WHERE id = ${id}`;
}

/** Counts one more run within an hour; false when there were `max` already. */
export async function takeRun(sql: Sql, id: string, max: number): Promise<boolean> {
  const result = await sql`
    UPDATE shares SET
      window_runs = CASE WHEN window_at < now() - interval '1 hour' THEN 1 ELSE window_runs + 1 END,
      window_at = CASE WHEN window_at < now() - interval '1 hour' THEN now() ELSE window_at END
    WHERE id = ${id} AND (window_at < now() - interval '1 hour' OR window_runs < ${max})`;
  return result.count === 1;
}

/** Notes that a run was started through a link. */
export async function insertShareRun(sql: Sql | Tx, shareId: string, runId: string): Promise<void> {
  await sql`INSERT INTO share_runs (share_id, run_id) VALUES (${shareId}, ${runId}) ON CONFLICT DO NOTHING`;
}

/** A run that was started through this link. */
export async function findShareRun(
  sql: Sql,
  shareId: string,
  runId: string,
): Promise<{ readonly state: string; readonly output: string; readonly failed: boolean } | undefined> {
  const [row] = await sql<{ state: string; output: string; failed: boolean }[]>`
    SELECT r.state, r.output, r.error IS NOT NULL AS failed FROM share_runs s JOIN runs r ON r.id = s.run_id
    WHERE s.share_id = ${shareId} AND s.run_id = ${runId}`;
  return row;
}
