/** JSON as a type, and the one stable text form of it. */

/** Any JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** A JSON object. */
export type JsonObject = { readonly [key: string]: Json };

/** Whether a parsed value is a plain object (not null, not an array). */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** JSON text with sorted keys, so that equal values have equal bytes (used for digests). */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(sorted(value));
}

/** The value with sorted keys at every depth; the very value where they are sorted already, as most are. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) {
    const inner = value.map(sorted);
    return inner.every((each, index) => each === value[index]) ? value : inner;
  }
  // What writes itself, such as a date, is not looked into.
  if (!isObject(value) || typeof value["toJSON"] === "function") return value;
  const keys = Object.keys(value);
  let isSame = keys.every((key, index) => index === 0 || (keys[index - 1] ?? "") < key);
  const entries = keys.map((key): [string, unknown] => {
    const inner = sorted(value[key]);
    isSame &&= inner === value[key];
    return [key, inner];
  });
  return isSame ? value : Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
}
