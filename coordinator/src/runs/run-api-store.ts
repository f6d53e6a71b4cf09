/** Statements of RunService that belong to no loop. */

import { insertAudit, type Sql, type Tx } from "@mesh/store";

import { appendToLogs } from "./run-log.ts";
import { RUN_EVENT } from "./run-state.ts";
import { finishRuns } from "./sweep-store.ts";

/** Where an assistant comes from. */
export interface AssistantSource {
  readonly workspaceId: string;
  readonly id: string;
  readonly appId: string;
  readonly appName: string;
  readonly appVersion: number;
  readonly bundleDigest: string;
}

/** The part of a source that a run keeps. */
export function sourceOf({
  appId,
  appName,
  appVersion,
  bundleDigest,
}: AssistantSource): Omit<AssistantSource, "workspaceId" | "id"> {
  return { appId, appName, appVersion, bundleDigest };
}

/** A node that a request names. */
export interface NodeRef {
  readonly id: string;
  readonly name: string;
  readonly workspace_ids: string[];
}

/** The app versions that serve these assistants now; unknown ones are missing. */
export async function findAssistants(
  sql: Sql | Tx,
  keys: readonly { readonly workspaceId: string; readonly id: string }[],
): Promise<readonly AssistantSource[]> {
  return sql<AssistantSource[]>`
    SELECT a.workspace_id AS "workspaceId", a.id, a.app_id AS "appId", p.name AS "appName", p.version AS "appVersion",
      p.digest AS "bundleDigest"
    FROM unnest(${keys.map((key) => key.workspaceId)}::text[], ${keys.map((key) => key.id)}::text[]) AS k (workspace_id, id)
    JOIN assistants a ON a.workspace_id = k.workspace_id AND a.id = k.id JOIN apps p ON p.id = a.app_id`;
}

/** A node by id or name. */
export async function findNode(sql: Sql | Tx, ref: string): Promise<NodeRef | undefined> {
  const rows = await sql<NodeRef[]>`
    SELECT id, name, workspace_ids FROM nodes WHERE (id = ${ref} OR name = ${ref}) AND removed_at IS NULL`;
  return rows[0];
}

/**
 * Ends a run that is on no device at once; marks any other for cancellation and returns where it must be told.
 * Does nothing to a run that ended or is being cancelled already (then it is told again).
 */
export async function requestCancel(
  sql: Sql,
  runId: string,
  audit: { readonly auditId: string; readonly actor: string },
): Promise<{ digest: string; epoch: number } | undefined> {
  return sql.begin(async (tx) => {
    const rows = await tx<
      { state: string; workspace_id: string; lease_epoch: number; digest: string | null; asked: boolean }[]
    >`
      SELECT r.state, r.workspace_id, r.lease_epoch, n.digest, r.cancel_requested_at IS NOT NULL AS asked
      FROM runs r LEFT JOIN nodes n ON n.id = r.node_id WHERE r.id = ${runId} FOR UPDATE OF r`;
    const row = rows[0];
    if (row === undefined || ["succeeded", "failed", "cancelled", "lost"].includes(row.state)) return undefined;
    const isOnNoDevice = row.state === "queued" || row.state === "waiting";
    if (!row.asked) {
      await tx`UPDATE runs SET cancel_requested_at = now() WHERE id = ${runId}`;
      await insertAudit(tx, {
        id: audit.auditId,
        actor: audit.actor,
        action: "run.cancel",
        object: runId,
        workspaceId: row.workspace_id,
      });
      if (isOnNoDevice) await finishRuns(tx, [runId], { state: "cancelled" });
      else await appendToLogs(tx, [{ runId, kind: RUN_EVENT.cancelling, body: { by: audit.actor } }]);
    }
    return row.digest === null || isOnNoDevice ? undefined : { digest: row.digest, epoch: row.lease_epoch };
  });
}
