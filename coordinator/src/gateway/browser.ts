/**
 * Requests of browsers: whose page may use the cookie.
 *
 * N1  A name that is not ours in the Host header is refused with 421: a page elsewhere could have pointed its own name at this
 *     address. Addresses written as numbers cannot be pointed anywhere and are ours.
 * N2  Origin, when it is said, is this very host. A call that changes something, or takes over the connection, must say it.
 * N3  A call that changes something carries the CSRF token of its session.
 */

import { isIP } from "node:net";

import { SESSION_COOKIE, isSameText, isSessionText } from "../auth/session.ts";
import { HttpError } from "./problem.ts";

/** What a browser says of its request. */
export interface BrowserRequest {
  readonly method: string;
  readonly host: string | undefined;
  readonly origin: string | undefined;
  readonly cookie: string | undefined;
  /** Value of the header X-CSRF-Token. */
  readonly csrfToken: string | undefined;
  readonly isUpgrade?: boolean;
}

/** The names this gateway answers to. */
export interface BrowserRules {
  /** As people reach it; asked at each call, since the port is known only once it listens. */
  readonly publicUrl?: (() => string) | undefined;
  /** Names of this machine in the network around it. */
  readonly hostNames?: readonly string[];
}

const SAFE = new Set(["GET", "HEAD", "OPTIONS"]);
const MAX_COOKIE_CHARS = 16 * 1024;

/** Decides on requests of browsers; see above. */
export class BrowserPolicy {
  readonly #rules: BrowserRules;

  constructor(rules: BrowserRules = {}) {
    this.#rules = rules;
  }

  /** Throws unless the request was made by a page of ours, as far as the browser tells (N1, N2). */
  requireOwnPage(request: BrowserRequest): void {
    this.requireOwnHost(request.host);
    const { origin } = request;
    if (origin === undefined) {
      if (SAFE.has(request.method) && request.isUpgrade !== true) return;
      throw forbidden(
        "this call came with a cookie and without Origin; a program sends a token in Authorization instead",
      );
    }
    if (!this.#isOwnOrigin(origin, request.host ?? "")) {
      throw forbidden(`a page of ${origin.slice(0, 200)} may not use this log-in; open the page of this coordinator`);
    }
  }

  /** Throws for names that are not ours (N1). */
  requireOwnHost(host: string | undefined): void {
    const name = hostName(host ?? "");
    if (name !== undefined && this.#isOwnName(name)) return;
    const shown = (host ?? "").slice(0, 200);
    throw new HttpError(421, "Misdirected request", {
      code: "permission_denied",
      message: `"${shown}" is no name of this coordinator; set YAO_PUBLIC_URL to the address people use`,
    });
  }

  #isOwnName(name: string): boolean {
    if (isIP(name.replace(/^\[|\]$/g, "")) !== 0) return true;
    if (name === "localhost" || name.endsWith(".localhost")) return true;
    if (this.#publicUrl()?.hostname === name) return true;
    return (this.#rules.hostNames ?? []).some(
      (own) => name === own.toLowerCase() || name === `${own.toLowerCase()}.local`,
    );
  }

  #isOwnOrigin(origin: string, host: string): boolean {
    if (!URL.canParse(origin)) return false;
    const from = new URL(origin);
    const publicUrl = this.#publicUrl();
    // Under the public name the scheme counts too: a page that came in the clear may be anybody's.
    if (publicUrl !== undefined && from.host === publicUrl.host) return from.origin === publicUrl.origin;
    return (from.protocol === "http:" || from.protocol === "https:") && from.host === host.toLowerCase();
  }

  #publicUrl(): URL | undefined {
    const url = this.#rules.publicUrl?.();
    return url !== undefined && URL.canParse(url) ? new URL(url) : undefined;
  }
}

/** Throws when a call that changes something lacks the CSRF token of its session (N3). */
export function requireCsrfToken(request: BrowserRequest, csrfToken: string): void {
  if (SAFE.has(request.method)) return;
  if (request.csrfToken !== undefined && isSameText(request.csrfToken, csrfToken)) return;
  throw forbidden(
    "this call came with a cookie and without its CSRF token; send csrf_token of GET /v1/account as the header X-CSRF-Token",
  );
}

/** The session's text of a Cookie header; undefined when there is none of the right form. */
export function sessionOf(cookie: string | undefined): string | undefined {
  const text = cookieValue(cookie, SESSION_COOKIE);
  return text !== undefined && isSessionText(text) ? text : undefined;
}

/** The value of one cookie. */
export function cookieValue(header: string | undefined, name: string): string | undefined {
  if (header === undefined || header.length > MAX_COOKIE_CHARS) return undefined;
  for (const part of header.split(";")) {
    const at = part.indexOf("=");
    if (at > 0 && part.slice(0, at).trim() === name) return part.slice(at + 1).trim();
  }
  return undefined;
}

/** The name or address of a Host header, without its port. */
function hostName(host: string): string | undefined {
  return /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/i.exec(host)?.[1]?.toLowerCase();
}

function forbidden(message: string): HttpError {
  return new HttpError(403, "Not allowed", { code: "permission_denied", message });
}
