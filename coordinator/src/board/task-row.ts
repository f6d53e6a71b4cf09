/** A task as stored, with what its runs and links say, and the statements that read tasks. */

import type { Sql, Tx } from "@mesh/store";

import type { RunFailure, RunState } from "../runs/run-state.ts";

/** A task that another one names. */
export interface LinkedTask {
  readonly id: string;
  readonly key: string;
  readonly title: string;
  readonly category: string;
  readonly archived: boolean;
  readonly state: RunState | null;
}

/** What came of a task, as stored. */
export interface StoredOutput {
  readonly kind: string;
  readonly title: string;
  readonly target: string;
  readonly node?: string;
}

/** Where a task's runs may go, as it was asked for. */
export interface StoredPlacementWish {
  readonly node?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly os?: string;
  readonly arch?: string;
  readonly tools?: readonly string[];
}

/** A schedule as stored. */
export interface StoredSchedule {
  readonly cron: string;
  readonly time_zone: string;
  readonly missed: string;
  readonly overlap: string;
  readonly paused: boolean;
  readonly message: string;
  readonly next_at: string | null;
  readonly last_at: string | null;
}

/** The fields of a task itself. */
export interface TaskFields {
  readonly id: string;
  readonly workspace_id: string;
  readonly number: number;
  readonly board_id: string;
  readonly column_id: string;
  readonly rank: string;
  readonly title: string;
  readonly title_by: "rule" | "person" | "model";
  readonly description: string;
  readonly summary: string;
  readonly outputs: readonly StoredOutput[];
  readonly priority: number;
  readonly labels: string[];
  readonly assistant: string;
  readonly assignee: string;
  readonly placement: StoredPlacementWish;
  readonly parent_id: string | null;
  readonly revision: number;
  readonly wants_start: boolean;
  readonly start_error: string;
  readonly session: number;
  readonly last_message: number;
  readonly last_line: string;
  readonly max_retries: number;
  readonly retries: number;
  readonly retry_at: Date | null;
  readonly due_at: Date | null;
  readonly agent: string | null;
  readonly created_by: string;
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly archived_at: Date | null;
}

/** A task with what its runs and links say. */
export interface TaskRow extends TaskFields {
  readonly category: string;
  readonly blocked_by: readonly LinkedTask[];
  readonly schedule: StoredSchedule | null;
  readonly attempts: number;
  readonly run_id: string | null;
  readonly run_state: RunState | null;
  readonly run_reason: string | null;
  readonly run_error: RunFailure | null;
  readonly run_usage: Readonly<Record<string, unknown>> | null;
  readonly run_started_at: Date | null;
  readonly run_finished_at: Date | null;
  readonly node: string | null;
}

function fields(sql: Sql | Tx): ReturnType<Sql> {
  return sql`t.id, t.workspace_id, t.number, t.board_id, t.column_id, t.rank, t.title, t.title_by, t.description, t.summary,
    t.outputs, t.priority, t.labels, t.assistant, t.assignee, t.placement, t.parent_id, t.revision, t.wants_start, t.start_error,
    t.session, t.last_message, t.last_line, t.max_retries, t.retries, t.retry_at, t.due_at, t.agent, t.created_by, t.created_at,
    t.updated_at, t.archived_at`;
}

/** Other tasks of `task_links l`, in order of their numbers; `end` is the column that leads to them. */
function linked(sql: Sql | Tx, end: "blocked_by" | "task_id"): ReturnType<Sql> {
  return sql`
    coalesce((SELECT json_agg(json_build_object('id', p.id, 'key', 'T-' || p.number, 'title', p.title, 'category', pc.category,
        'archived', p.archived_at IS NOT NULL, 'state', ps.state) ORDER BY p.number)
      FROM task_links l JOIN tasks p ON p.id = l.${sql(end)} JOIN board_columns pc ON pc.id = p.column_id
      LEFT JOIN task_run_states ps ON ps.task_id = p.id
      WHERE l.${sql(end === "blocked_by" ? "task_id" : "blocked_by")} = t.id), '[]'::json)`;
}

/** Tasks by id, in no order; unknown ids are missing. */
export async function readTasks(sql: Sql | Tx, ids: readonly string[]): Promise<readonly TaskRow[]> {
  if (ids.length === 0) return [];
  return sql<TaskRow[]>`
    SELECT ${fields(sql)}, c.category, ${linked(sql, "blocked_by")} AS blocked_by, (
        SELECT json_build_object('cron', s.cron, 'time_zone', s.time_zone, 'missed', s.missed, 'overlap', s.overlap,
          'paused', s.paused, 'message', s.message, 'next_at', s.next_at, 'last_at', s.last_at)
        FROM task_schedules s WHERE s.task_id = t.id
      ) AS schedule, (SELECT count(*)::int FROM runs a WHERE a.task_id = t.id) AS attempts,
      r.id AS run_id, r.state AS run_state, r.reason AS run_reason, r.error AS run_error, r.usage AS run_usage,
      r.started_at AS run_started_at, r.finished_at AS run_finished_at,
      coalesce(n.name, CASE WHEN r.state = 'waiting' THEN r.requirements #>> '{home,node}' END) AS node
    FROM tasks t JOIN board_columns c ON c.id = t.column_id LEFT JOIN task_run_states s ON s.task_id = t.id
    LEFT JOIN runs r ON r.id = s.run_id LEFT JOIN nodes n ON n.id = r.node_id WHERE t.id = ANY (${[...ids]})`;
}

/** The tasks that wait for this one. */
export async function tasksAfter(sql: Sql | Tx, id: string): Promise<readonly LinkedTask[]> {
  const [row] = await sql<{ blocks: readonly LinkedTask[] }[]>`
    SELECT ${linked(sql, "task_id")} AS blocks FROM tasks t WHERE t.id = ${id}`;
  return row?.blocks ?? [];
}

/** Where a task is: its id and workspace, by id, or by key within a workspace. */
export interface TaskPlace {
  readonly id: string;
  readonly workspaceId: string;
}

/** Finds tasks by id. */
export async function findTaskPlace(sql: Sql | Tx, id: string): Promise<TaskPlace | undefined> {
  const [row] = await sql<TaskPlace[]>`SELECT id, workspace_id AS "workspaceId" FROM tasks WHERE id = ${id}`;
  return row;
}

/** The tasks of this number in these workspaces (undefined: all), at most two: one is found, two are ambiguous. */
export async function findTasksByNumber(
  sql: Sql | Tx,
  number: number,
  workspaceIds: readonly string[] | undefined,
): Promise<readonly TaskPlace[]> {
  return sql<TaskPlace[]>`
    SELECT id, workspace_id AS "workspaceId" FROM tasks
    WHERE number = ${number} ${workspaceIds === undefined ? sql`` : sql`AND workspace_id = ANY (${[...workspaceIds]})`}
    ORDER BY id LIMIT 2`;
}

/** Locks tasks for a change, in id order; foreign keys to them stay possible. */
export async function lockTasks(tx: Tx, ids: readonly string[]): Promise<readonly TaskFields[]> {
  return tx<TaskFields[]>`
    SELECT ${fields(tx)} FROM tasks t WHERE t.id = ANY (${[...ids]}) ORDER BY t.id FOR NO KEY UPDATE OF t`;
}

/** Locks one task; undefined when it is gone. */
export async function lockTask(tx: Tx, id: string): Promise<TaskFields | undefined> {
  return (await lockTasks(tx, [id]))[0];
}
