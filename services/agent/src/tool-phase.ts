/**
 * All calls of one response, by strategy: in parallel, one by one, or in batches.
 *
 * P1  Every call gets exactly one result, and results enter the history in the order of the calls, each as early as that
 *     order allows.
 * P2  All calls of a unit are judged before any of them starts, so a gate that cancels the run stops all of them.
 * P3  A call that waits for an answer does not hold back the others of its unit; nothing is run twice on resume.
 * P4  Cancellation answers whatever has no result yet, without waiting for tools.
 */

import type { JsonObject } from "@mesh/kernel";
import { type InputContent, textContent, type ToolCallContent, type ToolResultMessage } from "@mesh/llm";

import { raced } from "./cancel.ts";
import type { ToolResult } from "./extension.ts";
import type { LiveRun } from "./live-run.ts";
import { DENIED_PREFIX } from "./middleware.ts";
import type { CallAnswer, LivePendingCall, PendingCall } from "./run-state.ts";
import { takeSteering } from "./steering.ts";
import { type AgentTool, CANCELLED_TEXT, textOutput } from "./tool.ts";
import { answerCall, execute, type Judgement, judge, tellEnd } from "./tool-call.ts";
import { LOST_CALL_TEXT } from "./transcript.ts";
import { type CallStash, capContent, cutContent, DEFAULT_OUTPUT_CAP, type OutputCap } from "./truncate.ts";

const SKIPPED_TEXT = "Skipped: a new message arrived before this call was run.";
const FAILED_RUN_TEXT = "Not run: a required extension failed the run.";
const UNSAVED_TEXT = "Not run: the state of the run could not be saved.";

/** Makes the calls of a response pending. */
export function queueCalls(run: LiveRun, calls: readonly ToolCallContent[]): void {
  run.pending = calls.map((call) => ({ call, status: "ready", args: call.arguments }));
}

/** Runs what is pending; `waiting` when answers are needed before the turn can end. */
export async function runPending(
  run: LiveRun,
  answers: ReadonlyMap<string, CallAnswer> = new Map(),
): Promise<"done" | "waiting"> {
  for (const [index, each] of run.pending.entries()) {
    // Of a call that was just made there is nothing to settle first.
    if (each.status !== "ready") await applyAnswer(run, index, each, answers.get(each.call.id));
  }
  flush(run);
  const { toolStrategy = "parallel" } = run.config;
  const size = toolStrategy === "parallel" ? Infinity : toolStrategy === "sequential" ? 1 : toolStrategy.batch;
  for (;;) {
    const unit = nextUnit(run, Number.isNaN(size) ? 1 : Math.max(1, size));
    if (unit.length === 0) break;
    await runUnit(run, unit);
    flush(run);
    const isRestOpen = size !== Infinity && run.pending.some((each) => each.status === "ready");
    if (isRestOpen && (await takeSteering(run))) await settleReady(run, SKIPPED_TEXT);
  }
  if (run.signal.aborted) await abandonPending(run, CANCELLED_TEXT);
  flush(run);
  if (run.pending.some((each) => each.status === "waiting")) return "waiting";
  run.pending = [];
  return "done";
}

/** The next calls to judge and run; with an order to keep, nothing passes a call that waits. */
function nextUnit(run: LiveRun, size: number): readonly number[] {
  if (run.signal.aborted) return [];
  const isOpen = (each: PendingCall): boolean => each.status === "ready" || each.status === "approved";
  const unit: number[] = [];
  for (const [index, each] of run.pending.entries()) {
    if (each.status === "waiting" && size !== Infinity) break;
    if (isOpen(each) && unit.length < size) unit.push(index);
  }
  return unit;
}

async function runUnit(run: LiveRun, unit: readonly number[]): Promise<void> {
  if (run.chain.hasFailed) {
    await settleTogether(run, (_each, index) => unit.includes(index), FAILED_RUN_TEXT);
    return;
  }
  const judging = unit.map((index) => judgeAt(run, index));
  const isSettled = (each: Judgement | Promise<Judgement>): each is Judgement => !(each instanceof Promise);
  const judged = judging.every(isSettled) ? judging : await Promise.all(judging.map((each) => Promise.resolve(each)));
  // Cancelled by a gate: nothing starts, and `runPending` answers all of them together.
  if (run.signal.aborted) return;
  const starts: Promise<void>[] = [];
  for (const [at, judgement] of judged.entries()) {
    const index = unit[at] ?? at;
    if (judgement.kind === "answer") await settle(run, index, answered(run, index, judgement.text));
    else if (judgement.kind === "wait") await wait(run, index, judgement);
    else starts.push(start(run, index, judgement.tool, judgement.args));
  }
  await Promise.all(starts);
}

function judgeAt(run: LiveRun, index: number): Judgement | Promise<Judgement> {
  const { call, args, status } = pendingAt(run, index);
  const tool = status === "approved" ? run.tools.find((each) => each.name === call.name) : undefined;
  // Approved as it was judged; judging again could rewrite it a second time.
  if (tool?.execute !== undefined) return { kind: "run", tool, args };
  return judge(run, call, args, false);
}

async function wait(run: LiveRun, index: number, judgement: Extract<Judgement, { kind: "wait" }>): Promise<void> {
  const { need, args, reason } = judgement;
  update(run, index, { status: "waiting", args, need, ...(reason === undefined ? {} : { reason }) });
  await run.checkpoint("toolResult");
}

async function start(run: LiveRun, index: number, tool: AgentTool, args: JsonObject): Promise<void> {
  update(run, index, { status: "started", args });
  if (run.isSaved) await run.checkpoint("toolStart");
  const { call } = pendingAt(run, index);
  const refusal =
    run.checkpointFailure === undefined ? (run.signal.aborted ? CANCELLED_TEXT : undefined) : UNSAVED_TEXT;
  const result = refusal === undefined ? await execute(run, call, tool, args) : answerCall(run, call, refusal, args);
  const keeping = settle(run, index, result, tool);
  if (keeping !== undefined) await keeping;
}

function answered(run: LiveRun, index: number, text: string): ToolResult {
  const { call } = pendingAt(run, index);
  return answerCall(run, call, text, text === SKIPPED_TEXT ? null : call.arguments);
}

/** Keeps a result; what is too long for a history is cut here, once. */
function settle(run: LiveRun, index: number, result: ToolResult, tool?: AgentTool): Promise<void> | undefined {
  const { outputCap = DEFAULT_OUTPUT_CAP, outputStash } = run.config;
  const { content } = result.output;
  const keep = (kept: readonly InputContent[]): Promise<void> | undefined => {
    update(run, index, { status: "settled", content: kept, isError: result.isError });
    flush(run);
    return run.isSaved ? run.checkpoint("toolResult") : undefined;
  };
  if (outputCap === null) return keep(content);
  const cap = capOf(outputCap, tool?.maxOutputLines);
  if (outputStash === undefined) return keep(cutContent(content, cap));
  const stash = { store: outputStash, callId: pendingAt(run, index).call.id };
  return stashed(run, content, cap, stash).then(keep);
}

function capOf(cap: OutputCap, maxLines: number = cap.maxLines): OutputCap {
  if (maxLines !== Infinity) return maxLines === cap.maxLines ? cap : { ...cap, maxLines };
  // A tool that pages its own output is trusted with the size of its text as well.
  return { ...cap, maxLines, maxBytes: Infinity };
}

/** A stash that hangs must not hold a cancelled run: the text is then cut without being kept. */
async function stashed(
  run: LiveRun,
  content: readonly InputContent[],
  cap: OutputCap,
  stash: CallStash,
): Promise<readonly InputContent[]> {
  const outcome = await raced(() => capContent(content, cap, stash), run.signal);
  return outcome.kind === "value" ? outcome.value : cutContent(content, cap);
}

async function settleReady(run: LiveRun, text: string): Promise<void> {
  await settleTogether(run, (each) => each.status === "ready", text);
}

/** Answers every call that has no result, and leaves nothing pending. */
export async function abandonPending(run: LiveRun, text: string): Promise<void> {
  await settleTogether(run, (each) => each.status !== "settled" && each.status !== "recorded", text);
  flush(run);
  run.pending = [];
}

/** Gives calls the loop's own answer, all before the run is saved: a state between two of them would run the rest. */
async function settleTogether(
  run: LiveRun,
  isMeant: (each: PendingCall, index: number) => boolean,
  text: string,
): Promise<void> {
  let isAny = false;
  for (const [index, each] of run.pending.entries()) {
    if (!isMeant(each, index)) continue;
    // The start of a started call was told already.
    const result = each.status === "started" ? ended(run, each, text) : answered(run, index, text);
    update(run, index, { status: "settled", content: result.output.content, isError: true });
    isAny = true;
  }
  if (!isAny) return;
  flush(run);
  await run.checkpoint("toolResult");
}

/** Records every result whose turn it is. */
function flush(run: LiveRun): void {
  for (let index = 0; index < run.pending.length; index += 1) {
    const each = pendingAt(run, index);
    if (each.status === "recorded") continue;
    if (each.status !== "settled") return;
    update(run, index, { status: "recorded" });
    run.append(resultMessage(run, each));
  }
}

function resultMessage(run: LiveRun, each: PendingCall): ToolResultMessage {
  return {
    role: "toolResult",
    toolCallId: each.call.id,
    toolName: each.call.name,
    content: each.content ?? [textContent(LOST_CALL_TEXT)],
    isError: each.isError ?? true,
    timestamp: run.clock.now(),
  };
}

/** What a saved call becomes when its run continues. */
async function applyAnswer(
  run: LiveRun,
  index: number,
  each: PendingCall,
  answer: CallAnswer | undefined,
): Promise<void> {
  if (each.status === "started") {
    const tool = run.tools.find((known) => known.name === each.call.name);
    if (tool?.repeatable === true) update(run, index, { status: "approved" });
    else await settle(run, index, ended(run, each, LOST_CALL_TEXT));
    return;
  }
  if (each.status !== "waiting" || answer === undefined) return;
  switch (answer.kind) {
    case "approve":
      update(run, index, { status: "approved" });
      return;
    case "deny": {
      const reason = answer.reason ?? "a person said no";
      await settle(run, index, answerCall(run, each.call, `${DENIED_PREFIX}${reason}`, each.args));
      return;
    }
    case "edit":
      await applyEdit(run, index, answer.args);
      return;
    case "result": {
      const result = { output: { content: answer.content }, isError: answer.isError === true };
      run.emit({ type: "toolExecutionStart", toolCallId: each.call.id, toolName: each.call.name, args: each.args });
      tellEnd(run, each.call, result);
      await settle(run, index, result);
      return;
    }
  }
}

/** Edited arguments are new arguments: every gate judges them, only the question to a person is settled. */
async function applyEdit(run: LiveRun, index: number, args: JsonObject): Promise<void> {
  const { call } = pendingAt(run, index);
  const judgement = await judge(run, call, args, true);
  if (judgement.kind === "answer") await settle(run, index, answerCall(run, call, judgement.text, args));
  else update(run, index, { status: judgement.kind === "run" ? "approved" : "waiting", args: judgement.args });
}

/** The result of a call whose start was told and whose end was not. */
function ended(run: LiveRun, each: PendingCall, text: string): ToolResult {
  const result = { output: textOutput(text), isError: true };
  tellEnd(run, each.call, result);
  return result;
}

function pendingAt(run: LiveRun, index: number): LivePendingCall {
  const pending = run.pending[index];
  if (pending === undefined) throw new RangeError(`no pending call ${index}`);
  return pending;
}

function update(run: LiveRun, index: number, change: Partial<PendingCall>): void {
  Object.assign(pendingAt(run, index), change);
}
