/**
 * Extensions: policies and services that live for one run and see all of it.
 *
 * An extension is a factory; each run gets hooks of its own. All hooks are optional. `tools`, `onInput`, `beforeModel`,
 * `onStop` and `finish` never overlap with another hook of the same extension; `beforeTool` and `afterTool` run for
 * parallel calls at once. Every hook is raced with the run's cancellation.
 */

import type { AgentEvent, EventMeta } from "./event.ts";
import type { AgentMessage } from "./message.ts";
import type { ToolCallRequest, ToolDecision } from "./middleware.ts";
import type { RunStats } from "./stats.ts";
import type { AgentTool, ToolOutput } from "./tool.ts";

/** What an extension knows about its run. */
export interface RunContext {
  readonly runId: string;
  readonly label?: string;
  /** Texts of the prompts that started the run. */
  readonly prompts: readonly string[];
  /** 0 for a run nobody delegated. */
  readonly depth: number;
  readonly parentRunId?: string;
  /** Id of the call that delegated this run. */
  readonly delegatedBy?: string;
  /** Whether the extension came down the tree from a parent run. */
  readonly isInherited: boolean;
  /** Whether this segment continues a saved run. */
  readonly isResumed: boolean;
  readonly signal: AbortSignal;
  /** What the run has spent so far, sub-agents and summaries included. */
  stats(): RunStats;
}

/** One request to the model, before it is sent. */
export interface TurnContext {
  /** 0-based. */
  readonly turn: number;
  readonly messages: readonly AgentMessage[];
}

/** What an extension decides before a request. */
export type TurnDecision =
  /** `note` is added to the outgoing request only, never stored. */
  | { readonly kind: "pass"; readonly note?: string }
  | { readonly kind: "stop"; readonly reason: string }
  | { readonly kind: "fail"; readonly error: string };

/** What an extension decides about a prompt. */
export type PromptDecision = { readonly kind: "pass" } | { readonly kind: "reject"; readonly reason: string };

/** What an extension decides when the model is done. */
export type StopDecision =
  | { readonly kind: "accept" }
  | { readonly kind: "continue"; readonly text: string }
  | { readonly kind: "fail"; readonly error: string };

/** The output of a tool, as an extension may edit it. */
export interface ToolResult {
  readonly output: ToolOutput;
  readonly isError: boolean;
}

/** How a run ended. */
export type RunEnd =
  | { readonly kind: "completed" }
  | { readonly kind: "stopped"; readonly reason: string }
  | { readonly kind: "rejected"; readonly reason: string }
  | { readonly kind: "waiting" }
  | { readonly kind: "cancelled" }
  | { readonly kind: "failed"; readonly error: string; readonly extension?: string };

/** The hooks of one run. */
export interface RunHooks {
  tools?(): readonly AgentTool[] | Promise<readonly AgentTool[]>;
  onInput?(text: string): PromptDecision | Promise<PromptDecision>;
  beforeModel?(turn: TurnContext): TurnDecision | Promise<TurnDecision>;
  beforeTool?(call: ToolCallRequest): ToolDecision | Promise<ToolDecision>;
  /** Returns the edited result, or nothing to leave it. */
  afterTool?(call: ToolCallRequest, result: ToolResult): ToolResult | void | Promise<ToolResult | void>;
  onStop?(turn: TurnContext): StopDecision | Promise<StopDecision>;
  /** Must not block; switched off for the run when it throws. */
  onEvent?(event: AgentEvent, meta: EventMeta): void;
  /** A failure that happened off the decision path, once; asked at every boundary. */
  takeFailure?(): string | undefined;
  /** Bounded to five seconds. */
  finish?(end: RunEnd): void | Promise<void>;
}

/** A policy or service that takes part in runs. */
export interface Extension {
  readonly name: string;
  /** A failing required extension fails the run; a failing advisory one is skipped. */
  readonly mode: "advisory" | "required";
  /** It edits tool output, so nothing of a tool may be shown before it did. */
  readonly filtersToolOutput?: boolean;
  /** It wants to judge a call again when a later hook rewrote it. */
  readonly rechecksModifiedCalls?: boolean;
  startRun(context: RunContext): RunHooks | Promise<RunHooks>;
}

/** An extension whose hooks hold no state of a run. */
export function sharedHooks(
  name: string,
  hooks: RunHooks,
  traits: Partial<Pick<Extension, "mode" | "filtersToolOutput" | "rechecksModifiedCalls">> = {},
): Extension {
  return { mode: "advisory", ...traits, name, startRun: () => hooks };
}
