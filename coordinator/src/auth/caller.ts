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

/** The text audit rows name the caller by. */
export function actorOf(caller: Caller): string {
  return `user:${caller.userName}`;
}
