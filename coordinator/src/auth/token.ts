/**
 * The text of API tokens and what is stored of it: only its SHA-256, since 256 random bits need no slow hash.
 *
 * `yao_`, 43 characters of randomness and 6 of a checksum: whoever scans for leaked secrets can tell a real token from a text that
 * looks like one, without asking anybody. Tokens made before there was a checksum have none.
 */

import { createHash, randomBytes } from "node:crypto";

const PREFIX = "yao_";
const RANDOM_CHARS = 43;
const CHECKSUM_CHARS = 6;

/** A fresh token text. */
export function newTokenText(): string {
  const random = randomBytes(32).toString("base64url");
  return `${PREFIX}${random}${checksumOf(random)}`;
}

/** What the table knows a token by. */
export function hashToken(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

/** Whether a text has the form of a token; anything else is refused without asking the database. */
export function isTokenText(text: string): boolean {
  const body = /^yao_([A-Za-z0-9_-]{43}(?:[A-Za-z0-9_-]{6})?)$/.exec(text)?.[1];
  if (body === undefined) return false;
  const checksum = body.slice(RANDOM_CHARS);
  return checksum === "" || checksum === checksumOf(body.slice(0, RANDOM_CHARS));
}

/** Finds mistyped and made-up tokens; it proves nothing to anybody who knows how it is made. */
function checksumOf(random: string): string {
  return createHash("sha256").update(`${PREFIX}${random}`).digest("base64url").slice(0, CHECKSUM_CHARS);
}
