/** AccountService. */

import { isObject, MeshError } from "@mesh/kernel";
import type {
  ChangePasswordRequest,
  GetAccountResponse,
  GetLoginOptionsResponse,
  UpdateAccountRequest,
  UpdateAccountResponse,
} from "@mesh/proto";
import { insertAudit } from "@mesh/store";

import { actorOf, type Caller, requireWholeUser } from "../auth/caller.ts";
import { deleteSession, deleteSessions, listSessions } from "../auth/session-store.ts";
import type { AccountApi, Call } from "../gateway/operation.ts";
import type { PushApi } from "../push/push-api.ts";
import type { AccountApiDeps, AccountDeps } from "./account-deps.ts";
import {
  type AccountRow,
  deleteLoginCodes,
  findAccount,
  hasPasswords,
  setPassword,
  updateAccount,
} from "./account-store.ts";
import { toAccount, toSession } from "./account-view.ts";
import { acceptInvitation, createInvitation, getInvitation, listInvitations, revokeInvitation } from "./invitation.ts";
import { createLoginCode, logIn, logOut } from "./login.ts";
import { LoginThrottle } from "./login-throttle.ts";
import { Passwords, requirePassword } from "./password.ts";
import { listUsers, updateUser } from "./user-admin.ts";

/** Builds the handlers, but for those of notifications. */
export function createAccountApi(given: AccountApiDeps): Omit<AccountApi, keyof PushApi> {
  const deps: AccountDeps = {
    ...given,
    passwords: given.passwords ?? new Passwords(),
    throttle: new LoginThrottle(given.clock),
  };
  return {
    getLoginOptions: () => getLoginOptions(deps),
    logIn: (request, call) => logIn(deps, request, call),
    logOut: (_request, call) => logOut(deps, call),
    createLoginCode: (request, call) => createLoginCode(deps, request.ttl_seconds, call),
    getAccount: (_request, { caller }) => getAccount(deps, caller),
    updateAccount: (request, { caller }) => changeAccount(deps, request, caller),
    changePassword: (request, call) => changePassword(deps, request, call),
    listSessions: async (_request, { caller }) => ({
      sessions: (await listSessions(deps.store.sql, caller.userId)).map((row) => toSession(row, caller.tokenId)),
    }),
    endSession: (request, { caller }) => endSession(deps, request.session, caller),
    createInvitation: (request, call) => createInvitation(deps, request, call),
    listInvitations: (request, call) => listInvitations(deps, request.workspace, call),
    revokeInvitation: (request, call) => revokeInvitation(deps, request, call),
    getInvitation: (request, call) => getInvitation(deps, request.code, call),
    acceptInvitation: (request, call) => acceptInvitation(deps, request, call),
    listUsers: (_request, { caller }) => listUsers(deps, caller),
    updateUser: (request, call) => updateUser(deps, request, call),
  };
}

async function getLoginOptions({ store, oidcLabel, version }: AccountDeps): Promise<GetLoginOptionsResponse> {
  return { passwords: await hasPasswords(store.sql), oidc_label: oidcLabel ?? "", version };
}

async function getAccount({ store }: AccountDeps, caller: Caller): Promise<GetAccountResponse> {
  const row = await findAccount(store.sql, caller.userId);
  return { account: row === undefined ? undefined : toAccount(row), csrf_token: caller.session?.csrfToken ?? "" };
}

async function changeAccount(
  { store, ids, authenticator }: AccountDeps,
  request: UpdateAccountRequest,
  caller: Caller,
): Promise<UpdateAccountResponse> {
  const row = await store.sql.begin(async (tx) => {
    const isChanged = await updateAccount(tx, caller.userId, {
      display_name: request.display_name?.trim(),
      locale: request.locale === undefined ? undefined : checkedLocale(request.locale),
      theme: request.theme === "" ? "system" : request.theme,
      preferences: request.preferences_json === undefined ? undefined : checkedPreferences(request.preferences_json),
    });
    // The page saves its preferences often: only what someone else may ask about later is audited.
    if (isChanged && request.display_name !== undefined) {
      await insertAudit(tx, {
        id: ids.next("audit"),
        actor: actorOf(caller),
        action: "account.update",
        object: caller.userId,
        detail: { display_name: request.display_name },
      });
    }
    return findAccount(tx, caller.userId);
  });
  if (request.locale !== undefined) authenticator.forgetUser(caller.userId);
  return { account: row === undefined ? undefined : toAccount(row) };
}

function checkedLocale(locale: string): string {
  if (/^$|^[a-z]{2,3}(-[a-z0-9]{2,8}){0,3}$/i.test(locale)) return locale.toLowerCase();
  throw new MeshError("invalid_argument", `"${locale}" is not a language such as en or zh-cn`);
}

function checkedPreferences(text: string): string {
  if (text === "") return text;
  if (Buffer.byteLength(text) > 16_384)
    throw new MeshError("invalid_argument", "preferences_json is larger than 16 KB");
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (thrown) {
    throw new MeshError("invalid_argument", "preferences_json is not JSON", { cause: thrown });
  }
  if (isObject(parsed)) return text;
  throw new MeshError("invalid_argument", "preferences_json must be the text of a JSON object");
}

async function changePassword(
  deps: AccountDeps,
  request: ChangePasswordRequest,
  { caller, client }: Call,
): Promise<Record<string, never>> {
  requirePassword(request.password);
  const account = await findAccount(deps.store.sql, caller.userId);
  if (account === undefined) throw new MeshError("not_found", "this account is gone");
  requireWholeUser(caller, account.is_admin, "setting a password");
  await requireCurrent(deps, account, request.current, client?.address ?? "");
  const hash = await deps.passwords.hash(request.password);
  const ended = await deps.store.sql.begin(async (tx) => {
    await setPassword(tx, account.id, hash);
    const others = await deleteSessions(tx, account.id, caller.tokenId);
    await deleteLoginCodes(tx, account.id);
    await insertAudit(tx, {
      id: deps.ids.next("audit"),
      actor: actorOf(caller),
      action: "password.change",
      object: account.id,
      detail: { sessions_ended: others.length },
    });
    return others;
  });
  for (const id of ended) deps.authenticator.forget(id);
  return {};
}

/** Who sits down at an open browser must not be able to take the account over. */
async function requireCurrent(deps: AccountDeps, account: AccountRow, current: string, address: string): Promise<void> {
  if (account.password === null) return;
  if (current === "") throw new MeshError("invalid_argument", "give the present password as current");
  const giveBack = deps.throttle.tryPassword(account.name, address);
  if (!(await deps.passwords.verify(current, account.password))) {
    throw new MeshError("permission_denied", "this is not the present password");
  }
  giveBack();
}

async function endSession(deps: AccountDeps, id: string, caller: Caller): Promise<Record<string, never>> {
  await deps.store.sql.begin(async (tx) => {
    if (!(await deleteSession(tx, caller.userId, id))) {
      throw new MeshError("not_found", `session ${id.slice(0, 100)} was not found; it may have ended already`);
    }
    await insertAudit(tx, {
      id: deps.ids.next("audit"),
      actor: actorOf(caller),
      action: "session.end",
      object: id,
    });
  });
  deps.authenticator.forget(id);
  return {};
}
