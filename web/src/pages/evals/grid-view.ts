/** What of the results is shown in the grid, in which order, under which columns. Pure. */

import type { Eval } from "@mesh/proto";

import { type CaseRow, type Cell, countsOf, type EvalLog, isFlaky } from "./eval-log.ts";
import { scoredOf, type Status, STATUSES } from "./status.ts";

/** What rows can be narrowed to, besides the statuses. */
export const SHOWN = ["all", "bad", "flaky", "open", ...STATUSES] as const;
/** Orders of the rows. */
export const ORDERS = ["written", "bad", "flaky", "slow", "fast"] as const;
/** What the columns are. */
export const AXES = ["run", "device"] as const;

/** How the grid is looked at. */
export interface GridLook {
  readonly shown: (typeof SHOWN)[number];
  readonly order: (typeof ORDERS)[number];
  readonly axis: (typeof AXES)[number];
  /** Id of a device; empty for all. */
  readonly node: string;
  readonly text: string;
}

/** The look that an address names; what it does not name is as by default. */
export function lookOf(search: URLSearchParams, hasRuns: boolean): GridLook {
  return {
    shown: SHOWN.find((name) => name === search.get("show")) ?? "all",
    order: ORDERS.find((name) => name === search.get("order")) ?? "written",
    axis: AXES.find((name) => name === search.get("by")) ?? (hasRuns ? "run" : "device"),
    node: search.get("device") ?? "",
    text: search.get("q") ?? "",
  };
}

/** One row of the grid: a case, which may have no result yet. */
export interface GridRow {
  readonly ordinal: number;
  readonly row: CaseRow | undefined;
}

/** The rows that a look shows. `nameOf` gives the id of a case that has no result, where it is known. */
export function rowsOf(
  log: EvalLog,
  total: { readonly cases: number; readonly unitsPerCase: number },
  look: GridLook,
  nameOf: (ordinal: number) => string | undefined,
): readonly GridRow[] {
  const words = look.text.trim().toLowerCase();
  const rows: GridRow[] = [];
  for (let ordinal = 0; ordinal < Math.max(total.cases, log.rows.length); ordinal += 1) {
    const row = log.rows[ordinal];
    if (words !== "" && !holds(row, nameOf(ordinal), words)) continue;
    if (fits(row, look, total.unitsPerCase)) rows.push({ ordinal, row });
  }
  if (look.order === "written") return rows;
  const keys = new Map(rows.map(({ row }) => [row, keyOf(row, look)]));
  const key = (row: CaseRow | undefined): number => keys.get(row) ?? 0;
  // Equal ones stay in the order in which they were written.
  return rows.sort((a, b) => key(b.row) - key(a.row));
}

function holds(row: CaseRow | undefined, name: string | undefined, words: string): boolean {
  const id = row?.id ?? name ?? "";
  return id.toLowerCase().includes(words) || (row?.message.toLowerCase().includes(words) ?? false);
}

function fits(row: CaseRow | undefined, { shown, node }: GridLook, units: number): boolean {
  const cells = cellsOn(row, node);
  if (node !== "" && cells.length === 0) return false;
  if (shown === "all") return true;
  if (shown === "open") return (row?.cells.length ?? 0) < units;
  if (shown === "flaky") return isFlaky(cells);
  if (shown === "bad") return cells.some(isBad);
  return cells.some(({ status }) => status === shown);
}

/** Results of a case on a device, or on all. */
export function cellsOn(row: CaseRow | undefined, node: string): readonly Cell[] {
  const cells = row?.cells ?? [];
  return node === "" ? cells : cells.filter(({ nodeId }) => nodeId === node);
}

function isBad({ status }: Cell): boolean {
  return status !== "passed" && status !== "skipped";
}

function keyOf(row: CaseRow | undefined, { order, node }: GridLook): number {
  const cells = cellsOn(row, node);
  // What has no result yet comes last whatever is first.
  if (cells.length === 0) return Number.NEGATIVE_INFINITY;
  if (order === "slow") return durationOf(cells);
  if (order === "fast") return -durationOf(cells);
  const share = cells.filter(isBad).length / cells.length;
  if (order === "bad") return share;
  // The nearer to one half, the less is known of the next run.
  return isFlaky(cells) ? 1 - Math.abs(0.5 - share) : 0;
}

/** Mean duration, of what was run. */
export function durationOf(cells: readonly Cell[]): number {
  const run = cells.filter(({ status }) => status !== "skipped");
  return run.length === 0 ? 0 : run.reduce((sum, { durationMs }) => sum + durationMs, 0) / run.length;
}

/** A column of the grid. */
export interface GridColumn {
  /** Columns of the same key and label hold the same. */
  readonly key: string;
  /** Run number, or name of the device. */
  readonly label: string;
  readonly holds: (cell: Cell) => boolean;
}

const MAX_COLUMNS = 100;

/** The columns: one a run, or one a device that takes part or has results. `log` may be newer than the eval. */
export function columnsOf(
  known: Eval,
  log: EvalLog,
  { axis, node }: Pick<GridLook, "axis" | "node">,
): readonly GridColumn[] {
  if (axis === "run") {
    const runs = Math.min(MAX_COLUMNS, Math.max(1, known.settings?.runs ?? 1));
    return Array.from({ length: runs }, (_none, index) => {
      const run = index + 1;
      return {
        key: `${run} ${node}`,
        label: String(run),
        holds: (cell: Cell) => cell.run === run && (node === "" || cell.nodeId === node),
      };
    });
  }
  const withResults = new Set(log.rows.flatMap((row) => row?.cells.map(({ nodeId }) => nodeId) ?? []));
  return known.nodes
    .filter(({ node_id: id, state }) => (node === "" ? state === "active" || withResults.has(id) : id === node))
    .slice(0, MAX_COLUMNS)
    .map(({ node_id: id, name }) => ({ key: id, label: name, holds: ({ nodeId }: Cell) => nodeId === id }));
}

/** What a cell of the grid shows of the results that it holds. */
export interface CellLook {
  /** The worst of them; undefined when there is none. */
  readonly status: Status | undefined;
  readonly passed: number;
  readonly count: number;
}

const WORST_FIRST: readonly Status[] = ["error", "timeout", "failed", "passed", "skipped"];

/** The look of results together. */
export function cellLook(cells: readonly Cell[]): CellLook {
  const counts = countsOf(cells);
  const status = WORST_FIRST.find((name) => counts[name] > 0);
  return { status, passed: counts.passed, count: cells.length };
}

/** Passed of those that could be judged; undefined when none could. */
export function rateOf(cells: readonly Cell[]): { readonly passed: number; readonly scored: number } | undefined {
  const counts = countsOf(cells);
  const scored = scoredOf(counts);
  return scored === 0 ? undefined : { passed: counts.passed, scored };
}
