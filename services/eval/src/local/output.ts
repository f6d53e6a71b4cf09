/** What an eval leaves behind: where its log and its report go, and how they are written. */

import { stat } from "node:fs/promises";
import { dirname, extname, join, resolve } from "node:path";

import { MeshError, rfc3339 } from "@mesh/kernel";

import type { StartRow } from "../report/log-row.ts";
import type { Summary } from "../stat/tally.ts";
import type { EvalDeps, EvalRequest } from "./eval-request.ts";
import type { PreparedEval } from "./prepare.ts";

/** Where the log and the report go; no path where nothing is kept. */
export interface OutputPaths {
  readonly log: string | undefined;
  readonly report: string | undefined;
  /** The log is all that is wanted; else it is removed once the report is written. */
  readonly isLogKept: boolean;
}

const LOG_EXTENSIONS = new Set([".jsonl", ".ndjson"]);

/** Decides where, before anything runs. */
export async function outputPaths(
  { output, resume, input, cwd }: EvalRequest,
  { clock }: EvalDeps,
): Promise<OutputPaths> {
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

/** Tells the totals and writes what was asked for. */
export async function report(
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
