/** Fields of JSON that a provider sent, read without trust. */

import { isObject } from "@mesh/kernel";

/** A string that says something. */
export function nonEmpty(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** A number of tokens. */
export function count(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined;
}

/** A number of tokens deep inside an object. */
export function countAt(value: unknown, ...path: readonly string[]): number | undefined {
  let at = value;
  for (const name of path) at = isObject(at) ? at[name] : undefined;
  return count(at);
}
