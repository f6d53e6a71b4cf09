/**
 * WorkspaceService.
 *
 * V1  A workspace keeps an owner: the last one can neither leave nor become less.
 * V2  The default workspace stays.
 */

import { MeshError, rfc3339 } from "@mesh/kernel";
import { dropModels, modelDb } from "@mesh/models";
import type { DeleteWorkspaceRequest, PutMemberRequest, RemoveMemberRequest, Workspace } from "@mesh/proto";
import { insertAudit, type Tx } from "@mesh/store";

import type { AllowedWorkspace } from "../auth/access.ts";
import { requireOwner } from "../auth/access-store.ts";
import { actorOf, type Caller } from "../auth/caller.ts";
import { findUser, type UserRow } from "../auth/token-store.ts";
import type { Call, WorkspaceApi } from "../gateway/operation.ts";
import { type SecretApiDeps, secretHandlers } from "./secret-api.ts";
import { toSettings } from "./setting.ts";
import { updateWorkspace } from "./workspace-update.ts";
import {
  countContent,
  countOwners,
  deleteWorkspace,
  insertWorkspace,
  listMembers,
  listWorkspaces,
  lockEvals,
  lockWorkspace,
  putMember,
  removeMember,
  type WorkspaceContent,
  type OwnWorkspaceRow,
} from "./workspace-store.ts";

/** What the handlers use. */
export interface WorkspaceApiDeps extends SecretApiDeps {
  /** Told when runs that waited may go on. */
  readonly limitsChanged?: () => void;
}

/** Builds the handlers. */
export function createWorkspaceApi(deps: WorkspaceApiDeps): WorkspaceApi {
  const { store, access } = deps;
  return {
    createWorkspace: async (request, call) => ({ workspace: await createWorkspace(deps, request.name, call) }),
    listWorkspaces: async (_request, { caller }) => ({
      workspaces: (await listWorkspaces(store.sql, await access.readable(caller), caller.userId)).map(toWorkspace),
    }),
    getWorkspace: async (request, { caller }) => {
      const { id } = await access.workspace(caller, request.workspace, "read");
      return { workspace: await readWorkspace(deps, id, caller) };
    },
    updateWorkspace: async (request, call) => ({
      workspace: await readWorkspace(deps, await updateWorkspace(deps, request, call), call.caller),
    }),
    ...secretHandlers(deps),
    deleteWorkspace: (request, call) => removeWorkspace(deps, request, call),
    putMember: (request, call) => setMember(deps, request, call),
    listMembers: async (request, { caller }) => {
      const { id } = await access.workspace(caller, request.workspace, "read");
      return { members: await listMembers(store.sql, id) };
    },
    removeMember: (request, call) => dropMember(deps, request, call),
  };
}

async function readWorkspace({ store }: WorkspaceApiDeps, id: string, caller: Caller): Promise<Workspace | undefined> {
  const [row] = await listWorkspaces(store.sql, [id], caller.userId);
  return row === undefined ? undefined : toWorkspace(row);
}

async function createWorkspace(deps: WorkspaceApiDeps, name: string, { caller }: Call): Promise<Workspace> {
  if (caller.workspaceIds !== undefined) {
    throw new MeshError(
      "permission_denied",
      "this token is limited to some workspaces and cannot make another; use one that is not",
    );
  }
  const id = deps.ids.next("ws");
  const row = await deps.store.sql.begin(async (tx) => {
    const made = await insertWorkspace(tx, id, name);
    if (made === undefined)
      throw new MeshError("already_exists", `workspace ${name} exists already; choose another name`);
    await putMember(tx, id, caller.userId, "owner");
    await audit(deps, tx, { caller }, { action: "workspace.create", object: id, workspaceId: id, detail: { name } });
    return made;
  });
  return toWorkspace({ ...row, role: "owner" });
}

async function removeWorkspace(
  deps: WorkspaceApiDeps,
  request: DeleteWorkspaceRequest,
  call: Call,
): Promise<Record<string, never>> {
  const workspace = await ownedWorkspace(deps, request.workspace, call);
  await deps.store.sql.begin(async (tx) => {
    await lockEvals(tx, workspace.id);
    const row = await lockWorkspace(tx, workspace.id);
    if (row === undefined) return;
    if (row.is_default)
      throw new MeshError(
        "failed_precondition",
        `workspace ${row.name} is the default one and stays; remove its apps instead`,
      );
    const content = await countContent(tx, row.id);
    const held = contentText(content);
    if (held !== "" && !request.force) {
      throw new MeshError(
        "failed_precondition",
        `workspace ${row.name} holds ${held}; delete it with all of that with: yao workspace delete ${row.name} --force`,
      );
    }
    await deleteWorkspace(tx, row.id);
    await audit(deps, tx, call, {
      action: "workspace.delete",
      object: row.id,
      workspaceId: row.id,
      detail: { name: row.name, ...content },
    });
  });
  // The tables of its models lie in a schema of their own, which no row refers to.
  await dropModels(modelDb(deps.store), workspace.id);
  return {};
}

function contentText(content: WorkspaceContent): string {
  const parts = [
    [content.active_runs, "active runs"],
    [content.runs - content.active_runs, "ended runs"],
    [content.tasks, "tasks"],
    [content.documents, "documents"],
    [content.apps, "apps"],
    [content.connectors, "connectors"],
  ] as const;
  return parts
    .filter(([count]) => count > 0)
    .map(([count, what]) => `${count} ${count === 1 ? what.slice(0, -1) : what}`)
    .join(", ");
}

async function setMember(
  deps: WorkspaceApiDeps,
  request: PutMemberRequest,
  call: Call,
): Promise<{ readonly member: { readonly user: string; readonly role: string } }> {
  const workspace = await ownedWorkspace(deps, request.workspace, call);
  const user = await mustFindUser(deps, request.user);
  await deps.store.sql.begin(async (tx) => {
    await lockWorkspace(tx, workspace.id);
    await putMember(tx, workspace.id, user.id, request.role);
    await keepAnOwner(tx, workspace);
    const detail = { user: user.name, role: request.role };
    await audit(deps, tx, call, { action: "member.put", object: user.id, workspaceId: workspace.id, detail });
  });
  return { member: { user: user.name, role: request.role } };
}

async function dropMember(
  deps: WorkspaceApiDeps,
  request: RemoveMemberRequest,
  call: Call,
): Promise<Record<string, never>> {
  const workspace = await ownedWorkspace(deps, request.workspace, call);
  const user = await mustFindUser(deps, request.user);
  await deps.store.sql.begin(async (tx) => {
    await lockWorkspace(tx, workspace.id);
    if (!(await removeMember(tx, workspace.id, user.id))) {
      throw new MeshError("not_found", `${user.name} is no member of workspace ${workspace.name}`);
    }
    await keepAnOwner(tx, workspace);
    const detail = { user: user.name };
    await audit(deps, tx, call, { action: "member.remove", object: user.id, workspaceId: workspace.id, detail });
  });
  return {};
}

async function ownedWorkspace(deps: WorkspaceApiDeps, ref: string, { caller }: Call): Promise<AllowedWorkspace> {
  const workspace = await deps.access.workspace(caller, ref, "write");
  await requireOwner(deps.store, caller, workspace);
  return workspace;
}

async function mustFindUser(deps: WorkspaceApiDeps, name: string): Promise<UserRow> {
  const user = await findUser(deps.store.sql, name);
  if (user !== undefined) return user;
  throw new MeshError(
    "not_found",
    `there is no user ${name}; an administrator makes one with: yao token create --user ${name}`,
  );
}

/** After the change, inside its transaction: the throw undoes it. */
async function keepAnOwner(tx: Tx, workspace: AllowedWorkspace): Promise<void> {
  if ((await countOwners(tx, workspace.id)) > 0) return;
  throw new MeshError(
    "failed_precondition",
    `workspace ${workspace.name} would have no owner; make another member the owner first`,
  );
}

interface Change {
  readonly action: string;
  readonly object: string;
  readonly workspaceId: string;
  readonly detail: Readonly<Record<string, string | number>>;
}

async function audit(deps: WorkspaceApiDeps, tx: Tx, { caller }: Pick<Call, "caller">, change: Change): Promise<void> {
  await insertAudit(tx, { id: deps.ids.next("audit"), actor: actorOf(caller), ...change });
}

function toWorkspace(row: OwnWorkspaceRow): Workspace {
  return {
    id: row.id,
    name: row.name,
    created_at: rfc3339(row.created_at.getTime()),
    is_default: row.is_default,
    settings: toSettings(row.settings),
    role: row.role ?? "",
  };
}
