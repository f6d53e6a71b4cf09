/** What running a case gives: the rows of the log, in the shape users' programs read. */

import type { Json, JsonObject } from "@mesh/kernel";

/** How a case ended. */
export type Status = "passed" | "failed" | "error" | "skipped" | "timeout";

/** Whose fault it is that a case could not be judged, or was stopped. */
export type Cause = "agent" | "grader" | "simulator" | "hook" | "limit" | "transport" | "interrupt";

/** Tokens and money. */
export interface Spent {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly cost_usd?: number;
}

/** How one assertion went. */
export interface AssertionResult {
  readonly type: string;
  readonly status: "passed" | "failed" | "error";
  readonly message?: string;
  readonly expected?: Json;
  readonly actual?: Json;
  readonly negate?: boolean;
  readonly duration_ms?: number;
  /** Details of a validator's verdict. */
  readonly agent_validation?: AgentValidation;
}

/** What a validator was asked and said. */
export interface AgentValidation {
  readonly passed: boolean;
  readonly reason: string;
  readonly criteria: Json;
  readonly input: Json;
  readonly response: Json;
}

/** A tool that the assistant called. */
export interface ToolCall {
  readonly id: string;
  readonly server: string;
  readonly tool: string;
  readonly arguments?: Json;
  readonly result?: Json;
  readonly error?: string;
}

/** What happened inside the assistant. */
export interface CaseTrace {
  readonly completion?: { readonly model: string; readonly content: string; readonly reasoning_content?: string };
  readonly tool_calls?: readonly ToolCall[];
  readonly next?: Json;
}

/** One row: one case, run once. */
export interface CaseResult {
  readonly id: string;
  /** From 1. */
  readonly run: number;
  readonly status: Status;
  readonly input: Json;
  /** Null when the case did not get that far. */
  readonly output: Json;
  readonly expected?: Json;
  readonly error?: string;
  readonly cause?: Cause;
  readonly duration_ms: number;
  readonly assertions?: readonly AssertionResult[];
  readonly trace?: CaseTrace;
  readonly usage?: Spent;
  readonly options?: JsonObject;
  readonly metadata?: JsonObject;
  /** What went wrong beside the verdict, such as an After hook. */
  readonly warnings?: readonly string[];
  /** Tries that failed for reasons outside of the assistant and were made again. */
  readonly retries?: readonly string[];
  /** Digest of the case as it was written. */
  readonly hash: string;
  readonly device?: string;
  /** From 1; over 1 only where a run of a case was made on several devices. */
  readonly copy?: number;
}

/** One step of a dialogue. */
export interface TurnResult {
  readonly turn: number;
  readonly input: string;
  readonly output: Json;
  readonly response?: {
    readonly content: string;
    readonly tool_calls: readonly ToolCall[];
    readonly next: Json;
  };
  readonly checkpoints_reached: readonly string[];
  readonly duration_ms: number;
  readonly error?: string;
}

/** How a checkpoint went. */
export interface CheckpointResult {
  readonly id: string;
  readonly reached: boolean;
  readonly reached_at_turn?: number;
  readonly required: boolean;
  readonly passed: boolean;
  readonly message?: string;
  readonly agent_validation?: AgentValidation;
}
