/** Documents as clients see them. */

import type { JsonObject } from "@mesh/kernel";
import type { Document } from "@mesh/proto";

import { keyOf } from "../board/task-view.ts";
import { type FeedKey, feedKeyName, type FeedKind } from "../feed/feed-object.ts";
import { statusOfRow } from "../membership/node-store.ts";
import { type DocumentRow, findDocuments } from "./document-store.ts";

/** Converts a row to the message of the public interface. */
export function toDocument(row: DocumentRow): Document {
  // What was uploaded lies here.
  const online = row.node_id === null || statusOfRow(row) !== "offline";
  return {
    id: row.id,
    workspace_id: row.workspace_id,
    title: row.title,
    path: row.path,
    source: row.source,
    media_type: row.media_type,
    size_bytes: row.size_bytes,
    status: row.status,
    reason: row.reason,
    version: row.version,
    chunks: row.chunks,
    node_id: row.node_id ?? undefined,
    node: row.node ?? undefined,
    online,
    offline_since: online ? undefined : row.last_at?.toISOString(),
    task_id: row.task_id ?? undefined,
    task_key: row.task_number === null ? undefined : keyOf(row.task_number),
    run_id: row.run_id ?? undefined,
    created_by: row.created_by,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

/** Documents in the feed of their workspace. */
export const DOCUMENT_FEED: FeedKind = {
  noun: "document",
  gone: "document.deleted",
  read: async (sql, keys) => {
    const rows = new Map(
      (
        await findDocuments(
          sql,
          keys.map(({ object }) => object),
        )
      ).map((row) => [row.id, row]),
    );
    return new Map(keys.flatMap((key) => entryOf(key, rows.get(key.object))));
  },
};

function entryOf(key: FeedKey, row: DocumentRow | undefined): [string, JsonObject][] {
  if (row?.workspace_id !== key.workspaceId) return [];
  return [[feedKeyName(key), toDocument(row) as unknown as JsonObject]];
}
