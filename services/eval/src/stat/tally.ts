/**
 * Totals of an eval: a pure fold over its rows, so that they are the same whoever counts, and however often it was gone on with.
 *
 * Y1  A row counts once per case and run; a later row of the same replaces the earlier.
 * Y2  With several runs a case passes only when all of its runs pass.
 */

import type { CaseResult, Spent, Status } from "../result.ts";
import { type CaseCounts, type Stability, stabilityOf } from "./stability.ts";

/** One case over its runs. */
export interface CaseTally extends CaseCounts {
  readonly id: string;
  readonly status: Status;
  readonly runs: number;
  readonly avgMs: number;
  readonly minMs: number;
  readonly maxMs: number;
  readonly stdMs: number;
  readonly stability: Stability;
}

/** Totals, in the shape of the report. */
export interface Summary {
  readonly total: number;
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly errors: number;
  readonly timeouts: number;
  readonly duration_ms: number;
  readonly complete: boolean;
  /** Passed of those that could be judged, in percent; null when none could. */
  readonly pass_rate: number | null;
  readonly scored: number;
  readonly runs_per_case?: number;
  readonly total_runs?: number;
  /** Runs that passed of all, in percent. */
  readonly overall_pass_rate?: number;
  readonly stable_cases?: number;
  readonly unstable_cases?: number;
  readonly undecided_cases?: number;
  /** Mean over the cases, for k from 1. */
  readonly pass_at_k?: readonly number[];
  readonly pass_hat_k?: readonly number[];
  readonly usage?: Spent;
}

/** As much of a result as is counted. */
export type CountedResult = Pick<CaseResult, "id" | "run" | "status" | "duration_ms" | "usage">;

interface RunRow {
  readonly run: number;
  readonly status: Status;
  readonly durationMs: number;
}

/** Most cases have one row, and a list around each would be half of what a tally holds. */
type OneOrMore = RunRow | readonly RunRow[];

/** See the file comment. */
export class Tally {
  /** By id, in order of their first row. */
  readonly #cases = new Map<string, OneOrMore>();
  #prompt = 0;
  #completion = 0;
  #total = 0;
  #cost = 0;
  #hasCost = false;

  add({ id, run, status, duration_ms: durationMs, usage }: CountedResult): void {
    const known = this.#cases.get(id);
    const row = { run, status, durationMs };
    this.#cases.set(id, known === undefined ? row : withRow(rowsOf(known), row));
    if (usage === undefined) return;
    this.#prompt += usage.prompt_tokens;
    this.#completion += usage.completion_tokens;
    this.#total += usage.total_tokens;
    if (usage.cost_usd === undefined) return;
    this.#cost += usage.cost_usd;
    this.#hasCost = true;
  }

  /** One case; undefined when it has no row. */
  case(id: string): CaseTally | undefined {
    const known = this.#cases.get(id);
    return known === undefined ? undefined : tallyOf(id, rowsOf(known));
  }

  *cases(): Generator<CaseTally> {
    for (const [id, known] of this.#cases) yield tallyOf(id, rowsOf(known));
  }

  summary(about: { readonly durationMs: number; readonly isComplete: boolean; readonly runs: number }): Summary {
    const counts = { passed: 0, failed: 0, skipped: 0, error: 0, timeout: 0 };
    const all: CaseTally[] = [];
    for (const [id, known] of this.#cases) {
      if (about.runs <= 1 && "status" in known) {
        counts[known.status] += 1;
        continue;
      }
      const each = tallyOf(id, rowsOf(known));
      counts[each.status] += 1;
      all.push(each);
    }
    const total = this.#cases.size;
    const scored = counts.passed + counts.failed + counts.timeout;
    return {
      total,
      passed: counts.passed,
      failed: counts.failed,
      skipped: counts.skipped,
      errors: counts.error,
      timeouts: counts.timeout,
      duration_ms: Math.round(about.durationMs),
      complete: about.isComplete,
      pass_rate: scored === 0 ? null : percent(counts.passed, scored),
      scored,
      ...(about.runs > 1 ? overRuns(all, about.runs) : {}),
      ...this.#usage(),
    };
  }

  #usage(): { readonly usage?: Spent } {
    if (this.#total === 0 && !this.#hasCost) return {};
    const tokens = { prompt_tokens: this.#prompt, completion_tokens: this.#completion, total_tokens: this.#total };
    return { usage: { ...tokens, ...(this.#hasCost ? { cost_usd: this.#cost } : {}) } };
  }
}

function rowsOf(known: OneOrMore): readonly RunRow[] {
  return "status" in known ? [known] : known;
}

function withRow(rows: readonly RunRow[], row: RunRow): OneOrMore {
  const others = rows.filter(({ run }) => run !== row.run);
  if (others.length === 0) return row;
  return others.length === rows.length ? [...rows, row] : rows.map((each) => (each.run === row.run ? row : each));
}

function overRuns(all: readonly CaseTally[], runs: number): Partial<Summary> {
  const ran = all.filter(({ status }) => status !== "skipped");
  const totalRuns = ran.reduce((sum, each) => sum + each.runs, 0);
  const passed = ran.reduce((sum, each) => sum + each.passed, 0);
  const scored = ran.reduce((sum, each) => sum + each.stability.scored, 0);
  const stable = ran.filter(({ stability }) => stability.class === "stable").length;
  const least = Math.min(runs, ...ran.map(({ stability }) => stability.scored).filter((count) => count > 0));
  const mean = (pick: (each: CaseTally) => readonly number[]): readonly number[] =>
    Array.from({ length: ran.length === 0 ? 0 : least }, (_none, index) => {
      const known = ran.flatMap((each) => pick(each)[index] ?? []);
      return known.length === 0 ? 0 : round(known.reduce((sum, each) => sum + each, 0) / known.length);
    });
  return {
    runs_per_case: runs,
    total_runs: totalRuns,
    overall_pass_rate: scored === 0 ? 0 : percent(passed, scored),
    stable_cases: stable,
    unstable_cases: ran.length - stable,
    undecided_cases: ran.filter(({ stability }) => stability.isUndecided).length,
    pass_at_k: mean(({ stability }) => stability.passAt),
    pass_hat_k: mean(({ stability }) => stability.passHat),
  };
}

function tallyOf(id: string, rows: readonly RunRow[]): CaseTally {
  const count = (wanted: Status): number => rows.filter(({ status }) => status === wanted).length;
  const counts = {
    passed: count("passed"),
    failed: count("failed"),
    errors: count("error"),
    timeouts: count("timeout"),
    skipped: count("skipped"),
  };
  const times = rows.map(({ durationMs }) => durationMs);
  const avgMs = times.reduce((sum, each) => sum + each, 0) / Math.max(1, times.length);
  const variance = times.reduce((sum, each) => sum + (each - avgMs) ** 2, 0) / Math.max(1, times.length);
  return {
    id,
    ...counts,
    status: statusOf(counts),
    runs: rows.length,
    avgMs,
    minMs: Math.min(...times),
    maxMs: Math.max(...times),
    stdMs: Math.sqrt(variance),
    stability: stabilityOf(counts),
  };
}

function statusOf({ failed, timeouts, errors, skipped }: CaseCounts): Status {
  if (failed > 0) return "failed";
  if (timeouts > 0) return "timeout";
  if (errors > 0) return "error";
  return skipped > 0 ? "skipped" : "passed";
}

function percent(part: number, whole: number): number {
  return round((part / whole) * 100);
}

function round(value: number): number {
  return Math.round(value * 10_000) / 10_000;
}
