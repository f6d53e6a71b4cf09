/** SystemService: the state of the coordinator and the audit log. */

import { rfc3339 } from "@mesh/kernel";
import type { AuditEntry, GetStatusResponse } from "@mesh/proto";
import type { Store } from "@mesh/store";

import type { SystemApi } from "../gateway/operation.ts";

/** What this replica knows about itself. */
export interface Replica {
  readonly id: string;
  readonly version: string;
  readonly startedAtMs: number;
  readonly isLeader: () => boolean;
  readonly isDraining: () => boolean;
  /** Version of the NATS server; empty while not connected. */
  readonly natsVersion: () => string;
}

/** What the handlers use. */
export interface SystemApiDeps {
  readonly store: Store;
  readonly replica: Replica;
  /** How long a node may be silent and still counts as online. */
  readonly offlineAfterMs: number;
}

const DEFAULT_AUDIT_LIMIT = 50;

/** Builds the handlers. */
export function createSystemApi(deps: SystemApiDeps): SystemApi {
  return {
    getStatus: () => status(deps),
    listAudit: async (request) => {
      const limit = request.limit === 0 ? DEFAULT_AUDIT_LIMIT : request.limit;
      const entries = await listAudit(deps.store, request.cursor, limit);
      return { entries, next_cursor: entries.length === limit ? (entries.at(-1)?.id ?? "") : "" };
    },
  };
}

interface Counts {
  readonly version: string;
  readonly nodes_online: number;
  readonly runs_active: number;
  readonly runs_queued: number;
}

async function status({ store, replica, offlineAfterMs }: SystemApiDeps): Promise<GetStatusResponse> {
  const [counts] = await store.sql<Counts[]>`
    SELECT current_setting('server_version') AS version,
      (SELECT count(*) FROM node_liveness l JOIN nodes n ON n.id = l.node_id
        WHERE n.removed_at IS NULL AND NOT l.goodbye
          AND l.seen_at > now() - make_interval(secs => ${offlineAfterMs / 1000})) AS nodes_online,
      (SELECT count(*) FROM runs WHERE state IN ('placed', 'accepted', 'running', 'waiting')) AS runs_active,
      (SELECT count(*) FROM runs WHERE state = 'queued') AS runs_queued`;
  return {
    version: replica.version,
    status: replica.isDraining() ? "draining" : "serving",
    started_at: rfc3339(replica.startedAtMs),
    postgres_version: counts?.version ?? "",
    nats_version: replica.natsVersion(),
    is_leader: replica.isLeader(),
    replica_id: replica.id,
    nodes_online: counts?.nodes_online ?? 0,
    runs_active: counts?.runs_active ?? 0,
    runs_queued: counts?.runs_queued ?? 0,
  };
}

interface AuditRow {
  readonly id: string;
  readonly at: Date;
  readonly actor: string;
  readonly action: string;
  readonly object: string;
  readonly workspace_id: string | null;
  readonly detail: unknown;
}

async function listAudit(store: Store, before: string, limit: number): Promise<readonly AuditEntry[]> {
  const rows = await store.sql<AuditRow[]>`
    SELECT id, at, actor, action, object, workspace_id, detail FROM audit
    WHERE ${before} = '' OR id < ${before} ORDER BY id DESC LIMIT ${limit}`;
  return rows.map((row) => ({
    id: row.id,
    at: rfc3339(row.at.getTime()),
    actor: row.actor,
    action: row.action,
    object: row.object,
    workspace_id: row.workspace_id ?? "",
    detail_json: JSON.stringify(row.detail),
  }));
}
