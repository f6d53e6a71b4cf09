/** The answer to an operation, as the guest reads it: `+json`, `=` (nothing) or `-{message, code}`. */

import { type Json, MeshError } from "@mesh/kernel";

import { ScriptError } from "./script-error.ts";

/** A result as an answer; one that is too large or has no JSON form is a refusal. */
export function resultAnswer(op: string, result: Json | undefined, maxBytes: number): string {
  const text = JSON.stringify(result) as string | undefined;
  if (text === undefined) return "=";
  if (text.length <= maxBytes) return `+${text}`;
  return failure(
    "resource_exhausted",
    `The answer of ${op} has ${text.length} bytes; a script takes up to ${maxBytes}`,
  );
}

/** A failure as an answer. What is not meant for users stays here: `hidden` is told instead. */
export function failureAnswer(op: string, thrown: unknown, hidden: (error: MeshError) => void): string {
  // A script that failed inside: its own words, its own code.
  if (thrown instanceof ScriptError) return failure(thrown.exceptionCode ?? thrown.code, thrown.reason);
  const error = MeshError.from(thrown);
  if (error.code !== "internal") return failure(error.code, error.message);
  hidden(error);
  return failure("internal", `${op} failed inside the system; the operator's log says why`);
}

function failure(code: number | string, message: string): string {
  return `-${JSON.stringify({ message, code })}`;
}
