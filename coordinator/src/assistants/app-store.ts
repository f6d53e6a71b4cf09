/** Statements on apps, their versions and what the newest version contains. */

import type { Sql, Tx } from "@mesh/store";

/** An app with the size of its newest bundle and the number of its assistants. */
export interface AppRow {
  readonly id: string;
  readonly name: string;
  readonly version: number;
  readonly digest: string;
  readonly size_bytes: number;
  readonly assistants: number;
  readonly created_at: Date;
  readonly updated_at: Date;
}

/** One pushed version. */
export interface VersionRow {
  readonly version: number;
  readonly digest: string;
  readonly size_bytes: number;
  readonly created_at: Date;
}

/** An assistant with its app. */
export interface AssistantRow {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly app: string;
  readonly app_version: number;
  readonly connector: string;
  readonly tags: readonly string[];
  readonly type: string;
  readonly avatar: string;
}

/** An assistant to be stored. */
export type NewAssistant = Omit<AssistantRow, "app" | "app_version">;

/** A connector file to be stored. */
export interface NewAppConnector {
  readonly id: string;
  readonly config: unknown;
}

/** Lets one push at a time into a workspace, without holding up its runs. */
export async function lockForPush(tx: Tx, workspaceId: string): Promise<void> {
  await tx`SELECT id FROM workspaces WHERE id = ${workspaceId} FOR NO KEY UPDATE`;
}

/** Apps of a workspace by name; only `name` when it is given. */
export async function listApps(sql: Sql | Tx, workspaceId: string, name?: string): Promise<readonly AppRow[]> {
  return sql<AppRow[]>`
    SELECT a.id, a.name, a.version, a.digest, b.size_bytes, a.created_at, a.updated_at,
      (SELECT count(*) FROM assistants s WHERE s.app_id = a.id) AS assistants
    FROM apps a JOIN bundles b ON b.digest = a.digest
    WHERE a.workspace_id = ${workspaceId} AND (${name ?? null}::text IS NULL OR a.name = ${name ?? null})
    ORDER BY a.name LIMIT 1000`;
}

/** Versions of an app, newest first. */
export async function listVersions(sql: Sql, appId: string): Promise<readonly VersionRow[]> {
  return sql<VersionRow[]>`
    SELECT v.version, v.digest, b.size_bytes, v.created_at
    FROM app_versions v JOIN bundles b ON b.digest = v.digest
    WHERE v.app_id = ${appId} ORDER BY v.version DESC LIMIT 200`;
}

/** Assistants of a workspace by id; only those of one app, or only one, when asked for. */
export async function listAssistants(
  sql: Sql,
  workspaceId: string,
  only: { readonly appId?: string; readonly id?: string } = {},
): Promise<readonly AssistantRow[]> {
  return sql<AssistantRow[]>`
    SELECT s.id, s.name, s.description, a.name AS app, a.version AS app_version, s.connector, s.tags, s.type, s.avatar
    FROM assistants s JOIN apps a ON a.id = s.app_id
    WHERE s.workspace_id = ${workspaceId}
      AND (${only.appId ?? null}::text IS NULL OR s.app_id = ${only.appId ?? null})
      AND (${only.id ?? null}::text IS NULL OR s.id = ${only.id ?? null})
    ORDER BY s.id LIMIT 5000`;
}

/** Those of these assistant ids that belong to another app of the workspace. */
export async function findClashes(
  tx: Tx,
  workspaceId: string,
  appName: string,
  ids: readonly string[],
): Promise<readonly { readonly id: string; readonly app: string }[]> {
  return tx<{ id: string; app: string }[]>`
    SELECT s.id, a.name AS app FROM assistants s JOIN apps a ON a.id = s.app_id
    WHERE s.workspace_id = ${workspaceId} AND a.name <> ${appName} AND s.id = ANY (${[...ids]})
    ORDER BY s.id LIMIT 20`;
}

/** Stores a bundle once. */
export async function insertBundle(tx: Tx, digest: string, bytes: Buffer): Promise<void> {
  await tx`
    INSERT INTO bundles (digest, bytes, size_bytes) VALUES (${digest}, ${bytes}, ${bytes.length})
    ON CONFLICT (digest) DO NOTHING`;
}

/** The next version of an app, or the first. */
export interface NewVersion {
  /** Used when the app is new. */
  readonly appId: string;
  readonly workspaceId: string;
  readonly name: string;
  readonly digest: string;
  readonly createdBy: string;
}

/** Makes a bundle the newest version of an app; returns the app's id and the version. */
export async function insertVersion(
  tx: Tx,
  next: NewVersion,
): Promise<{ readonly id: string; readonly version: number }> {
  const [app] = await tx<{ id: string; version: number }[]>`
    INSERT INTO apps (id, workspace_id, name, version, digest)
    VALUES (${next.appId}, ${next.workspaceId}, ${next.name}, 1, ${next.digest})
    ON CONFLICT (workspace_id, name)
    DO UPDATE SET version = apps.version + 1, digest = EXCLUDED.digest, updated_at = now()
    RETURNING id, version`;
  const { id, version } = app ?? { id: next.appId, version: 1 };
  await tx`
    INSERT INTO app_versions (app_id, version, digest, created_by) VALUES (${id}, ${version}, ${next.digest}, ${next.createdBy})`;
  return { id, version };
}

/** Replaces what the newest version of an app contains. */
export async function replaceContent(
  tx: Tx,
  place: { readonly appId: string; readonly workspaceId: string },
  content: { readonly assistants: readonly NewAssistant[]; readonly connectors: readonly NewAppConnector[] },
): Promise<void> {
  const { appId, workspaceId } = place;
  await tx`DELETE FROM assistants WHERE app_id = ${appId}`;
  await tx`DELETE FROM app_connectors WHERE app_id = ${appId}`;
  await tx`
    INSERT INTO assistants (workspace_id, id, app_id, name, description, connector, type, avatar, tags)
    SELECT ${workspaceId}, id, ${appId}, name, description, connector, type, avatar, tags
    FROM jsonb_to_recordset(${JSON.stringify(content.assistants)}::text::jsonb)
      AS r (id text, name text, description text, connector text, type text, avatar text, tags text[])`;
  await tx`
    INSERT INTO app_connectors (workspace_id, id, app_id, config)
    SELECT ${workspaceId}, id, ${appId}, config
    FROM jsonb_to_recordset(${JSON.stringify(content.connectors)}::text::jsonb) AS r (id text, config jsonb)`;
}

/** Removes an app; runs keep the bundle they were started with. */
export async function deleteApp(tx: Tx, appId: string): Promise<void> {
  await tx`DELETE FROM apps WHERE id = ${appId}`;
}
