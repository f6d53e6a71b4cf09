/** What a script threw, with the place in the user's source, and limits it went over. */

import { ERROR_CODES, type ErrorCode, MeshError } from "@mesh/kernel";

import type { ScriptLimits, ScriptProgram } from "../call.ts";
import { type SourcePosition, SourceStack } from "./source-stack.ts";

/** What ended a call that went too far. */
export type ScriptLimit = keyof Omit<ScriptLimits, "argumentBytes" | "answerBytes"> | "heap" | "depth";

/** A script's own failure: thrown by it, or by an operation it did not catch. */
export class ScriptError extends MeshError {
  override readonly name = "ScriptError";
  /** The user's message alone, without the place. */
  readonly reason: string;
  /** `Error`, `TypeError`, `Exception`, … */
  readonly thrownName: string;
  /** Code of an `Exception`, if it has one. */
  readonly exceptionCode: number | string | undefined;
  readonly at: SourcePosition | undefined;
  /** The stack in the user's files, one frame a line. */
  readonly frames: string;

  constructor(thrown: ThrownFact, stack: SourceStack) {
    const { at, frames } = stack;
    super(
      codeOf(thrown.code),
      at === undefined ? thrown.message : `${thrown.message} (${at.file}:${at.line}:${at.column})`,
      {
        details: {
          name: thrown.name,
          ...(thrown.code !== undefined && { exception_code: thrown.code }),
          ...(at !== undefined && { file: at.file, line: at.line, column: at.column }),
          ...(frames !== "" && { frames }),
        },
      },
    );
    this.reason = thrown.message;
    this.thrownName = thrown.name;
    this.exceptionCode = thrown.code;
    this.at = at;
    this.frames = frames;
  }
}

/** A call ended by force, since it went over one of its limits. */
export class ScriptLimitError extends MeshError {
  override readonly name = "ScriptLimitError";
  readonly limit: ScriptLimit;

  constructor(limit: ScriptLimit, message: string, at?: SourcePosition) {
    super("resource_exhausted", at === undefined ? message : `${message} (at ${at.file}:${at.line}:${at.column})`, {
      details: { limit, ...(at !== undefined && { file: at.file, line: at.line, column: at.column }) },
    });
    this.limit = limit;
  }
}

interface ThrownFact {
  readonly name: string;
  readonly message: string;
  readonly code?: number | string;
}

/** The error for an outcome `-…` of the guest. */
export function thrownError(outcome: string, program: ScriptProgram): ScriptError {
  const { name, message, code, stack } = JSON.parse(outcome.slice(1)) as Record<string, unknown>;
  const thrown = {
    name: typeof name === "string" ? name : "Error",
    message: typeof message === "string" ? message : "The script failed",
    ...((typeof code === "number" || typeof code === "string") && { code }),
  };
  return new ScriptError(thrown, SourceStack.of(typeof stack === "string" ? stack : "", program));
}

/** A script may pass on the system's own codes, but not claim that the system is broken. */
function codeOf(code: number | string | undefined): ErrorCode {
  const known = ERROR_CODES.find((candidate) => candidate === code);
  return known === undefined || known === "internal" ? "unknown" : known;
}
