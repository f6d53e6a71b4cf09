/** Who makes a call, and what a token's scopes allow. */

import { MeshError, type TokenId, type UserId } from "@mesh/kernel";

/** What a token may do. `admin` includes all others; `read` is included in each of them. */
export const SCOPES = [
  "read",
  "runs",
  "tasks",
  "apps",
  "connectors",
  "nodes",
  "workspaces",
  "tokens",
  "files",
  "admin",
] as const;

/** One of {@link SCOPES}. */
export type Scope = (typeof SCOPES)[number];

/** The authenticated origin of a call; made by `auth/` only, never from request data. */
export interface Caller {
  readonly userId: UserId;
  readonly userName: string;
  readonly tokenId: TokenId;
  readonly scopes: readonly Scope[];
  /** The user is an administrator and the token holds the scope `admin`: every workspace is open. */
  readonly isAdmin: boolean;
  /** Workspaces the token is limited to; undefined means all of the user's. */
  readonly workspaceIds: readonly string[] | undefined;
  /** The language this person prefers; absent when there is no preference. */
  readonly locale?: string;
  /** Set when the call came with a browser's session instead of an API token. */
  readonly session?: CallerSession;
  /** Assistants the token is limited to; absent means all. */
  readonly assistants?: readonly string[];
  /** Requests a minute the token was made for; absent means what every token may. */
  readonly ratePerMinute?: number;
}

/** The session a caller is logged in with; `tokenId` of the caller is its id. */
export interface CallerSession {
  /** What the header X-CSRF-Token must say on calls that change something and came with the cookie. */
  readonly csrfToken: string;
}

/** The caller of operations that need no token (join, renew); it passes no access check. */
export const ANONYMOUS: Caller = {
  userId: "" as UserId,
  userName: "anonymous",
  tokenId: "" as TokenId,
  scopes: [],
  isAdmin: false,
  workspaceIds: [],
};

/** Whether these scopes include `needed`. */
export function hasScope(scopes: readonly Scope[], needed: Scope): boolean {
  if (scopes.includes("admin")) return true;
  return needed === "read" ? scopes.length > 0 : scopes.includes(needed);
}

/** Throws `permission_denied` naming the scope that is missing. */
export function requireScope(caller: Caller, needed: Scope): void {
  if (hasScope(caller.scopes, needed)) return;
  throw new MeshError(
    "permission_denied",
    `this token lacks the scope "${needed}"; make one that has it with: yao token create --scope ${needed}`,
    { details: { scope: needed } },
  );
}

/** Whether a token may see and run an assistant. */
export function mayUseAssistant({ assistants }: Pick<Caller, "assistants">, assistantId: string): boolean {
  return assistants === undefined || assistants.includes(assistantId);
}

/** Throws `permission_denied` for a token that is limited to assistants where an operation does not know of that limit. */
export function requireUnlimited({ assistants }: Pick<Caller, "assistants">): void {
  if (assistants === undefined) return;
  throw new MeshError(
    "permission_denied",
    `this token may only run and see ${assistants.slice(0, 5).join(", ")}${assistants.length > 5 ? ", …" : ""}; use one that is not limited to assistants`,
  );
}

/** The text audit rows name the caller by. */
export function actorOf(caller: Caller): string {
  return `user:${caller.userName}`;
}

/** All that a person may do who logs in. */
export function scopesOfUser(isAdmin: boolean): readonly Scope[] {
  return isAdmin ? ["admin"] : SCOPES.filter((scope) => scope !== "admin");
}

/** Throws unless the caller may do all that the user behind it may: what is made in its name could do as much. */
export function requireWholeUser(caller: Caller, isUserAdmin: boolean, what: string): void {
  const lacks = scopesOfUser(isUserAdmin).some((scope) => !hasScope(caller.scopes, scope));
  if (!lacks && caller.workspaceIds === undefined && caller.assistants === undefined) return;
  throw new MeshError(
    "permission_denied",
    `${what} needs a log-in, or a token with all scopes and no limits; this token is narrower`,
  );
}
