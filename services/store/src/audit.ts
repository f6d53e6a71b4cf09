/** Who changed what: one row per change of state by a person or a node, written in the transaction of the change. */

import type { JsonObject } from "@mesh/kernel";
import type postgres from "postgres";

/** A pool or a transaction; statements that belong to a change take the change's transaction. */
export type Sql = postgres.Sql | postgres.TransactionSql;

/** One change. */
export interface AuditEntry {
  readonly id: string;
  /** Who: a user's, token's or node's id, or `system`. */
  readonly actor: string;
  /** What was done, such as `node.drain`. */
  readonly action: string;
  /** To what: an id. */
  readonly object: string;
  readonly workspaceId?: string;
  /** More facts; never a secret. */
  readonly detail?: JsonObject;
}

/** Writes an audit row, stamped by the database's clock. */
export async function insertAudit(sql: Sql, entry: AuditEntry): Promise<void> {
  await sql`
    INSERT INTO audit (id, actor, action, object, workspace_id, detail)
    VALUES (${entry.id}, ${entry.actor}, ${entry.action}, ${entry.object}, ${entry.workspaceId ?? null},
      ${JSON.stringify(entry.detail ?? {})}::jsonb)`;
}
