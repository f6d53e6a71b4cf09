/**
 * What a run tells while it happens: a public, frozen contract, JSON tagged by `type`, camelCase throughout.
 *
 * E1  Every start has one end: agent, turn, message and tool execution, also for calls that were denied or never ran.
 * E2  A suspended run ends its segment with `agentWaiting`; the resumed one opens with `agentResumed`. The events of all
 *     segments in order are the events of one run.
 * E3  `message` in `messageUpdate` is the message so far, live until its `messageEnd`; copy it to keep it.
 */

import { isObject, type Json, type JsonObject, MeshError } from "@mesh/kernel";
import type { AssistantMessage, InputContent, ToolResultMessage, Usage } from "@mesh/llm";

import type { AgentMessage } from "./message.ts";
import { NO_STATS, type RunStats } from "./stats.ts";

/** One piece of a message while it streams. */
export type MessageDelta =
  | { readonly type: "text"; readonly delta: string }
  | { readonly type: "thinking"; readonly delta: string }
  /** `contentIndex` says which call: pieces of parallel calls may come interleaved. */
  | { readonly type: "toolCallDelta"; readonly delta: string; readonly contentIndex: number };

/** What a tool gave: content for the model, details for programs. */
export interface ToolResultView {
  readonly content: readonly InputContent[];
  readonly details?: Json;
}

/** A call that waits for a person or for the application. */
export interface WaitingCall {
  readonly toolCallId: string;
  readonly toolName: string;
  /** Effective arguments: what would run. */
  readonly args: JsonObject;
  /** `approval`: approve, deny or edit it; `external`: the caller runs it and gives the result. */
  readonly need: "approval" | "external";
  readonly reason?: string;
}

/** What a compaction did. */
export interface CompactionReport {
  /** Which strategy, such as `tiered`, `llm`, `overflow`. */
  readonly method: string;
  readonly messagesBefore: number;
  readonly messagesAfter: number;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly summary?: { readonly messagesSummarized: number; readonly usage: Usage; readonly costUsd?: number };
}

/** Any event of a run. */
export type AgentEvent =
  | { readonly type: "agentStart" }
  | { readonly type: "agentEnd"; readonly messages: readonly AgentMessage[]; readonly stats: RunStats }
  | { readonly type: "agentWaiting"; readonly calls: readonly WaitingCall[]; readonly stats: RunStats }
  | { readonly type: "agentResumed" }
  | { readonly type: "turnStart" }
  | { readonly type: "turnEnd"; readonly message: AgentMessage; readonly toolResults: readonly ToolResultMessage[] }
  | { readonly type: "messageStart"; readonly message: AgentMessage }
  | { readonly type: "messageUpdate"; readonly message: AssistantMessage; readonly delta: MessageDelta }
  | { readonly type: "messageEnd"; readonly message: AgentMessage }
  | {
      readonly type: "toolExecutionStart";
      readonly toolCallId: string;
      readonly toolName: string;
      /** Null for a call that was skipped. */
      readonly args: JsonObject | null;
    }
  | {
      readonly type: "toolExecutionUpdate";
      readonly toolCallId: string;
      readonly toolName: string;
      readonly partialResult: ToolResultView;
    }
  | {
      readonly type: "toolExecutionEnd";
      readonly toolCallId: string;
      readonly toolName: string;
      readonly result: ToolResultView;
      readonly isError: boolean;
    }
  | {
      readonly type: "progressMessage";
      readonly toolCallId: string;
      readonly toolName: string;
      readonly text: string;
    }
  | { readonly type: "inputRejected"; readonly reason: string }
  | {
      readonly type: "loopDetected";
      readonly toolName: string;
      readonly repetitions: number;
      readonly aborted: boolean;
    }
  | ({ readonly type: "contextCompacted" } & CompactionReport)
  | {
      readonly type: "providerRetry";
      readonly attempt: number;
      readonly maxAttempts: number;
      readonly delayMs: number;
      readonly errorClass: string;
      readonly errorMessage: string;
    };

/** Where and when an event happened; beside the event, so that the contract's payloads stay as they are. */
export interface EventMeta {
  readonly runId: string;
  /** From 0, without gaps, across the segments of one run. */
  readonly seq: number;
  /** 0-based. */
  readonly turn: number;
  readonly atMs: number;
}

/** Takes events in order; it must not throw and must not block. */
export type EventSink = (event: AgentEvent, meta: EventMeta) => void;

const EVENT_FIELDS: Readonly<Record<AgentEvent["type"], readonly string[]>> = {
  agentStart: [],
  agentEnd: ["messages"],
  agentWaiting: ["calls"],
  agentResumed: [],
  turnStart: [],
  turnEnd: ["message", "toolResults"],
  messageStart: ["message"],
  messageUpdate: ["message", "delta"],
  messageEnd: ["message"],
  toolExecutionStart: ["toolCallId", "toolName", "args"],
  toolExecutionUpdate: ["toolCallId", "toolName", "partialResult"],
  toolExecutionEnd: ["toolCallId", "toolName", "result", "isError"],
  progressMessage: ["toolCallId", "toolName", "text"],
  inputRejected: ["reason"],
  loopDetected: ["toolName", "repetitions", "aborted"],
  contextCompacted: ["method", "messagesBefore", "messagesAfter", "tokensBefore", "tokensAfter"],
  providerRetry: ["attempt", "maxAttempts", "delayMs", "errorClass", "errorMessage"],
};

/** Every event type, in a stable order. */
export const EVENT_TYPES: readonly AgentEvent["type"][] = Object.keys(EVENT_FIELDS) as AgentEvent["type"][];

/** Reads an archived event: unknown fields are kept, missing `stats` are those of a run that did nothing. */
export function readEvent(json: string): AgentEvent {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (cause) {
    throw new MeshError("invalid_argument", "the event is not JSON", { cause });
  }
  if (!isObject(value) || typeof value["type"] !== "string") {
    throw new MeshError("invalid_argument", 'the event is not an object with a "type"');
  }
  const fields = EVENT_FIELDS[value["type"] as AgentEvent["type"]] as readonly string[] | undefined;
  if (fields === undefined) throw new MeshError("unimplemented", `the event type ${value["type"]} is not known`);
  const missing = fields.filter((field) => !(field in value));
  if (missing.length > 0) {
    throw new MeshError("invalid_argument", `the ${value["type"]} event lacks ${missing.join(", ")}`);
  }
  const withStats = value["type"] === "agentEnd" || value["type"] === "agentWaiting";
  return (withStats ? { ...value, stats: { ...NO_STATS, ...(value["stats"] as object) } } : value) as AgentEvent;
}
