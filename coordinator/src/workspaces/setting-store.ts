/** Statements on settings and variables of workspaces. */

import type { Sql, Tx } from "@mesh/store";

import type { StoredSettings } from "./setting.ts";

/** Renames a workspace; false when another one has the name. */
export async function renameWorkspace(tx: Tx, id: string, name: string): Promise<boolean> {
  const result = await tx`
    UPDATE workspaces SET name = ${name}
    WHERE id = ${id} AND NOT EXISTS (SELECT 1 FROM workspaces WHERE name = ${name} AND id <> ${id})`;
  return result.count === 1;
}

/** Puts settings in the place of all there were. */
export async function putSettings(tx: Tx, id: string, settings: StoredSettings): Promise<void> {
  await tx`UPDATE workspaces SET settings = ${JSON.stringify(settings)}::text::jsonb WHERE id = ${id}`;
}

/** The megabytes of uploads a workspace allows itself, locked: what is counted after it stays true until the commit. */
export async function lockStorage(tx: Tx, id: string): Promise<number | undefined> {
  const [row] = await tx<{ max_mb: number | null }[]>`
    SELECT (settings ->> 'max_storage_mb')::int AS max_mb FROM workspaces WHERE id = ${id} FOR NO KEY UPDATE`;
  return row?.max_mb ?? undefined;
}

/** Devices by id or name that were not removed. */
export async function findNodes(
  tx: Tx,
  refs: readonly string[],
): Promise<readonly { readonly id: string; readonly name: string; readonly workspace_ids: readonly string[] }[]> {
  return tx<{ id: string; name: string; workspace_ids: string[] }[]>`
    SELECT id, name, workspace_ids FROM nodes WHERE (id = ANY (${[...refs]}) OR name = ANY (${[...refs]})) AND removed_at IS NULL`;
}

/** Whether a workspace has an assistant. */
export async function hasAssistant(tx: Tx, workspaceId: string, id: string): Promise<boolean> {
  const rows = await tx`SELECT 1 FROM assistants WHERE workspace_id = ${workspaceId} AND id = ${id}`;
  return rows.length > 0;
}

/** A variable, without its value. */
export interface SecretRow {
  readonly name: string;
  readonly updated_at: Date;
  readonly updated_by: string;
}

/** Sets a variable. */
export async function putSecret(
  tx: Tx,
  secret: { readonly workspaceId: string; readonly name: string; readonly sealed: Buffer; readonly by: string },
): Promise<SecretRow | undefined> {
  const [row] = await tx<SecretRow[]>`
    INSERT INTO workspace_secrets (workspace_id, name, sealed, updated_by)
    VALUES (${secret.workspaceId}, ${secret.name}, ${secret.sealed}, ${secret.by})
    ON CONFLICT (workspace_id, name) DO UPDATE
    SET sealed = EXCLUDED.sealed, updated_by = EXCLUDED.updated_by, updated_at = now()
    RETURNING name, updated_at, updated_by`;
  return row;
}

/** The variables of a workspace, without their values. */
export async function listSecrets(sql: Sql | Tx, workspaceId: string): Promise<readonly SecretRow[]> {
  return sql<SecretRow[]>`
    SELECT name, updated_at, updated_by FROM workspace_secrets WHERE workspace_id = ${workspaceId} ORDER BY name LIMIT 1000`;
}

/** The sealed values of a workspace's variables. */
export async function listSealedSecrets(
  sql: Sql,
  workspaceId: string,
): Promise<readonly { readonly name: string; readonly sealed: Buffer }[]> {
  return sql<{ name: string; sealed: Buffer }[]>`
    SELECT name, sealed FROM workspace_secrets WHERE workspace_id = ${workspaceId} ORDER BY name`;
}

/** Removes a variable; false when there was none. */
export async function deleteSecret(tx: Tx, workspaceId: string, name: string): Promise<boolean> {
  const result = await tx`DELETE FROM workspace_secrets WHERE workspace_id = ${workspaceId} AND name = ${name}`;
  return result.count === 1;
}
