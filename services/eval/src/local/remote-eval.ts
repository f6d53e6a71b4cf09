/**
 * An eval that others run: read and checked here, followed here, with the console, the log, the reports and the exit code of one that
 * runs on this machine.
 *
 * E1  Nothing is sent before everything was found right, by the same reader and with the same messages.
 * E2  Every result is in the log before it is shown.
 * E3  The exit code is 0 only when the eval ended, every case was run, and passed or was meant to be skipped.
 */

import { type Clock, MeshError, rfc3339 } from "@mesh/kernel";

import type { EvalCase } from "../eval-case.ts";
import { LogFile } from "../report/log-file.ts";
import type { StartRow } from "../report/log-row.ts";
import type { EvalReporter } from "../report/reporter.ts";
import type { CaseResult, TurnResult } from "../result.ts";
import { type Summary, Tally } from "../stat/tally.ts";
import type { EvalDeps, EvalOutcome, EvalRequest } from "./eval-request.ts";
import { outputPaths, report } from "./output.ts";
import { type PreparedCases, type PreparedEval, prepareCases } from "./prepare.ts";
import { startRow } from "./result-book.ts";
import { madeCases, withTarget } from "./run-eval.ts";

/** What is to run. */
export interface RemoteSuite {
  readonly agentId: string;
  /** Directory of the app. */
  readonly root: string;
  readonly cases: readonly EvalCase[];
  /** Directory that `file://` is relative to. */
  readonly baseDir: string;
}

/** A result and the case it is of. */
export interface RemoteResult {
  /** Position of the case. */
  readonly ordinal: number;
  readonly result: CaseResult;
}

/** An eval that has begun elsewhere. */
export interface RemoteStart {
  readonly evalId: string;
  /** Digest of the suite as it is known there. */
  readonly suite: string;
  /** On how many devices each run is made. */
  readonly copies: number;
}

/** How it ended there. */
export interface RemoteEnd {
  readonly isComplete: boolean;
  /** Why it could not run. */
  readonly error?: string;
  readonly warnings: readonly string[];
  readonly durationMs: number;
  /** Somebody stopped it. */
  readonly isCancelled: boolean;
}

/** Whoever runs evals elsewhere. */
export interface EvalRemote {
  /** Says where it would run; for a dry run. */
  plan(suite: RemoteSuite): Promise<void>;
  /** Sends and starts it; undefined when nobody waits for it here. */
  begin(suite: RemoteSuite): Promise<RemoteStart | undefined>;
  /** Its results until it has ended. */
  results(start: RemoteStart, signal: AbortSignal): AsyncIterable<RemoteResult>;
  /** Once there are no more results. */
  end(start: RemoteStart): Promise<RemoteEnd>;
}

/** Runs it. Rejects when it cannot begin. */
export async function runRemoteEval(
  request: EvalRequest,
  deps: EvalDeps,
  remote: EvalRemote,
  signal: AbortSignal,
): Promise<EvalOutcome> {
  if (request.input.kind === "tests") {
    throw new MeshError("invalid_argument", "script tests run on this machine only; leave --nodes out");
  }
  return withTarget(request, deps, async (run) => {
    const prepared = await prepareCases(request, run.target, run.host, () => madeCases(run, signal));
    return runPrepared(run, prepared, remote, signal);
  });
}

async function runPrepared(
  run: PreparedEval,
  prepared: PreparedCases,
  remote: EvalRemote,
  signal: AbortSignal,
): Promise<EvalOutcome> {
  const { request, deps, target } = run;
  const { cases, baseDir } = prepared;
  const suite = { agentId: target.agentId, root: target.root, cases, baseDir };
  const first = startRow(run, prepared);
  if (request.isDryRun) {
    deps.reporter.onPlan(planOf(first, { cases, isDirect: false, parallel: request.parallel }));
    deps.reporter.onDryRun(cases);
    await remote.plan(suite);
    return { exitCode: 0 };
  }
  const paths = await outputPaths(request, deps);
  const begun = await remote.begin(suite);
  if (begun === undefined) return { exitCode: 0 };
  const start = withRemote(first, begun);
  const isDirect = request.input.kind === "message";
  deps.reporter.onPlan(planOf(start, { cases, isDirect, parallel: request.parallel }));
  const log = paths.log === undefined ? {} : { log: paths.log };
  const book = new RemoteBook({ start, cases, reporter: deps.reporter, clock: deps.clock, ...log });
  const end = await followed(book, remote, begun, signal);
  const summary = book.end(end);
  const warnings = [...(end.error === undefined ? [] : [end.error]), ...end.warnings];
  await report(run, { summary, warnings, paths, start });
  return { exitCode: exitCodeOf(summary, end, signal) };
}

async function followed(
  book: RemoteBook,
  remote: EvalRemote,
  begun: RemoteStart,
  signal: AbortSignal,
): Promise<RemoteEnd> {
  try {
    for await (const { ordinal, result } of remote.results(begun, signal)) book.add(ordinal, result);
    return await remote.end(begun);
  } catch (error) {
    book.close();
    throw error;
  }
}

/** The exit code of an eval that ran elsewhere. */
export function exitCodeOf(summary: Summary, end: RemoteEnd, signal: AbortSignal): number {
  if (signal.aborted || end.isCancelled) return 130;
  const isBad = summary.failed + summary.errors + summary.timeouts > 0;
  return summary.complete && end.error === undefined && !isBad ? 0 : 1;
}

/** The first row of the log of an eval that began elsewhere. */
export function withRemote(start: StartRow, { evalId, suite, copies }: RemoteStart): StartRow {
  return { ...start, ...(suite === "" ? {} : { suite }), eval_id: evalId, ...(copies > 1 ? { copies } : {}) };
}

/** What is told about an eval before its first result. */
export function planOf(
  start: StartRow,
  about: { readonly cases: readonly EvalCase[]; readonly isDirect: boolean; readonly parallel: number },
): Parameters<EvalReporter["onPlan"]>[0] {
  return {
    agentId: start.agent_id,
    ...(start.agent_path === undefined ? {} : { agentPath: start.agent_path }),
    ...(start.connector === undefined ? {} : { connector: start.connector }),
    input: start.input,
    runs: start.runs,
    ...(start.copies === undefined ? {} : { copies: start.copies }),
    ...about,
  };
}

/** What a book is opened with. */
export interface RemoteBookOptions {
  readonly start: StartRow;
  readonly cases: readonly EvalCase[];
  readonly reporter: EvalReporter;
  readonly clock: Clock;
  /** Path of the log; absent when none is kept. */
  readonly log?: string;
}

/** The results of an eval that runs elsewhere: in a log, in the totals, with whoever watches. */
export class RemoteBook {
  readonly #options: RemoteBookOptions;
  readonly #log: LogFile | undefined;
  readonly #tally = new Tally();
  readonly #runs: number;

  constructor(options: RemoteBookOptions) {
    this.#options = options;
    this.#runs = options.start.runs * (options.start.copies ?? 1);
    this.#log = options.log === undefined ? undefined : LogFile.create(options.log, options.clock);
    this.#log?.write(options.start);
  }

  add(ordinal: number, result: CaseResult): void {
    const { cases, reporter } = this.#options;
    this.#log?.write({ type: "result", ...result });
    this.#tally.add(result);
    const test = cases[ordinal];
    if (test === undefined) return;
    const unit = { test, run: result.run };
    reporter.onStart?.(unit);
    for (const turn of turnsOf(result)) reporter.onTurn?.(result.id, turn);
    reporter.onResult(result, unit);
    if (this.#runs <= 1) return;
    const whole = this.#tally.case(result.id);
    if (whole !== undefined && whole.runs === this.#runs) reporter.onCase(whole);
  }

  /** Writes the totals, the last row. */
  end({ durationMs, isComplete }: Pick<RemoteEnd, "durationMs" | "isComplete">): Summary {
    const summary = this.#tally.summary({ durationMs, isComplete, runs: this.#runs });
    this.#log?.write({ type: "summary", timestamp: rfc3339(this.#options.clock.now()), ...summary });
    this.close();
    return summary;
  }

  close(): void {
    this.#log?.close();
  }
}

function turnsOf({ metadata }: CaseResult): readonly TurnResult[] {
  const turns: unknown = metadata?.["turns"];
  return Array.isArray(turns) ? turns.filter(isTurn) : [];
}

function isTurn(value: unknown): value is TurnResult {
  if (typeof value !== "object" || value === null) return false;
  return (
    "turn" in value && "input" in value && "checkpoints_reached" in value && Array.isArray(value.checkpoints_reached)
  );
}
