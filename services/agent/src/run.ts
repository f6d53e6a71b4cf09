/**
 * Starting, continuing and resuming runs: the stateless entry to the loop.
 *
 * Each function extends the given history in place, tells everything to the sink, and resolves with what the run added;
 * it rejects only for misuse, before anything has happened.
 */

import { MeshError } from "@mesh/kernel";

import { raced } from "./cancel.ts";
import { ROOT_ANCESTRY } from "./delegation.ts";
import type { EventSink, WaitingCall } from "./event.ts";
import type { RunEnd } from "./extension.ts";
import { promptText } from "./input-filter.ts";
import { LiveRun } from "./live-run.ts";
import { admit, drive, drivePrompts, driveResumed, endWithError, failRun } from "./loop.ts";
import type { LoopConfig } from "./loop-config.ts";
import type { AgentMessage } from "./message.ts";
import { mayBeAdded, messageText } from "./message.ts";
import type { CallAnswer, RunState } from "./run-state.ts";
import { waitingCalls } from "./run-state.ts";
import type { RunStats } from "./stats.ts";
import { takeSteering } from "./steering.ts";
import { failureText } from "./tool.ts";
import { abandonPending } from "./tool-phase.ts";
import { collectTools, mergeTools } from "./tool-source.ts";
import { repairTranscript } from "./transcript.ts";

/** How a run, or a segment of one, ended. */
export interface RunResult {
  readonly runId: string;
  /** What the run added to the history, segments before this one included. */
  readonly messages: readonly AgentMessage[];
  readonly end: RunEnd;
  readonly stats: RunStats;
  /** The calls to answer before the run can go on; empty unless `end` is `waiting`. */
  readonly waiting: readonly WaitingCall[];
  /** The run as data, to be saved and resumed. */
  readonly state: RunState;
}

/** Where a run's history, events and cancellation come from. */
export interface RunIo {
  /** Extended in place. */
  readonly history: AgentMessage[];
  readonly sink: EventSink;
  readonly signal: AbortSignal;
}

/** Starts a run with prompts. */
export async function startRun(prompts: readonly AgentMessage[], config: LoopConfig, io: RunIo): Promise<RunResult> {
  if (!prompts.some((message) => message.role === "user")) {
    throw new MeshError("invalid_argument", "a run needs at least one user message to start with");
  }
  const stray = prompts.find((message) => !mayBeAdded(message));
  if (stray !== undefined) {
    throw new MeshError(
      "invalid_argument",
      `a run cannot start with a ${stray.role} message that holds or answers calls`,
    );
  }
  repairInPlace(io.history, config);
  const texts = prompts.filter((each) => each.role === "user").map(messageText);
  const run = new LiveRun({ config, prompts: texts, ...io });
  return segment(run, async () => {
    run.emit({ type: "agentStart" });
    const admitted = await admit(run, prompts);
    if ("rejected" in admitted) {
      run.emit({ type: "inputRejected", reason: admitted.rejected });
      return { kind: "rejected", reason: admitted.rejected };
    }
    return drivePrompts(run, admitted.prompts);
  });
}

/** Goes on from a history whose last message is not the model's. */
export async function continueRun(config: LoopConfig, io: RunIo): Promise<RunResult> {
  const last = io.history.findLast((message) => message.role !== "extension");
  if (last === undefined)
    throw new MeshError("failed_precondition", "there is nothing to continue: the history is empty");
  if (last.role === "assistant") {
    throw new MeshError("failed_precondition", "the model has spoken last; start a run with a new message instead");
  }
  repairInPlace(io.history, config);
  const run = new LiveRun({ config, ...io, prompts: [promptText(io.history.slice(-1))].filter((text) => text !== "") });
  return segment(run, async () => {
    run.emit({ type: "agentStart" });
    run.openTurn();
    await takeSteering(run);
    return drive(run);
  });
}

/** Goes on with a saved run; `io.history` must be empty or equal to the saved one, and is filled from it. */
export async function resumeRun(
  state: RunState,
  answers: Readonly<Record<string, CallAnswer>>,
  config: LoopConfig,
  io: RunIo,
): Promise<RunResult> {
  if (state.status === "ended") throw new MeshError("failed_precondition", `run ${state.runId} has ended`);
  const waiting = new Set(waitingCalls(state.pending).map((call) => call.toolCallId));
  const stray = Object.keys(answers).find((id) => !waiting.has(id));
  if (stray !== undefined) {
    const known = waiting.size === 0 ? "no call waits" : `waiting: ${[...waiting].join(", ")}`;
    throw new MeshError("not_found", `call ${stray} does not wait for an answer; ${known}`);
  }
  // Before anything moves: an index means the history as it was saved.
  const produced = state.produced.flatMap((each) =>
    typeof each === "number" ? state.history.slice(each, each + 1) : [each],
  );
  io.history.length = 0;
  for (const message of state.history) io.history.push(message);
  if (state.pending.length === 0) repairInPlace(io.history, config);
  const run = new LiveRun({ config, ...io, prompts: state.prompts, saved: { ...state, produced } });
  return segment(run, async () => {
    run.emit({ type: "agentResumed" });
    return driveResumed(run, new Map(Object.entries(answers)));
  });
}

/** One segment of a run: tools and extensions around the work, one end on every path. */
async function segment(run: LiveRun, work: () => Promise<RunEnd>): Promise<RunResult> {
  await prepare(run);
  let end = await guarded(run, work);
  const failure = run.chain.settle();
  if (failure !== undefined && end.kind !== "failed" && end.kind !== "rejected") {
    await abandonPending(run, "Not run: the run failed.");
    end = failRun(run, failure);
  }
  await run.chain.finish(end);
  // Taken from a queue and never said: a failure came between.
  if (end.kind !== "waiting" && run.inbox.length > 0) run.config.requeue?.(run.inbox.splice(0));
  if (end.kind === "waiting") {
    const calls = waitingCalls(run.pending);
    run.emit({ type: "agentWaiting", calls, stats: run.stats });
    await run.checkpoint("waiting");
  } else {
    run.emit({ type: "agentEnd", messages: run.produced, stats: run.stats });
    await run.checkpoint("end");
  }
  run.span.setAttribute("end", end.kind);
  run.span.end();
  return {
    runId: run.id,
    messages: run.produced,
    end,
    stats: run.stats,
    waiting: waitingCalls(run.pending),
    state: run.state(end.kind === "waiting" ? "waiting" : "end"),
  };
}

/** Extensions and tools, before anything is told. */
async function prepare(run: LiveRun): Promise<void> {
  const { config } = run;
  const { model, thinking = "off" } = config;
  if (thinking !== "off" && !model.reasoning) {
    run.log("warn", "thinking asked of a model that is not known to think", { model: model.id, thinking });
  }
  const sourced = await raced(() => collectTools(config.toolSources ?? [], run.log), run.signal);
  await run.chain.start({
    inherited: (config.ancestry ?? ROOT_ANCESTRY).inherited,
    tree: config.treeExtensions ?? [],
    own: config.extensions ?? [],
  });
  const offered = [...(sourced.kind === "value" ? sourced.value : []), ...(await run.chain.tools())];
  run.tools = mergeTools(config.tools ?? [], offered, run.log);
}

/** Whatever escapes the loop (a callback of the application that throws) ends the run as failed, history valid. */
async function guarded(run: LiveRun, work: () => Promise<RunEnd>): Promise<RunEnd> {
  try {
    return await work();
  } catch (thrown) {
    const error = failureText(thrown);
    run.log("error", "run failed", { runId: run.id, err: error });
    await abandonPending(run, "Not run: the run failed.");
    try {
      endWithError(run, error);
    } catch {
      // `onError` itself may be what throws; the turn must still be closed.
      run.closeTurn();
    }
    return { kind: "failed", error };
  }
}

function repairInPlace(history: AgentMessage[], config: LoopConfig): void {
  const repaired = repairTranscript(history, config.clock.now());
  if (repaired === history) return;
  history.length = 0;
  for (const message of repaired) history.push(message);
}
