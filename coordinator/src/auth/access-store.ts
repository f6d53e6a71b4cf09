/** `Access` over the tables of workspaces and members. */

import { MeshError } from "@mesh/kernel";
import type { Store } from "@mesh/store";

import { SharedRead } from "../shared-read.ts";
import type { Access, AllowedWorkspace, NamedObject, Need } from "./access.ts";
import type { Caller } from "./caller.ts";

interface MembershipKey {
  readonly userId: string;
  /** Id or name of a workspace. */
  readonly ref: string;
}

interface MembershipRow {
  readonly user_id: string;
  readonly ref: string;
  readonly id: string;
  readonly name: string;
  readonly role: string | null;
}

/** Access decided by the database at each call: a lost membership counts at once. */
export function createAccess(store: Pick<Store, "sql">): Access {
  const reads = new SharedRead<MembershipKey, MembershipRow>(
    ({ userId, ref }) => `${userId} ${ref}`,
    async (keys) => new Map((await findMemberships(store, keys)).map((row) => [`${row.user_id} ${row.ref}`, row])),
  );
  const find = async (caller: Caller, ref: string): Promise<MembershipRow | undefined> => {
    const row = await reads.get({ userId: caller.userId, ref });
    return row !== undefined && mayRead(caller, row) ? row : undefined;
  };
  return {
    async workspace(caller, ref, need) {
      const row = await find(caller, ref);
      if (row === undefined) throw workspaceNotFound(ref);
      requireNeed(caller, row, need);
      return { id: row.id, name: row.name };
    },
    async object(caller, workspaceId, need, object) {
      const row = workspaceId === undefined ? undefined : await find(caller, workspaceId);
      if (row === undefined) throw objectNotFound(object);
      requireNeed(caller, row, need);
    },
    async readable(caller) {
      if (caller.isAdmin) return caller.workspaceIds;
      const rows = await store.sql<{ workspace_id: string }[]>`
        SELECT workspace_id FROM workspace_members WHERE user_id = ${caller.userId}`;
      const ids = rows.map((row) => row.workspace_id);
      return caller.workspaceIds === undefined ? ids : ids.filter((id) => caller.workspaceIds?.includes(id));
    },
  };
}

async function findMemberships(
  store: Pick<Store, "sql">,
  keys: readonly MembershipKey[],
): Promise<readonly MembershipRow[]> {
  return store.sql<MembershipRow[]>`
    SELECT k.user_id, k.ref, w.id, w.name, m.role
    FROM unnest(${keys.map((key) => key.userId)}::text[], ${keys.map((key) => key.ref)}::text[]) AS k (user_id, ref)
    JOIN workspaces w ON w.id = k.ref OR w.name = k.ref
    LEFT JOIN workspace_members m ON m.workspace_id = w.id AND m.user_id = k.user_id`;
}

/** Whether the caller owns the workspace or is an administrator. */
export async function isOwner(
  store: Pick<Store, "sql">,
  caller: Caller,
  workspace: AllowedWorkspace,
): Promise<boolean> {
  if (caller.isAdmin) return true;
  const [row] = await store.sql<{ role: string }[]>`
    SELECT role FROM workspace_members WHERE workspace_id = ${workspace.id} AND user_id = ${caller.userId}`;
  return row?.role === "owner";
}

/** Throws unless the caller owns the workspace or is an administrator. */
export async function requireOwner(
  store: Pick<Store, "sql">,
  caller: Caller,
  workspace: AllowedWorkspace,
): Promise<void> {
  if (await isOwner(store, caller, workspace)) return;
  throw new MeshError("permission_denied", `only an owner of workspace ${workspace.name} may do this; ask one of them`);
}

function mayRead(caller: Caller, row: MembershipRow): boolean {
  const isLimitedAway = caller.workspaceIds !== undefined && !caller.workspaceIds.includes(row.id);
  return !isLimitedAway && (caller.isAdmin || row.role !== null);
}

function requireNeed(caller: Caller, row: MembershipRow, need: Need): void {
  if (need === "read" || caller.isAdmin || row.role === "owner" || row.role === "member") return;
  throw new MeshError(
    "permission_denied",
    `you may only look at workspace ${row.name}; ask an owner to make you a member of it`,
  );
}

function workspaceNotFound(ref: string): MeshError {
  const shown = ref.slice(0, 100);
  return new MeshError(
    "not_found",
    `workspace ${shown} was not found, or this token may not use it; see: yao workspace list`,
  );
}

function objectNotFound({ kind, id, list }: NamedObject): MeshError {
  return new MeshError(
    "not_found",
    `${kind} ${id.slice(0, 100)} was not found, or this token may not use it; see: ${list}`,
  );
}
