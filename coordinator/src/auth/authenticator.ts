/**
 * API tokens and sessions to callers.
 *
 * K1  A revoked or changed token stops working within `CACHE_MS` on every replica, at once on the one that revoked it;
 *     an expired one exactly at its time. The same holds for sessions, and for all of a person who is disabled.
 * K2  Concurrent requests with one token cost one look-up.
 */

import { type Clock, MeshError, type TokenId, type UserId } from "@mesh/kernel";
import type { Store } from "@mesh/store";

import { type Caller, SCOPES, type Scope, scopesOfUser } from "./caller.ts";
import { csrfTokenOf, isSessionText } from "./session.ts";
import { findSessionByHash, type SessionRow, touchSession } from "./session-store.ts";
import { hashToken, isTokenText } from "./token.ts";
import { findTokenByHash, type TokenRow, touchToken } from "./token-store.ts";

/** What the authenticator uses. */
export interface AuthenticatorDeps {
  readonly store: Store;
  readonly clock: Clock;
}

interface Entry {
  readonly caller: Caller;
  readonly untilMs: number;
  readonly expiresAtMs: number;
}

/** How long a look-up is trusted. */
export const CACHE_MS = 5_000;
const MAX_ENTRIES = 10_000;

/** Authenticates API tokens; see the guarantees above. */
export class TokenAuthenticator {
  readonly #deps: AuthenticatorDeps;
  readonly #cache = new Map<string, Entry>();
  readonly #lookups = new Map<string, Promise<Entry>>();

  constructor(deps: AuthenticatorDeps) {
    this.#deps = deps;
  }

  /** The caller a token stands for; throws `unauthenticated`. */
  async authenticate(text: string): Promise<Caller> {
    if (!isTokenText(text) && !isSessionText(text)) throw refused();
    const hash = hashToken(text);
    const key = hash.toString("base64");
    const { clock } = this.#deps;
    const known = this.#cache.get(key);
    const entry =
      known !== undefined && clock.monotonic() < known.untilMs ? known : await this.#coalesced(key, hash, text);
    if (clock.now() >= entry.expiresAtMs) throw refused();
    return entry.caller;
  }

  /** Makes the next use of a token look it up again. */
  forget(tokenId: string): void {
    for (const [key, entry] of this.#cache) if (entry.caller.tokenId === tokenId) this.#cache.delete(key);
  }

  /** Makes the next use of anything of a user look it up again. */
  forgetUser(userId: string): void {
    for (const [key, entry] of this.#cache) if (entry.caller.userId === userId) this.#cache.delete(key);
  }

  async #coalesced(key: string, hash: Buffer, text: string): Promise<Entry> {
    const running = this.#lookups.get(key);
    if (running !== undefined) return running;
    const lookup = this.#lookup(key, hash, text);
    this.#lookups.set(key, lookup);
    try {
      return await lookup;
    } finally {
      this.#lookups.delete(key);
    }
  }

  async #lookup(key: string, hash: Buffer, text: string): Promise<Entry> {
    const startedMs = this.#deps.clock.monotonic();
    const found = isSessionText(text) ? await this.#session(hash, text) : await this.#token(hash);
    if (found === undefined) {
      this.#cache.delete(key);
      throw refused();
    }
    const entry = { ...found, untilMs: startedMs + CACHE_MS };
    this.#remember(key, entry);
    return entry;
  }

  async #token(hash: Buffer): Promise<Omit<Entry, "untilMs"> | undefined> {
    const { sql } = this.#deps.store;
    const row = await findTokenByHash(sql, hash);
    if (row === undefined) return undefined;
    await touchToken(sql, row.id);
    return { caller: toCaller(row), expiresAtMs: row.expires_at?.getTime() ?? Infinity };
  }

  async #session(hash: Buffer, text: string): Promise<Omit<Entry, "untilMs"> | undefined> {
    const { sql } = this.#deps.store;
    const row = await findSessionByHash(sql, hash);
    if (row === undefined) return undefined;
    await touchSession(sql, row.id);
    return { caller: sessionCaller(row, text), expiresAtMs: row.expires_at.getTime() };
  }

  #remember(key: string, entry: Entry): void {
    this.#cache.delete(key);
    this.#cache.set(key, entry);
    const [oldest] = this.#cache.keys();
    if (this.#cache.size > MAX_ENTRIES && oldest !== undefined) this.#cache.delete(oldest);
  }
}

/** The caller of a stored token. */
export function toCaller(row: TokenRow): Caller {
  const stored = SCOPES.filter((scope): scope is Scope => row.scopes.includes(scope));
  // Who is no administrator any more keeps what everybody may do.
  const scopes = stored.includes("admin") && !row.is_admin ? scopesOfUser(false) : stored;
  return {
    userId: row.user_id as UserId,
    userName: row.user_name,
    tokenId: row.id as TokenId,
    scopes,
    isAdmin: row.is_admin && scopes.includes("admin"),
    workspaceIds: row.workspace_ids.length === 0 ? undefined : row.workspace_ids,
    ...(row.assistants.length === 0 ? {} : { assistants: row.assistants }),
    ...(row.rate_per_minute === null ? {} : { ratePerMinute: row.rate_per_minute }),
    ...(row.locale === "" ? {} : { locale: row.locale }),
  };
}

/** The caller of a session: a person with all rights. */
export function sessionCaller(row: SessionRow, text: string): Caller {
  return {
    userId: row.user_id as UserId,
    userName: row.user_name,
    tokenId: row.id as TokenId,
    scopes: scopesOfUser(row.is_admin),
    isAdmin: row.is_admin,
    workspaceIds: undefined,
    ...(row.locale === "" ? {} : { locale: row.locale }),
    session: { csrfToken: csrfTokenOf(text) },
  };
}

function refused(): MeshError {
  return new MeshError(
    "unauthenticated",
    "this API token or session is unknown, expired or revoked; log in again: yao login URL, or yao web for a browser",
  );
}
