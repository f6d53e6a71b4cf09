/** Pages of tasks: which tasks fit a filter, in which order, and how many there are. */

import { MeshError } from "@mesh/kernel";
import type { Sql } from "@mesh/store";

import { PRIORITIES } from "./task-view.ts";
import { searchOf } from "./task-text.ts";

/** What to list; empty strings filter nothing. */
export interface TaskFilter {
  readonly workspaceId: string;
  readonly board: string;
  /** Id of a column: its cards in their order; else the newest first. */
  readonly columnId: string;
  readonly category: string;
  readonly runState: string;
  readonly assignee: string;
  readonly assistant: string;
  readonly nodeId: string;
  readonly label: string;
  readonly priority: string;
  readonly query: string;
  readonly archived: boolean;
  readonly parentId: string;
}

/** A page of ids. */
export interface TaskIds {
  readonly ids: readonly string[];
  readonly nextCursor: string;
  readonly total: number;
}

const RUNS_OF_STATE: Readonly<Record<string, readonly string[]>> = {
  queued: ["queued", "placed"],
  running: ["accepted", "running"],
  waiting: ["waiting"],
  succeeded: ["succeeded"],
  failed: ["failed"],
  cancelled: ["cancelled"],
  lost: ["lost"],
};

/** The ids of one page. */
export async function listTaskIds(sql: Sql, filter: TaskFilter, limit: number, cursor: string): Promise<TaskIds> {
  const where = conditions(sql, filter);
  if (where === undefined) return { ids: [], nextCursor: "", total: 0 };
  const runs = filter.runState === "" ? sql`` : sql`LEFT JOIN task_run_states s ON s.task_id = t.id`;
  const from = sql`FROM tasks t ${runs}`;
  const isBoard = filter.columnId !== "";
  const after = cursor === "" ? sql`` : isBoard ? afterRank(sql, cursor) : sql`AND t.id < ${cursor}`;
  const [rows, [count]] = await Promise.all([
    sql<{ id: string; rank: string }[]>`
      SELECT t.id, t.rank ${from} ${where} ${after}
      ORDER BY ${isBoard ? sql`t.rank, t.id` : sql`t.id DESC`} LIMIT ${limit + 1}`,
    sql<{ n: number }[]>`SELECT count(*)::int AS n ${from} ${where}`,
  ]);
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  const hasMore = rows.length > limit && last !== undefined;
  return {
    ids: page.map(({ id }) => id),
    nextCursor: !hasMore ? "" : isBoard ? `${last.rank} ${last.id}` : last.id,
    total: count?.n ?? 0,
  };
}

const blank = (sql: Sql) => sql``;
type Fragment = ReturnType<typeof blank>;

function afterRank(sql: Sql, cursor: string): Fragment {
  const [rank = "", id] = cursor.split(" ");
  if (id === undefined)
    throw new MeshError("invalid_argument", "this cursor belongs to another list; begin again without it");
  return sql`AND (t.rank, t.id) > (${rank}, ${id})`;
}

// Undefined: nothing can fit.
function conditions(sql: Sql, filter: TaskFilter): Fragment | undefined {
  const search = filter.query === "" ? "" : searchOf(filter.query);
  if (search === undefined) return undefined;
  const parts: Fragment[] = [
    sql`WHERE t.workspace_id = ${filter.workspaceId}`,
    filter.archived ? sql`AND t.archived_at IS NOT NULL` : sql`AND t.archived_at IS NULL`,
    ...(filter.board === "" ? [] : [sql`AND t.board_id = ${filter.board}`]),
    ...(filter.columnId === "" ? [] : [sql`AND t.column_id = ${filter.columnId}`]),
    ...(filter.category === "" ? [] : [inCategory(sql, filter)]),
    ...(filter.assignee === "" ? [] : [sql`AND t.assignee = ${filter.assignee}`]),
    ...(filter.assistant === "" ? [] : [sql`AND t.assistant = ${filter.assistant}`]),
    ...(filter.label === "" ? [] : [sql`AND ${filter.label} = ANY (t.labels)`]),
    ...(filter.priority === "" ? [] : [sql`AND t.priority = ${PRIORITIES.findIndex((p) => p === filter.priority)}`]),
    ...(filter.parentId === "" ? [] : [sql`AND t.parent_id = ${filter.parentId}`]),
    ...(filter.nodeId === "" ? [] : [onNode(sql, filter.nodeId)]),
    ...(search === "" ? [] : [sql`AND t.id IN (SELECT task_id FROM task_words WHERE words @@ ${search}::tsquery)`]),
    ...(filter.runState === "" ? [] : [inState(sql, filter)]),
  ];
  return sql`${parts.reduce((all, part) => sql`${all} ${part}`)}`;
}

function inCategory(sql: Sql, { workspaceId, category }: TaskFilter): Fragment {
  return sql`AND t.column_id IN (
    SELECT c.id FROM board_columns c JOIN boards b ON b.id = c.board_id WHERE b.workspace_id = ${workspaceId} AND c.category = ${category})`;
}

function onNode(sql: Sql, nodeId: string): Fragment {
  return sql`AND t.id IN (SELECT s.task_id FROM task_run_states s JOIN runs r ON r.id = s.run_id WHERE r.node_id = ${nodeId})`;
}

const ACTIVE = ["queued", "placed", "accepted", "running", "waiting"];

// The same decisions as `stateOf`, as conditions on the task `t` and its newest run `s`, which may be missing.
function inState(sql: Sql, { workspaceId, runState }: TaskFilter): Fragment {
  const isActive = sql`coalesce(s.state = ANY (${ACTIVE}), false)`;
  const isOfRun = sql`coalesce(s.state = ANY (${[...(RUNS_OF_STATE[runState] ?? [])]}), false)`;
  switch (runState) {
    case "blocked":
      // Few of many: they are looked up by id, not found by a look at every task.
      return sql`AND t.id = ANY (ARRAY(${waiting(sql, workspaceId)})) AND NOT ${isActive} AND ${isBlocked(sql, workspaceId)}`;
    case "idle":
      return sql`AND s.task_id IS NULL AND NOT t.wants_start AND t.start_error = '' AND NOT ${isBlocked(sql, workspaceId)}`;
    case "queued":
      return sql`AND (${isOfRun}
        OR (t.wants_start AND t.start_error = '' AND NOT ${isActive} AND NOT ${isBlocked(sql, workspaceId)}))`;
    case "failed":
      return sql`AND ((${isOfRun} AND NOT t.wants_start)
        OR (t.start_error <> '' AND NOT ${isActive} AND NOT ${isBlocked(sql, workspaceId)}))`;
    case "running":
    case "waiting":
      return sql`AND ${isOfRun}`;
    default:
      return sql`AND ${isOfRun} AND NOT t.wants_start AND t.start_error = ''`;
  }
}

// Ids of tasks that wait for one that is not done.
function waiting(sql: Sql, workspaceId: string): Fragment {
  return sql`
    SELECT l.task_id FROM task_links l JOIN tasks p ON p.id = l.blocked_by JOIN board_columns pc ON pc.id = p.column_id
    LEFT JOIN task_run_states ps ON ps.task_id = p.id
    WHERE p.workspace_id = ${workspaceId} AND pc.category <> 'done' AND ps.state IS DISTINCT FROM 'succeeded'`;
}

// Of a task without an active run.
function isBlocked(sql: Sql, workspaceId: string): Fragment {
  return sql`((t.wants_start OR s.task_id IS NULL) AND t.id IN (${waiting(sql, workspaceId)}) AND t.column_id NOT IN (
    SELECT c.id FROM board_columns c JOIN boards b ON b.id = c.board_id
    WHERE b.workspace_id = ${workspaceId} AND c.category IN ('done', 'cancelled')
  ))`;
}
