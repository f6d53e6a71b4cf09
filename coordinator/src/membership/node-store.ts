/** Statements about nodes and join tokens. */

import type { Sql, Tx } from "@mesh/store";

import { statusOf } from "./candidate-store.ts";
import { freeName } from "./node-name.ts";

// Any constant will do; it only has to differ from the other advisory locks of this database.
const NODES_LOCK = 7_402_002;

/** One node with its newest liveness. */
export interface NodeRow {
  readonly id: string;
  readonly digest: string;
  readonly nkey: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly facts: Readonly<Record<string, unknown>>;
  readonly slots: number;
  readonly workspace_ids: string[];
  readonly version: string;
  readonly draining: boolean;
  readonly drain_deadline_at: Date | null;
  readonly created_at: Date;
  readonly removed_at: Date | null;
  readonly seen_at: Date | null;
  readonly goodbye: boolean | null;
  readonly age_ms: number | null;
  readonly load: Readonly<Record<string, unknown>> | null;
  readonly used: number;
}

function select(sql: Sql | Tx): ReturnType<Sql> {
  return sql`
    SELECT n.id, n.digest, n.nkey, n.name, n.labels, n.facts, n.slots, n.workspace_ids, n.version, n.draining,
      n.drain_deadline_at, n.created_at, n.removed_at, l.seen_at, l.goodbye, l.load,
      (extract(epoch FROM clock_timestamp() - l.seen_at) * 1000)::float8 AS age_ms,
      (SELECT count(*)::int FROM runs r WHERE r.node_id = n.id AND r.state IN ('placed', 'accepted', 'running')) AS used
    FROM nodes n LEFT JOIN node_liveness l ON l.node_id = n.id`;
}

/** All nodes that were not removed, by name. */
export async function listNodes(sql: Sql | Tx): Promise<readonly NodeRow[]> {
  return sql<NodeRow[]>`${select(sql)} WHERE n.removed_at IS NULL ORDER BY n.name`;
}

/** A node by id or name. */
export async function findNode(sql: Sql | Tx, ref: string): Promise<NodeRow | undefined> {
  const rows = await sql<NodeRow[]>`${select(sql)} WHERE (n.id = ${ref} OR n.name = ${ref}) AND n.removed_at IS NULL`;
  return rows[0];
}

/** A node by its key, removed ones included. */
export async function findNodeByKey(sql: Sql | Tx, nkey: string): Promise<NodeRow | undefined> {
  const rows = await sql<NodeRow[]>`${select(sql)} WHERE n.nkey = ${nkey}`;
  return rows[0];
}

/** A new node. */
export interface NewNode {
  readonly id: string;
  readonly digest: string;
  readonly nkey: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly facts: unknown;
  readonly slots: number;
  readonly workspaceIds: readonly string[];
  readonly version: string;
}

/** Lets one transaction at a time decide on names, labels and keys of nodes, over all replicas. */
export async function lockNodes(tx: Tx): Promise<void> {
  await tx`SELECT pg_advisory_xact_lock(${NODES_LOCK})`;
}

/** Inserts a node under the first free name like its own and returns that name; needs {@link lockNodes}. */
export async function insertNode(tx: Tx, node: NewNode): Promise<string> {
  const taken = await tx<{ name: string }[]>`SELECT name FROM nodes WHERE removed_at IS NULL`;
  const name = freeName(node.name, new Set(taken.map((row) => row.name)));
  await tx`
    INSERT INTO nodes (id, digest, nkey, name, labels, facts, slots, workspace_ids, version)
    VALUES (${node.id}, ${node.digest}, ${node.nkey}, ${name}, ${tx.json(node.labels)}, ${tx.json(node.facts as never)}, ${node.slots},
      ${[...node.workspaceIds]}, ${node.version})`;
  return name;
}

/** Changes to a node; undefined leaves a field as it is. */
export interface NodePatch {
  readonly name?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly slots?: number;
  readonly workspaceIds?: readonly string[];
}

/** Applies a patch. */
export async function updateNode(tx: Tx, nodeId: string, patch: NodePatch): Promise<void> {
  await tx`
    UPDATE nodes SET
      name = coalesce(${patch.name ?? null}::text, name),
      labels = coalesce(${patch.labels === undefined ? null : JSON.stringify(patch.labels)}::text::jsonb, labels),
      slots = coalesce(${patch.slots ?? null}::int, slots),
      workspace_ids = coalesce(${patch.workspaceIds === undefined ? null : [...patch.workspaceIds]}::text[], workspace_ids)
    WHERE id = ${nodeId}`;
}

/** Facts and version of a node that just said hello. */
export async function updateFacts(sql: Sql, nodeId: string, facts: unknown, version: string): Promise<void> {
  await sql`
    UPDATE nodes SET facts = ${sql.json(facts as never)}, version = ${version}
    WHERE id = ${nodeId} AND (facts, version) IS DISTINCT FROM (${sql.json(facts as never)}::jsonb, ${version})`;
}

/** A join token as stored. */
export interface JoinTokenRow {
  readonly uses_left: number;
  readonly expired: boolean;
  readonly labels: Readonly<Record<string, string>>;
  readonly workspace_ids: string[];
}

/** Locks a join token until the transaction ends. */
export async function lockJoinToken(tx: Tx, hash: Buffer): Promise<JoinTokenRow | undefined> {
  const rows = await tx<JoinTokenRow[]>`
    SELECT uses_left, expires_at <= now() AS expired, labels, workspace_ids FROM join_tokens WHERE hash = ${hash} FOR UPDATE`;
  return rows[0];
}

/** Takes one use of a join token. */
export async function useJoinToken(tx: Tx, hash: Buffer): Promise<void> {
  await tx`UPDATE join_tokens SET uses_left = uses_left - 1 WHERE hash = ${hash}`;
}

/** Keys of nodes that were removed so lately that their JWTs may still live, with the second of the removal. */
export async function recentlyRemoved(sql: Sql, withinMs: number): Promise<ReadonlyMap<string, number>> {
  const rows = await sql<{ nkey: string; second: number }[]>`
    SELECT nkey, extract(epoch FROM removed_at)::int8 AS second FROM nodes
    WHERE removed_at > now() - ${withinMs} * interval '1 ms'`;
  // Plus one: a JWT issued within the second of the removal is cut as well.
  return new Map(rows.map((row) => [row.nkey, row.second + 1]));
}

/** Status of a row, as people see it. */
export function statusOfRow(row: Pick<NodeRow, "age_ms" | "goodbye">): "online" | "suspect" | "offline" {
  return statusOf(row.age_ms, row.goodbye ?? false);
}
