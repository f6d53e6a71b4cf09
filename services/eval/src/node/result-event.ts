/**
 * Events of a batch, as they are journaled and sent. Pure.
 *
 * A result always fits: what is too large for the way is left out, the least needed first, and a warning says so.
 */

import type { Json, JsonObject } from "@mesh/kernel";

import type { AssertionResult, CaseResult } from "../result.ts";
import type { FleetUnit } from "./batch.ts";

/** An event of the run that a batch is. */
export interface BatchEvent {
  readonly kind: "eval.result" | "eval.before" | "eval.after";
  /** JSON object text of at most 256 KB. */
  readonly body: string;
}

// Of a body.
const MAX_EVENT_BYTES = 256 * 1024;
const MAX_KEPT_CHARS = 16 * 1024;
const MAX_TEXT_CHARS = 2_000;

type Step = readonly [what: string, leave: (result: CaseResult) => CaseResult];

const STEPS: readonly Step[] = [
  ["the trace is left out", ({ trace: _trace, ...result }) => result],
  ["the output is cut", (result) => ({ ...result, output: cut(result.output) })],
  ["the input is cut", (result) => ({ ...result, input: cut(result.input) })],
  ["the details of assertions are left out", withoutDetails],
  ["everything but the verdict is left out", verdictOnly],
];

/** The event of a result. */
export function resultEvent({ ordinal, run, copy }: FleetUnit, result: CaseResult): BatchEvent {
  const write = (row: CaseResult): string => JSON.stringify({ ordinal, run, copy, result: row });
  let row = result;
  let body = write(row);
  for (const [what, leave] of STEPS) {
    if (fits(body)) break;
    const left = leave(row);
    row = { ...left, warnings: [...(left.warnings ?? []), `the result was too large to send: ${what}`] };
    body = write(row);
  }
  return { kind: "eval.result", body };
}

/** The event of what a hook around the eval gave; an error in place of data that does not fit. */
export function aroundEvent(kind: "eval.before" | "eval.after", told: JsonObject): BatchEvent {
  const body = JSON.stringify(told);
  if (fits(body)) return { kind, body };
  const error = `what it returned is larger than ${MAX_EVENT_BYTES / 1024} KB; return less`;
  return { kind, body: JSON.stringify({ error }) };
}

function fits(body: string): boolean {
  // Three bytes a unit at most.
  return body.length * 3 <= MAX_EVENT_BYTES || Buffer.byteLength(body) <= MAX_EVENT_BYTES;
}

function cut(value: Json): Json {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length <= MAX_KEPT_CHARS ? value : short(text, MAX_KEPT_CHARS);
}

function withoutDetails(result: CaseResult): CaseResult {
  const { assertions, expected: _expected, options: _options, ...rest } = result;
  if (assertions === undefined) return rest;
  return { ...rest, assertions: assertions.map(outcomeOf) };
}

function outcomeOf({ type, status, message, negate, duration_ms }: AssertionResult): AssertionResult {
  return {
    type,
    status,
    ...(message === undefined ? {} : { message: short(message, MAX_TEXT_CHARS) }),
    ...(negate === undefined ? {} : { negate }),
    ...(duration_ms === undefined ? {} : { duration_ms }),
  };
}

function verdictOnly(result: CaseResult): CaseResult {
  const { id, run, status, hash, duration_ms, cause, usage, device, error } = result;
  return {
    id,
    run,
    status,
    input: null,
    output: null,
    hash,
    duration_ms,
    ...(cause === undefined ? {} : { cause }),
    ...(usage === undefined ? {} : { usage }),
    ...(device === undefined ? {} : { device }),
    ...(error === undefined ? {} : { error: short(error, MAX_TEXT_CHARS) }),
  };
}

function short(text: string, chars: number): string {
  return text.length <= chars ? text : `${text.slice(0, chars)}…`;
}
