/**
 * The text of a browser's session, and what goes with it.
 *
 * S1  Only the SHA-256 of a session's text is stored: 256 random bits need no slow hash.
 * S2  The CSRF token is made from the text, so it belongs to one session, needs no column and dies with it. Who can read it
 *     is a page of this origin that holds the session; who cannot read the cookie cannot make it.
 */

import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";

/** Name of the cookie that holds the session's text. */
export const SESSION_COOKIE = "yao_session";

/** Days a session lives without being used. */
export const IDLE_DAYS = 30;

/** Days after which a session ends however much it is used. */
export const MAX_DAYS = 180;

/** A fresh session text. */
export function newSessionText(): string {
  return `yaos_${randomBytes(32).toString("base64url")}`;
}

/** Whether a text has the form of a session; anything else is refused without asking the database. */
export function isSessionText(text: string): boolean {
  return /^yaos_[A-Za-z0-9_-]{43}$/.test(text);
}

/** A fresh one-time code: 256 random bits, for log-ins and invitations. */
export function newCode(): string {
  return randomBytes(32).toString("base64url");
}

/** Whether a text has the form of a code. */
export function isCode(text: string): boolean {
  return /^[A-Za-z0-9_-]{43}$/.test(text);
}

/** What the tables know a session or a code by. */
export function hashSecret(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

/** The token that calls with the session's cookie carry in a header, when they change something. */
export function csrfTokenOf(sessionText: string): string {
  return createHmac("sha256", sessionText).update("yao csrf").digest("base64url");
}

/** Compares two texts in a time that tells nothing about where they differ. */
export function isSameText(a: string, b: string): boolean {
  const [left, right] = [hashSecret(a), hashSecret(b)];
  return timingSafeEqual(left, right);
}
