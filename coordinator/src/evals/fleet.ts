/** The devices of an eval and the room they have, as one step sees them. */

import type { Tx } from "@mesh/store";

import type { StoredSettings } from "../workspaces/setting.ts";
import { queuedBatches } from "./batch-store.ts";
import { type EvalDevice, waitingText } from "./eval-device.ts";
import type { EvalRow } from "./eval-row.ts";
import { devicesFor } from "./eval-service.ts";

/** A device that takes part or did, as stored. */
export interface JoinedNode {
  readonly nodeId: string;
  readonly quarantined: string | null;
  readonly infraErrors: number;
  readonly infraInARow: number;
  readonly results: number;
}

/** What a step knows of the devices. */
export interface Fleet {
  /** All of the workspace. */
  readonly devices: readonly EvalDevice[];
  /** Those that may get batches. */
  readonly active: readonly EvalDevice[];
  readonly joined: readonly JoinedNode[];
  /** Batches that may be made before the workspace's own limit is reached; Infinity without one. */
  readonly batchRoom: number;
  /** Batches that a device may get now. */
  room(nodeId: string): number;
  /** Why no batch can be made, in words. */
  waiting(): string;
}

/** Reads it. */
export async function loadFleet(tx: Tx, row: EvalRow): Promise<Fleet> {
  const joined = await tx<JoinedNode[]>`
    SELECT node_id AS "nodeId", quarantined, infra_errors AS "infraErrors", infra_in_a_row AS "infraInARow",
      passed + failed + errors + timeouts + skipped AS results
    FROM eval_nodes WHERE eval_id = ${row.id}`;
  const devices = await devicesFor(tx, {
    workspaceId: row.workspace_id,
    placement: row.placement,
    quarantined: new Map(
      joined.flatMap((node) => (node.quarantined === null ? [] : [[node.nodeId, node.quarantined]])),
    ),
    joined: new Set(joined.map((node) => node.nodeId)),
  });
  const queued = await queuedBatches(tx);
  const active = devices.filter(({ state }) => state === "active");
  const batchRoom = await roomOfWorkspace(tx, row.workspace_id);
  const freeOf = new Map(active.map(({ id, free }) => [id, Math.max(0, free - (queued.get(id) ?? 0))]));
  return {
    devices,
    active,
    joined,
    batchRoom,
    room: (nodeId) => freeOf.get(nodeId) ?? 0,
    waiting() {
      if (active.length === 0) return waitingText(devices);
      return batchRoom <= 0 ? "waiting: the workspace allows itself no more runs at once" : "waiting for a free slot";
    },
  };
}

async function roomOfWorkspace(tx: Tx, workspaceId: string): Promise<number> {
  const [row] = await tx<{ settings: StoredSettings; active: number }[]>`
    SELECT w.settings, CASE WHEN w.settings ? 'max_active_runs' THEN (
      SELECT count(*)::int FROM runs r WHERE r.workspace_id = w.id
        AND (r.state IN ('placed', 'accepted', 'running') OR (r.state = 'queued' AND r.eval_id IS NOT NULL))
    ) ELSE 0 END AS active FROM workspaces w WHERE w.id = ${workspaceId}`;
  const max = row?.settings.max_active_runs;
  return max === undefined ? Infinity : Math.max(0, max - (row?.active ?? 0));
}
