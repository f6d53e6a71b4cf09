/** Script tests: finds the module, runs its functions, reports. */

import { extname, resolve } from "node:path";

import { isObject, MeshError, rfc3339 } from "@mesh/kernel";

import { LogFile } from "../report/log-file.ts";
import { writeWhole } from "../report/report-source.ts";
import type { CaseResult } from "../result.ts";
import { runTests, type TestFunctionResult } from "../run/script-test.ts";
import type { CaseUnit } from "../run/case-run.ts";
import { Tally } from "../stat/tally.ts";
import type { EvalDeps, EvalOutcome } from "./eval-request.ts";
import { chosenNames, type PreparedEval } from "./prepare.ts";
import { testModule } from "./test-module.ts";

/** Runs the test functions of a module. */
export async function runTestEval(
  { request, deps, target, host, identity }: PreparedEval,
  signal: AbortSignal,
): Promise<EvalOutcome> {
  const { input, runs, parallel, timeoutMs, failFast, only, inputText } = request;
  const { reporter, clock } = deps;
  const module = input.kind === "tests" ? input.module : "";
  const { path, agentId } = testModule(module, request.agent === undefined ? undefined : target.agentId, host.app);
  const functions = (await host.functions(path)).filter((name) => name.startsWith("Test"));
  if (functions.length === 0)
    throw new MeshError("failed_precondition", `${path} has no test: a test is a function whose name begins with Test`);
  const names = only === undefined ? functions : chosenNames(functions, only, "test");
  const cases = names.map((name) => unitOf(name, 1, path).test);
  reporter.onPlan({ agentId, agentPath: path, input: inputText, cases, runs, parallel, isDirect: false });
  if (request.isDryRun) {
    reporter.onDryRun(cases);
    return { exitCode: 0 };
  }
  const tally = new Tally();
  const results: TestFunctionResult[] = [];
  const startedMs = clock.monotonic();
  const started = rfc3339(clock.now());
  const onResult = (result: TestFunctionResult): void => {
    results.push(result);
    const row = caseRow(result, path);
    tally.add(row);
    for (const line of result.logs ?? []) reporter.onLog?.(result.name, line);
    reporter.onResult(row, unitOf(result.name, result.run, path));
    const whole = runs > 1 ? tally.case(result.name) : undefined;
    if (whole !== undefined && whole.runs === runs) reporter.onCase(whole);
  };
  const settings = { identity, timeoutMs, runs, parallel, failFast };
  const ranAll = await runTests({ agentId, path, names }, settings, { host, clock, onResult }, signal);
  const summary = tally.summary({
    durationMs: clock.monotonic() - startedMs,
    isComplete: ranAll && !signal.aborted,
    runs,
  });
  reporter.onEnd(summary, []);
  if (request.output !== undefined) {
    const file = resolve(request.cwd, request.output);
    const { total, passed, failed, skipped, errors, timeouts, duration_ms } = summary;
    const document = {
      type: "script_test",
      script: inputText,
      script_path: path,
      summary: { total, passed, failed, skipped, errors, timeouts, duration_ms },
      results,
      metadata: { started_at: started, version: deps.version },
    };
    await writeTests(document, file, deps);
    reporter.onFile(file);
  }
  if (signal.aborted) return { exitCode: 130 };
  return { exitCode: summary.complete && summary.failed + summary.errors + summary.timeouts === 0 ? 0 : 1 };
}

function unitOf(name: string, run: number, path: string): CaseUnit {
  const test = {
    id: name,
    messages: [],
    assertions: [],
    metadata: {},
    options: {},
    contextMetadata: {},
    isSkipped: false,
    raw: { id: name, input: "" },
    hash: "",
    place: { file: path, line: 0 },
  };
  return { test, run };
}

function caseRow({ name, run, status, duration_ms, error, assertion }: TestFunctionResult, path: string): CaseResult {
  return {
    id: name,
    run,
    status,
    duration_ms,
    input: path,
    output: null,
    hash: "",
    ...(error === undefined ? {} : { error }),
    ...(isObject(assertion) ? { metadata: { assertion: assertion } } : {}),
  };
}

async function writeTests(document: object, file: string, { clock }: EvalDeps): Promise<void> {
  if (extname(file).toLowerCase() !== ".jsonl") {
    await writeWhole(file, async (write) => write(`${JSON.stringify(document, null, 2)}\n`));
    return;
  }
  const log = LogFile.create(file, clock);
  const { results, ...head } = document as { readonly results: readonly TestFunctionResult[] };
  for (const row of [head, ...results]) log.write(row as unknown as Parameters<LogFile["write"]>[0]);
  log.close();
}
