/** Devices in the feeds of the workspaces they serve. */

import type { JsonObject } from "@mesh/kernel";
import type { Sql, Tx } from "@mesh/store";

import { listNodes, type NodeRow, statusOfRow } from "../membership/node-store.ts";
import { toNode } from "../membership/node-view.ts";
import { type FeedKey, feedKeyName, type FeedKind } from "./feed-object.ts";

/** Devices; one that stops serving a workspace is removed there. */
export const NODE_FEED: FeedKind = {
  noun: "node",
  gone: "node.removed",
  read: async (sql, keys) => {
    const nodes = new Map((await listNodes(sql)).map((row) => [row.id, row]));
    return new Map(keys.flatMap((key) => entryOf(key, nodes.get(key.object))));
  },
};

function entryOf(key: FeedKey, row: NodeRow | undefined): [string, JsonObject][] {
  if (row === undefined) return [];
  const serves = row.workspace_ids.length === 0 || row.workspace_ids.includes(key.workspaceId);
  return serves ? [[feedKeyName(key), toNode(row) as unknown as JsonObject]] : [];
}

/**
 * Records what changed about devices since the last look. What moves all the time (load, used slots, the last heartbeat) is no
 * change. Returns how many changed. To be called by the leader.
 */
export async function recordNodeChanges(sql: Sql): Promise<number> {
  const now = (await listNodes(sql)).map((row) => ({ id: row.id, told: toldOf(row), workspaceIds: row.workspace_ids }));
  const before = await sql<{ node_id: string; told: string; workspace_ids: string[] }[]>`
    SELECT node_id, told, workspace_ids FROM feed_nodes`;
  const known = new Map(before.map((row) => [row.node_id, row]));
  const changed = now.filter(({ id, told }) => known.get(id)?.told !== told);
  const present = new Set(now.map(({ id }) => id));
  const removed = before.filter(({ node_id: id }) => !present.has(id));
  if (changed.length + removed.length === 0) return 0;
  await sql.begin(async (tx) => {
    for (const node of changed) {
      await tell(tx, node.id, [node.workspaceIds, ...lists(known.get(node.id)?.workspace_ids)]);
      await tx`
        INSERT INTO feed_nodes (node_id, told, workspace_ids) VALUES (${node.id}, ${node.told}, ${node.workspaceIds})
        ON CONFLICT (node_id) DO UPDATE SET told = excluded.told, workspace_ids = excluded.workspace_ids`;
    }
    for (const { node_id: id, workspace_ids: served } of removed) {
      await tell(tx, id, [served]);
      await tx`DELETE FROM feed_nodes WHERE node_id = ${id}`;
    }
  });
  return changed.length + removed.length;
}

function lists(ids: readonly string[] | undefined): readonly (readonly string[])[] {
  return ids === undefined ? [] : [ids];
}

function toldOf(row: NodeRow): string {
  const { id, name, draining, labels, slots, version, workspace_ids: served, drain_deadline_at: deadline } = row;
  return JSON.stringify([id, name, statusOfRow(row), draining, labels, slots, version, served, deadline, row.facts]);
}

// A device without a list of workspaces serves them all.
async function tell(tx: Tx, nodeId: string, served: readonly (readonly string[])[]): Promise<void> {
  const isEverywhere = served.some((ids) => ids.length === 0);
  await tx`
    INSERT INTO feed_outbox (workspace_id, kind, object)
    SELECT id, 'node', ${nodeId} FROM workspaces WHERE ${isEverywhere} OR id = ANY (${served.flat()})`;
}
