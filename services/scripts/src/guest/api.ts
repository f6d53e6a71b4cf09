/** How objects of the API are made, so that a wrong name is explained and a wrong argument is refused where it happened. */

import type { Json, JsonObject } from "@mesh/kernel";

// Taken before the script can change them.
const { create, defineProperty, keys, setPrototypeOf } = Object;
const { get } = Reflect;

const ANY = Object.prototype;

/** The last property that was read and does not exist, to explain `… is not a function`. */
let lastMiss: { readonly api: string; readonly property: string; readonly has: readonly string[] } | undefined;

/**
 * Gives `members` a prototype that remembers what was looked up in vain. Only misses pay for it, and a miss still reads
 * as undefined, so that scripts can test for what exists.
 *
 * Written with `__proto__: null`, members cost a third: V8 takes such an object for a table and describes no shape for it,
 * which in a fresh context it would have to do member by member.
 */
export function api<Members extends object>(name: string, members: Members): Members {
  const missing = new Proxy(create(ANY) as object, {
    get(target, property, receiver) {
      if (typeof property === "string" && !(property in target)) {
        lastMiss = { api: name, property, has: keys(members) };
      }
      return get(target, property, receiver) as unknown;
    },
  });
  return setPrototypeOf(members, missing) as Members;
}

/** A member that is made when it is first asked for; from then on it is like any other. Few scripts need more than a few. */
export function later(holder: object, name: string, make: () => unknown, isListed = true): void {
  const put = (value: unknown): unknown => {
    defineProperty(holder, name, { value, writable: true, configurable: true, enumerable: isListed });
    return value;
  };
  defineProperty(holder, name, {
    get: () => put(make()),
    set: put,
    configurable: true,
    enumerable: isListed,
  });
}

/** What to add to the message of a TypeError about a method that does not exist, or nothing. */
export function missHint(message: string): string {
  if (lastMiss === undefined || !message.endsWith(`${lastMiss.property} is not a function`)) return "";
  return ` (${lastMiss.api} has ${lastMiss.has.join(", ")})`;
}

/** A text; `what` names the argument in the refusal. */
export function textOf(value: unknown, what: string): string {
  if (typeof value === "string") return value;
  throw new TypeError(`${what} must be a string, not ${describe(value)}`);
}

/** A text, or null when nothing was given. */
export function optionalText(value: unknown, what: string): string | null {
  return value === undefined || value === null ? null : textOf(value, what);
}

/** Keys may be given as numbers as well. */
export function keyOf(value: unknown, what: string): string {
  return typeof value === "number" ? String(value) : textOf(value, what);
}

export function numberOf(value: unknown, what: string): number {
  if (typeof value === "number" && Number.isFinite(value)) return value;
  throw new TypeError(`${what} must be a number, not ${describe(value)}`);
}

export function optionalNumber(value: unknown, what: string): number | null {
  return value === undefined || value === null ? null : numberOf(value, what);
}

export function listOf(value: unknown, what: string): readonly Json[] {
  if (Array.isArray(value)) return value as readonly Json[];
  throw new TypeError(`${what} must be an array, not ${describe(value)}`);
}

export function recordOf(value: unknown, what: string): JsonObject {
  if (isRecord(value)) return value as JsonObject;
  throw new TypeError(`${what} must be an object, not ${describe(value)}`);
}

export function optionalRecord(value: unknown, what: string): JsonObject | null {
  return value === undefined || value === null ? null : recordOf(value, what);
}

export function functionOf(value: unknown, what: string): (...args: readonly Json[]) => unknown {
  if (typeof value === "function") return value as (...args: readonly Json[]) => unknown;
  throw new TypeError(`${what} must be a function, not ${describe(value)}`);
}

/** Any value as JSON will carry it: what has no JSON form is null. */
export function jsonOf(value: unknown): Json {
  return (value ?? null) as Json;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function describe(value: unknown): string {
  if (value === undefined || value === null) return String(value);
  return Array.isArray(value) ? "an array" : `a${typeof value === "object" ? "n" : ""} ${typeof value}`;
}
