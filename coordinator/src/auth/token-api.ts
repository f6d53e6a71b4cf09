/** TokenService. */

import { type Ids, MeshError, rfc3339 } from "@mesh/kernel";
import type { CreateTokenRequest, CreateTokenResponse, Token } from "@mesh/proto";
import { insertAudit, type Store, type Tx } from "@mesh/store";

import type { Call, TokenApi } from "../gateway/operation.ts";
import type { Access } from "./access.ts";
import type { TokenAuthenticator } from "./authenticator.ts";
import { actorOf, type Caller, hasScope, SCOPES, type Scope } from "./caller.ts";
import { hashToken, newTokenText } from "./token.ts";
import {
  findUser,
  insertToken,
  insertUser,
  listTokens,
  revokeToken,
  type TokenRow,
  type UserRow,
} from "./token-store.ts";

/** What the handlers use. */
export interface TokenApiDeps {
  readonly store: Store;
  readonly access: Access;
  readonly authenticator: Pick<TokenAuthenticator, "forget">;
  readonly ids: Ids;
}

const MAX_TOKENS_PER_USER = 500;

/** Builds the handlers. */
export function createTokenApi(deps: TokenApiDeps): TokenApi {
  return {
    createToken: (request, call) => createToken(deps, request, call),
    listTokens: async (_request, { caller }) => ({
      tokens: (await listTokens(deps.store.sql, caller.isAdmin ? undefined : caller.userId)).map(toToken),
    }),
    revokeToken: (request, call) => revoke(deps, request.token, call),
    whoAmI: async (_request, { caller }) => ({
      user: caller.userName,
      token_id: caller.tokenId,
      scopes: [...caller.scopes],
      workspace_ids: [...(caller.workspaceIds ?? [])],
      is_admin: caller.isAdmin,
      assistants: [...(caller.assistants ?? [])],
    }),
  };
}

async function createToken(
  deps: TokenApiDeps,
  request: CreateTokenRequest,
  { caller }: Call,
): Promise<CreateTokenResponse> {
  const forOther = request.user !== "" && request.user !== caller.userName;
  if (forOther && !caller.isAdmin) {
    throw new MeshError(
      "permission_denied",
      "only an administrator may make tokens for other users; leave the user out",
    );
  }
  const workspaceIds = await allowedWorkspaces(deps, request, caller);
  const secret = newTokenText();
  const id = deps.ids.next("tok");
  const token = await deps.store.sql.begin(async (tx) => {
    const user = await userFor(deps, tx, request, { caller, workspaceIds });
    const scopes = limitedScopes(request, grantedScopes(request, caller, user));
    const own = await listTokens(tx, user.id);
    if (own.length >= MAX_TOKENS_PER_USER) {
      throw new MeshError(
        "resource_exhausted",
        `${user.name} has ${own.length} tokens; revoke some with: yao token revoke ID`,
      );
    }
    await insertToken(tx, {
      id,
      userId: user.id,
      name: request.name,
      hash: hashToken(secret),
      scopes,
      workspaceIds,
      assistants: [...new Set(request.assistants)],
      ratePerMinute: ownRate(request, caller),
      ttlSeconds: request.ttl_seconds === 0 ? undefined : request.ttl_seconds,
      madeWith: caller.tokenId,
    });
    await insertAudit(tx, {
      id: deps.ids.next("audit"),
      actor: actorOf(caller),
      action: "token.create",
      object: id,
      detail: {
        user: user.name,
        name: request.name,
        scopes,
        workspace_ids: workspaceIds,
        assistants: request.assistants,
      },
    });
    return (await listTokens(tx, user.id)).find((row) => row.id === id);
  });
  return { token: token === undefined ? undefined : toToken(token), secret };
}

/** A limited token passes its limit on; each workspace named is one the caller may use. */
async function allowedWorkspaces(deps: TokenApiDeps, request: CreateTokenRequest, caller: Caller): Promise<string[]> {
  if (request.workspace_ids.length === 0) return [...(caller.workspaceIds ?? [])];
  const ids: string[] = [];
  for (const ref of request.workspace_ids) ids.push((await deps.access.workspace(caller, ref, "read")).id);
  return [...new Set(ids)];
}

async function userFor(
  deps: TokenApiDeps,
  tx: Tx,
  request: CreateTokenRequest,
  { caller, workspaceIds }: { readonly caller: Caller; readonly workspaceIds: readonly string[] },
): Promise<UserRow> {
  const name = request.user === "" ? caller.userName : request.user;
  const known = await findUser(tx, name);
  if (known !== undefined) return known;
  const made = await insertUser(tx, { id: deps.ids.next("user"), name, is_admin: false });
  if (made === undefined) throw new MeshError("aborted", `user ${name} was made at the same time; try again`);
  // A new user who may use nothing would be of no use: the workspaces of the first token are also the first memberships.
  for (const workspaceId of workspaceIds) {
    await tx`INSERT INTO workspace_members (workspace_id, user_id, role) VALUES (${workspaceId}, ${made.id}, 'member')`;
  }
  await insertAudit(tx, {
    id: deps.ids.next("audit"),
    actor: actorOf(caller),
    action: "user.create",
    object: made.id,
    detail: { name },
  });
  return made;
}

function grantedScopes(request: CreateTokenRequest, caller: Caller, user: UserRow): readonly Scope[] {
  const wanted = SCOPES.filter((scope) => request.scopes.includes(scope));
  if (wanted.includes("admin") && !user.is_admin) {
    throw new MeshError(
      "invalid_argument",
      `${user.name} is not an administrator and cannot hold the scope "admin"; name other scopes`,
    );
  }
  const missing = wanted.find((scope) => !hasScope(caller.scopes, scope));
  if (missing !== undefined) {
    throw new MeshError(
      "permission_denied",
      `a token cannot give the scope "${missing}", which it does not hold itself`,
    );
  }
  if (wanted.length > 0) return wanted;
  if (user.is_admin || !caller.scopes.includes("admin")) return caller.scopes;
  return SCOPES.filter((scope) => scope !== "admin");
}

// Every other scope reaches further than the assistants it would be limited to.
function limitedScopes({ assistants, scopes }: CreateTokenRequest, granted: readonly Scope[]): readonly Scope[] {
  if (assistants.length === 0) return granted;
  const allowed = granted.filter((scope) => scope === "read" || scope === "runs");
  const named = scopes.find((scope) => scope !== "read" && scope !== "runs");
  if (named !== undefined) {
    throw new MeshError(
      "invalid_argument",
      `a token for some assistants holds the scopes "read" and "runs" only, not "${named}"; leave out one or the other`,
    );
  }
  if (allowed.length > 0) return allowed;
  // An administrator's scope contains them.
  if (granted.includes("admin")) return ["read", "runs"];
  throw new MeshError("permission_denied", 'a token for some assistants needs the scope "read" or "runs"');
}

// A token passes its own quota on: many tokens must not have more than the one that made them.
function ownRate({ rate_per_minute: wanted }: CreateTokenRequest, { ratePerMinute }: Caller): number | undefined {
  if (wanted === 0) return ratePerMinute;
  return Math.min(wanted, ratePerMinute ?? wanted);
}

async function revoke(deps: TokenApiDeps, ref: string, { caller }: Call): Promise<Record<string, never>> {
  const id = await deps.store.sql.begin(async (tx) => {
    const visible = await listTokens(tx, caller.isAdmin ? undefined : caller.userId);
    const named = visible.filter((row) => row.name === ref);
    const found = visible.find((row) => row.id === ref) ?? (named.length === 1 ? named[0] : undefined);
    if (found === undefined) {
      const reason =
        named.length > 1 ? `${named.length} tokens have the name ${ref}; give the id` : `token ${ref} was not found`;
      throw new MeshError("not_found", `${reason}; see: yao token list`);
    }
    await revokeToken(tx, found.id);
    await insertAudit(tx, {
      id: deps.ids.next("audit"),
      actor: actorOf(caller),
      action: "token.revoke",
      object: found.id,
      detail: { user: found.user_name, name: found.name },
    });
    return found.id;
  });
  deps.authenticator.forget(id);
  return {};
}

function toToken(row: TokenRow): Token {
  return {
    id: row.id,
    name: row.name,
    user: row.user_name,
    scopes: [...row.scopes],
    workspace_ids: [...row.workspace_ids],
    assistants: [...row.assistants],
    rate_per_minute: row.rate_per_minute ?? 0,
    created_at: rfc3339(row.created_at.getTime()),
    expires_at: row.expires_at === null ? undefined : rfc3339(row.expires_at.getTime()),
    last_used_at: row.last_used_at === null ? undefined : rfc3339(row.last_used_at.getTime()),
  };
}
