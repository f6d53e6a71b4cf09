/** Statements on workspaces and members. */

import type { Sql, Tx } from "@mesh/store";

import type { StoredSettings } from "./setting.ts";

/** A workspace. */
export interface WorkspaceRow {
  readonly id: string;
  readonly name: string;
  readonly is_default: boolean;
  readonly created_at: Date;
  readonly settings: StoredSettings;
}

/** A workspace with the role someone has there. */
export interface OwnWorkspaceRow extends WorkspaceRow {
  readonly role: string | null;
}

/** A member by name. */
export interface MemberRow {
  readonly user: string;
  readonly role: string;
}

/** What stands in the way of deleting a workspace. */
export interface WorkspaceContent {
  readonly apps: number;
  readonly connectors: number;
  readonly documents: number;
  readonly active_runs: number;
  readonly tasks: number;
  readonly runs: number;
}

/** Makes a workspace; undefined when the name is taken. */
export async function insertWorkspace(tx: Tx, id: string, name: string): Promise<WorkspaceRow | undefined> {
  const [row] = await tx<WorkspaceRow[]>`
    INSERT INTO workspaces (id, name) VALUES (${id}, ${name})
    ON CONFLICT (name) DO NOTHING RETURNING id, name, is_default, created_at, settings`;
  return row;
}

/** These workspaces, or all when `ids` is undefined, by name, with the role of a user. */
export async function listWorkspaces(
  sql: Sql,
  ids: readonly string[] | undefined,
  userId: string,
): Promise<readonly OwnWorkspaceRow[]> {
  return sql<OwnWorkspaceRow[]>`
    SELECT w.id, w.name, w.is_default, w.created_at, w.settings, m.role
    FROM workspaces w LEFT JOIN workspace_members m ON m.workspace_id = w.id AND m.user_id = ${userId}
    WHERE ${ids === undefined} OR w.id = ANY (${[...(ids ?? [])]})
    ORDER BY w.name LIMIT 1000`;
}

/** Locks a workspace against new content, so that what is counted stays true; undefined when it is gone. */
export async function lockWorkspace(tx: Tx, id: string): Promise<WorkspaceRow | undefined> {
  const [row] = await tx<WorkspaceRow[]>`
    SELECT id, name, is_default, created_at, settings FROM workspaces WHERE id = ${id} FOR UPDATE`;
  return row;
}

/**
 * Holds the evals of a workspace that is to be deleted. To be called before its row is locked: a step of an eval holds the eval while it
 * adds runs to the workspace, so the other order would be a deadlock.
 */
export async function lockEvals(tx: Tx, id: string): Promise<void> {
  await tx`SELECT 1 FROM evals WHERE workspace_id = ${id} ORDER BY id FOR UPDATE`;
}

/** Counts what a workspace holds. */
export async function countContent(tx: Tx, id: string): Promise<WorkspaceContent> {
  const [row] = await tx<WorkspaceContent[]>`
    SELECT (SELECT count(*) FROM apps WHERE workspace_id = ${id}) AS apps,
      (SELECT count(*) FROM connectors WHERE workspace_id = ${id}) AS connectors,
      (SELECT count(*) FROM documents WHERE workspace_id = ${id}) AS documents,
      (SELECT count(*) FROM runs WHERE workspace_id = ${id}) AS runs,
      (SELECT count(*) FROM runs WHERE workspace_id = ${id}
        AND state IN ('queued', 'placed', 'accepted', 'running', 'waiting')) AS active_runs,
      (SELECT count(*) FROM tasks WHERE workspace_id = ${id}) AS tasks`;
  return row ?? { apps: 0, connectors: 0, documents: 0, runs: 0, active_runs: 0, tasks: 0 };
}

/** Deletes a workspace with all it holds. */
export async function deleteWorkspace(tx: Tx, id: string): Promise<void> {
  await tx`DELETE FROM workspaces WHERE id = ${id}`;
}

/** Adds a member or changes the role. */
export async function putMember(tx: Tx, workspaceId: string, userId: string, role: string): Promise<void> {
  await tx`
    INSERT INTO workspace_members (workspace_id, user_id, role) VALUES (${workspaceId}, ${userId}, ${role})
    ON CONFLICT (workspace_id, user_id) DO UPDATE SET role = EXCLUDED.role`;
}

/** Members by name. */
export async function listMembers(sql: Sql, workspaceId: string): Promise<readonly MemberRow[]> {
  return sql<MemberRow[]>`
    SELECT u.name AS user, m.role FROM workspace_members m JOIN users u ON u.id = m.user_id
    WHERE m.workspace_id = ${workspaceId} ORDER BY u.name LIMIT 10000`;
}

/** Removes a member; false when the user was none. */
export async function removeMember(tx: Tx, workspaceId: string, userId: string): Promise<boolean> {
  const result = await tx`DELETE FROM workspace_members WHERE workspace_id = ${workspaceId} AND user_id = ${userId}`;
  return result.count === 1;
}

/** How many owners a workspace has. */
export async function countOwners(tx: Tx, workspaceId: string): Promise<number> {
  const [row] = await tx<{ owners: number }[]>`
    SELECT count(*) AS owners FROM workspace_members WHERE workspace_id = ${workspaceId} AND role = 'owner'`;
  return row?.owners ?? 0;
}
