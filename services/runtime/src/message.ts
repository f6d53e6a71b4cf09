/** The output stream of a run: the message shapes that users' programs see. */

import type { Json, JsonObject } from "@mesh/kernel";

import type { AgentResponse } from "./agent-request.ts";
import type { PendingItem } from "./pending.ts";

/** How a delta changes what it names; absent means append to `props.content`. */
export type DeltaAction = "append" | "replace" | "merge" | "set";

/** One output message or one piece of it. */
export interface OutputMessage {
  /** text, thinking, loading, tool_call, error, image, event, ...; unknown types pass through. */
  readonly type: string;
  readonly props: JsonObject;
  /** M1, M2, ... unique in the run. */
  readonly message_id?: string;
  readonly chunk_id?: string;
  readonly block_id?: string;
  readonly thread_id?: string;
  readonly delta?: boolean;
  readonly delta_path?: string;
  readonly delta_action?: DeltaAction;
  readonly type_change?: boolean;
  readonly metadata?: JsonObject;
}

/** Token counts as the provider reported them, summed over the calls of the run, and what they cost. */
export interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  /** Absent when a price is not known. */
  readonly cost_usd?: number;
}

/** What a run that waits for a person leaves behind. */
export interface SuspendedRun {
  readonly pending: readonly PendingItem[];
  /** What it goes on from; see `saved-run.ts`. */
  readonly state: string;
}

/** What a finished run leaves behind. */
export interface RunOutcome {
  /** Final text of the assistant. */
  readonly output: string;
  readonly finish_reason: string;
  readonly usage: Usage | undefined;
  /** What the Next hook made of it; absent without one. */
  readonly next?: Json;
  /** All that the assistant answered, tools included; absent for a run that was one tool. */
  readonly response?: AgentResponse;
}
