/** The assistant of work that names none. */

import { MeshError } from "@mesh/kernel";
import type { Sql, Tx } from "@mesh/store";

/**
 * Its id: the workspace's setting, else the one called `default`, else the only one. Throws `failed_precondition` where the
 * workspace has no such one.
 */
export async function defaultAssistant(sql: Sql | Tx, workspaceId: string): Promise<string> {
  const rows = await sql<{ id: string; is_set: boolean }[]>`
    SELECT a.id, a.id = coalesce(w.settings ->> 'default_assistant', '') AS is_set
    FROM assistants a JOIN workspaces w ON w.id = a.workspace_id WHERE a.workspace_id = ${workspaceId}
    ORDER BY is_set DESC, a.id <> 'default', a.id LIMIT 2`;
  const [first, second] = rows;
  if (first !== undefined && (second === undefined || first.is_set || first.id === "default")) return first.id;
  throw new MeshError(
    "failed_precondition",
    first === undefined
      ? "this workspace has no assistant yet; push an app with: yao app push DIR"
      : "no assistant is named and the workspace has several; name one, or set one with: yao workspace set WORKSPACE --default-assistant ID",
  );
}
