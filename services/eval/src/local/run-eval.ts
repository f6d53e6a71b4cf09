/**
 * An eval on this machine, from its command line to its exit code.
 *
 * E1  Nothing runs before everything was found right.
 * E2  Every result is in the log before it is shown.
 * E3  The exit code is 0 only when every case that was chosen was run and passed, or was meant to be skipped.
 */

import { join, resolve } from "node:path";

import { type Json, MeshError } from "@mesh/kernel";

import type { CaseSettings } from "../run/case-run.ts";
import { identityOf, type IdentitySettings } from "../run/identity.ts";
import { hookLookup, runSession, type SessionSettings } from "../run/session.ts";
import type { EvalDeps, EvalOutcome, EvalRequest } from "./eval-request.ts";
import { LocalHost } from "./local-host.ts";
import { outputPaths, report } from "./output.ts";
import { loadTarget, prepareCases, type PreparedCases, type PreparedEval, readContextFile } from "./prepare.ts";
import { openBook } from "./result-book.ts";

/** Runs it. Rejects when it cannot begin. */
export async function runEval(request: EvalRequest, deps: EvalDeps, signal: AbortSignal): Promise<EvalOutcome> {
  return withTarget(request, deps, async (run) => {
    if (request.input.kind !== "tests") return runCaseEval(run, signal);
    const { runTestEval } = await import("./run-test-eval.ts");
    return runTestEval(run, signal);
  });
}

/** Loads what an eval is about, and lets go of it afterwards. */
export async function withTarget<T>(
  request: EvalRequest,
  deps: EvalDeps,
  work: (run: PreparedEval) => Promise<T>,
): Promise<T> {
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
    return await work({ request, deps, target, host, identity });
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

/** Cases that an assistant or a script makes. */
export async function madeCases(
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
