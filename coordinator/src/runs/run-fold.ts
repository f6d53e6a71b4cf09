/** Works out what a delivery of events does to a run. Pure; see the guarantees in `ingest.ts`. */

import { isObject } from "@mesh/kernel";
import type { NodeEvent } from "@mesh/proto";

import { askedReason, type PendingItem, readItems } from "./pending-item.ts";
import {
  isTerminal,
  MAX_ATTEMPTS,
  type OnLost,
  RUN_EVENT,
  type RunFailure,
  type RunState,
  STATE_KIND,
} from "./run-state.ts";
import { storableUsage, storableValue } from "./storable.ts";

/** Events of one run in one delivery, in order of arrival. */
export interface IncomingRun {
  readonly parts: { readonly node: string; readonly epoch: number; readonly events: readonly NodeEvent[] }[];
}

/** The locked row of a run, as far as events concern it. */
export interface FoldRow {
  readonly id: string;
  readonly state: RunState;
  readonly lease_epoch: number;
  readonly committed_n: number;
  /** Digest of the node that holds the lease. */
  readonly node: string;
  readonly on_lost: OnLost;
  readonly attempt: number;
  readonly cancel_requested: boolean;
}

/** What to store for one run. */
export interface RunChange {
  readonly runId: string;
  readonly node: string;
  readonly epoch: number;
  /** To append, in order. */
  readonly events: readonly NodeEvent[];
  /** Pieces of its saved state, to keep beside the log. */
  readonly stateParts: readonly NodeEvent[];
  readonly committedN: number;
  /** The delivery brought something new. */
  readonly hasGrown: boolean;
  readonly state: RunState;
  readonly started: boolean;
  /** The node needs these again, from this n on. */
  readonly resendFrom: number | undefined;
  /** The node is done with it: nothing more of this epoch is taken. */
  readonly ended: boolean;
  /** A slot of the node became free. */
  readonly freesSlot: boolean;
  /** Set when the run goes back to the queue instead of ending. */
  readonly requeueReason: string | undefined;
  /** Set when the run waits for a person. */
  readonly asked: Asked | undefined;
  readonly result: RunResult | undefined;
}

/** What a run asks, and what it took until then. */
export interface Asked {
  readonly items: readonly PendingItem[];
  readonly reason: string;
  readonly activeMs: number;
}

/** What a finished run leaves. */
export interface RunResult {
  readonly error: RunFailure | undefined;
  readonly output: string;
  readonly usage: Readonly<Record<string, unknown>> | undefined;
}

const MAX_ACTIVE_MS = 7 * 24 * 3_600_000;

// A failure of the place, not of the run: safe to start again elsewhere when the run allows replacement.
const REPLACEABLE = new Set(["handed_back", "node_restarted", "node_stopped", "runner_crashed"]);

/** Takes the next events in sequence and derives the new state. */
export function foldBatch(row: FoldRow, incoming: IncomingRun): RunChange {
  const nothing = { taken: [], resendFrom: undefined };
  const { taken, resendFrom } = isOver(row.state) ? nothing : nextInSequence(row, incoming);
  const progress: Progress = {
    state: row.state,
    started: false,
    events: [],
    stateParts: [],
    lastN: row.committed_n,
    result: undefined,
    requeueReason: undefined,
    asked: undefined,
  };
  for (const event of taken) {
    if (isOver(progress.state) || progress.state === "queued") break;
    step(row, progress, event);
    progress.lastN = event.n;
  }
  const { lastN, ...change } = progress;
  const ended = isOver(progress.state) && !isOver(row.state);
  return {
    ...change,
    runId: row.id,
    node: row.node,
    epoch: row.lease_epoch,
    committedN: lastN,
    hasGrown: lastN > row.committed_n,
    resendFrom,
    ended: ended || isOver(row.state),
    freesSlot: ended || progress.requeueReason !== undefined,
  };
}

/** Whether a node has nothing more to say about a run in this state. */
function isOver(state: RunState): boolean {
  return isTerminal(state) || state === "waiting";
}

interface Progress {
  state: RunState;
  started: boolean;
  readonly events: NodeEvent[];
  readonly stateParts: NodeEvent[];
  lastN: number;
  result: RunResult | undefined;
  requeueReason: string | undefined;
  asked: Asked | undefined;
}

function step(row: FoldRow, progress: Progress, event: NodeEvent): void {
  if (event.kind === RUN_EVENT.accepted && progress.state === "placed") progress.state = "accepted";
  if (event.kind === RUN_EVENT.started) {
    progress.started = true;
    progress.state = "running";
  }
  if (event.kind === STATE_KIND) progress.stateParts.push(event);
  else if (event.kind === RUN_EVENT.asked) ask(row, progress, event);
  else if (event.kind === RUN_EVENT.finished) finish(row, progress, event);
  else progress.events.push(event);
}

function finish(row: FoldRow, progress: Progress, event: NodeEvent): void {
  const end = parseEnd(event.body);
  progress.requeueReason = replaceReason(row, end.result.error);
  progress.state = progress.requeueReason === undefined ? end.state : "queued";
  progress.result = end.result;
  // Readers stop at the last event, so a run that goes on must not show one.
  progress.events.push(progress.requeueReason === undefined ? event : { ...event, kind: RUN_EVENT.handedBack });
}

// A run that was cancelled meanwhile, or asks what nobody can answer, must not wait: its epoch ends as if it had said so.
function ask(row: FoldRow, progress: Progress, event: NodeEvent): void {
  const body = parseObject(event.body);
  const items = readItems(body["pending"]);
  if (row.cancel_requested || items === undefined) {
    const error = { code: "invalid_question", message: "the device sent a question that nobody can answer; update it" };
    const end = row.cancel_requested ? { state: "cancelled" } : { state: "failed", error };
    finish(row, progress, { ...event, kind: RUN_EVENT.finished, body: JSON.stringify(end) });
    return;
  }
  const durationMs = Number(body["duration_ms"]);
  progress.state = "waiting";
  progress.asked = {
    items,
    reason: askedReason(items),
    activeMs: Number.isFinite(durationMs) ? Math.min(Math.max(Math.round(durationMs), 0), MAX_ACTIVE_MS) : 0,
  };
  progress.events.push({ ...event, body: JSON.stringify({ pending: items }) });
}

function nextInSequence(row: FoldRow, incoming: IncomingRun): { taken: NodeEvent[]; resendFrom: number | undefined } {
  const byN = new Map<number, NodeEvent>();
  for (const part of incoming.parts) {
    if (part.node !== row.node || part.epoch !== row.lease_epoch) continue;
    for (const event of part.events) if (event.n > row.committed_n) byN.set(event.n, event);
  }
  const taken: NodeEvent[] = [];
  let next = row.committed_n + 1;
  for (let event = byN.get(next); event !== undefined; event = byN.get(next)) {
    taken.push(event);
    next += 1;
  }
  return { taken, resendFrom: taken.length < byN.size ? next : undefined };
}

function replaceReason(row: FoldRow, error: RunFailure | undefined): string | undefined {
  if (row.on_lost !== "replace" || row.cancel_requested || error === undefined) return undefined;
  // A run that brings down whatever it runs on must not go round the fleet for ever.
  return REPLACEABLE.has(error.code) && row.attempt < MAX_ATTEMPTS ? error.message : undefined;
}

/** Reads the body of a terminal event; whatever a node sends becomes one of the terminal states. */
function parseEnd(body: string): { state: RunState; result: RunResult } {
  const parsed = parseObject(body);
  const state = parsed["state"];
  const error = isObject(parsed["error"]) ? parsed["error"] : undefined;
  return {
    state: state === "succeeded" || state === "cancelled" ? state : "failed",
    result: {
      error:
        error === undefined
          ? undefined
          : { code: textOf(error["code"], "unknown"), message: textOf(error["message"], "no message") },
      output: textOf(parsed["output"], ""),
      usage: isObject(parsed["usage"]) ? storableUsage(parsed["usage"]) : undefined,
    },
  };
}

function parseObject(body: string): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(body, storableValue);
    return isObject(parsed) ? parsed : {};
  } catch {
    return {};
  }
}

function textOf(value: unknown, fallback: string): string {
  return typeof value === "string" && value !== "" ? value : fallback;
}
