/**
 * The results of an eval as the page holds them: by case, small, kept up to date by a fold over the log. Pure.
 *
 * L1  Of each unit (case, run, copy) at most one result counts; a later one that counts takes its place, the earlier is an observation.
 * L2  A result that was folded is not folded again.
 * L3  A case whose results did not change stays the same object.
 */

import type { EvalResult } from "@mesh/proto";

import { type Counts, NO_COUNTS, type Status, statusOf } from "./status.ts";

/** What is held of one result. */
export interface Cell {
  readonly seq: number;
  readonly run: number;
  readonly copy: number;
  readonly status: Status;
  readonly nodeId: string;
  readonly node: string;
  readonly attempt: number;
  readonly durationMs: number;
  readonly at: string;
}

/** One case with its results so far. */
export interface CaseRow {
  readonly id: string;
  /** Position of the case, from 0. */
  readonly ordinal: number;
  /** What counts, by run, then copy. */
  readonly cells: readonly Cell[];
  /** Results that came after another had counted. */
  readonly observations: readonly Cell[];
  /** The beginning of the first thing that went wrong; empty when nothing did. */
  readonly message: string;
  /** Digest of the case as it was written; empty when results do not say. */
  readonly hash: string;
}

/** See the file comment. */
export interface EvalLog {
  /** By position; undefined for a case without a result. */
  readonly rows: readonly (CaseRow | undefined)[];
  readonly lastSeq: number;
  readonly counts: Counts;
}

/** A log without a result. */
export const EMPTY_LOG: EvalLog = { rows: [], lastSeq: 0, counts: NO_COUNTS };

const MAX_MESSAGE_CHARS = 300;

/** The log with more results. */
export function addResults(log: EvalLog, results: readonly EvalResult[]): EvalLog {
  const fresh = results.filter(({ seq }) => seq > log.lastSeq);
  if (fresh.length === 0) return log;
  const rows = [...log.rows];
  const counts: Record<Status, number> = { ...log.counts };
  let { lastSeq } = log;
  for (const result of fresh) {
    const before = rows[result.ordinal];
    const after = withResult(before, result);
    rows[result.ordinal] = after;
    lastSeq = Math.max(lastSeq, result.seq);
    for (const [row, step] of [
      [before, -1],
      [after, 1],
    ] as const) {
      for (const { status } of row?.cells ?? []) counts[status] += step;
    }
  }
  return { rows, lastSeq, counts };
}

function withResult(row: CaseRow | undefined, result: EvalResult): CaseRow {
  const cell = cellOf(result);
  const details = result.result ?? {};
  const { cells = [], observations = [] } = row ?? {};
  const base = {
    id: result.case_id,
    ordinal: result.ordinal,
    hash: typeof details["hash"] === "string" ? details["hash"] : (row?.hash ?? ""),
  };
  if (result.observation) {
    return { ...base, cells, observations: [...observations, cell], message: row?.message ?? "" };
  }
  const replaced = cells.filter((other) => other.run === cell.run && other.copy === cell.copy);
  const others = cells.filter((other) => other.run !== cell.run || other.copy !== cell.copy);
  const isFine = [...others, cell].every(({ status }) => status === "passed" || status === "skipped");
  return {
    ...base,
    cells: [...others, cell].sort((a, b) => a.run - b.run || a.copy - b.copy),
    observations: [...observations, ...replaced],
    message: isFine ? "" : row === undefined || row.message === "" ? messageOf(details) : row.message,
  };
}

function cellOf(result: EvalResult): Cell {
  const { seq, run, copy, node_id, node, attempt, duration_ms, created_at } = result;
  return {
    seq,
    run,
    copy,
    status: statusOf(result.status),
    nodeId: node_id,
    node,
    attempt,
    durationMs: duration_ms,
    at: created_at,
  };
}

/** Why a result is not a pass: its error, else what the first assertion that did not hold says. */
export function messageOf(details: Readonly<Record<string, unknown>>): string {
  const { error, assertions } = details;
  if (typeof error === "string" && error !== "") return error.slice(0, MAX_MESSAGE_CHARS);
  if (!Array.isArray(assertions)) return "";
  for (const each of assertions as readonly unknown[]) {
    if (typeof each !== "object" || each === null || !("status" in each) || each.status === "passed") continue;
    if ("message" in each && typeof each.message === "string") return each.message.slice(0, MAX_MESSAGE_CHARS);
  }
  return "";
}

/** Counts of each device, of the results that count. */
export function countsByNode(log: EvalLog): ReadonlyMap<string, Counts> {
  const byNode = new Map<string, Record<Status, number>>();
  for (const row of log.rows) {
    for (const { nodeId, status } of row?.cells ?? []) {
      const counts = byNode.get(nodeId) ?? { ...NO_COUNTS };
      counts[status] += 1;
      byNode.set(nodeId, counts);
    }
  }
  return byNode;
}

/** Counts of one case. */
export function countsOf(cells: readonly Cell[]): Counts {
  const counts: Record<Status, number> = { ...NO_COUNTS };
  for (const { status } of cells) counts[status] += 1;
  return counts;
}

/** Whether runs of one case disagree: some passed, and some that could be judged did not. */
export function isFlaky(cells: readonly Cell[]): boolean {
  const { passed, failed, timeout } = countsOf(cells);
  return passed > 0 && failed + timeout > 0;
}
