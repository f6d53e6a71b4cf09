/**
 * Logging in through an OpenID Connect provider: authorization code with PKCE.
 *
 * Q1  State, nonce and verifier travel in a sealed cookie of the browser that began: an answer that another browser began, or
 *     that is older than ten minutes, is refused.
 * Q2  A person is known by issuer and subject alone; no name and no address opens an account that exists.
 * Q3  Unknown people come in only when the operator's rules allow them (`oidc-rule.ts`).
 */

import { randomBytes } from "node:crypto";

import { type Clock, errorText, type Ids, isObject, MeshError } from "@mesh/kernel";
import type { Logger } from "@mesh/observability";
import { insertAudit, type Store, type Tx } from "@mesh/store";
import type { Configuration } from "openid-client";

import type { SecretBox } from "../auth/secret-box.ts";
import type { CallClient } from "../gateway/operation.ts";
import { type AccountRow, countAdmins, findAccount, setStanding } from "./account-store.ts";
import { insertPerson } from "./invitation-store.ts";
import { accountNames, isAdminBy, isAllowed, type OidcPerson, type OidcRules, readPerson } from "./oidc-rule.ts";
import { findIdentity, insertIdentity } from "./oidc-store.ts";
import { openSession } from "./session-maker.ts";

/** The provider, and who may come in. */
export interface OidcOptions extends OidcRules {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

/** What it uses. */
export interface OidcDeps {
  readonly store: Store;
  readonly ids: Ids;
  readonly clock: Clock;
  readonly secretBox: SecretBox;
  readonly publicUrl: () => string;
  readonly log: Logger;
}

/** A log-in that was begun. */
export interface OidcStart {
  /** Where the browser goes. */
  readonly url: string;
  /** For the browser to bring back, as a cookie. */
  readonly sealed: string;
}

/** Where the provider sends browsers back to, below the public address. */
export const OIDC_CALLBACK = "/v1/oidc/callback";

const MAX_AGE_MS = 10 * 60_000;
const CONTEXT = "oidc log-in";
const TIMEOUT_S = 10;
/** How long the provider's description is trusted. */
const DISCOVERED_MS = 3_600_000;

interface Begun {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  readonly atMs: number;
}

/** See above. */
export class OidcLogin {
  readonly #deps: OidcDeps;
  readonly #options: OidcOptions;
  #discovered: { readonly config: Promise<Configuration>; readonly untilMs: number } | undefined;

  constructor(deps: OidcDeps, options: OidcOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  /** Begins a log-in; throws `unavailable` when the provider does not answer. */
  async start(): Promise<OidcStart> {
    const client = await import("openid-client");
    const config = await this.#configuration();
    const begun: Begun = {
      state: client.randomState(),
      nonce: client.randomNonce(),
      verifier: client.randomPKCECodeVerifier(),
      atMs: this.#deps.clock.now(),
    };
    const url = client.buildAuthorizationUrl(config, {
      redirect_uri: this.#redirectUri(),
      scope: "openid profile email",
      code_challenge: await client.calculatePKCECodeChallenge(begun.verifier),
      code_challenge_method: "S256",
      state: begun.state,
      nonce: begun.nonce,
    });
    const sealed = this.#deps.secretBox.seal(JSON.stringify(begun), CONTEXT).toString("base64url");
    return { url: url.href, sealed };
  }

  /** Ends a log-in with the query the provider sent; gives the session's text. Throws with the reason for people. */
  async finish(query: string, sealed: string | undefined, from: CallClient): Promise<string> {
    const begun = this.#open(sealed);
    const person = await this.#person(query, begun);
    const token = await this.#deps.store.sql.begin((tx) => this.#admit(tx, person, from));
    if (token !== undefined) return token;
    await insertAudit(this.#deps.store.sql, {
      id: this.#deps.ids.next("audit"),
      actor: "anonymous",
      action: "login.failed",
      object: person.userName?.slice(0, 100) ?? "",
      detail: { how: "oidc", address: from.address, user_agent: from.userAgent },
    });
    throw new MeshError("permission_denied", "this account may not use this coordinator; ask its administrator");
  }

  async #person(query: string, begun: Begun): Promise<OidcPerson> {
    const client = await import("openid-client");
    const config = await this.#configuration();
    try {
      const tokens = await client.authorizationCodeGrant(config, new URL(`${this.#redirectUri()}?${query}`), {
        expectedState: begun.state,
        expectedNonce: begun.nonce,
        pkceCodeVerifier: begun.verifier,
        idTokenExpected: true,
      });
      const claims: Record<string, unknown> = { ...tokens.claims() };
      const subject = typeof claims["sub"] === "string" ? claims["sub"] : "";
      const hasMore = config.serverMetadata().userinfo_endpoint !== undefined;
      const more = hasMore ? await client.fetchUserInfo(config, tokens.access_token, subject) : {};
      const person = readPerson(this.#options.issuer, { ...claims, ...more });
      if (person !== undefined) return person;
    } catch (error) {
      this.#deps.log.warn({ reason: errorText(error) }, "oidc log-in failed");
      throw new MeshError("unauthenticated", "the provider's answer was not accepted; begin again", { cause: error });
    }
    throw new MeshError("unauthenticated", "the provider did not say who this is");
  }

  /** The session of a person who may come in; undefined for others. */
  async #admit(tx: Tx, person: OidcPerson, client: CallClient): Promise<string | undefined> {
    const { ids } = this.#deps;
    const known = await findIdentity(tx, person.issuer, person.subject);
    const account = known === undefined ? await this.#create(tx, person) : await findAccount(tx, known);
    if (account === undefined || account.disabled_at !== null) return undefined;
    await this.#setAdmin(tx, person, account);
    return (await openSession(ids, tx, account, { how: "oidc", client })).token;
  }

  async #create(tx: Tx, person: OidcPerson): Promise<AccountRow | undefined> {
    if (!isAllowed(this.#options, person)) return undefined;
    const { ids } = this.#deps;
    for (const name of accountNames(person, randomBytes(6).toString("hex"))) {
      const { displayName } = person;
      const id = await insertPerson(tx, { id: ids.next("user"), name, displayName, password: null });
      if (id === undefined) continue;
      await insertIdentity(tx, person.issuer, person.subject, id);
      const detail = { name, issuer: person.issuer };
      await insertAudit(tx, { id: ids.next("audit"), actor: "oidc", action: "user.create", object: id, detail });
      return findAccount(tx, id);
    }
    return undefined;
  }

  /** The group decides, as long as an administrator is left. */
  async #setAdmin(tx: Tx, person: OidcPerson, account: AccountRow): Promise<void> {
    const isAdmin = isAdminBy(this.#options, person);
    if (isAdmin === undefined || isAdmin === account.is_admin) return;
    if (!isAdmin && (await countAdmins(tx)) <= 1) return;
    await setStanding(tx, account.id, { isAdmin, disabled: undefined });
    await insertAudit(tx, {
      id: this.#deps.ids.next("audit"),
      actor: "oidc",
      action: "user.update",
      object: account.id,
      detail: { user: account.name, is_admin: isAdmin },
    });
  }

  #open(sealed: string | undefined): Begun {
    const begun = sealed === undefined ? undefined : this.#read(sealed);
    if (begun !== undefined && this.#deps.clock.now() - begun.atMs <= MAX_AGE_MS) return begun;
    throw new MeshError("unauthenticated", "this log-in was begun elsewhere or too long ago; begin again");
  }

  #read(sealed: string): Begun | undefined {
    try {
      const value: unknown = JSON.parse(this.#deps.secretBox.open(Buffer.from(sealed, "base64url"), CONTEXT));
      if (!isObject(value)) return undefined;
      const { state, nonce, verifier, atMs } = value;
      const isWhole = typeof state === "string" && typeof nonce === "string" && typeof verifier === "string";
      return isWhole && typeof atMs === "number" ? { state, nonce, verifier, atMs } : undefined;
    } catch {
      return undefined;
    }
  }

  #redirectUri(): string {
    return `${this.#deps.publicUrl()}${OIDC_CALLBACK}`;
  }

  /** The provider's description, found once an hour; a failure is not remembered. */
  #configuration(): Promise<Configuration> {
    const nowMs = this.#deps.clock.monotonic();
    const known = this.#discovered;
    if (known !== undefined && nowMs < known.untilMs) return known.config;
    const config = this.#discover();
    const found = { config, untilMs: nowMs + DISCOVERED_MS };
    this.#discovered = found;
    config.catch(() => {
      if (this.#discovered === found) this.#discovered = undefined;
    });
    return config;
  }

  async #discover(): Promise<Configuration> {
    const { issuer, clientId, clientSecret } = this.#options;
    const client = await import("openid-client");
    const server = new URL(issuer);
    // In the clear only on this machine: there is no way in between.
    const isLocal = server.protocol === "http:" && /^(localhost|127(\.\d+){3}|\[::1\])$/.test(server.hostname);
    try {
      return await client.discovery(server, clientId, clientSecret, undefined, {
        timeout: TIMEOUT_S,
        ...(isLocal ? { execute: [client.allowInsecureRequests] } : {}),
      });
    } catch (error) {
      this.#deps.log.warn({ reason: errorText(error), issuer }, "oidc provider not reachable");
      throw new MeshError("unavailable", "the log-in provider does not answer; try again, or log in another way", {
        cause: error,
      });
    }
  }
}
