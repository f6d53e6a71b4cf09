/** Works out what a delivery of events does to a run. Pure; see the guarantees in `ingest.ts`. */

import { isObject } from "@mesh/kernel";
import type { NodeEvent } from "@mesh/proto";

import { isTerminal, MAX_ATTEMPTS, type OnLost, RUN_EVENT, type RunFailure, type RunState } from "./run-state.ts";
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
  readonly committedN: number;
  readonly state: RunState;
  readonly started: boolean;
  /** The node needs these again, from this n on. */
  readonly resendFrom: number | undefined;
  readonly ended: boolean;
  /** A slot of the node became free. */
  readonly freesSlot: boolean;
  /** Set when the run goes back to the queue instead of ending. */
  readonly requeueReason: string | undefined;
  readonly result: RunResult | undefined;
}

/** What a finished run leaves. */
export interface RunResult {
  readonly error: RunFailure | undefined;
  readonly output: string;
  readonly usage: Readonly<Record<string, unknown>> | undefined;
}

// A failure of the place, not of the run: safe to start again elsewhere when the run allows replacement.
const REPLACEABLE = new Set(["handed_back", "node_restarted", "node_stopped", "runner_crashed"]);

/** Takes the next events in sequence and derives the new state. */
export function foldBatch(row: FoldRow, incoming: IncomingRun): RunChange {
  const nothing = { taken: [], resendFrom: undefined };
  const { taken, resendFrom } = isTerminal(row.state) ? nothing : nextInSequence(row, incoming);
  const progress: Progress = {
    state: row.state,
    started: false,
    events: [],
    result: undefined,
    requeueReason: undefined,
  };
  for (const event of taken) {
    if (isTerminal(progress.state) || progress.state === "queued") break;
    step(row, progress, event);
  }
  const ended = isTerminal(progress.state) && !isTerminal(row.state);
  return {
    ...progress,
    runId: row.id,
    node: row.node,
    epoch: row.lease_epoch,
    committedN: progress.events.at(-1)?.n ?? row.committed_n,
    resendFrom,
    ended: ended || isTerminal(row.state),
    freesSlot: ended || progress.requeueReason !== undefined,
  };
}

interface Progress {
  state: RunState;
  started: boolean;
  readonly events: NodeEvent[];
  result: RunResult | undefined;
  requeueReason: string | undefined;
}

function step(row: FoldRow, progress: Progress, event: NodeEvent): void {
  if (event.kind === RUN_EVENT.accepted && progress.state === "placed") progress.state = "accepted";
  if (event.kind === RUN_EVENT.started) {
    progress.started = true;
    progress.state = "running";
  }
  if (event.kind !== RUN_EVENT.finished) {
    progress.events.push(event);
    return;
  }
  const end = parseEnd(event.body);
  progress.requeueReason = replaceReason(row, end.result.error);
  progress.state = progress.requeueReason === undefined ? end.state : "queued";
  progress.result = end.result;
  // Readers stop at the last event, so a run that goes on must not show one.
  progress.events.push(progress.requeueReason === undefined ? event : { ...event, kind: RUN_EVENT.handedBack });
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
