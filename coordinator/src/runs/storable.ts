/** What a node sends, in the form that PostgreSQL can hold: one event it refuses would keep its run from ever ending. Pure. */

import type { NodeEvent } from "@mesh/proto";

// A NUL, or half of a character that needs two units.
// oxlint-disable-next-line no-control-regex
const UNSTORABLE = /[\u0000\p{Surrogate}]/gu;
const MAX_NAME = 64;
/** The end of the year 9999: far enough for every clock, and a date that all readers understand. */
const MAX_AT_MS = 253_402_300_799_999;

/** The text with a replacement character for each part that cannot be stored. */
export function storableText(text: string): string {
  return text.replaceAll(UNSTORABLE, "\uFFFD");
}

/** The event with all its fields in bounds. */
export function storableEvent(event: NodeEvent): NodeEvent {
  return {
    n: event.n,
    at_ms: Math.min(event.at_ms, MAX_AT_MS),
    kind: storableText(event.kind.slice(0, MAX_NAME)),
    body: storableText(event.body),
    delta_of: storableText(event.delta_of.slice(0, MAX_NAME)),
  };
}

/** A reviver for JSON whose texts are to be stored. */
export function storableValue(_key: string, value: unknown): unknown {
  return typeof value === "string" ? storableText(value) : value;
}

/** The counts of a usage report; anything else in it is left out. */
export function storableUsage(usage: Readonly<Record<string, unknown>>): Readonly<Record<string, number>> {
  const counts = Object.entries(usage).filter(
    (entry): entry is [string, number] => /^\w{1,64}$/.test(entry[0]) && typeof entry[1] === "number",
  );
  return Object.fromEntries(counts);
}
