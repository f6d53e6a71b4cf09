/** Evals on this machine: the app in a directory, everything in one process. */

export { EventReport } from "../report/event-report.ts";
export { ConsoleReport } from "../report/console-report.ts";
export type { EvalReporter } from "../report/reporter.ts";
export type { EvalDeps, EvalOutcome, EvalRequest } from "./eval-request.ts";
export { type EvalInput, inputFromText, parseInput } from "./eval-input.ts";
export { runEval } from "./run-eval.ts";
export type { ModelCalls } from "./local-host.ts";
