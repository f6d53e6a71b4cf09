/** Statements that change tasks. The caller's transaction holds the task's row (`lockTask`). */

import type { Sql, Tx } from "@mesh/store";

import { freshRanks, MAX_RANK, rankBetween } from "./rank.ts";
import type { StoredOutput, StoredPlacementWish } from "./task-row.ts";
import { wordsOf } from "./task-text.ts";

/** A new task. */
export interface NewTask {
  readonly id: string;
  readonly workspaceId: string;
  readonly number: number;
  readonly boardId: string;
  readonly columnId: string;
  readonly rank: string;
  readonly title: string;
  readonly titleBy: "rule" | "person";
  readonly description: string;
  readonly priority: number;
  readonly labels: readonly string[];
  readonly assistant: string;
  readonly assignee: string;
  readonly placement: StoredPlacementWish;
  readonly parentId: string | null;
  readonly maxRetries: number;
  readonly dueAt: string | null;
  readonly createdBy: string;
}

/** The next number of a workspace's tasks; nobody else gets one until the transaction ends. */
export async function nextNumber(tx: Tx, workspaceId: string): Promise<number> {
  const [row] = await tx<{ last_number: number }[]>`
    INSERT INTO task_counters AS c (workspace_id, last_number) VALUES (${workspaceId}, 1)
    ON CONFLICT (workspace_id) DO UPDATE SET last_number = c.last_number + 1 RETURNING last_number`;
  return row?.last_number ?? 0;
}

/** Inserts a task. */
export async function insertTask(tx: Tx, task: NewTask): Promise<void> {
  await tx`
    INSERT INTO tasks (id, workspace_id, number, board_id, column_id, rank, title, title_by, description, priority, labels,
      assistant, assignee, placement, parent_id, max_retries, due_at, created_by)
    VALUES (${task.id}, ${task.workspaceId}, ${task.number}, ${task.boardId}, ${task.columnId}, ${task.rank}, ${task.title},
      ${task.titleBy}, ${task.description}, ${task.priority}, ${[...task.labels]}, ${task.assistant}, ${task.assignee},
      ${JSON.stringify(task.placement)}::text::jsonb, ${task.parentId}, ${task.maxRetries}, ${task.dueAt}, ${task.createdBy})`;
  await putOwnWords(tx, task.id);
}

/** Fields that an edit writes; absent ones stay. */
export interface TaskEdit {
  readonly title?: string;
  readonly titleBy?: "person" | "model";
  readonly description?: string;
  readonly summary?: string;
  readonly priority?: number;
  readonly labels?: readonly string[];
  readonly assistant?: string;
  readonly assignee?: string;
  readonly placement?: StoredPlacementWish;
  readonly maxRetries?: number;
  readonly dueAt?: string | null;
  readonly parentId?: string | null;
}

/** Writes fields and counts the revision up. */
export async function editTask(tx: Tx, id: string, edit: TaskEdit): Promise<void> {
  const set = {
    ...(edit.title === undefined ? {} : { title: edit.title, title_by: edit.titleBy ?? "person" }),
    ...(edit.description === undefined ? {} : { description: edit.description }),
    ...(edit.summary === undefined ? {} : { summary: edit.summary }),
    ...(edit.priority === undefined ? {} : { priority: edit.priority }),
    ...(edit.labels === undefined ? {} : { labels: [...edit.labels] }),
    ...(edit.assistant === undefined ? {} : { assistant: edit.assistant }),
    ...(edit.assignee === undefined ? {} : { assignee: edit.assignee }),
    ...(edit.maxRetries === undefined ? {} : { max_retries: edit.maxRetries }),
    ...(edit.dueAt === undefined ? {} : { due_at: edit.dueAt }),
    ...(edit.parentId === undefined ? {} : { parent_id: edit.parentId }),
  };
  if (Object.keys(set).length > 0) await tx`UPDATE tasks SET ${tx(set)} WHERE id = ${id}`;
  if (edit.placement !== undefined) {
    await tx`UPDATE tasks SET placement = ${JSON.stringify(edit.placement)}::text::jsonb WHERE id = ${id}`;
  }
  await tx`UPDATE tasks SET revision = revision + 1, updated_at = now(), start_error = '' WHERE id = ${id}`;
  await putOwnWords(tx, id);
}

/** Writes the words that a task is found by without its conversation. */
async function putOwnWords(tx: Tx, id: string): Promise<void> {
  const [row] = await tx<{ text: string }[]>`
    SELECT concat_ws(' ', 'T-' || number, title, description, summary, array_to_string(labels, ' ')) AS text
    FROM tasks WHERE id = ${id}`;
  const words = wordsOf(row?.text ?? "");
  await tx`
    INSERT INTO task_words (task_id, own) VALUES (${id}, array_to_tsvector(${[...words]}::text[]))
    ON CONFLICT (task_id) DO UPDATE SET own = excluded.own`;
}

/** Replaces what a task waits for. */
export async function putLinks(tx: Tx, id: string, blockedBy: readonly string[]): Promise<void> {
  await tx`DELETE FROM task_links WHERE task_id = ${id} AND NOT blocked_by = ANY (${[...blockedBy]})`;
  await tx`
    INSERT INTO task_links (task_id, blocked_by) SELECT ${id}, b FROM unnest(${[...blockedBy]}::text[]) AS b
    ON CONFLICT DO NOTHING`;
}

/** All links of a workspace, held still until the transaction ends: of two circles closed at once, one sees the other. */
export async function lockLinks(tx: Tx, workspaceId: string): Promise<ReadonlyMap<string, readonly string[]>> {
  await tx`SELECT pg_advisory_xact_lock(hashtextextended(${`task links ${workspaceId}`}, 0))`;
  const rows = await tx<{ task_id: string; before: string[] }[]>`
    SELECT l.task_id, array_agg(l.blocked_by) AS before FROM task_links l JOIN tasks t ON t.id = l.task_id
    WHERE t.workspace_id = ${workspaceId} GROUP BY l.task_id`;
  return new Map(rows.map((row) => [row.task_id, row.before]));
}

/** A column as moves need it. */
export interface ColumnPlace {
  readonly id: string;
  readonly boardId: string;
  readonly workspaceId: string;
  readonly name: string;
  readonly category: string;
  readonly autoMove: boolean;
}

/** The columns of the board, by place. */
export async function columnsOf(sql: Sql | Tx, boardId: string): Promise<readonly ColumnPlace[]> {
  return sql<ColumnPlace[]>`
    SELECT c.id, c.board_id AS "boardId", b.workspace_id AS "workspaceId", c.name, c.category, b.auto_move AS "autoMove"
    FROM board_columns c JOIN boards b ON b.id = c.board_id WHERE c.board_id = ${boardId} ORDER BY c.position`;
}

/** A rank in a column: right after or right before another card, else at its top. The column is held until the end. */
export async function placeIn(
  tx: Tx,
  columnId: string,
  moved: string,
  anchor: { readonly after: string; readonly before: string },
): Promise<string | undefined> {
  await tx`SELECT 1 FROM board_columns WHERE id = ${columnId} FOR NO KEY UPDATE`;
  const ends = await neighbours(tx, columnId, moved, anchor);
  if (ends === undefined) return undefined;
  const rank = rankBetween(ends.after, ends.before);
  if (rank.length <= MAX_RANK) return rank;
  await renumber(tx, columnId);
  const fresh = await neighbours(tx, columnId, moved, anchor);
  return fresh === undefined ? undefined : rankBetween(fresh.after, fresh.before);
}

interface Neighbours {
  readonly after: string | null;
  readonly before: string | null;
}

async function neighbours(
  tx: Tx,
  columnId: string,
  moved: string,
  anchor: { readonly after: string; readonly before: string },
): Promise<Neighbours | undefined> {
  const others = tx`FROM tasks WHERE column_id = ${columnId} AND archived_at IS NULL AND id <> ${moved}`;
  if (anchor.after === "" && anchor.before === "") {
    const [top] = await tx<{ rank: string | null }[]>`SELECT min(rank) AS rank ${others}`;
    return { after: null, before: top?.rank ?? null };
  }
  const [row] = await tx<{ rank: string }[]>`SELECT rank ${others} AND id = ${anchor.after || anchor.before}`;
  if (row === undefined) return undefined;
  if (anchor.after !== "") {
    const [next] = await tx<{ rank: string | null }[]>`SELECT min(rank) AS rank ${others} AND rank > ${row.rank}`;
    return { after: row.rank, before: next?.rank ?? null };
  }
  const [last] = await tx<{ rank: string | null }[]>`SELECT max(rank) AS rank ${others} AND rank < ${row.rank}`;
  return { after: last?.rank ?? null, before: row.rank };
}

async function renumber(tx: Tx, columnId: string): Promise<void> {
  const rows = await tx<{ id: string }[]>`
    SELECT id FROM tasks WHERE column_id = ${columnId} AND archived_at IS NULL ORDER BY rank, id`;
  await tx`
    UPDATE tasks t SET rank = n.rank FROM unnest(
      ${rows.map(({ id }) => id)}::text[], ${[...freshRanks(rows.length)]}::text[]
    ) AS n (id, rank) WHERE t.id = n.id`;
}

/** Puts a card into a column at a rank. A move by a person counts the revision up, one by itself does not. */
export async function setPlace(
  tx: Tx,
  id: string,
  to: Pick<ColumnPlace, "id" | "boardId"> & { readonly rank: string },
  byPerson: boolean,
): Promise<void> {
  await tx`
    UPDATE tasks SET column_id = ${to.id}, board_id = ${to.boardId}, rank = ${to.rank}, updated_at = now(),
      revision = revision + ${byPerson ? 1 : 0} WHERE id = ${id}`;
}

/** Takes a task off the board or puts it back. */
export async function setArchived(tx: Tx, id: string, isArchived: boolean): Promise<void> {
  await tx`
    UPDATE tasks SET archived_at = CASE WHEN ${isArchived} THEN now() END, wants_start = false, retry_at = NULL,
      revision = revision + 1, updated_at = now() WHERE id = ${id}`;
}

/** Deletes a task; its runs, messages and all else go with it. */
export async function deleteTask(tx: Tx, id: string): Promise<void> {
  await tx`DELETE FROM tasks WHERE id = ${id}`;
}

/** Adds to what came of a task: the newest first, each target once, at most 100. */
export async function putOutputs(tx: Tx, id: string, outputs: readonly StoredOutput[]): Promise<void> {
  await tx`UPDATE tasks SET outputs = ${JSON.stringify(outputs)}::text::jsonb, updated_at = now() WHERE id = ${id}`;
}

/** Adds words of the conversation. */
export async function addSaid(tx: Tx, id: string, text: string): Promise<void> {
  const words = wordsOf(text);
  if (words.length === 0) return;
  // A conversation without end must not become an index entry without end: at most 20,000 words are kept.
  await tx`
    UPDATE task_words SET said = said || array_to_tsvector(${[...words]}::text[])
    WHERE task_id = ${id} AND length(said) < 20000`;
}

/** Writes an activity row. */
export async function insertActivity(
  tx: Tx,
  entry: {
    readonly id: string;
    readonly taskId: string;
    readonly actor: string;
    readonly action: string;
    readonly detail?: Readonly<Record<string, unknown>>;
  },
): Promise<void> {
  await tx`
    INSERT INTO task_activity (id, task_id, actor, action, detail)
    VALUES (${entry.id}, ${entry.taskId}, ${entry.actor}, ${entry.action}, ${JSON.stringify(entry.detail ?? {})}::text::jsonb)`;
}
