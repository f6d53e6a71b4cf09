/**
 * Judges the assertions of one answer.
 *
 * E1  An assertion that could not be judged is an error, also when it is negated: only a judgement is turned around.
 * E2  All assertions are judged, whatever the first one says.
 */

import { isObject, type Json, MeshError } from "@mesh/kernel";

import type { Assertion } from "../eval-case.ts";
import type { AgentValidation, AssertionResult } from "../result.ts";
import { type Answer, judgedText } from "./answer.ts";
import { cut, shown } from "./json-equal.ts";
import { checkStatic, type Finding } from "./static-assertion.ts";

/** Those who judge what data alone cannot. */
export interface Judges {
  /** Calls a function of the app's scripts. */
  script(name: string, args: readonly Json[], signal: AbortSignal): Promise<Json | undefined>;
  /** Asks a validator; throws when it gives no verdict. */
  agent(question: JudgeQuestion, signal: AbortSignal): Promise<AgentValidation>;
}

/** What a validator is asked. */
export interface JudgeQuestion {
  readonly agentId: string;
  readonly output: Json;
  readonly criteria: Json;
  readonly input?: Json;
  readonly connector?: string;
  readonly metadata?: Readonly<Record<string, Json>>;
}

/** What is judged. */
export interface Judged {
  readonly answer: Answer;
  /** What the assistant was asked. */
  readonly input: Json;
  /** For validators. */
  readonly metadata: Readonly<Record<string, Json>>;
}

const MAX_KEPT_CHARS = 2_000;

/** Judges all assertions; rejects only when `signal` aborts. */
export async function evaluate(
  assertions: readonly Assertion[],
  judged: Judged,
  judges: Judges,
  signal: AbortSignal,
): Promise<readonly AssertionResult[]> {
  const results: AssertionResult[] = [];
  for (const assertion of assertions) results.push(await evaluateOne(assertion, judged, judges, signal));
  return results;
}

async function evaluateOne(
  assertion: Assertion,
  judged: Judged,
  judges: Judges,
  signal: AbortSignal,
): Promise<AssertionResult> {
  const { type } = assertion;
  const sense = assertion.negate === true ? { negate: true } : {};
  try {
    const finding = await judge(assertion, judged, judges, signal);
    const holds = finding.holds !== (assertion.negate === true);
    const { expected, actual, message, validation } = finding;
    return {
      type,
      status: holds ? "passed" : "failed",
      ...sense,
      ...(holds && validation === undefined
        ? {}
        : { message: holds ? message : (assertion.message ?? negated(assertion, message)) }),
      ...(holds ? {} : kept("expected", expected)),
      ...(holds ? {} : kept("actual", actual)),
      ...(validation === undefined ? {} : { agent_validation: validation }),
    };
  } catch (error) {
    if (signal.aborted) throw error;
    return { type, status: "error", message: MeshError.from(error).message, ...sense };
  }
}

function negated({ negate }: Assertion, message: string): string {
  return negate === true ? `must not hold, but: ${message}` : message;
}

interface JudgedFinding extends Finding {
  readonly validation?: AgentValidation;
}

async function judge(
  assertion: Assertion,
  { answer, input, metadata }: Judged,
  judges: Judges,
  signal: AbortSignal,
): Promise<JudgedFinding> {
  switch (assertion.type) {
    case "script":
      return scriptFinding(
        assertion.script,
        await judges.script(assertion.script, [answer.output, input, assertion.value ?? null], signal),
      );
    case "agent": {
      const { agentId, criteria, connector } = assertion;
      const question = {
        agentId,
        criteria,
        output: judgedText(answer),
        input,
        metadata: { ...metadata, ...assertion.metadata },
      };
      const validation = await judges.agent({ ...question, ...(connector === undefined ? {} : { connector }) }, signal);
      return {
        holds: validation.passed,
        message: validation.reason,
        expected: criteria,
        actual: answer.output,
        validation,
      };
    }
    default:
      return checkStatic(assertion, answer);
  }
}

/** What a script said: true or false, or an object that says more. */
export function scriptFinding(name: string, said: Json | undefined): Finding {
  if (typeof said === "boolean") return { holds: said, message: `${name} says ${said}` };
  const value = isObject(said) ? said : {};
  if (Object.hasOwn(value, "score") && typeof value["score"] !== "number") {
    throw new MeshError("failed_precondition", `${name} gave a non-finite score`);
  }
  const holds = [value["pass"], value["passed"]].find((each) => each !== undefined);
  if (typeof holds !== "boolean") {
    throw new MeshError(
      "failed_precondition",
      `${name} must return true, false or {pass, message}; it returned ${shown(said)}`,
    );
  }
  const message = [value["message"], value["reason"]].find((each) => typeof each === "string");
  return { holds, message: message ?? `${name} says ${holds}` };
}

function kept(key: "expected" | "actual", value: Json | undefined): { readonly [key: string]: Json } {
  if (value === undefined) return {};
  if (typeof value === "string") return { [key]: cut(value, MAX_KEPT_CHARS) };
  const text = JSON.stringify(value);
  return { [key]: text.length <= MAX_KEPT_CHARS ? value : `${cut(text, MAX_KEPT_CHARS)}…` };
}
