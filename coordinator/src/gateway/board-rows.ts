/** Rows of the services of the board. */

import * as proto from "@mesh/proto";
import { z } from "zod";

import { labels, optionalInt, optionalText, optionalWord, reference, required, texts } from "./field.ts";
import type { BoardApi, InboxApi } from "./operation.ts";
import { type OperationRow, row } from "./operation-row.ts";

const CATEGORIES = ["backlog", "todo", "in_progress", "in_review", "done", "cancelled"] as const;
const MAX_COLUMNS = 30;

/** Where a task's runs may go. */
export const placement: z.ZodOptional<z.ZodObject> = z
  .strictObject({
    node: optionalText(200),
    labels,
    os: optionalText(64),
    arch: optionalText(64),
    tools: texts(32, 64),
  })
  .optional();

const columns = z
  .array(
    z.strictObject({
      id: optionalText(64),
      name: required(100),
      category: optionalWord(...CATEGORIES),
      wip_limit: optionalInt(0, 10_000),
      tasks: z.int().min(0).optional(),
    }),
  )
  .max(MAX_COLUMNS, `has more than ${MAX_COLUMNS} entries`)
  .optional();

const byBoard = z.strictObject({ board: reference });

/** What BoardService accepts, and where. */
export const BOARD_ROWS: { readonly [M in keyof BoardApi]: OperationRow<Parameters<BoardApi[M]>[0]> } = {
  createBoard: row(
    "POST /v1/workspaces/{workspace}/boards",
    {
      scope: "tasks",
      summary: "Makes a board; without columns it has Backlog, To do, In progress, In review and Done.",
      input: z.strictObject({ workspace: reference, name: required(100), columns }),
      message: proto.CreateBoardRequest,
    },
    { successStatus: 201 },
  ),
  listBoards: row("GET /v1/workspaces/{workspace}/boards", {
    scope: "read",
    summary: "Lists the boards of a workspace; it always has one.",
    input: z.strictObject({ workspace: reference }),
    message: proto.ListBoardsRequest,
  }),
  getBoard: row("GET /v1/boards/{board}", {
    scope: "read",
    summary: "Reads a board with its columns and how many tasks each holds.",
    input: byBoard,
    message: proto.GetBoardRequest,
  }),
  updateBoard: row("PATCH /v1/boards/{board}", {
    scope: "tasks",
    summary: "Renames a board or replaces its columns; a stale revision is refused.",
    input: z.strictObject({
      board: reference,
      revision: optionalInt(0, 2 ** 31 - 1),
      name: optionalText(100),
      columns,
      auto_move: z.boolean().optional(),
    }),
    message: proto.UpdateBoardRequest,
  }),
  deleteBoard: row("DELETE /v1/boards/{board}", {
    scope: "tasks",
    summary: "Deletes a board without tasks.",
    input: byBoard,
    message: proto.DeleteBoardRequest,
  }),
};

/** What InboxService accepts, and where. */
export const INBOX_ROWS: { readonly [M in keyof InboxApi]: OperationRow<Parameters<InboxApi[M]>[0]> } = {
  listInbox: row("GET /v1/inbox", {
    scope: "read",
    summary: "Lists what needs the caller, what failed and what was done; the newest first.",
    input: z.strictObject({
      workspace: optionalText(200),
      kind: optionalWord("needs_input", "failed", "done"),
      archived: z.boolean().optional(),
      limit: optionalInt(0, 200),
      cursor: optionalText(200),
    }),
    message: proto.ListInboxRequest,
  }),
  markInbox: row("POST /v1/inbox", {
    scope: "read",
    summary: "Marks entries of the caller's inbox as read or archived.",
    input: z.strictObject({
      entries: texts(500, 64),
      state: z.enum(["read", "unread", "archived", "restored"], "must be one of: read, unread, archived, restored"),
    }),
    message: proto.MarkInboxRequest,
  }),
};
