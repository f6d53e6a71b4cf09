/**
 * The loop: ask the model, run what it calls, repeat until it is done.
 *
 * L1  One turn is one response with the results of its calls. The run goes on while a response made calls or messages
 *     arrived; then follow-ups are polled; then extensions may object; then it ends.
 * L2  It never throws for what happens inside a run: the outcome says how it ended, and the history is valid.
 * L3  An error, an abort or a limit ends the run without taking follow-ups from their queue.
 */

import { errorText } from "@mesh/kernel";
import { type AssistantMessage, toolCallsOf } from "@mesh/llm";

import { raced } from "./cancel.ts";
import type { RunEnd } from "./extension.ts";
import type { ExtensionFailure } from "./extension-chain.ts";
import { promptText, runFilters, withWarnings } from "./input-filter.ts";
import { limitReached, DEFAULT_LIMITS } from "./limit.ts";
import type { LiveRun } from "./live-run.ts";
import {
  CANCELLED_MARKER,
  EXTENSION_FAILED_PREFIX,
  EXTENSION_STOP_PREFIX,
  LIMIT_STOP_PREFIX,
  LOOP_STOP_PREFIX,
  NUDGE_PREFIX,
} from "./marker.ts";
import { type AgentMessage, userMessage } from "./message.ts";
import { respond } from "./model-turn.ts";
import type { CallAnswer } from "./run-state.ts";
import { takeFollowUps, takeSteering } from "./steering.ts";
import { failureText } from "./tool.ts";
import { abandonPending, queueCalls, runPending } from "./tool-phase.ts";

type Step = { readonly kind: "next"; readonly hadCalls: boolean } | { readonly kind: "end"; readonly end: RunEnd };

const DEFAULT_STOP_CONTINUES = 3;
const TRUNCATED_TEXT =
  "The call was not run: the response hit the output limit, so it may be incomplete. Send it again, shorter.";

/** Screens prompts; undefined when they were rejected and the run must end without a trace in its history. */
export async function admit(
  run: LiveRun,
  prompts: readonly AgentMessage[],
): Promise<{ readonly prompts: readonly AgentMessage[] } | { readonly rejected: string }> {
  const text = promptText(prompts);
  const filtered = await raced(() => runFilters(run.config.inputFilters ?? [], text, run.signal), run.signal);
  // A cancellation is not a rejection: the run starts and ends as cancelled.
  const verdict = filtered.kind === "value" ? filtered.value : ({ kind: "pass", warnings: [] } as const);
  if (verdict.kind === "reject") return { rejected: verdict.reason };
  const decision = await run.chain.onInput(text);
  if (decision.kind === "reject") return { rejected: decision.reason };
  return { prompts: withWarnings(prompts, verdict.warnings) };
}

/** Runs from the prompts on. */
export async function drivePrompts(run: LiveRun, prompts: readonly AgentMessage[]): Promise<RunEnd> {
  run.openTurn();
  for (const prompt of prompts) run.append(prompt);
  await takeSteering(run);
  return drive(run);
}

/** Runs on from a saved point: first the calls that are pending, then turns. */
export async function driveResumed(run: LiveRun, answers: ReadonlyMap<string, CallAnswer>): Promise<RunEnd> {
  if (run.pending.length > 0) {
    const step = await settleCalls(run, answers);
    if (step.kind === "end") return step.end;
    await run.checkpoint("turn");
  }
  await takeSteering(run);
  // Saved between its last answer and its end: asking again would be billed again.
  const last = run.history.findLast((message) => message.role !== "extension");
  return drive(run, last?.role !== "assistant");
}

/** Runs turns until the run ends; without a first turn when nothing is left to ask. */
export async function drive(run: LiveRun, hasQuestion: boolean = true): Promise<RunEnd> {
  for (let needsTurn = hasQuestion; ; needsTurn = false) {
    while (needsTurn || run.inbox.length > 0) {
      const step = await turn(run);
      if (step.kind === "end") return step.end;
      needsTurn = step.hadCalls;
      await takeSteering(run);
      await run.checkpoint("turn");
    }
    const end = await beforeEnd(run);
    if (end !== undefined) return end;
  }
}

async function turn(run: LiveRun): Promise<Step> {
  run.openTurn();
  for (const message of run.inbox.splice(0)) run.append(message);
  const stopped = await turnTop(run);
  if (stopped !== undefined) return { kind: "end", end: stopped };
  const response = await respond(run);
  if (response.kind === "fail") return { kind: "end", end: failRun(run, response) };
  if (response.kind === "stop") {
    run.say(`${EXTENSION_STOP_PREFIX}${response.reason}`);
    run.closeTurn();
    return { kind: "end", end: { kind: "stopped", reason: response.reason } };
  }
  return afterResponse(run, response.message);
}

/** Everything that may end a run before its next request, in order of severity. */
async function turnTop(run: LiveRun): Promise<RunEnd | undefined> {
  const failure = boundaryFailure(run);
  if (failure !== undefined) return failRun(run, failure);
  if (run.signal.aborted) return cancelled(run);
  const { limits = DEFAULT_LIMITS, beforeTurn, turnDelayMs = 0 } = run.config;
  const use = { turns: run.stats.turns, usage: run.stats.usage, elapsedMs: run.elapsedMs() };
  const reason = limits === null ? undefined : limitReached(limits, use);
  if (reason !== undefined) {
    run.say(`${LIMIT_STOP_PREFIX}${reason}`);
    run.closeTurn();
    return { kind: "stopped", reason };
  }
  if (beforeTurn !== undefined) {
    const outcome = await raced(() => beforeTurn(run.history, run.turn), run.signal);
    if (outcome.kind === "error") throw outcome.error;
    if (outcome.kind === "value" && !outcome.value) {
      run.closeTurn();
      return { kind: "stopped", reason: "beforeTurn ended the run" };
    }
  }
  if (turnDelayMs > 0 && run.turn > 0) await run.clock.sleep(turnDelayMs, run.signal);
  return run.signal.aborted ? cancelled(run) : undefined;
}

async function afterResponse(run: LiveRun, message: AssistantMessage): Promise<Step> {
  if (message.stopReason === "error" || message.stopReason === "aborted") {
    const error = message.errorMessage ?? message.stopReason;
    if (message.stopReason === "error") run.config.onError?.(error);
    await run.afterTurn();
    run.closeTurn();
    return { kind: "end", end: message.stopReason === "error" ? { kind: "failed", error } : { kind: "cancelled" } };
  }
  const calls = toolCallsOf(message).map((call) => repaired(run, call));
  if (calls.length === 0) {
    await run.afterTurn();
    run.closeTurn();
    return { kind: "next", hadCalls: false };
  }
  queueCalls(run, calls);
  // The cut may be in any of them; telling the model is cheap, running half a command is not.
  if (message.stopReason === "length") await abandonPending(run, TRUNCATED_TEXT);
  else {
    const stopped = await watchForLoop(run, calls);
    if (stopped !== undefined) return { kind: "end", end: stopped };
  }
  return settleCalls(run, new Map());
}

function repaired(run: LiveRun, call: ReturnType<typeof toolCallsOf>[number]): typeof call {
  if (run.tools.some((tool) => tool.name === call.name)) return call;
  const { repairToolCall } = run.config;
  try {
    const fixed = repairToolCall?.(call, run.tools);
    return fixed === undefined ? call : { ...fixed, id: call.id };
  } catch (thrown) {
    // The call is in the history already: it is answered as it came.
    run.log("error", "repair of a tool call failed", { toolCallId: call.id, err: failureText(thrown) });
    return call;
  }
}

async function watchForLoop(run: LiveRun, calls: ReturnType<typeof toolCallsOf>): Promise<RunEnd | undefined> {
  const verdict = run.detector.observe(calls);
  if (verdict.kind === "fine") return undefined;
  const { toolName, repetitions } = verdict;
  run.emit({ type: "loopDetected", toolName, repetitions, aborted: verdict.kind === "stop" });
  if (verdict.kind === "nudge") {
    run.nudge =
      `${NUDGE_PREFIX}You have called ${toolName} with the same arguments ${repetitions} times in a row. ` +
      "Repeating it will not give another result: try something else, or say what is in the way.";
    return undefined;
  }
  await abandonPending(run, "Not run: the same call was repeated too often.");
  const reason = `${toolName} was called with the same arguments ${repetitions} times in a row`;
  run.say(`${LOOP_STOP_PREFIX}${reason}`);
  await run.afterTurn();
  run.closeTurn();
  return { kind: "stopped", reason };
}

/** Runs the pending calls and closes the turn, or suspends the run. */
async function settleCalls(run: LiveRun, answers: ReadonlyMap<string, CallAnswer>): Promise<Step> {
  const failure = boundaryFailure(run);
  if (failure !== undefined) {
    await abandonPending(run, "Not run: the run failed.");
    return { kind: "end", end: failRun(run, failure) };
  }
  const status = await runPending(run, answers);
  if (status === "waiting") return { kind: "end", end: { kind: "waiting" } };
  if (run.nudge !== undefined) run.say(run.nudge);
  run.nudge = undefined;
  await run.afterTurn();
  run.closeTurn();
  return { kind: "next", hadCalls: true };
}

/** The model is done: follow-ups first, then extensions; undefined when the run goes on. */
async function beforeEnd(run: LiveRun): Promise<RunEnd | undefined> {
  const failure = boundaryFailure(run);
  if (failure !== undefined) return failRun(run, failure);
  if (run.signal.aborted) return { kind: "cancelled" };
  if (await takeFollowUps(run)) return undefined;
  const last = run.history.findLast((message) => message.role !== "extension");
  if (last?.role !== "assistant" || last.stopReason !== "stop") return { kind: "completed" };
  const verdict = await run.chain.onStop({ turn: run.turn, messages: run.history });
  if (verdict.kind === "fail") return failRun(run, verdict);
  if (verdict.kind === "accept") return { kind: "completed" };
  const { stopContinues } = run.counters;
  if (stopContinues >= (run.config.maxStopContinues ?? DEFAULT_STOP_CONTINUES)) {
    if (verdict.required === undefined) return { kind: "completed" };
    return failRun(run, { extension: verdict.required, error: "it would not let the run end" });
  }
  run.counters = { ...run.counters, stopContinues: stopContinues + 1 };
  run.inbox.push(userMessage(verdict.text, run.clock.now()));
  return undefined;
}

/** A failure recorded since the last boundary: of a required extension, or of saving the run. */
function boundaryFailure(run: LiveRun): ExtensionFailure | undefined {
  const failure = run.chain.settle();
  if (failure !== undefined || run.checkpointFailure === undefined) return failure;
  return { extension: "checkpoint", error: `the run could not be saved: ${errorText(run.checkpointFailure)}` };
}

function cancelled(run: LiveRun): RunEnd {
  if (run.produced.some((message) => message.role === "assistant")) run.say(CANCELLED_MARKER);
  run.closeTurn();
  return { kind: "cancelled" };
}

/** Ends a run as failed, inside a turn: the model's side of the history says why. */
export function failRun(run: LiveRun, failure: ExtensionFailure): RunEnd {
  const error = `${EXTENSION_FAILED_PREFIX}${failure.extension}] ${failure.error}`;
  endWithError(run, error);
  return { kind: "failed", error: failure.error, extension: failure.extension };
}

/** Closes the turn with an error message; opens one if none is open. */
export function endWithError(run: LiveRun, error: string): void {
  run.openTurn();
  const { model } = run.config;
  run.append({
    role: "assistant",
    content: [],
    stopReason: "error",
    model: model.id,
    provider: model.provider,
    api: model.api,
    usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 },
    timestamp: run.clock.now(),
    errorMessage: error,
  });
  run.config.onError?.(error);
  run.closeTurn();
}
