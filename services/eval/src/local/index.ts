/** Evals on this machine: the app in a directory, everything in one process. */

export { EventReport } from "../report/event-report.ts";
export { ConsoleReport } from "../report/console-report.ts";
export type { EvalReporter } from "../report/reporter.ts";
export type { EvalDeps, EvalOutcome, EvalRequest } from "./eval-request.ts";
export { type EvalInput, inputFromText, parseInput } from "./eval-input.ts";
export { runEval } from "./run-eval.ts";
export type { ModelCalls } from "./local-host.ts";
export {
  type EvalRemote,
  exitCodeOf,
  planOf,
  RemoteBook,
  type RemoteEnd,
  type RemoteResult,
  type RemoteStart,
  type RemoteSuite,
  runRemoteEval,
} from "./remote-eval.ts";
export type { ReportSource } from "../report/report-source.ts";
export { printJsonReport, writeReport } from "./write-report.ts";
export { casesOf } from "../load/load-cases.ts";
export { readContextFile, readEvalApp } from "./prepare.ts";
export { fileSources } from "../load/attachment.ts";
export type { CaseResult } from "../result.ts";
export { readResult, type StartRow } from "../report/log-row.ts";
