/**
 * One tool call: judged, then run.
 *
 * C1  Judging never runs anything; a call that may not run is answered with an error the model can read.
 * C2  Every start event has its end event, whatever the tool, the gates or the cancellation do.
 * C3  Nothing a tool reports after its end event is passed on.
 */

import { errorText, isObject, type JsonObject } from "@mesh/kernel";
import type { ToolCallContent } from "@mesh/llm";

import { raced, type Raced, type SharedSignal } from "./cancel.ts";
import type { Delegation } from "./delegation.ts";
import type { ToolResult } from "./extension.ts";
import type { LiveRun } from "./live-run.ts";
import { type ChainVerdict, DENIED_PREFIX, runChain, ToolCallRequest } from "./middleware.ts";
import { compileSchema } from "./schema.ts";
import { addStats, foldChild, NO_STATS, type RunStats } from "./stats.ts";
import { SUB_AGENT_STATS_KEY } from "./sub-agent-stats.ts";
import { startSpan } from "./telemetry.ts";
import {
  type AgentTool,
  CANCELLED_TEXT,
  checkedOutput,
  failureOutput,
  failureText,
  textOutput,
  type ToolContext,
  type ToolOutput,
} from "./tool.ts";

/** What judging a call led to. */
export type Judgement =
  | { readonly kind: "run"; readonly tool: AgentTool; readonly args: JsonObject }
  | {
      readonly kind: "wait";
      readonly need: "approval" | "external";
      readonly args: JsonObject;
      readonly reason?: string;
    }
  | { readonly kind: "answer"; readonly text: string };

/** Microtasks that a cancelled tool gets to unwind and report. */
const CANCEL_GRACE_TICKS = 500;

/**
 * Decides what happens to a call; `isApproved` when a person already said yes. At once where no gate has to be asked: a
 * promise for each of many parallel calls costs as much as the rest of their judgement.
 */
export function judge(
  run: LiveRun,
  call: ToolCallContent,
  proposed: JsonObject,
  isApproved: boolean,
): Judgement | Promise<Judgement> {
  const tool = run.tools.find((each) => each.name === call.name);
  if (tool === undefined) return { kind: "answer", text: unknownTool(call.name, run.tools) };
  if (call.malformed !== undefined && !isApproved) return { kind: "answer", text: malformedText(call) };
  const fault = argumentFault(tool, proposed);
  if (fault !== undefined) return { kind: "answer", text: fault };
  const isGated = (run.config.middleware ?? []).length > 0 || !run.chain.isEmpty;
  if (!isGated) return admitted(tool, { kind: "allow", args: proposed }, isApproved);
  return gates(run, call, proposed).then((verdict): Judgement => {
    if (verdict.kind === "deny") {
      run.log("warn", "tool call denied", { toolCallId: call.id, toolName: call.name, reason: verdict.reason });
      return { kind: "answer", text: `${DENIED_PREFIX}${verdict.reason}` };
    }
    const late = verdict.args === proposed ? undefined : argumentFault(tool, verdict.args);
    return late === undefined ? admitted(tool, verdict, isApproved) : { kind: "answer", text: late };
  });
}

function admitted(tool: AgentTool, verdict: Extract<ChainVerdict, { kind: "allow" }>, isApproved: boolean): Judgement {
  const { args } = verdict;
  if (tool.execute === undefined) return { kind: "wait", need: "external", args };
  if (!isApproved) {
    const ask = verdict.ask ?? approvalReason(tool, args);
    if (ask !== undefined) return { kind: "wait", need: "approval", args, reason: ask };
  }
  return { kind: "run", tool, args };
}

async function gates(run: LiveRun, call: ToolCallContent, args: JsonObject): Promise<ChainVerdict> {
  const { middleware = [] } = run.config;
  const request = requestOf(run, call, args);
  const outcome = await raced(() => runChain(middleware, request), run.signal);
  if (outcome.kind !== "value") return { kind: "deny", reason: "the run was cancelled" };
  if (outcome.value.kind === "deny") return outcome.value;
  const { args: rewritten, ask } = outcome.value;
  const verdict = await run.chain.beforeTool(request.withArgs(rewritten));
  if (verdict.kind === "deny" || ask === undefined) return verdict;
  return { ...verdict, ask: verdict.ask ?? ask };
}

function requestOf(run: LiveRun, call: ToolCallContent, args: JsonObject): ToolCallRequest {
  const { id, name } = call;
  return new ToolCallRequest({ id, name, args, messages: run.history, runPrompts: run.prompts });
}

function approvalReason(tool: AgentTool, args: JsonObject): string | undefined {
  const { needsApproval } = tool;
  let needed: boolean;
  try {
    needed = typeof needsApproval === "function" ? needsApproval(args) : needsApproval === true;
  } catch {
    // A check that fails must not let the call through.
    needed = true;
  }
  return needed ? `${tool.label ?? tool.name} needs your approval` : undefined;
}

function argumentFault(tool: AgentTool, args: JsonObject): string | undefined {
  let faults: readonly string[];
  try {
    faults = compileSchema(tool.parameters, `the tool ${tool.name}`).check(args);
  } catch (thrown) {
    return `The tool ${tool.name} cannot be called: ${errorText(thrown)}`;
  }
  if (faults.length === 0) return undefined;
  return `The arguments of ${tool.name} do not match its schema:\n- ${faults.join("\n- ")}`;
}

function malformedText(call: ToolCallContent): string {
  const { malformed } = call;
  if (malformed?.kind === "truncated") {
    return `The call was not run: ${malformed.reason} Send it again with shorter arguments.`;
  }
  return `The call was not run: ${malformed?.reason ?? "its arguments are not a JSON object."}`;
}

function unknownTool(name: string, tools: readonly AgentTool[]): string {
  const near = tools.map((tool) => tool.name).filter((known) => isNear(name, known));
  const hint = near.length > 0 ? ` Did you mean ${near.join(" or ")}?` : "";
  return `There is no tool named ${JSON.stringify(name.slice(0, 100))}.${hint}`;
}

function isNear(wanted: string, known: string): boolean {
  const fold = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]/g, "");
  const [a, b] = [fold(wanted), fold(known)];
  return a.length > 1 && (a === b || (b.length > 2 && a.includes(b)) || (a.length > 2 && b.includes(a)));
}

/** Tells start and end of a call that does not run. */
export function answerCall(run: LiveRun, call: ToolCallContent, text: string, args: JsonObject | null): ToolResult {
  const result = { output: textOutput(text), isError: true };
  run.emit({ type: "toolExecutionStart", toolCallId: call.id, toolName: call.name, args });
  tellEnd(run, call, result);
  return result;
}

/** Tells the end of a call. */
export function tellEnd(run: LiveRun, call: ToolCallContent, result: ToolResult): void {
  const { output, isError } = result;
  run.emit({ type: "toolExecutionEnd", toolCallId: call.id, toolName: call.name, result: output, isError });
}

/** Runs a call that may run. */
export async function execute(
  run: LiveRun,
  call: ToolCallContent,
  tool: AgentTool,
  args: JsonObject,
): Promise<ToolResult> {
  const span = startSpan(
    run.config.telemetry,
    "tool",
    { tool: tool.name, tool_call_id: call.id, "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool.name },
    run.span,
  );
  run.emit({ type: "toolExecutionStart", toolCallId: call.id, toolName: call.name, args });
  const line = new ToolLine(run, call);
  const given = await raced(() => tool.execute?.(args, line.context), run.signal, CANCEL_GRACE_TICKS);
  const checked = checkedOutcome(given, tool.name);
  // Whatever a tool throws once its run is cancelled, it was cancelled.
  const outcome: Raced<ToolOutput> = checked.kind === "error" && run.signal.aborted ? { kind: "cancelled" } : checked;
  line.close();
  const settled = toResult(run, call, outcome);
  // A cancelled run has nothing left to filter: the text of a cancelled call is the loop's own.
  const isFiltered = outcome.kind !== "cancelled" && !run.chain.isEmpty;
  const result = isFiltered ? await run.chain.afterTool(requestOf(run, call, args), settled) : settled;
  const reported = withChildStats(result, line.children);
  span.setAttribute("is_error", reported.isError);
  span.end();
  tellEnd(run, call, reported);
  return reported;
}

function checkedOutcome(given: Raced<unknown>, toolName: string): Raced<ToolOutput> {
  if (given.kind !== "value") return given;
  try {
    return { kind: "value", value: checkedOutput(given.value, toolName) };
  } catch (error) {
    return { kind: "error", error };
  }
}

function toResult(run: LiveRun, call: ToolCallContent, outcome: Raced<ToolOutput>): ToolResult {
  if (outcome.kind === "value") return { output: outcome.value, isError: false };
  if (outcome.kind === "cancelled") return { output: textOutput(CANCELLED_TEXT), isError: true };
  run.log("error", "tool failed", { toolCallId: call.id, toolName: call.name, err: failureText(outcome.error) });
  return { output: failureOutput(outcome.error), isError: true };
}

function withChildStats(result: ToolResult, children: RunStats | undefined): ToolResult {
  if (children === undefined) return result;
  const { details } = result.output;
  const base = isObject(details) ? details : {};
  const stats = JSON.parse(JSON.stringify(children)) as JsonObject;
  return { ...result, output: { ...result.output, details: { ...base, [SUB_AGENT_STATS_KEY]: stats } } };
}

/** What connects a running tool to its run; cut when the call ends. */
class ToolLine {
  readonly context: ToolContext;
  readonly #run: LiveRun;
  readonly #shared: SharedSignal;
  #isOpen = true;
  #children: RunStats | undefined;

  constructor(run: LiveRun, call: ToolCallContent) {
    this.#run = run;
    this.#shared = run.callSignals.take();
    const isShown = !run.chain.filtersToolOutput;
    const { id: toolCallId, name: toolName } = call;
    this.context = {
      callId: toolCallId,
      toolName,
      runId: run.id,
      signal: this.#shared.signal,
      onUpdate: (partialResult) => {
        if (this.#isOpen && isShown) run.emit({ type: "toolExecutionUpdate", toolCallId, toolName, partialResult });
      },
      onProgress: (text) => {
        if (this.#isOpen && isShown) run.emit({ type: "progressMessage", toolCallId, toolName, text });
      },
      delegation: this.#delegation(toolCallId),
    };
  }

  /** Stats of the runs this call delegated. */
  get children(): RunStats | undefined {
    return this.#children;
  }

  close(): void {
    this.#isOpen = false;
    this.#run.callSignals.release(this.#shared);
  }

  #delegation(callId: string): Delegation {
    // Field by field: a spread into a literal is the dearest part of a call.
    const { depth, parentRunId, label, treeExtensions } = this.#run.delegation;
    return {
      depth,
      parentRunId,
      callId,
      ...(label === undefined ? undefined : { label }),
      treeExtensions,
      report: (stats) => {
        this.#run.stats = foldChild(this.#run.stats, stats);
        this.#children = addStats(this.#children ?? NO_STATS, stats);
      },
    };
  }
}
