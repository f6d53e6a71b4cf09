/** Equality of JSON by value, and what makes two values different. */

import { isObject, type Json } from "@mesh/kernel";

/** One place where two values differ. */
export interface Difference {
  /** Such as `$.items[0].price`. */
  readonly path: string;
  readonly expected: Json | undefined;
  readonly actual: Json | undefined;
}

const MAX_DIFFERENCES = 20;
const MAX_SHOWN_CHARS = 80;

/** Whether two values are equal: numbers by value, objects whatever the order of their keys. */
export function jsonEqual(a: Json, b: Json): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) {
    const [left, right] = [a as readonly Json[], b as readonly Json[]];
    return left.length === right.length && left.every((each, index) => jsonEqual(each, right[index] ?? null));
  }
  if (!isObject(a) || !isObject(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && jsonEqual(a[key] as Json, b[key] as Json))
  );
}

/** Where two values differ: the first few places. */
export function differences(actual: Json, expected: Json): readonly Difference[] {
  const found: Difference[] = [];
  compare(actual, expected, "$", found);
  return found;
}

/** Differences as one text. */
export function differenceText(found: readonly Difference[]): string {
  const parts = found.map(({ path, expected, actual }) => {
    if (actual === undefined) return `${path} is missing (expected ${shown(expected)})`;
    if (expected === undefined) return `${path} is not expected (${shown(actual)})`;
    return `${path} is ${shown(actual)}, expected ${shown(expected)}`;
  });
  return `${parts.join("; ")}${found.length === MAX_DIFFERENCES ? "; …" : ""}`;
}

/** A value as a short text. */
export function shown(value: Json | undefined, maxChars: number = MAX_SHOWN_CHARS): string {
  const text = value === undefined ? "nothing" : JSON.stringify(value);
  return text.length <= maxChars ? text : `${cut(text, maxChars)}…`;
}

/** The beginning of a text, no character split. */
export function cut(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const end = /[\uD800-\uDBFF]/.test(text[maxChars - 1] ?? "") ? maxChars - 1 : maxChars;
  return text.slice(0, end);
}

function compare(actual: Json | undefined, expected: Json | undefined, path: string, found: Difference[]): void {
  if (found.length >= MAX_DIFFERENCES) return;
  if (actual !== undefined && expected !== undefined && jsonEqual(actual, expected)) return;
  if (Array.isArray(actual) && Array.isArray(expected)) {
    const [left, right] = [actual as readonly Json[], expected as readonly Json[]];
    for (let index = 0; index < Math.max(left.length, right.length); index += 1) {
      compare(left[index], right[index], `${path}[${index}]`, found);
    }
  } else if (isObject(actual) && isObject(expected)) {
    for (const key of new Set([...Object.keys(expected), ...Object.keys(actual)])) {
      const inner = (value: Record<string, unknown>): Json | undefined =>
        Object.hasOwn(value, key) ? (value[key] as Json) : undefined;
      compare(
        inner(actual),
        inner(expected),
        `${path}${/^[A-Za-z_]\w*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`}`,
        found,
      );
    }
  } else found.push({ path, expected, actual });
}
