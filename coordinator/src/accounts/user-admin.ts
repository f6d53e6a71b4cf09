/**
 * People, for administrators.
 *
 * U1  A person who is disabled is out at once: sessions end, tokens are refused, open links are worthless. All else stays, and
 *     the tokens work again when the person is enabled.
 * U2  An administrator is left: the last one can neither be disabled nor become less.
 */

import { MeshError } from "@mesh/kernel";
import type { ListUsersResponse, UpdateUserRequest, UpdateUserResponse } from "@mesh/proto";
import { insertAudit, type Tx } from "@mesh/store";

import { actorOf, type Caller } from "../auth/caller.ts";
import { deleteSessions } from "../auth/session-store.ts";
import type { Call } from "../gateway/operation.ts";
import type { AccountDeps } from "./account-deps.ts";
import {
  type AccountRow,
  countAdmins,
  deleteLoginCodes,
  findAccount,
  listAccounts,
  lockAccount,
  setStanding,
} from "./account-store.ts";
import { toAccount } from "./account-view.ts";

/** Any number that no other advisory lock uses. */
const STANDING_LOCK = 7_400_002;

/** ListUsers: without what only the person is to see. */
export async function listUsers({ store }: AccountDeps, caller: Caller): Promise<ListUsersResponse> {
  requireAdmin(caller);
  const rows = await listAccounts(store.sql);
  return { users: rows.map((row) => ({ ...toAccount(row), preferences_json: "" })) };
}

/** UpdateUser. */
export async function updateUser(
  deps: AccountDeps,
  request: UpdateUserRequest,
  { caller }: Call,
): Promise<UpdateUserResponse> {
  requireAdmin(caller);
  const row = await deps.store.sql.begin(async (tx) => {
    // Two administrators who disable each other at the same moment would each still see the other.
    await tx`SELECT pg_advisory_xact_lock(${STANDING_LOCK})`;
    const account = await lockAccount(tx, request.user);
    if (account === undefined) {
      throw new MeshError("not_found", `there is no user ${request.user.slice(0, 100)}; see: yao user list`);
    }
    await setStanding(tx, account.id, { disabled: request.disabled, isAdmin: request.is_admin });
    if ((await countAdmins(tx)) === 0) {
      throw new MeshError("failed_precondition", `${account.name} is the last administrator; make another one first`);
    }
    if (request.disabled === true) await shutOut(tx, account);
    await insertAudit(tx, {
      id: deps.ids.next("audit"),
      actor: actorOf(caller),
      action: "user.update",
      object: account.id,
      detail: {
        user: account.name,
        ...(request.disabled === undefined ? {} : { disabled: request.disabled }),
        ...(request.is_admin === undefined ? {} : { is_admin: request.is_admin }),
      },
    });
    return findAccount(tx, account.id);
  });
  if (row === undefined) return { user: undefined };
  deps.authenticator.forgetUser(row.id);
  return { user: { ...toAccount(row), preferences_json: "" } };
}

async function shutOut(tx: Tx, account: AccountRow): Promise<void> {
  await deleteSessions(tx, account.id, "");
  await deleteLoginCodes(tx, account.id);
}

function requireAdmin(caller: Caller): void {
  if (caller.isAdmin) return;
  throw new MeshError("permission_denied", "only an administrator may do this");
}
