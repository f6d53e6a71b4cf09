/** Statements about templates. */

import type { Sql, Tx } from "@mesh/store";

import type { StoredTemplate } from "./template.ts";

/** The template of this name. */
export async function findTemplate(
  sql: Sql | Tx,
  workspaceId: string,
  name: string,
): Promise<StoredTemplate | undefined> {
  const [row] = await sql<{ body: StoredTemplate }[]>`
    SELECT body FROM task_templates WHERE workspace_id = ${workspaceId} AND name = ${name}`;
  return row?.body;
}

/** All templates of a workspace, by name. */
export async function listTemplates(
  sql: Sql,
  workspaceId: string,
): Promise<readonly { readonly name: string; readonly body: StoredTemplate }[]> {
  return sql<{ name: string; body: StoredTemplate }[]>`
    SELECT name, body FROM task_templates WHERE workspace_id = ${workspaceId} ORDER BY name LIMIT 1000`;
}

/** Makes or replaces a template; how many there are then. */
export async function putTemplate(tx: Tx, workspaceId: string, name: string, body: StoredTemplate): Promise<number> {
  await tx`
    INSERT INTO task_templates (workspace_id, name, body) VALUES (${workspaceId}, ${name}, ${JSON.stringify(body)}::text::jsonb)
    ON CONFLICT (workspace_id, name) DO UPDATE SET body = excluded.body`;
  const [row] = await tx<{ n: number }[]>`
    SELECT count(*)::int AS n FROM task_templates WHERE workspace_id = ${workspaceId}`;
  return row?.n ?? 0;
}

/** Removes a template; false when there was none. */
export async function deleteTemplate(tx: Tx, workspaceId: string, name: string): Promise<boolean> {
  const gone = await tx`DELETE FROM task_templates WHERE workspace_id = ${workspaceId} AND name = ${name}`;
  return gone.count === 1;
}
