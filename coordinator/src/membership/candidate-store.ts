/** Reads nodes the way placement needs them. Liveness is judged by the database's clock. */

import type { Sql, Tx } from "@mesh/store";

import type { Candidate } from "../placement/placement.ts";

/** Silence after which a node is suspect: still eligible, but the last choice. */
export const SUSPECT_AFTER_MS = 10_000;

/** Silence after which a node is offline. */
export const OFFLINE_AFTER_MS = 15_000;

/** Status from the age of the last heartbeat; null means never seen. */
export function statusOf(ageMs: number | null, goodbye: boolean): Candidate["status"] {
  if (ageMs === null || goodbye || ageMs > OFFLINE_AFTER_MS) return "offline";
  return ageMs > SUSPECT_AFTER_MS ? "suspect" : "online";
}

/** A candidate with the subject token of its node. */
export interface PlacementNode extends Candidate {
  readonly digest: string;
  /** Counted up while a pass gives slots away. */
  slotsUsed: number;
}

interface Row {
  readonly id: string;
  readonly digest: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly os: string;
  readonly arch: string;
  readonly tools: string[];
  readonly slots: number;
  readonly workspace_ids: string[];
  readonly draining: boolean;
  readonly seen_at: Date | null;
  readonly age_ms: number | null;
  readonly goodbye: boolean | null;
  readonly used: number;
}

/** All nodes that were not removed, with the slots taken by runs that are placed on them. */
export async function loadCandidates(tx: Sql | Tx, penalized: (nodeId: string) => boolean): Promise<PlacementNode[]> {
  const rows = await tx<Row[]>`
    SELECT n.id, n.digest, n.name, n.labels, coalesce(n.facts ->> 'os', '') AS os, coalesce(n.facts ->> 'arch', '') AS arch,
      ARRAY(SELECT jsonb_object_keys(CASE jsonb_typeof(n.facts -> 'tools') WHEN 'object' THEN n.facts -> 'tools' ELSE '{}' END)) AS tools,
      n.slots, n.workspace_ids, n.draining, l.seen_at, l.goodbye,
      (extract(epoch FROM clock_timestamp() - l.seen_at) * 1000)::float8 AS age_ms,
      (SELECT count(*)::int FROM runs r WHERE r.node_id = n.id AND r.state IN ('placed', 'accepted', 'running')) AS used
    FROM nodes n LEFT JOIN node_liveness l ON l.node_id = n.id
    WHERE n.removed_at IS NULL ORDER BY n.id`;
  return rows.map((row) => ({
    id: row.id,
    digest: row.digest,
    name: row.name,
    status: statusOf(row.age_ms, row.goodbye ?? false),
    lastSeenAt: row.seen_at?.toISOString(),
    draining: row.draining,
    labels: row.labels,
    os: row.os,
    arch: row.arch,
    tools: new Set(row.tools),
    slots: row.slots,
    slotsUsed: row.used,
    workspaceIds: row.workspace_ids,
    penalized: penalized(row.id),
  }));
}
