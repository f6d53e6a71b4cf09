/** Statements on task agents. */

import type { Sql, Tx } from "@mesh/store";

/** A task agent with the newest version of its app. */
export interface AgentRow {
  readonly id: string;
  readonly workspace_id: string;
  readonly app: string;
  readonly name: string;
  readonly description: string;
  readonly connector: string;
  readonly version: number;
  readonly digest: string;
  readonly task_id: string | null;
  readonly task_number: number | null;
  readonly created_by: string;
  readonly created_at: Date;
  readonly updated_at: Date;
}

/** One version of a task agent. */
export interface AgentVersionRow {
  readonly version: number;
  readonly digest: string;
  readonly created_by: string;
  readonly created_at: Date;
}

function select(sql: Sql | Tx): ReturnType<Sql> {
  return sql`
    SELECT g.id, g.workspace_id, p.name AS app, a.name, a.description, a.connector, p.version, p.digest, g.task_id,
      t.number AS task_number, g.created_by, p.created_at, p.updated_at
    FROM task_agents g JOIN apps p ON p.id = g.app_id
    JOIN assistants a ON a.workspace_id = g.workspace_id AND a.id = g.id
    LEFT JOIN tasks t ON t.id = g.task_id`;
}

/** Task agents of a workspace, the newest first. */
export async function listAgents(sql: Sql, workspaceId: string): Promise<readonly AgentRow[]> {
  return sql<AgentRow[]>`${select(sql)} WHERE g.workspace_id = ${workspaceId} ORDER BY p.updated_at DESC LIMIT 1000`;
}

/** One of them. */
export async function findAgent(sql: Sql | Tx, workspaceId: string, id: string): Promise<AgentRow | undefined> {
  const [row] = await sql<AgentRow[]>`${select(sql)} WHERE g.workspace_id = ${workspaceId} AND g.id = ${id}`;
  return row;
}

/** Versions, the newest first. */
export async function listAgentVersions(
  sql: Sql,
  workspaceId: string,
  id: string,
): Promise<readonly AgentVersionRow[]> {
  return sql<AgentVersionRow[]>`
    SELECT v.version, v.digest, v.created_by, v.created_at FROM task_agents g JOIN app_versions v ON v.app_id = g.app_id
    WHERE g.workspace_id = ${workspaceId} AND g.id = ${id} ORDER BY v.version DESC LIMIT 200`;
}

/** The bytes of a bundle. */
export async function readBundleBytes(sql: Sql | Tx, digest: string): Promise<Buffer | undefined> {
  const [row] = await sql<{ bytes: Buffer }[]>`SELECT bytes FROM bundles WHERE digest = ${digest}`;
  return row?.bytes;
}

/** Notes that the assistant of this app grew out of a task; a second promotion names the newer task. */
export async function putAgent(
  tx: Tx,
  agent: {
    readonly id: string;
    readonly workspaceId: string;
    readonly app: string;
    readonly taskId: string;
    readonly createdBy: string;
  },
): Promise<void> {
  await tx`
    INSERT INTO task_agents (workspace_id, id, app_id, task_id, created_by)
    SELECT ${agent.workspaceId}, ${agent.id}, p.id, ${agent.taskId}, ${agent.createdBy} FROM apps p
    WHERE p.workspace_id = ${agent.workspaceId} AND p.name = ${agent.app}
    ON CONFLICT (workspace_id, id) DO UPDATE SET task_id = excluded.task_id, app_id = excluded.app_id`;
  await tx`UPDATE tasks SET agent = ${agent.id}, updated_at = now() WHERE id = ${agent.taskId}`;
}

/** Documents that the runs of a task wrote, with their last known text. */
export async function documentsOfTask(
  sql: Sql,
  taskId: string,
): Promise<readonly { readonly path: string; readonly text: string }[]> {
  return sql<{ path: string; text: string }[]>`
    SELECT d.path, left(d.text, 65536) AS text FROM documents d
    WHERE d.task_id = ${taskId} AND d.status = 'indexed' AND d.source = 'run' ORDER BY d.path LIMIT 20`;
}

/** The assistant of the newest run of a task; undefined when it has none. */
export async function newestAssistant(sql: Sql, taskId: string): Promise<string | undefined> {
  const [row] = await sql<{ assistant_id: string }[]>`
    SELECT assistant_id FROM runs WHERE task_id = ${taskId} ORDER BY id DESC LIMIT 1`;
  return row?.assistant_id;
}
