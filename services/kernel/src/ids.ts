/** Ids are `<kind>_<ulid>` in lower case, branded in the type system, sortable by creation time. */

import { randomBytes } from "node:crypto";

const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";
const ULID_LENGTH = 26;
const TIME_LENGTH = 10;

declare const brand: unique symbol;

/** A string that can only be made by {@link Ids} or {@link parseId}. */
export type Id<Kind extends string> = string & { readonly [brand]: Kind };

export type RunId = Id<"run">;
export type NodeId = Id<"node">;
export type WorkspaceId = Id<"ws">;
export type AppId = Id<"app">;
export type TokenId = Id<"tok">;
export type UserId = Id<"user">;

/** Every kind an id may have. */
export const ID_KINDS = [
  "run",
  "node",
  "ws",
  "app",
  "tok",
  "user",
  "conn",
  "audit",
  "task",
  "req",
  "sess",
  "inv",
  "doc",
  "upl",
  "board",
  "col",
  "act",
  "inbox",
  "tmpl",
  "share",
  "hook",
  "dlv",
  "eval",
  "chat",
  "push",
  "msg",
] as const;

/** Closed set of id kinds. */
export type IdKind = (typeof ID_KINDS)[number];

/** Makes ids; a port so that tests can make them predictable. */
export interface Ids {
  /** A new id of this kind, unique in the system, ordered by time of creation within this process. */
  next<Kind extends IdKind>(kind: Kind): Id<Kind>;
}

/** Ids from the wall clock and the system's randomness; monotonic within a millisecond. */
export function systemIds(now: () => number = Date.now): Ids {
  let lastMs = -1;
  let random: Uint8Array = new Uint8Array(16);
  return {
    next<Kind extends IdKind>(kind: Kind): Id<Kind> {
      const ms = Math.max(now(), lastMs);
      random = ms === lastMs ? increment(random) : randomDigits();
      lastMs = ms;
      return `${kind}_${encodeTime(ms)}${encodeDigits(random)}` as Id<Kind>;
    },
  };
}

/** Whether `value` has the shape of an id of this kind. */
export function isId<Kind extends IdKind>(kind: Kind, value: string): value is Id<Kind> {
  const prefix = `${kind}_`;
  if (value.length !== prefix.length + ULID_LENGTH || !value.startsWith(prefix)) return false;
  for (let i = prefix.length; i < value.length; i += 1) {
    if (!ALPHABET.includes(value.charAt(i))) return false;
  }
  return true;
}

/** The ULID part of an id, for subjects and file names. */
export function ulidOf(id: string): string {
  return id.slice(id.indexOf("_") + 1);
}

function encodeTime(ms: number): string {
  let rest = ms;
  let out = "";
  for (let i = 0; i < TIME_LENGTH; i += 1) {
    out = ALPHABET.charAt(rest % 32) + out;
    rest = Math.floor(rest / 32);
  }
  return out;
}

function randomDigits(): Uint8Array {
  const digits = new Uint8Array(randomBytes(16)).map((byte) => byte & 31);
  // The top digit starts low so that incrementing within a millisecond cannot overflow.
  digits[0] = (digits[0] ?? 0) & 15;
  return digits;
}

function increment(digits: Uint8Array): Uint8Array {
  const next = digits.slice();
  for (let i = next.length - 1; i >= 0; i -= 1) {
    const value = next[i] ?? 0;
    if (value < 31) {
      next[i] = value + 1;
      return next;
    }
    next[i] = 0;
  }
  return next;
}

function encodeDigits(digits: Uint8Array): string {
  let out = "";
  for (const digit of digits) out += ALPHABET.charAt(digit);
  return out;
}
