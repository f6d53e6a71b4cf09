/** Statements on connectors. */

import type { Sql, Tx } from "@mesh/store";

/** What a connector says, without its key; the shape of `connectors.config`. */
export interface ConnectorConfig {
  readonly type: string;
  readonly label: string;
  readonly model: string;
  readonly host: string;
  readonly options: Readonly<Record<string, unknown>>;
}

/** A connector added to a workspace. */
export interface ConnectorRow {
  readonly id: string;
  readonly config: ConnectorConfig;
  readonly has_key: boolean;
}

/** A connector file of an app; the shape of `app_connectors.config`. */
export interface AppConnectorRow {
  readonly id: string;
  readonly app: string;
  readonly config: {
    readonly type: string;
    readonly label: string;
    readonly options: Readonly<Record<string, unknown>>;
  };
}

/** A connector as it is to be. */
export interface NewConnector {
  readonly workspaceId: string;
  readonly id: string;
  readonly config: ConnectorConfig;
  /** Null removes the stored key, undefined keeps it. */
  readonly sealedKey: Buffer | null | undefined;
}

/** Creates or replaces a connector; returns whether it has a key now. */
export async function putConnector(tx: Tx, connector: NewConnector): Promise<boolean> {
  const keep = connector.sealedKey === undefined;
  const [row] = await tx<{ has_key: boolean }[]>`
    INSERT INTO connectors AS c (workspace_id, id, config, sealed_key)
    VALUES (${connector.workspaceId}, ${connector.id}, ${JSON.stringify(connector.config)}::text::jsonb, ${connector.sealedKey ?? null})
    ON CONFLICT (workspace_id, id) DO UPDATE SET config = EXCLUDED.config, updated_at = now(),
      sealed_key = CASE WHEN ${keep} THEN c.sealed_key ELSE EXCLUDED.sealed_key END
    RETURNING sealed_key IS NOT NULL AS has_key`;
  return row?.has_key ?? false;
}

/** How many connectors were added to a workspace. */
export async function countConnectors(tx: Tx, workspaceId: string): Promise<number> {
  const [row] = await tx<
    { count: number }[]
  >`SELECT count(*) AS count FROM connectors WHERE workspace_id = ${workspaceId}`;
  return row?.count ?? 0;
}

/** Connectors added to a workspace, by id. */
export async function listConnectors(sql: Sql, workspaceId: string): Promise<readonly ConnectorRow[]> {
  return sql<ConnectorRow[]>`
    SELECT id, config, sealed_key IS NOT NULL AS has_key FROM connectors
    WHERE workspace_id = ${workspaceId} ORDER BY id LIMIT 1000`;
}

/** Connector files of the apps of a workspace, by id. */
export async function listAppConnectors(sql: Sql | Tx, workspaceId: string): Promise<readonly AppConnectorRow[]> {
  return sql<AppConnectorRow[]>`
    SELECT c.id, a.name AS app, c.config FROM app_connectors c JOIN apps a ON a.id = c.app_id
    WHERE c.workspace_id = ${workspaceId} ORDER BY c.id, a.name LIMIT 5000`;
}

/** Sealed keys of a workspace; only that of one connector when it is named and has one. */
export async function listSealedKeys(
  sql: Sql,
  workspaceId: string,
  id: string,
): Promise<readonly { readonly id: string; readonly sealed_key: Buffer }[]> {
  return sql<{ id: string; sealed_key: Buffer }[]>`
    SELECT id, sealed_key FROM connectors
    WHERE workspace_id = ${workspaceId} AND sealed_key IS NOT NULL AND (${id} = '' OR id = ${id})
    ORDER BY id`;
}

/** Removes a connector; false when there was none. */
export async function deleteConnector(tx: Tx, workspaceId: string, id: string): Promise<boolean> {
  const result = await tx`DELETE FROM connectors WHERE workspace_id = ${workspaceId} AND id = ${id}`;
  return result.count === 1;
}
