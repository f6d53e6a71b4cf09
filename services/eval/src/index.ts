/** Evals: the parts that need no app. The ones that run cases on this machine are in `@mesh/eval/local`. */

export { compareLogs } from "./compare-log.ts";
export { extracted, type ExtractForm, FileNames } from "./extract.ts";
export { readResults } from "./read-results.ts";
export type { CaseResult, Status } from "./result.ts";
export type { Comparison, Flip } from "./stat/compare.ts";
