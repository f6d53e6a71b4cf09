/** Statements about boards and their columns. */

import type { Sql, Tx } from "@mesh/store";

/** A board as stored. */
export interface BoardRow {
  readonly id: string;
  readonly workspace_id: string;
  readonly name: string;
  readonly auto_move: boolean;
  readonly revision: number;
  readonly created_at: Date;
  readonly columns: readonly ColumnRow[];
}

/** A column as stored. */
export interface ColumnRow {
  readonly id: string;
  readonly name: string;
  readonly category: string;
  readonly wip_limit: number;
  /** Cards that are not archived; only where they were counted. */
  readonly tasks: number;
}

/** Boards by id, in order of creation. */
export async function readBoards(
  sql: Sql | Tx,
  where: { readonly ids?: readonly string[]; readonly workspaceId?: string; readonly isCounted?: boolean },
): Promise<readonly BoardRow[]> {
  const { ids, workspaceId, isCounted = false } = where;
  const count = isCounted
    ? sql`(SELECT count(*) FROM tasks t WHERE t.column_id = c.id AND t.archived_at IS NULL)`
    : sql`0`;
  return sql<BoardRow[]>`
    SELECT b.id, b.workspace_id, b.name, b.auto_move, b.revision, b.created_at, coalesce((
      SELECT json_agg(json_build_object('id', c.id, 'name', c.name, 'category', c.category, 'wip_limit', c.wip_limit,
        'tasks', ${count}) ORDER BY c.position) FROM board_columns c WHERE c.board_id = b.id
    ), '[]'::json) AS columns
    FROM boards b WHERE ${ids === undefined ? sql`b.workspace_id = ${workspaceId ?? ""}` : sql`b.id = ANY (${[...ids]})`}
    ORDER BY b.id LIMIT 200`;
}

/** A new board. */
export interface NewBoard {
  readonly id: string;
  readonly workspaceId: string;
  readonly name: string;
  readonly columns: readonly Omit<ColumnRow, "tasks">[];
}

/** Makes a board; false when one of that name is there. */
export async function insertBoard(tx: Tx, board: NewBoard): Promise<boolean> {
  const made = await tx`
    INSERT INTO boards (id, workspace_id, name) VALUES (${board.id}, ${board.workspaceId}, ${board.name})
    ON CONFLICT (workspace_id, name) DO NOTHING`;
  if (made.count === 0) return false;
  await putColumns(tx, board.id, board.columns);
  return true;
}

/** Writes columns in order; those with a known id are changed, but for their category. */
export async function putColumns(tx: Tx, boardId: string, columns: readonly Omit<ColumnRow, "tasks">[]): Promise<void> {
  // Names may be exchanged: none is taken while all are written.
  await tx`UPDATE board_columns SET name = id WHERE board_id = ${boardId}`;
  for (const [position, { id, name, category, wip_limit: limit }] of columns.entries()) {
    await tx`
      INSERT INTO board_columns (id, board_id, position, name, category, wip_limit)
      VALUES (${id}, ${boardId}, ${position}, ${name}, ${category}, ${limit})
      ON CONFLICT (id) DO UPDATE SET position = excluded.position, name = excluded.name, wip_limit = excluded.wip_limit`;
  }
}

/** Locks a board for a change of its columns. */
export async function lockBoard(tx: Tx, id: string): Promise<BoardRow | undefined> {
  await tx`SELECT 1 FROM boards WHERE id = ${id} FOR NO KEY UPDATE`;
  return (await readBoards(tx, { ids: [id] }))[0];
}

/** Removes columns; those with tasks, archived ones too, are named instead. */
export async function removeColumns(tx: Tx, ids: readonly string[]): Promise<readonly string[]> {
  const held = await tx<{ name: string }[]>`
    SELECT c.name FROM board_columns c
    WHERE c.id = ANY (${[...ids]}) AND EXISTS (SELECT 1 FROM tasks t WHERE t.column_id = c.id) ORDER BY c.position`;
  if (held.length === 0) await tx`DELETE FROM board_columns WHERE id = ANY (${[...ids]})`;
  return held.map(({ name }) => name);
}

/** Changes what a board says of itself. */
export async function updateBoard(tx: Tx, board: Pick<BoardRow, "id" | "name" | "auto_move">): Promise<boolean> {
  const updated = await tx`
    UPDATE boards b SET name = ${board.name}, auto_move = ${board.auto_move}, revision = revision + 1
    WHERE id = ${board.id} AND NOT EXISTS (
      SELECT 1 FROM boards o WHERE o.workspace_id = b.workspace_id AND o.name = ${board.name} AND o.id <> b.id
    )`;
  return updated.count === 1;
}

/** Deletes a board; false when it holds tasks. */
export async function deleteBoard(tx: Tx, id: string): Promise<boolean> {
  const [held] = await tx`SELECT 1 FROM tasks WHERE board_id = ${id} LIMIT 1`;
  if (held !== undefined) return false;
  await tx`DELETE FROM boards WHERE id = ${id}`;
  return true;
}

/** How many boards a workspace has; the workspace's row is locked, so that of two deletions one sees the other. */
export async function countBoards(tx: Tx, workspaceId: string): Promise<number> {
  await tx`SELECT 1 FROM workspaces WHERE id = ${workspaceId} FOR NO KEY UPDATE`;
  const [row] = await tx<{ n: number }[]>`SELECT count(*)::int AS n FROM boards WHERE workspace_id = ${workspaceId}`;
  return row?.n ?? 0;
}
