/**
 * How large the parts of a run's stream may be.
 *
 * An event travels as one message of the bus, which takes a megabyte of UTF-8. What would be larger is refused where it is
 * made, so that whoever made it is told: further on there is nobody left who could make it smaller.
 */

import { type Json, MeshError } from "@mesh/kernel";

/** What one message of a run may have as JSON; half as much again stays for what stands around it. */
export const MAX_MESSAGE_BYTES: number = 512 * 1024;

const MAX_ERROR_CHARS = 16 * 1024;

/** Bytes of a value as JSON. */
export function jsonBytes(value: Json): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** Throws for a value that one event cannot hold; `what` names it, `instead` says what to do. */
export function assertFits(value: Json, what: string, instead: string): void {
  const bytes = jsonBytes(value);
  if (bytes > MAX_MESSAGE_BYTES) throw tooLarge(bytes, what, instead);
}

/** The error for what is too large. */
export function tooLarge(bytes: number, what: string, instead: string): MeshError {
  return new MeshError(
    "resource_exhausted",
    `${what} has ${Math.ceil(bytes / 1024)} KiB; ${MAX_MESSAGE_BYTES / 1024} KiB are the most: ${instead}`,
  );
}

/** Words for people, cut where nobody would read on. */
export function shortText(text: string): string {
  return text.length > MAX_ERROR_CHARS ? `${text.slice(0, MAX_ERROR_CHARS)}…` : text;
}
