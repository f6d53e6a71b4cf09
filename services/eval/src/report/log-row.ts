/** Rows of the log of an eval, and how one is written and read. Pure. */

import { isObject, type Json, type JsonObject } from "@mesh/kernel";

import type { CaseResult, Spent, Status } from "../result.ts";
import type { Summary } from "../stat/tally.ts";

/** The first row: what was run, with what. */
export interface StartRow {
  readonly type: "start";
  readonly schema: 1;
  readonly timestamp: string;
  readonly agent_id: string;
  readonly agent_path?: string;
  readonly connector?: string;
  readonly input: string;
  readonly total_cases: number;
  readonly runs: number;
  /** The eval on a coordinator whose log this is; absent for one of this machine. */
  readonly eval_id?: string;
  /** On how many devices each run was made, where that is more than one. */
  readonly copies?: number;
  /** Digest over the ids and digests of all cases. */
  readonly suite: string;
  readonly environment: JsonObject;
  readonly version: string;
}

/** Goes on after a break. */
export interface ResumeRow {
  readonly type: "resume";
  readonly timestamp: string;
}

/** One result. */
export type ResultRow = { readonly type: "result" } & CaseResult;

/** The last row. */
export type SummaryRow = { readonly type: "summary"; readonly timestamp: string } & Summary;

/** Any row. */
export type LogRow = StartRow | ResumeRow | ResultRow | SummaryRow;

const STATUSES = new Set(["passed", "failed", "error", "skipped", "timeout"]);
// Written by JSON.stringify for halves of characters only; a backslash of the text itself is written as two.
const LONE_ESCAPE = /(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g;

/** A row as one line. Halves of characters, which other readers refuse, are replaced. */
export function rowLine(row: LogRow): string {
  const text = JSON.stringify(row.type === "result" ? inOrder(row) : row);
  return `${text.includes("\\ud") ? text.replaceAll(LONE_ESCAPE, "$1\\ufffd") : text}\n`;
}

/** What is counted stands first: a log is gone on with by the heads of its rows. */
function inOrder({ type, id, run, hash, status, duration_ms, usage, ...rest }: ResultRow): ResultRow {
  return { type, id, run, hash, status, duration_ms, ...(usage === undefined ? {} : { usage }), ...rest };
}

/** What totals are made of. */
export type ResultHead = Pick<CaseResult, "id" | "run" | "hash" | "status" | "duration_ms" | "usage">;

const HEAD =
  /^\{"type":"result","id":("(?:[^"\\]|\\.)*"),"run":(\d+),"hash":"(\w*)","status":"(\w+)","duration_ms":([\d.e+-]+)(?:,"usage":(\{[^{}]*\}))?,".*\}$/s;

/** The head of a result's line without reading the rest; undefined for other rows, and for results of another order of fields. */
export function resultHead(line: string): ResultHead | undefined {
  const match = HEAD.exec(line);
  if (match === null) return undefined;
  const [, id = '""', run = "", hash = "", status = "", ms = "", usage] = match;
  if (!isStatus(status)) return undefined;
  return {
    id: JSON.parse(id) as string,
    run: Number(run),
    hash,
    status,
    duration_ms: Number(ms),
    ...(usage === undefined ? {} : { usage: JSON.parse(usage) as Spent }),
  };
}

function isStatus(text: string): text is Status {
  return STATUSES.has(text);
}

function isResult({ id, run, status }: Readonly<Record<string, unknown>>): boolean {
  return typeof id === "string" && typeof run === "number" && typeof status === "string" && STATUSES.has(status);
}

/** A result from elsewhere; undefined for what is none. */
export function readResult(value: Readonly<Record<string, unknown>>): CaseResult | undefined {
  return isResult(value) ? (value as unknown as CaseResult) : undefined;
}

/** A line as a row; undefined for what is none. */
export function readRow(line: string): LogRow | undefined {
  let value: Json;
  try {
    value = JSON.parse(line) as Json;
  } catch {
    return undefined;
  }
  if (!isObject(value)) return undefined;
  switch (value["type"]) {
    case "start":
      return typeof value["agent_id"] === "string" ? (value as unknown as StartRow) : undefined;
    case "result":
      return isResult(value) ? (value as unknown as ResultRow) : undefined;
    case "summary":
      return value as unknown as SummaryRow;
    case "resume":
      return value as unknown as ResumeRow;
    default:
      return undefined;
  }
}
