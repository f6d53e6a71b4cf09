/** Everything a run is told from outside. */

import type { Clock, JsonObject } from "@mesh/kernel";
import type {
  CacheConfig,
  Message,
  ModelConfig,
  ResponseFormat,
  RetryConfig,
  StreamProvider,
  ThinkingLevel,
  Timeouts,
  ToolCallContent,
  ToolChoice,
  Usage,
} from "@mesh/llm";

import type { ContextConfig } from "./compaction.ts";
import type { CompactionStrategy } from "./compaction-strategy.ts";
import type { Ancestry } from "./delegation.ts";
import type { Extension } from "./extension.ts";
import type { InputFilter } from "./input-filter.ts";
import type { ExecutionLimits } from "./limit.ts";
import type { Log } from "./log.ts";
import type { AgentMessage } from "./message.ts";
import type { ToolMiddleware } from "./middleware.ts";
import type { RunState } from "./run-state.ts";
import type { Telemetry } from "./telemetry.ts";
import type { AgentTool } from "./tool.ts";
import type { ToolSource } from "./tool-source.ts";
import type { OutputCap, OutputStash } from "./truncate.ts";

/** How the calls of one response are run. */
export type ToolStrategy = "parallel" | "sequential" | { readonly batch: number };

/** A point at which a run can be saved. */
export interface Checkpoint {
  /** `toolStart` comes before a tool runs, so that a lost process cannot run it twice unnoticed. */
  readonly reason: "turn" | "toolStart" | "toolResult" | "waiting" | "end";
  /** The state as it is now; made only when asked for. */
  state(): RunState;
}

/** The model and how it is asked. */
export interface ModelSettings {
  readonly model: ModelConfig;
  readonly provider: StreamProvider;
  readonly apiKey?: string;
  readonly systemPrompt?: string;
  readonly thinking?: ThinkingLevel;
  readonly maxTokens?: number;
  readonly temperature?: number;
  readonly cache?: CacheConfig;
  readonly timeouts?: Partial<Timeouts>;
  readonly retry?: Partial<RetryConfig>;
  readonly extraBody?: JsonObject;
  readonly responseFormat?: ResponseFormat;
  /** Holds for every turn: one that forces a call of a tool that is executed here never lets the model answer. */
  readonly toolChoice?: ToolChoice;
}

/** Tools and how they are run. */
export interface ToolSettings {
  readonly tools?: readonly AgentTool[];
  readonly toolSources?: readonly ToolSource[];
  readonly toolStrategy?: ToolStrategy;
  readonly middleware?: readonly ToolMiddleware[];
  /** Null switches the cap on what enters the history off. */
  readonly outputCap?: OutputCap | null;
  /** Keeps the full text of capped results. */
  readonly outputStash?: OutputStash;
  /** A last chance for a call whose tool does not exist. */
  readonly repairToolCall?: (call: ToolCallContent, tools: readonly AgentTool[]) => ToolCallContent | undefined;
}

/**
 * Callbacks of a run; a throw fails the run. They are awaited, without a limit of their own; but a cancelled run waits
 * 10 ms for all of them together and then goes on without, so that later calls may overlap one that hangs.
 */
export interface LifecycleHooks {
  /** Before the request of each turn (0-based); false ends the run. */
  readonly beforeTurn?: (messages: readonly AgentMessage[], turn: number) => boolean | Promise<boolean>;
  /** After each turn, failed and aborted ones included. */
  readonly afterTurn?: (messages: readonly AgentMessage[], usage: Usage) => void | Promise<void>;
  readonly onError?: (error: string) => void;
  /** Shapes the outgoing messages; gets a copy, and what it returns is never stored. */
  readonly transformContext?: (messages: AgentMessage[]) => readonly AgentMessage[] | Promise<readonly AgentMessage[]>;
  /** How application messages become model messages; the default leaves them out. */
  readonly convertToLlm?: (messages: readonly AgentMessage[]) => readonly Message[];
  /** Called where the run can be saved, also at the end of a cancelled run; awaited, so that what it stores is what happened. */
  readonly onCheckpoint?: (checkpoint: Checkpoint) => void | Promise<void>;
}

/** Everything a run is told from outside. */
export interface LoopConfig extends ModelSettings, ToolSettings, LifecycleHooks {
  readonly clock: Clock;
  /** Name of the run for logs, events and extensions. */
  readonly label?: string;
  readonly runId?: string;
  readonly random?: () => number;
  /** Null: no limit. */
  readonly limits?: ExecutionLimits | null;
  /** Identical calls in a row that count as a loop; 0 switches detection off. */
  readonly loopThreshold?: number;
  /** Pause before every turn but the first. */
  readonly turnDelayMs?: number;
  /** Null: no compaction, and no recovery from an overflow. */
  readonly context?: ContextConfig | null;
  readonly compaction?: CompactionStrategy;
  /** How often one run may recover from an overflow. */
  readonly maxOverflowRecoveries?: number;
  readonly inputFilters?: readonly InputFilter[];
  /** Whether steering and follow-ups pass the input filters too; a rejected one is dropped and logged. */
  readonly filterQueued?: boolean;
  readonly extensions?: readonly Extension[];
  readonly treeExtensions?: readonly Extension[];
  readonly maxStopContinues?: number;
  readonly ancestry?: Ancestry;
  /** Gives the messages to inject now. */
  readonly pollSteering?: () => readonly AgentMessage[];
  /** Gives the messages to go on with when the run would end. */
  readonly pollFollowUps?: () => readonly AgentMessage[];
  /** Takes back what was polled and could not be said before the run failed. */
  readonly requeue?: (messages: readonly AgentMessage[]) => void;
  readonly telemetry?: Telemetry;
  readonly log?: Log;
}
