/** A stored run as clients see it. */

import type { PendingItem, Placement, Run } from "@mesh/proto";

import type { RunRow, StoredPlacement } from "./run-row.ts";

/** Converts a row to the message of the public interface. */
export function toRun(row: RunRow): Run {
  return {
    id: row.id,
    workspace_id: row.workspace_id,
    assistant: row.assistant_id,
    state: row.state,
    reason: row.reason,
    input: row.input,
    node_id: row.node_id ?? undefined,
    // A run that waits for a person is on no device; people want to know where it was all the same.
    node: row.node_name ?? (row.state === "waiting" ? row.requirements.home?.node : undefined),
    epoch: row.lease_epoch,
    attempt: row.attempt,
    last_seq: row.last_seq,
    created_at: row.created_at.toISOString(),
    started_at: row.started_at?.toISOString(),
    finished_at: row.finished_at?.toISOString(),
    requirements: {
      node: row.requirements.node,
      labels: row.requirements.labels,
      os: row.requirements.os,
      arch: row.requirements.arch,
      tools: row.requirements.tools,
    },
    placement: row.placement === null ? undefined : toPlacement(row.placement),
    error: row.error ?? undefined,
    output: row.output,
    cancel_requested: row.cancel_requested_at !== null,
    app: row.app_name,
    app_version: row.app_version,
    usage: row.usage ?? undefined,
    created_by: row.created_by,
    retry_of: row.retry_of ?? undefined,
    task_id: row.task_id ?? undefined,
    // Written by this program, in the shape that clients see.
    pending: JSON.parse(`[${row.pending ?? ""}]`) as PendingItem[],
  };
}

function toPlacement(stored: StoredPlacement): Placement {
  return {
    node_id: stored.node_id,
    node: stored.node,
    summary: stored.summary,
    candidates: stored.verdicts.map(({ node, eligible, reason }) => ({ node, eligible, reason })),
    decided_at: stored.decided_at,
  };
}
