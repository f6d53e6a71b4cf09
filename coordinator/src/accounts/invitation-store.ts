/** Statements on invitations. */

import type { Sql, Tx } from "@mesh/store";

/** An open invitation with the name of its workspace. */
export interface InvitationRow {
  readonly id: string;
  readonly workspace_id: string;
  readonly workspace: string;
  readonly role: string;
  readonly uses_left: number;
  readonly created_by: string;
  readonly created_at: Date;
  readonly expires_at: Date;
}

/** Stores an invitation. */
export async function insertInvitation(
  tx: Tx,
  invitation: {
    readonly id: string;
    readonly workspaceId: string;
    readonly hash: Buffer;
    readonly role: string;
    readonly uses: number;
    readonly createdBy: string;
    readonly ttlSeconds: number;
  },
): Promise<void> {
  await tx`
    INSERT INTO invitations (id, workspace_id, hash, role, uses_left, created_by, expires_at)
    VALUES (${invitation.id}, ${invitation.workspaceId}, ${invitation.hash}, ${invitation.role}, ${invitation.uses},
      ${invitation.createdBy}, now() + make_interval(secs => ${invitation.ttlSeconds}::double precision))`;
}

/** Open invitations of a workspace, newest first. */
export async function listInvitations(sql: Sql | Tx, workspaceId: string): Promise<readonly InvitationRow[]> {
  return sql<InvitationRow[]>`
    SELECT i.id, i.workspace_id, w.name AS workspace, i.role, i.uses_left, i.created_by, i.created_at, i.expires_at
    FROM invitations i JOIN workspaces w ON w.id = i.workspace_id
    WHERE i.workspace_id = ${workspaceId} AND i.uses_left > 0 AND i.expires_at > now() ORDER BY i.id DESC LIMIT 1000`;
}

/** The open invitation with this hash. */
export async function findInvitation(sql: Sql | Tx, hash: Buffer): Promise<InvitationRow | undefined> {
  const [row] = await sql<InvitationRow[]>`
    SELECT i.id, i.workspace_id, w.name AS workspace, i.role, i.uses_left, i.created_by, i.created_at, i.expires_at
    FROM invitations i JOIN workspaces w ON w.id = i.workspace_id
    WHERE i.hash = ${hash} AND i.uses_left > 0 AND i.expires_at > now()`;
  return row;
}

/** Takes one use of an invitation; false when there was none left. */
export async function useInvitation(tx: Tx, id: string): Promise<boolean> {
  const result = await tx`
    UPDATE invitations SET uses_left = uses_left - 1 WHERE id = ${id} AND uses_left > 0 AND expires_at > now()`;
  return result.count === 1;
}

/** Removes an invitation; false when there was none. */
export async function deleteInvitation(tx: Tx, workspaceId: string, id: string): Promise<boolean> {
  const result = await tx`DELETE FROM invitations WHERE id = ${id} AND workspace_id = ${workspaceId}`;
  return result.count === 1;
}

/** Removes those of a workspace that are used up or have run out. */
export async function trimInvitations(tx: Tx, workspaceId: string): Promise<void> {
  await tx`DELETE FROM invitations WHERE workspace_id = ${workspaceId} AND (uses_left = 0 OR expires_at <= now())`;
}

/** Makes someone a member who is none; a role someone has already is kept. False when it was one. */
export async function joinWorkspace(tx: Tx, workspaceId: string, userId: string, role: string): Promise<boolean> {
  const result = await tx`
    INSERT INTO workspace_members (workspace_id, user_id, role) VALUES (${workspaceId}, ${userId}, ${role})
    ON CONFLICT (workspace_id, user_id) DO NOTHING`;
  return result.count === 1;
}

/** Makes a person who logs in with a password; undefined when the name is taken. */
export async function insertPerson(
  tx: Tx,
  person: {
    readonly id: string;
    readonly name: string;
    readonly displayName: string;
    readonly password: string | null;
  },
): Promise<string | undefined> {
  const [row] = await tx<{ id: string }[]>`
    INSERT INTO users (id, name, display_name, password)
    VALUES (${person.id}, ${person.name}, ${person.displayName}, ${person.password})
    ON CONFLICT (name) DO NOTHING RETURNING id`;
  return row?.id;
}
