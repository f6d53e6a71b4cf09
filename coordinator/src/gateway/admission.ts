/**
 * Who may come in: token or session, scope and rate, the same for every transport.
 *
 * D1  No operation but those of scope `none` runs without a valid token that holds the scope.
 * D2  Each admitted request costs its token one unit; requests without a valid token cost their address one.
 * D3  A session counts as a token. One that came as a cookie is used only for pages of ours, and changes nothing without its
 *     CSRF token (`browser.ts`); a token in the Authorization header is sent by programs, never by a browser on its own, and
 *     goes before the cookie.
 */

import { MeshError } from "@mesh/kernel";

import { ANONYMOUS, type Caller, requireScope, requireUnlimited, type Scope } from "../auth/caller.ts";
import { BrowserPolicy, type BrowserRequest, requireCsrfToken, sessionOf } from "./browser.ts";
import type { RateLimiter, RateOptions, RateState } from "./rate-limit.ts";

/** Turns the text of a token into the caller it stands for; throws `unauthenticated`. */
export interface Authenticator {
  authenticate(token: string): Promise<Caller>;
}

/** Where a request comes from. */
export interface Origin {
  /** Value of the Authorization header or metadata. */
  readonly authorization: string | undefined;
  /** Network address of the client. */
  readonly address: string;
  /** Told the state of the bucket that paid, before anything is refused. */
  readonly onRate?: (state: RateState) => void;
  /** What a browser may have sent with it; absent for gRPC. */
  readonly browser?: BrowserRequest;
  /** Without a token it is done for nobody, with one for its caller: only of operations of scope `none`. */
  readonly mayHaveCaller?: boolean;
}

/** What an operation is prepared for. */
export interface Preparation {
  /** It holds tokens that are limited to assistants to their limit; all others refuse them. */
  readonly knowsAssistants?: boolean;
}

/** An admitted request. */
export interface Admitted {
  readonly caller: Caller;
  /** Empty for anonymous callers. */
  readonly token: string;
}

/** Admits requests; see the guarantees above. */
export class Admission {
  readonly #authenticator: Authenticator;
  readonly #limiter: RateLimiter | undefined;
  readonly #policy: BrowserPolicy;

  constructor(
    authenticator: Authenticator,
    limiter: RateLimiter | undefined,
    policy: BrowserPolicy = new BrowserPolicy(),
  ) {
    this.#authenticator = authenticator;
    this.#limiter = limiter;
    this.#policy = policy;
  }

  /** The caller of a request that needs `scope`. */
  async admit(scope: Scope | "none", origin: Origin, { knowsAssistants }: Preparation = {}): Promise<Admitted> {
    const byAddress = `address:${origin.address}`;
    const bearer = bearerToken(origin.authorization);
    const cookie = bearer === undefined ? this.#cookie(origin.browser) : undefined;
    if (scope === "none") {
      this.#charge(byAddress, origin.onRate);
      return origin.mayHaveCaller === true ? this.#optional(bearer, cookie, origin) : NOBODY;
    }
    this.#refuseGuessing(byAddress);
    const token = bearer ?? cookie ?? "";
    const caller = await this.#authenticate(token, byAddress);
    this.charge(caller, origin.onRate);
    requireSession(caller, cookie, origin.browser);
    requireScope(caller, scope);
    if (knowsAssistants !== true) requireUnlimited(caller);
    return { caller, token };
  }

  /** Takes one unit from the caller's bucket; throws `resource_exhausted`. */
  charge(caller: Caller, onRate?: (state: RateState) => void): void {
    const own = caller.ratePerMinute;
    const quota = own === undefined ? undefined : { perMinute: own, burst: own };
    this.#charge(`token:${caller.tokenId}`, onRate, quota);
  }

  /** Whether a token still stands for a caller; for streams that outlive their admission. */
  async recheck(token: string): Promise<void> {
    await this.#authenticator.authenticate(token);
  }

  /** The session of a cookie, when the page may use it. */
  #cookie(browser: BrowserRequest | undefined): string | undefined {
    if (browser === undefined) return undefined;
    const session = sessionOf(browser.cookie);
    // Without a cookie only what the browser says of itself counts: programs say neither.
    if (session !== undefined || browser.origin !== undefined) this.#policy.requireOwnPage(browser);
    return session;
  }

  async #optional(bearer: string | undefined, cookie: string | undefined, origin: Origin): Promise<Admitted> {
    const token = bearer ?? cookie;
    if (token === undefined) return NOBODY;
    try {
      const caller = await this.#authenticate(token, `address:${origin.address}`);
      requireSession(caller, cookie, origin.browser);
      return { caller, token };
    } catch (thrown) {
      // A cookie that has run out says nothing; a token that was sent on purpose is an answer to give.
      if (bearer === undefined && MeshError.from(thrown).code === "unauthenticated") return NOBODY;
      throw thrown;
    }
  }

  async #authenticate(token: string, byAddress: string): Promise<Caller> {
    try {
      if (token === "") throw noToken();
      return await this.#authenticator.authenticate(token);
    } catch (thrown) {
      const error = MeshError.from(thrown);
      if (error.code === "unauthenticated") this.#charge(byAddress, undefined);
      throw error;
    }
  }

  #refuseGuessing(byAddress: string): void {
    const state = this.#limiter?.peek(byAddress);
    if (state !== undefined && !state.allowed) throw tooMany(state);
  }

  #charge(key: string, onRate: ((state: RateState) => void) | undefined, quota?: RateOptions): void {
    const state = this.#limiter?.take(key, quota);
    if (state === undefined) return;
    onRate?.(state);
    if (!state.allowed) throw tooMany(state);
  }
}

const NOBODY: Admitted = { caller: ANONYMOUS, token: "" };

function requireSession(caller: Caller, cookie: string | undefined, browser: BrowserRequest | undefined): void {
  if (cookie !== undefined && browser !== undefined) requireCsrfToken(browser, caller.session?.csrfToken ?? "");
}

/** The token of `Bearer TOKEN`; undefined for anything else. */
export function bearerToken(authorization: string | undefined): string | undefined {
  return authorization === undefined ? undefined : /^Bearer +([\x21-\x7e]{1,512})$/i.exec(authorization.trim())?.[1];
}

function noToken(): MeshError {
  return new MeshError(
    "unauthenticated",
    "an API token is needed: send it as Authorization: Bearer TOKEN, or log in with: yao login",
  );
}

function tooMany(state: RateState): MeshError {
  const seconds = state.retryAfterSeconds;
  return new MeshError("resource_exhausted", `too many requests; try again in ${seconds} s`, {
    details: { retry_after_seconds: seconds },
  });
}
