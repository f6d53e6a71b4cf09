/**
 * Logging in and out.
 *
 * L1  A wrong name, a wrong password and a disabled person are one and the same answer.
 * L2  A one-time code works once; what is stored of it is a hash.
 * L3  Every log-in, failure and log-out leaves an audit row.
 */

import { MeshError, rfc3339 } from "@mesh/kernel";
import type { CreateLoginCodeResponse, LogInRequest, LogInResponse } from "@mesh/proto";
import { insertAudit } from "@mesh/store";

import { actorOf, requireWholeUser } from "../auth/caller.ts";
import { hashSecret, isCode, newCode } from "../auth/session.ts";
import { deleteSession } from "../auth/session-store.ts";
import type { Call } from "../gateway/operation.ts";
import type { AccountDeps } from "./account-deps.ts";
import {
  type AccountRow,
  countLoginCodes,
  findAccount,
  findAccountByName,
  insertLoginCode,
  takeLoginCode,
} from "./account-store.ts";
import { toAccount } from "./account-view.ts";
import { type OpenedSession, openSession } from "./session-maker.ts";

const DEFAULT_CODE_SECONDS = 600;
const MAX_CODES_PER_USER = 100;

/** LogIn. */
export async function logIn(deps: AccountDeps, request: LogInRequest, call: Call): Promise<LogInResponse> {
  const { account, session } =
    request.code === "" ? await withPassword(deps, request, call) : await withCode(deps, request.code, call);
  return {
    account: toAccount(account),
    csrf_token: session.csrfToken,
    token: session.token,
    expires_at: session.expiresAt,
  };
}

interface LoggedIn {
  readonly account: AccountRow;
  readonly session: OpenedSession;
}

async function withPassword(deps: AccountDeps, { name, password }: LogInRequest, call: Call): Promise<LoggedIn> {
  if (name === "" || password === "") {
    throw new MeshError("invalid_argument", "give name and password, or the code of a one-time link");
  }
  const giveBack = deps.throttle.tryPassword(name, call.client?.address ?? "");
  const account = await findAccountByName(deps.store.sql, name);
  const isRight = await deps.passwords.verify(password, account?.password ?? undefined);
  if (account === undefined || !isRight || account.disabled_at !== null) {
    await auditFailure(deps, call, { how: "password", name });
    throw new MeshError("unauthenticated", "this name and password do not belong together; try again");
  }
  giveBack();
  const session = await deps.store.sql.begin((tx) =>
    openSession(deps.ids, tx, account, { how: "password", client: call.client }),
  );
  return { account, session };
}

async function withCode(deps: AccountDeps, code: string, call: Call): Promise<LoggedIn> {
  const giveBack = deps.throttle.tryCode(call.client?.address ?? "");
  const found = !isCode(code)
    ? undefined
    : await deps.store.sql.begin(async (tx) => {
        const account = await takeLoginCode(tx, hashSecret(code));
        if (account === undefined) return undefined;
        return { account, session: await openSession(deps.ids, tx, account, { how: "code", client: call.client }) };
      });
  if (found === undefined) {
    await auditFailure(deps, call, { how: "code" });
    throw new MeshError("unauthenticated", "this link was used already or has run out; make another with: yao web");
  }
  giveBack();
  return found;
}

async function auditFailure(
  { store, ids }: AccountDeps,
  { client }: Call,
  detail: { readonly how: string; readonly name?: string },
): Promise<void> {
  await insertAudit(store.sql, {
    id: ids.next("audit"),
    actor: "anonymous",
    action: "login.failed",
    object: detail.name ?? "",
    detail: { how: detail.how, address: client?.address ?? "", user_agent: client?.userAgent ?? "" },
  });
}

/** LogOut: ends the session the call came with; a token has none to end. */
export async function logOut(deps: AccountDeps, { caller }: Call): Promise<Record<string, never>> {
  if (caller.session === undefined) {
    throw new MeshError(
      "failed_precondition",
      "this call came with an API token, which has no session; revoke it with: yao token revoke ID",
    );
  }
  await deps.store.sql.begin(async (tx) => {
    if (!(await deleteSession(tx, caller.userId, caller.tokenId))) return;
    await insertAudit(tx, {
      id: deps.ids.next("audit"),
      actor: actorOf(caller),
      action: "logout",
      object: caller.tokenId,
    });
  });
  deps.authenticator.forget(caller.tokenId);
  return {};
}

/** CreateLoginCode. */
export async function createLoginCode(
  deps: AccountDeps,
  ttlSeconds: number,
  { caller }: Call,
): Promise<CreateLoginCodeResponse> {
  const account = await findAccount(deps.store.sql, caller.userId);
  requireWholeUser(caller, account?.is_admin ?? true, "a link that logs in");
  const code = newCode();
  const expiresAt = await deps.store.sql.begin(async (tx) => {
    if ((await countLoginCodes(tx, caller.userId)) >= MAX_CODES_PER_USER) {
      throw new MeshError("resource_exhausted", `${MAX_CODES_PER_USER} links are open already; use one, or wait`, {
        details: { retry_after_seconds: 60 },
      });
    }
    const until = await insertLoginCode(tx, {
      userId: caller.userId,
      hash: hashSecret(code),
      ttlSeconds: ttlSeconds === 0 ? DEFAULT_CODE_SECONDS : ttlSeconds,
    });
    await insertAudit(tx, {
      id: deps.ids.next("audit"),
      actor: actorOf(caller),
      action: "login_code.create",
      object: caller.userId,
    });
    return until;
  });
  return { code, url: loginUrl(deps.publicUrl(), code), expires_at: rfc3339(expiresAt.getTime()) };
}

/** The address of a one-time link; the code stands in the fragment, which no browser sends to a server. */
export function loginUrl(publicUrl: string, code: string): string {
  return `${publicUrl}/#/login?code=${code}`;
}
