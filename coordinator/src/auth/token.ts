/** The text of API tokens and what is stored of it: only its SHA-256, since 256 random bits need no slow hash. */

import { createHash, randomBytes } from "node:crypto";

/** A fresh token text. */
export function newTokenText(): string {
  return `yao_${randomBytes(32).toString("base64url")}`;
}

/** What the table knows a token by. */
export function hashToken(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

/** Whether a text has the form of a token; anything else is refused without asking the database. */
export function isTokenText(text: string): boolean {
  return /^yao_[A-Za-z0-9_-]{43}$/.test(text);
}
