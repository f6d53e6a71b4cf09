/**
 * Evals: the parts that need no app, for whoever reads cases, keeps the log and counts. Those that run cases on this machine are in
 * `@mesh/eval/local`; what a node runs a batch with is in `@mesh/eval/node`, where the seam between the two is described.
 */

export { compareLogs } from "./compare-log.ts";
export type { EvalCase } from "./eval-case.ts";
export { extracted, type ExtractForm, FileNames } from "./extract.ts";
export { casesOf, type LoadedCases, loadCases } from "./load/load-cases.ts";
export type { LoadProblem } from "./load/problem.ts";
export { readResults } from "./read-results.ts";
export type { CaseResult, Status } from "./result.ts";
export type { Comparison, Flip } from "./stat/compare.ts";
export { type Summary, Tally } from "./stat/tally.ts";
