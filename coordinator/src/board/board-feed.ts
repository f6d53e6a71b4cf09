/** Tasks, their runs, boards and inboxes in the feed. */

import type { JsonObject } from "@mesh/kernel";
import type { Sql, Tx } from "@mesh/store";

import { type FeedKey, feedKeyName, type FeedKind } from "../feed/feed-object.ts";
import { findRuns } from "../runs/run-row.ts";
import { toRun } from "../runs/run-view.ts";
import { toBoard } from "./board-api.ts";
import { readBoards } from "./board-store.ts";
import { readTasks } from "./task-row.ts";
import { toTask } from "./task-view.ts";

const idsOf = (keys: readonly FeedKey[]): readonly string[] => [...new Set(keys.map(({ object }) => object))];

function byKey<Row extends { readonly id: string; readonly workspace_id: string }>(
  rows: readonly Row[],
  view: (row: Row) => unknown,
): ReadonlyMap<string, JsonObject> {
  return new Map(
    rows.map((row) => [
      feedKeyName({ workspaceId: row.workspace_id, object: row.id }),
      JSON.parse(JSON.stringify(view(row))) as JsonObject,
    ]),
  );
}

/** The kinds of the board. */
export const BOARD_FEEDS: readonly FeedKind[] = [
  {
    noun: "task",
    gone: "task.deleted",
    read: async (sql, keys) => byKey(await readTasks(sql, idsOf(keys)), (row) => toTask(row)),
  },
  {
    noun: "board",
    gone: "board.deleted",
    read: async (sql, keys) => byKey(await readBoards(sql, { ids: idsOf(keys) }), toBoard),
  },
  {
    noun: "run",
    gone: "run.deleted",
    read: async (sql, keys) => byKey(await findRuns(sql, idsOf(keys)), toRun),
  },
  { noun: "inbox", gone: "inbox.changed", read: readInboxes },
];

// Whose inbox it is and how much is unread in this workspace; what is in it is for that person alone.
async function readInboxes(sql: Sql | Tx, keys: readonly FeedKey[]): Promise<ReadonlyMap<string, JsonObject>> {
  const rows = await sql<{ workspace_id: string; user_id: string; name: string; unread: number }[]>`
    SELECT k.workspace_id, u.id AS user_id, u.name, (
      SELECT count(*)::int FROM inbox_entries i WHERE i.user_id = u.id AND i.workspace_id = k.workspace_id
        AND i.read_at IS NULL AND i.archived_at IS NULL
    ) AS unread
    FROM unnest(${keys.map((k) => k.workspaceId)}::text[], ${keys.map((k) => k.object)}::text[]) AS k (workspace_id, user_id)
    JOIN users u ON u.id = k.user_id`;
  return new Map(
    rows.map(({ workspace_id: workspaceId, user_id: object, name, unread }) => [
      feedKeyName({ workspaceId, object }),
      { user: name, unread },
    ]),
  );
}
