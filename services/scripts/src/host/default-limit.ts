/** Bounds of a call that says nothing else. */

import type { ScriptLimits } from "../call.ts";

const MB = 1024 * 1024;

/** Defaults of {@link ScriptLimits}. */
export const DEFAULT_LIMITS: ScriptLimits = {
  runMs: 60_000,
  argumentBytes: 16 * MB,
  resultBytes: 16 * MB,
  outputBytes: 64 * MB,
  answerBytes: 16 * MB,
  operations: 100_000,
};
