/**
 * A run as data: everything needed to continue it in another process.
 *
 * S1  JSON; no function, no handle, no key. The configuration is not part of it: who resumes a run supplies it.
 * S2  A call whose result is part of the state is never executed again.
 * S3  A call that was started and has no result is executed again only when its tool says it may be.
 */

import { isObject, type JsonObject, MeshError } from "@mesh/kernel";
import type { InputContent, ToolCallContent } from "@mesh/llm";

import type { WaitingCall } from "./event.ts";
import type { LoopDetectorState } from "./loop-detector.ts";
import { type AgentMessage, readMessage } from "./message.ts";
import type { RunStats } from "./stats.ts";
import { NO_STATS } from "./stats.ts";

/** How far a call of the current response has come. */
export type PendingStatus =
  /** Not judged yet. */
  | "ready"
  /** A person said yes. */
  | "approved"
  | "started"
  /** For a person or the application. */
  | "waiting"
  /** Has a result that is not in the history yet, because an earlier call has none. */
  | "settled"
  /** Its result is in the history. */
  | "recorded";

/** A pending call of a run that goes on: it changes in place, as calls do so several times each. */
export type LivePendingCall = { -readonly [Key in keyof PendingCall]: PendingCall[Key] };

/** One call of the current response. */
export interface PendingCall {
  readonly call: ToolCallContent;
  readonly status: PendingStatus;
  /** What would run, or ran. */
  readonly args: JsonObject;
  readonly need?: WaitingCall["need"];
  readonly reason?: string;
  readonly content?: readonly InputContent[];
  readonly isError?: boolean;
}

/** A saved run. */
export interface RunState {
  readonly version: 1;
  readonly runId: string;
  /** `running`: taken between two steps; `waiting`: needs answers; `ended`: only to be read. */
  readonly status: "running" | "waiting" | "ended";
  readonly history: readonly AgentMessage[];
  /** What this run added; a number is an index into `history`. */
  readonly produced: readonly (number | AgentMessage)[];
  /** Texts of the prompts that started the run. */
  readonly prompts: readonly string[];
  /** 0-based. */
  readonly turn: number;
  readonly isTurnOpen: boolean;
  /** Messages taken from a queue and not yet in the history. */
  readonly inbox: readonly AgentMessage[];
  readonly pending: readonly PendingCall[];
  /** What the model is told after the pending calls' results. */
  readonly nudge?: string;
  /** Messages still in the queues, where the run's owner saved them. */
  readonly queues?: { readonly steering: readonly AgentMessage[]; readonly followUps: readonly AgentMessage[] };
  readonly counters: RunCounters;
  readonly detector: LoopDetectorState;
  readonly stats: RunStats;
}

/** Counters of a run that outlive a process. */
export interface RunCounters {
  readonly elapsedMs: number;
  /** Number of the next event. */
  readonly seq: number;
  readonly stopContinues: number;
  readonly overflowRecoveries: number;
  /** Estimated tokens that this run added to its history. */
  readonly appendedTokens: number;
}

/** The counters of a new run. */
export const NO_COUNTERS: RunCounters = {
  elapsedMs: 0,
  seq: 0,
  stopContinues: 0,
  overflowRecoveries: 0,
  appendedTokens: 0,
};

/** An answer to a waiting call. */
export type CallAnswer =
  | { readonly kind: "approve" }
  | { readonly kind: "deny"; readonly reason?: string }
  | { readonly kind: "edit"; readonly args: JsonObject }
  /** The result of a call that the application runs, or one given in place of running it. */
  | { readonly kind: "result"; readonly content: readonly InputContent[]; readonly isError?: boolean };

/** The calls a state waits for. */
export function waitingCalls(pending: readonly PendingCall[]): readonly WaitingCall[] {
  return pending
    .filter((each) => each.status === "waiting")
    .map((each) => ({
      toolCallId: each.call.id,
      toolName: each.call.name,
      args: each.args,
      need: each.need ?? "approval",
      ...(each.reason === undefined ? {} : { reason: each.reason }),
    }));
}

const STATUSES: ReadonlySet<unknown> = new Set(["ready", "approved", "started", "waiting", "settled", "recorded"]);

/** Reads a saved state; throws `invalid_argument` naming what is wrong, `unimplemented` for a newer version. */
export function readRunState(json: string): RunState {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (cause) {
    throw new MeshError("invalid_argument", "the saved run is not JSON", { cause });
  }
  if (!isObject(value)) throw new MeshError("invalid_argument", "the saved run is not an object");
  if (value["version"] !== 1) {
    throw new MeshError("unimplemented", `the saved run has version ${String(value["version"])}; this program reads 1`);
  }
  if (typeof value["runId"] !== "string") throw new MeshError("invalid_argument", "the saved run has no runId");
  const history = listOf(value["history"], "history").map((each, i) => readMessage(each, `history[${i}]`));
  const pending = listOf(value["pending"], "pending").map(readPending);
  const state = value as unknown as RunState;
  return {
    ...state,
    history,
    pending,
    produced: listOf(value["produced"] ?? [], "produced").map((each, i) =>
      typeof each === "number" ? indexInto(history, each) : readMessage(each, `produced[${i}]`),
    ),
    inbox: listOf(value["inbox"] ?? [], "inbox").map((each, i) => readMessage(each, `inbox[${i}]`)),
    prompts: listOf(value["prompts"] ?? [], "prompts").map(String),
    turn: typeof value["turn"] === "number" ? value["turn"] : 0,
    isTurnOpen: value["isTurnOpen"] === true,
    counters: { ...NO_COUNTERS, ...state.counters },
    detector: isObject(value["detector"]) ? state.detector : { last: null, count: 0, steered: [] },
    stats: { ...NO_STATS, ...state.stats },
  };
}

function indexInto(history: readonly AgentMessage[], index: number): number {
  if (Number.isInteger(index) && index >= 0 && index < history.length) return index;
  throw new MeshError("invalid_argument", `the saved run names message ${index}, which its history does not have`);
}

function readPending(value: unknown, index: number): PendingCall {
  const call = isObject(value) ? value["call"] : undefined;
  const ok =
    isObject(value) &&
    STATUSES.has(value["status"]) &&
    isObject(value["args"]) &&
    isObject(call) &&
    typeof call["id"] === "string" &&
    typeof call["name"] === "string";
  if (!ok) throw new MeshError("invalid_argument", `pending[${index}] of the saved run is not a call`);
  return value as unknown as PendingCall;
}

function listOf(value: unknown, what: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new MeshError("invalid_argument", `"${what}" of the saved run is not a list`);
}
