/** Statements on users and tokens. */

import type { Sql, Tx } from "@mesh/store";

/** A token with its user. */
export interface TokenRow {
  readonly id: string;
  readonly name: string;
  readonly user_id: string;
  readonly user_name: string;
  readonly is_admin: boolean;
  readonly locale: string;
  readonly scopes: readonly string[];
  readonly workspace_ids: readonly string[];
  readonly assistants: readonly string[];
  readonly rate_per_minute: number | null;
  readonly created_at: Date;
  readonly expires_at: Date | null;
  readonly last_used_at: Date | null;
}

/** A user. */
export interface UserRow {
  readonly id: string;
  readonly name: string;
  readonly is_admin: boolean;
}

/** A token to be stored. */
export interface NewToken {
  readonly id: string;
  readonly userId: string;
  readonly name: string;
  readonly hash: Buffer;
  readonly scopes: readonly string[];
  readonly workspaceIds: readonly string[];
  /** None: no limit. */
  readonly assistants?: readonly string[];
  readonly ratePerMinute?: number | undefined;
  /** Seconds; undefined means it does not expire. */
  readonly ttlSeconds: number | undefined;
  /** The token that makes it: the new one does not outlive it. */
  readonly madeWith: string | undefined;
}

/** The valid token with this hash. */
export async function findTokenByHash(sql: Sql, hash: Buffer): Promise<TokenRow | undefined> {
  const [row] = await sql<TokenRow[]>`
    SELECT t.id, t.name, t.user_id, u.name AS user_name, u.is_admin, u.locale, t.scopes, t.workspace_ids, t.assistants,
      t.rate_per_minute, t.created_at, t.expires_at, t.last_used_at
    FROM tokens t JOIN users u ON u.id = t.user_id
    WHERE t.hash = ${hash} AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > now())
      AND u.disabled_at IS NULL`;
  return row;
}

/** Notes the use of a token, at most once a minute. */
export async function touchToken(sql: Sql, id: string): Promise<void> {
  await sql`
    UPDATE tokens SET last_used_at = now()
    WHERE id = ${id} AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')`;
}

/** Stores a token. */
export async function insertToken(sql: Sql | Tx, token: NewToken): Promise<void> {
  await sql`
    INSERT INTO tokens (id, user_id, name, hash, scopes, workspace_ids, assistants, rate_per_minute, expires_at)
    VALUES (${token.id}, ${token.userId}, ${token.name}, ${token.hash}, ${[...token.scopes]}, ${[...token.workspaceIds]},
      ${[...(token.assistants ?? [])]}, ${token.ratePerMinute ?? null},
      LEAST(now() + make_interval(secs => ${token.ttlSeconds ?? null}::double precision),
        (SELECT expires_at FROM tokens WHERE id = ${token.madeWith ?? null})))`;
}

/** Valid tokens of one user, or of all when `userId` is undefined; newest first. */
export async function listTokens(sql: Sql | Tx, userId: string | undefined): Promise<readonly TokenRow[]> {
  return sql<TokenRow[]>`
    SELECT t.id, t.name, t.user_id, u.name AS user_name, u.is_admin, u.locale, t.scopes, t.workspace_ids, t.assistants,
      t.rate_per_minute, t.created_at, t.expires_at, t.last_used_at
    FROM tokens t JOIN users u ON u.id = t.user_id
    WHERE (${userId ?? null}::text IS NULL OR t.user_id = ${userId ?? null})
      AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > now())
    ORDER BY t.id DESC LIMIT 1000`;
}

/** Revokes a token; false when it was not valid any more. */
export async function revokeToken(sql: Sql | Tx, id: string): Promise<boolean> {
  const result = await sql`UPDATE tokens SET revoked_at = now() WHERE id = ${id} AND revoked_at IS NULL`;
  return result.count === 1;
}

/** The user of this name. */
export async function findUser(sql: Sql | Tx, name: string): Promise<UserRow | undefined> {
  const [row] = await sql<UserRow[]>`SELECT id, name, is_admin FROM users WHERE name = ${name}`;
  return row;
}

/** Makes a user; undefined when the name was taken in between. */
export async function insertUser(sql: Sql | Tx, user: UserRow): Promise<UserRow | undefined> {
  const [row] = await sql<UserRow[]>`
    INSERT INTO users (id, name, is_admin) VALUES (${user.id}, ${user.name}, ${user.is_admin})
    ON CONFLICT (name) DO NOTHING RETURNING id, name, is_admin`;
  return row;
}
