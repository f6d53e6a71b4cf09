/**
 * Asks a validator whether an answer is what it should be.
 *
 * J1  The answer travels as a text inside of a JSON object, never as part of the instructions.
 * J2  The verdict is the last object of the validator's own reply that has `passed` as true or false; no such object, or one
 *     that says "true" as a text, is no verdict.
 */

import { isObject, type Json, type JsonObject, MeshError } from "@mesh/kernel";

import { textOfOutput } from "../assert/answer.ts";
import type { JudgeQuestion } from "../assert/evaluate.ts";
import { shown } from "../assert/json-equal.ts";
import { lastObjectIn } from "../assert/json-text.ts";
import type { Seat } from "../host.ts";
import type { AgentValidation } from "../result.ts";

const QUIET = { history: true, trace: true, output: true };

/** Asks; throws when there is no verdict. */
export async function askValidator(
  seat: Pick<Seat, "ask">,
  { agentId, output, criteria, input, connector, metadata }: JudgeQuestion,
  signal: AbortSignal,
): Promise<AgentValidation> {
  const request: JsonObject = { ...metadata, output, criteria, ...(input === undefined ? {} : { input }) };
  const options: JsonObject = { skip: QUIET, ...(connector === undefined ? {} : { connector }) };
  const question = { agentId, messages: [{ role: "user" as const, content: JSON.stringify(request) }], options };
  const answer = await seat.ask(question, signal).catch((error: unknown) => {
    if (signal.aborted) throw error;
    const { code, message } = MeshError.from(error);
    throw new MeshError(code, `the validator ${agentId} failed: ${message}`, { cause: error });
  });
  const verdict = isVerdict(answer.output) ? answer.output : lastObjectIn(textOfOutput(answer.output), isVerdict);
  if (!isObject(verdict)) {
    throw new MeshError(
      "failed_precondition",
      `the validator ${agentId} gave no verdict {"passed": true|false, "reason": …}; it said ${shown(answer.output, 200)}`,
    );
  }
  const { passed, reason } = verdict;
  return {
    passed: passed === true,
    reason: typeof reason === "string" ? reason : "",
    criteria,
    input: output,
    response: verdict as Json,
  };
}

function isVerdict(value: Json): boolean {
  return isObject(value) && typeof value["passed"] === "boolean";
}
