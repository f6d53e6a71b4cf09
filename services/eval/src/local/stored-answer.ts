/** Answers of an eval that was run before, to be judged again without asking anybody. */

import type { Answer } from "../assert/answer.ts";
import { readResults } from "../read-results.ts";
import { runKey } from "../report/log-file.ts";
import type { CaseUnit } from "../run/case-run.ts";

/** The answers in a log or report, by case and run. */
export async function storedAnswers(path: string): Promise<(unit: CaseUnit) => Answer | undefined> {
  const answers = new Map<string, Answer>();
  for await (const { id, run, status, cause, output, trace = {}, usage } of readResults(path)) {
    // What has no answer was stopped on its way to one.
    if (status === "skipped" || status === "timeout" || (status === "error" && cause !== "grader")) continue;
    const text = trace.completion?.content ?? (typeof output === "string" ? output : "");
    const { tool_calls: toolCalls = [] } = trace;
    answers.set(runKey(id, run), { output, text, toolCalls, trace, ...(usage === undefined ? {} : { usage }) });
  }
  return ({ test, run }) => answers.get(runKey(test.id, run));
}
