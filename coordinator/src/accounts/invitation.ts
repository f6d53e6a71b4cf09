/**
 * Invitations: a link that lets people into a workspace.
 *
 * I1  Only owners of the workspace invite; the code is shown once and stored as a hash.
 * I2  An invitation gives its role to those who have none there; it never lowers or raises someone who is a member already.
 */

import { MeshError, rfc3339 } from "@mesh/kernel";
import type {
  AcceptInvitationRequest,
  AcceptInvitationResponse,
  CreateInvitationRequest,
  CreateInvitationResponse,
  GetInvitationResponse,
  Invitation,
  ListInvitationsResponse,
  RevokeInvitationRequest,
} from "@mesh/proto";
import { insertAudit, type Tx } from "@mesh/store";

import type { AllowedWorkspace } from "../auth/access.ts";
import { requireOwner } from "../auth/access-store.ts";
import { actorOf, requireWholeUser } from "../auth/caller.ts";
import { hashSecret, isCode, newCode } from "../auth/session.ts";
import type { Call } from "../gateway/operation.ts";
import type { AccountDeps } from "./account-deps.ts";
import { type AccountRow, findAccount } from "./account-store.ts";
import { toAccount } from "./account-view.ts";
import {
  deleteInvitation,
  findInvitation,
  insertInvitation,
  insertPerson,
  type InvitationRow,
  joinWorkspace,
  listInvitations as listRows,
  trimInvitations,
  useInvitation,
} from "./invitation-store.ts";
import { requirePassword } from "./password.ts";
import { type OpenedSession, openSession } from "./session-maker.ts";

const DEFAULT_SECONDS = 604_800;
const MAX_OPEN = 200;
const NAME = /^[A-Za-z0-9][A-Za-z0-9._@-]{0,62}$/;

/** CreateInvitation. */
export async function createInvitation(
  deps: AccountDeps,
  request: CreateInvitationRequest,
  call: Call,
): Promise<CreateInvitationResponse> {
  const workspace = await owned(deps, request.workspace, call);
  const code = newCode();
  const id = deps.ids.next("inv");
  const role = request.role === "" ? "member" : request.role;
  const uses = request.uses === 0 ? 1 : request.uses;
  const made = await deps.store.sql.begin(async (tx) => {
    await trimInvitations(tx, workspace.id);
    if ((await listRows(tx, workspace.id)).length >= MAX_OPEN) {
      throw new MeshError("resource_exhausted", `${MAX_OPEN} invitations are open already; revoke some first`);
    }
    await insertInvitation(tx, {
      id,
      workspaceId: workspace.id,
      hash: hashSecret(code),
      role,
      uses,
      createdBy: call.caller.userName,
      ttlSeconds: request.ttl_seconds === 0 ? DEFAULT_SECONDS : request.ttl_seconds,
    });
    const action = { action: "invitation.create", object: id, detail: { role, uses } };
    await audit(deps, tx, { actor: actorOf(call.caller), workspaceId: workspace.id, ...action });
    return (await listRows(tx, workspace.id)).find((row) => row.id === id);
  });
  return {
    invitation: made === undefined ? undefined : toInvitation(made),
    code,
    url: `${deps.publicUrl()}/#/join?code=${code}`,
  };
}

/** ListInvitations. */
export async function listInvitations(deps: AccountDeps, ref: string, call: Call): Promise<ListInvitationsResponse> {
  const workspace = await owned(deps, ref, call);
  return { invitations: (await listRows(deps.store.sql, workspace.id)).map(toInvitation) };
}

/** RevokeInvitation. */
export async function revokeInvitation(
  deps: AccountDeps,
  request: RevokeInvitationRequest,
  call: Call,
): Promise<Record<string, never>> {
  const workspace = await owned(deps, request.workspace, call);
  await deps.store.sql.begin(async (tx) => {
    if (!(await deleteInvitation(tx, workspace.id, request.invitation))) {
      throw new MeshError(
        "not_found",
        `invitation ${request.invitation.slice(0, 100)} was not found in ${workspace.name}`,
      );
    }
    const action = { action: "invitation.revoke", object: request.invitation };
    await audit(deps, tx, { actor: actorOf(call.caller), workspaceId: workspace.id, ...action });
  });
  return {};
}

/** GetInvitation. */
export async function getInvitation(deps: AccountDeps, code: string, call: Call): Promise<GetInvitationResponse> {
  const giveBack = deps.throttle.tryCode(call.client?.address ?? "");
  const row = isCode(code) ? await findInvitation(deps.store.sql, hashSecret(code)) : undefined;
  if (row === undefined) throw worthless();
  giveBack();
  return { invitation: toInvitation(row) };
}

/** AcceptInvitation. */
export async function acceptInvitation(
  deps: AccountDeps,
  request: AcceptInvitationRequest,
  call: Call,
): Promise<AcceptInvitationResponse> {
  const giveBack = deps.throttle.tryCode(call.client?.address ?? "");
  const { sql } = deps.store;
  const invitation = isCode(request.code) ? await findInvitation(sql, hashSecret(request.code)) : undefined;
  if (invitation === undefined) throw worthless();
  giveBack();
  const isKnown = call.caller.userId !== "";
  const joined = isKnown
    ? await joinAsCaller(deps, invitation, call)
    : await joinAsNew(deps, invitation, { request, call });
  return {
    account: toAccount(joined.account),
    csrf_token: joined.session?.csrfToken ?? call.caller.session?.csrfToken ?? "",
    token: joined.session?.token ?? "",
    workspace_id: invitation.workspace_id,
  };
}

interface Joined {
  readonly account: AccountRow;
  readonly session: OpenedSession | undefined;
}

async function joinAsCaller(deps: AccountDeps, invitation: InvitationRow, { caller }: Call): Promise<Joined> {
  const account = await findAccount(deps.store.sql, caller.userId);
  if (account === undefined) throw new MeshError("not_found", "this account is gone");
  requireWholeUser(caller, account.is_admin, "joining a workspace");
  await deps.store.sql.begin(async (tx) => {
    // Opening a link twice must not use it up for others.
    if (!(await joinWorkspace(tx, invitation.workspace_id, account.id, invitation.role))) return;
    await accept(deps, tx, invitation, account);
  });
  return { account, session: undefined };
}

async function joinAsNew(
  deps: AccountDeps,
  invitation: InvitationRow,
  { request, call }: { readonly request: AcceptInvitationRequest; readonly call: Call },
): Promise<Joined> {
  const { name, password } = request;
  if (!NAME.test(name)) {
    throw new MeshError("invalid_argument", "name must be 1 to 63 letters, digits, dots, dashes, underscores or @");
  }
  requirePassword(password);
  const hash = await deps.passwords.hash(password);
  return deps.store.sql.begin(async (tx) => {
    const displayName = request.display_name.trim();
    const id = await insertPerson(tx, { id: deps.ids.next("user"), name, displayName, password: hash });
    const account = id === undefined ? undefined : await findAccount(tx, id);
    if (account === undefined) throw new MeshError("already_exists", `the name ${name} is taken; choose another`);
    await joinWorkspace(tx, invitation.workspace_id, account.id, invitation.role);
    await audit(deps, tx, { actor: `user:${name}`, action: "user.create", object: account.id, detail: { name } });
    await accept(deps, tx, invitation, account);
    return { account, session: await openSession(deps.ids, tx, account, { how: "invitation", client: call.client }) };
  });
}

/** Inside the transaction of the membership: a link that was used up meanwhile undoes it. */
async function accept(deps: AccountDeps, tx: Tx, invitation: InvitationRow, account: AccountRow): Promise<void> {
  if (!(await useInvitation(tx, invitation.id))) throw worthless();
  await audit(deps, tx, {
    actor: `user:${account.name}`,
    action: "invitation.accept",
    object: invitation.id,
    workspaceId: invitation.workspace_id,
    detail: { role: invitation.role },
  });
}

async function owned(deps: AccountDeps, ref: string, { caller }: Call): Promise<AllowedWorkspace> {
  const workspace = await deps.access.workspace(caller, ref, "write");
  await requireOwner(deps.store, caller, workspace);
  return workspace;
}

async function audit(deps: AccountDeps, tx: Tx, entry: Omit<Parameters<typeof insertAudit>[1], "id">): Promise<void> {
  await insertAudit(tx, { id: deps.ids.next("audit"), ...entry });
}

function worthless(): MeshError {
  return new MeshError("not_found", "this invitation was used up, revoked or has run out; ask for another");
}

function toInvitation(row: InvitationRow): Invitation {
  return {
    id: row.id,
    workspace_id: row.workspace_id,
    workspace: row.workspace,
    role: row.role,
    uses_left: row.uses_left,
    created_by: row.created_by,
    created_at: rfc3339(row.created_at.getTime()),
    expires_at: rfc3339(row.expires_at.getTime()),
  };
}
