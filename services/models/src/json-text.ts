/** JSON values as text: for comparing, and for messages. */

import type { Json } from "@mesh/kernel";

const MAX_SHOWN = 100;

/** A text as it is, any other value as JSON. */
export function textOf(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** A value for an error message: JSON, cut to a bound. */
export function shownJson(value: Json): string {
  const text = JSON.stringify(value);
  return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN)}…`;
}

/** How many characters a text has, as PostgreSQL counts them. */
export function lengthOf(text: string): number {
  let length = 0;
  for (const _character of text) length += 1;
  return length;
}
