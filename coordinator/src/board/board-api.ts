/**
 * BoardService.
 *
 * B1  A workspace always has a board: the first look makes it, and the last one stays.
 * B2  A column's category never changes, and a column that holds tasks stays.
 * B3  A write over a revision that was changed meanwhile is refused, with the board as it is.
 */

import { type Ids, MeshError } from "@mesh/kernel";
import type { Board, Column, UpdateBoardRequest } from "@mesh/proto";
import { insertAudit, type Store, type Tx } from "@mesh/store";

import type { Access, Need } from "../auth/access.ts";
import { requireOwner } from "../auth/access-store.ts";
import { actorOf } from "../auth/caller.ts";
import type { BoardApi, Call } from "../gateway/operation.ts";
import {
  type BoardRow,
  type ColumnRow,
  countBoards,
  deleteBoard,
  insertBoard,
  lockBoard,
  putColumns,
  readBoards,
  removeColumns,
  updateBoard,
} from "./board-store.ts";
import { revisionConflict } from "./revision.ts";

/** What the handlers use. */
export interface BoardApiDeps {
  readonly store: Store;
  readonly access: Access;
  readonly ids: Ids;
  readonly recorded: () => void;
}

const MAX_BOARDS = 100;
const FIRST_BOARD = "Board";

const FIRST_COLUMNS: readonly (readonly [name: string, category: string])[] = [
  ["Backlog", "backlog"],
  ["To do", "todo"],
  ["In progress", "in_progress"],
  ["In review", "in_review"],
  ["Done", "done"],
];

/** Builds the handlers. */
export function createBoardApi(deps: BoardApiDeps): BoardApi {
  const { store, access } = deps;
  return {
    createBoard: async ({ workspace: ref, name, columns }, call) => {
      const workspace = await access.workspace(call.caller, ref, "write");
      const id = deps.ids.next("board");
      await store.sql.begin(async (tx) => {
        if ((await countBoards(tx, workspace.id)) >= MAX_BOARDS) {
          throw new MeshError(
            "resource_exhausted",
            `a workspace holds at most ${MAX_BOARDS} boards; delete some first`,
          );
        }
        const made = await insertBoard(tx, {
          id,
          workspaceId: workspace.id,
          name,
          columns: columns.length === 0 ? firstColumns(deps.ids) : newColumns(deps.ids, columns),
        });
        if (!made) throw new MeshError("already_exists", `there is a board ${name} already; choose another name`);
        await audit(deps, tx, call, { action: "board.create", object: id, workspaceId: workspace.id });
      });
      return { board: await read(deps, id) };
    },
    listBoards: async ({ workspace: ref }, { caller }) => {
      const { id } = await access.workspace(caller, ref, "read");
      await ensureBoard(deps, id);
      return { boards: (await readBoards(store.sql, { workspaceId: id })).map(toBoard) };
    },
    getBoard: async ({ board }, call) => {
      await allowed(deps, board, call, "read");
      return { board: await read(deps, board) };
    },
    updateBoard: async (request, call) => {
      await allowed(deps, request.board, call, "write");
      await store.sql.begin((tx) => change(deps, tx, request, call));
      deps.recorded();
      return { board: await read(deps, request.board) };
    },
    deleteBoard: async ({ board: id }, call) => {
      const board = await allowed(deps, id, call, "write");
      await requireOwner(store, call.caller, await access.workspace(call.caller, board.workspace_id, "write"));
      await store.sql.begin(async (tx) => {
        if ((await countBoards(tx, board.workspace_id)) <= 1) {
          throw new MeshError(
            "failed_precondition",
            `${board.name} is the only board and stays; make another one first`,
          );
        }
        if (!(await deleteBoard(tx, id))) {
          throw new MeshError("failed_precondition", `board ${board.name} holds tasks; move or delete them first`);
        }
        await audit(deps, tx, call, { action: "board.delete", object: id, workspaceId: board.workspace_id });
      });
      deps.recorded();
      return {};
    },
  };
}

/** Makes the first board of a workspace unless it has one; returns the id of its first. */
export async function ensureBoard(deps: Pick<BoardApiDeps, "store" | "ids">, workspaceId: string): Promise<string> {
  const [first] = await readBoards(deps.store.sql, { workspaceId });
  if (first !== undefined) return first.id;
  const columns = firstColumns(deps.ids);
  await deps.store.sql.begin((tx) =>
    insertBoard(tx, { id: deps.ids.next("board"), workspaceId, name: FIRST_BOARD, columns }),
  );
  const [made] = await readBoards(deps.store.sql, { workspaceId });
  if (made === undefined) throw new MeshError("not_found", "this workspace was deleted; see: yao workspace list");
  return made.id;
}

async function change(deps: BoardApiDeps, tx: Tx, request: UpdateBoardRequest, call: Call): Promise<void> {
  const board = await lockBoard(tx, request.board);
  if (board === undefined) throw notFound(request.board);
  if (request.revision !== 0 && request.revision !== board.revision) {
    throw revisionConflict("board", request.revision, { board: toBoard(board) });
  }
  if (request.columns.length > 0) await replaceColumns(deps, tx, board, request.columns);
  const name = request.name ?? board.name;
  if (name === "") throw new MeshError("invalid_argument", "a board needs a name");
  const isDone = await updateBoard(tx, { id: board.id, name, auto_move: request.auto_move ?? board.auto_move });
  if (!isDone) throw new MeshError("already_exists", `there is a board ${name} already; choose another name`);
  await audit(deps, tx, call, { action: "board.update", object: board.id, workspaceId: board.workspace_id });
}

async function replaceColumns(deps: BoardApiDeps, tx: Tx, board: BoardRow, columns: readonly Column[]): Promise<void> {
  const known = new Map(board.columns.map((column) => [column.id, column]));
  for (const { id, category, name } of columns) {
    if (id === "") continue;
    const old = known.get(id);
    if (old === undefined)
      throw new MeshError("not_found", `board ${board.name} has no column ${id}; leave the id out to make one`);
    if (category !== "" && category !== old.category) {
      throw new MeshError(
        "failed_precondition",
        `column ${name} is of category ${old.category}, which stays; make a new column and move its tasks`,
      );
    }
  }
  const kept = columns.map((column) => ({ ...column, category: known.get(column.id)?.category ?? column.category }));
  const ids = new Set(columns.map(({ id }) => id));
  const held = await removeColumns(
    tx,
    board.columns.filter(({ id }) => !ids.has(id)).map(({ id }) => id),
  );
  if (held.length > 0) {
    throw new MeshError(
      "failed_precondition",
      `${held.join(", ")} still holds tasks; move or delete them first (archived ones too)`,
    );
  }
  await putColumns(tx, board.id, newColumns(deps.ids, kept));
}

function newColumns(ids: Ids, columns: readonly Column[]): readonly Omit<ColumnRow, "tasks">[] {
  const names = new Set(columns.map(({ name }) => name));
  if (names.size < columns.length) throw new MeshError("invalid_argument", "two columns have the same name");
  const given = columns.map(({ id }) => id).filter((id) => id !== "");
  if (new Set(given).size < given.length) throw new MeshError("invalid_argument", "a column stands there twice");
  return columns.map(({ id, name, category, wip_limit }) => {
    if (category === "") throw new MeshError("invalid_argument", `column ${name} needs a category`);
    return { id: id === "" ? ids.next("col") : id, name, category, wip_limit };
  });
}

function firstColumns(ids: Ids): readonly Omit<ColumnRow, "tasks">[] {
  return FIRST_COLUMNS.map(([name, category]) => ({ id: ids.next("col"), name, category, wip_limit: 0 }));
}

async function allowed(deps: BoardApiDeps, id: string, { caller }: Call, need: Need): Promise<BoardRow> {
  const [board] = await readBoards(deps.store.sql, { ids: [id] });
  await deps.access.object(caller, board?.workspace_id, need, { kind: "board", id, list: "yao task list --boards" });
  if (board === undefined) throw notFound(id);
  return board;
}

async function read(deps: BoardApiDeps, id: string): Promise<Board> {
  const [row] = await readBoards(deps.store.sql, { ids: [id], isCounted: true });
  if (row === undefined) throw notFound(id);
  return toBoard(row);
}

/** A stored board as clients see it. */
export function toBoard({ created_at: createdAt, ...board }: BoardRow): Board {
  return { ...board, columns: board.columns.map((column) => ({ ...column })), created_at: createdAt.toISOString() };
}

function notFound(id: string): MeshError {
  return new MeshError("not_found", `board ${id.slice(0, 100)} was not found; see: yao task list --boards`);
}

async function audit(
  deps: BoardApiDeps,
  tx: Tx,
  { caller }: Call,
  entry: { readonly action: string; readonly object: string; readonly workspaceId: string },
): Promise<void> {
  await insertAudit(tx, { id: deps.ids.next("audit"), actor: actorOf(caller), ...entry });
}
