/**
 * An eval on this machine, from its command line to its exit code.
 *
 * E1  Nothing runs before everything was found right.
 * E2  Every result is in the log before it is shown.
 * E3  The exit code is 0 only when every case that was chosen was run and passed, or was meant to be skipped.
 */

import { stat } from "node:fs/promises";
import { dirname, extname, join, resolve } from "node:path";

import { type Json, MeshError, rfc3339 } from "@mesh/kernel";

import type { StartRow } from "../report/log-row.ts";
import type { CaseSettings } from "../run/case-run.ts";
import { identityOf, type IdentitySettings } from "../run/identity.ts";
import { hookLookup, runSession, type SessionSettings } from "../run/session.ts";
import type { Summary } from "../stat/tally.ts";
import type { EvalDeps, EvalOutcome, EvalRequest } from "./eval-request.ts";
import { LocalHost } from "./local-host.ts";
import { loadTarget, prepareCases, type PreparedCases, type PreparedEval, readContextFile } from "./prepare.ts";
import { openBook } from "./result-book.ts";

/** Runs it. Rejects when it cannot begin. */
export async function runEval(request: EvalRequest, deps: EvalDeps, signal: AbortSignal): Promise<EvalOutcome> {
  const context = await readContextFile(request.contextFile, request.cwd);
  const target = await loadTarget(request, deps.env);
  const { app } = target;
  const { clock, env, variables, version, random, scratchDir: dir, models } = deps;
  const host = new LocalHost({
    app,
    clock,
    dir,
    env,
    variables,
    version,
    ...(random === undefined ? {} : { random }),
    ...(models === undefined || app.models.size === 0 ? {} : { models: models(app) }),
  });
  const identity: IdentitySettings = {
    context,
    nonce: deps.nonce,
    ...(request.user === undefined ? {} : { user: request.user }),
    ...(request.team === undefined ? {} : { team: request.team }),
    ...(request.locale === undefined ? {} : { locale: request.locale }),
  };
  try {
    const run = { request, deps, target, host, identity };
    if (request.input.kind !== "tests") return await runCaseEval(run, signal);
    const { runTestEval } = await import("./run-test-eval.ts");
    return await runTestEval(run, signal);
  } finally {
    await host[Symbol.asyncDispose]();
  }
}

async function runCaseEval(run: PreparedEval, signal: AbortSignal): Promise<EvalOutcome> {
  const { request, deps, target, host } = run;
  const { reporter } = deps;
  const prepared = await prepareCases(request, target, host, () => madeCases(run, signal));
  const { cases } = prepared;
  const { runs, parallel, inputText: input, connector } = request;
  const { agentId, root } = target;
  const isDirect = request.input.kind === "message";
  const agentPath = join(root, "assistants", ...agentId.split("."));
  reporter.onPlan({
    agentId,
    agentPath,
    input,
    cases,
    runs,
    parallel,
    isDirect,
    ...(connector === undefined ? {} : { connector }),
  });
  if (request.isDryRun) {
    reporter.onDryRun(cases);
    return { exitCode: 0 };
  }
  const paths = await outputPaths(request, deps);
  const stored = await storedOf(request);
  const book = await openBook(run, prepared, paths.log);
  const startedMs = deps.clock.monotonic();
  const end = await runSession(
    cases,
    settingsOf(run, prepared, stored),
    { host, clock: deps.clock, observer: book.observer, isDone: book.isDone, results: () => book.results() },
    signal,
  );
  const durationMs = book.durationMs + deps.clock.monotonic() - startedMs;
  const isComplete = end.isComplete && !signal.aborted;
  const summary = book.tally.summary({ durationMs, isComplete, runs });
  book.end(summary);
  const warnings = [...(end.error === undefined ? [] : [end.error]), ...end.warnings];
  await report(run, { summary, warnings, paths, start: book.start });
  if (signal.aborted) return { exitCode: 130 };
  const isGood = isComplete && end.error === undefined && summary.failed + summary.errors + summary.timeouts === 0;
  return { exitCode: isGood ? 0 : 1 };
}

async function storedOf({ regrade, cwd }: EvalRequest): Promise<CaseSettings["stored"]> {
  if (regrade === undefined) return undefined;
  const { storedAnswers } = await import("./stored-answer.ts");
  return storedAnswers(resolve(cwd, regrade));
}

async function madeCases(
  { request, target, host, identity }: PreparedEval,
  signal: AbortSignal,
): Promise<readonly Json[]> {
  const { generateCases, scriptCases, targetOf } = await import("./case-maker.ts");
  const { input } = request;
  const about = targetOf(target.agentId, target.app);
  const agentId = input.kind === "generator" ? input.agentId : target.agentId;
  await using seat = host.seat(agentId, identityOf({ run: 1 }, identity), () => undefined);
  if (input.kind === "generator") return generateCases(seat, { agentId, params: input.params, target: about }, signal);
  if (input.kind === "script") return scriptCases(seat, input.name, about, signal);
  throw new MeshError("internal", "these cases are not made");
}

function settingsOf(
  { request, target, identity }: PreparedEval,
  { hooks, baseDir }: PreparedCases,
  stored: CaseSettings["stored"],
): SessionSettings {
  const { timeoutMs, retries, runs, parallel, failFast, connector, before, after } = request;
  const hookOf = hookLookup(hooks);
  return {
    agentId: target.agentId,
    identity,
    timeoutMs,
    retries,
    baseDir,
    hookOf,
    runs,
    parallel,
    failFast,
    ...(stored === undefined ? {} : { stored }),
    ...(connector === undefined ? {} : { connector }),
    ...(before === undefined ? {} : { beforeAll: hookOf(before) }),
    ...(after === undefined ? {} : { afterAll: hookOf(after) }),
  };
}

/** Where the log and the report go; no path where nothing is kept. */
interface OutputPaths {
  readonly log: string | undefined;
  readonly report: string | undefined;
  /** The log is all that is wanted; else it is removed once the report is written. */
  readonly isLogKept: boolean;
}

const LOG_EXTENSIONS = new Set([".jsonl", ".ndjson"]);

async function outputPaths({ output, resume, input, cwd }: EvalRequest, { clock }: EvalDeps): Promise<OutputPaths> {
  const log = resume === undefined ? undefined : resolve(cwd, resume);
  const report = output === undefined ? undefined : resolve(cwd, output);
  if (report !== undefined) {
    const folder = dirname(report);
    if ((await stat(folder).catch(() => undefined))?.isDirectory() !== true) {
      throw new MeshError("not_found", `the directory ${folder} does not exist; make it, or choose another -o`);
    }
    if (LOG_EXTENSIONS.has(extname(report).toLowerCase()))
      return { log: log ?? report, report: undefined, isLogKept: true };
    return { log: log ?? `${report}.partial.jsonl`, report, isLogKept: log !== undefined };
  }
  if (log !== undefined) return { log, report: undefined, isLogKept: true };
  if (input.kind === "message") return { log: undefined, report: undefined, isLogKept: false };
  const stamp = rfc3339(clock.now()).replaceAll(/[-:T]|\..*$/g, "");
  const folder = input.kind === "file" ? dirname(resolve(cwd, input.path)) : cwd;
  return { log: join(folder, `output-${stamp}.jsonl`), report: undefined, isLogKept: true };
}

async function report(
  run: PreparedEval,
  ended: {
    readonly summary: Summary;
    readonly warnings: readonly string[];
    readonly paths: OutputPaths;
    readonly start: StartRow;
  },
): Promise<void> {
  const { summary, warnings, paths, start } = ended;
  const { reporter } = run.deps;
  // Totals first: nothing that comes after may keep them from being told.
  reporter.onEnd(summary, warnings);
  if (paths.log === undefined) return;
  const { GITHUB_STEP_SUMMARY: step } = run.deps.env;
  if (step !== undefined && step !== "") {
    const { writeStepSummary } = await import("./write-report.ts");
    await writeStepSummary({ log: paths.log, start, summary }, step);
  }
  if (paths.report !== undefined) {
    const { agentReport, writeReport } = await import("./write-report.ts");
    const source = { log: paths.log, start, summary };
    if (run.request.reporter === undefined) await writeReport(source, paths.report);
    else await agentReport(source, paths.report, run);
    reporter.onFile(paths.report);
    if (!paths.isLogKept && summary.complete) await removeLog(paths.log);
    else reporter.onFile(paths.log);
  } else reporter.onFile(paths.log);
}

async function removeLog(path: string): Promise<void> {
  const { rm } = await import("node:fs/promises");
  await rm(path, { force: true });
}
