/** Turn, token and time limits of one run; checked at the start of each turn. */

import type { Usage } from "@mesh/llm";

import { countedTokens } from "./stats.ts";

/** How far one run may go. */
export interface ExecutionLimits {
  readonly maxTurns: number;
  /** All four parts of usage together. */
  readonly maxTokens: number;
  readonly maxDurationMs: number;
}

/** Limits of a run that sets none. */
export const DEFAULT_LIMITS: ExecutionLimits = { maxTurns: 50, maxTokens: 1_000_000, maxDurationMs: 600_000 };

/** Limits of a delegated run that sets none. */
export const SUB_AGENT_LIMITS: ExecutionLimits = { maxTurns: 10, maxTokens: 1_000_000, maxDurationMs: 300_000 };

/** What was used so far. */
export interface LimitUse {
  readonly turns: number;
  readonly usage: Usage;
  readonly elapsedMs: number;
}

/** Why the run may not start another turn, or undefined. */
export function limitReached(limits: ExecutionLimits, use: LimitUse): string | undefined {
  if (use.turns >= limits.maxTurns) return `reached ${limits.maxTurns} turns; raise maxTurns to go on`;
  const tokens = countedTokens(use.usage);
  if (tokens >= limits.maxTokens) {
    return `used ${tokens} tokens of ${limits.maxTokens}; raise maxTokens to go on`;
  }
  if (use.elapsedMs >= limits.maxDurationMs) {
    return `ran ${Math.round(use.elapsedMs / 1000)} s of ${Math.round(limits.maxDurationMs / 1000)} s; raise maxDurationMs to go on`;
  }
  return undefined;
}
