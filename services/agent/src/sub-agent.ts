/**
 * An agent as a tool: one task in, the text of its last answer out.
 *
 * D1  Every call is a run of its own, with an empty history; nothing of the parent's context reaches it but the task.
 * D2  Its spend reaches the parent on every ending, failures included.
 * D3  A limit is partial success and says so; a loop, a cancellation, a failure or a rejection is a failed call.
 */

import type { JsonObject } from "@mesh/kernel";

import { delegatedFrom } from "./delegation.ts";
import type { AgentEvent } from "./event.ts";
import { SUB_AGENT_LIMITS } from "./limit.ts";
import type { LoopConfig } from "./loop-config.ts";
import { LIMIT_STOP_PREFIX, stopMarkerKind } from "./marker.ts";
import { messageText, userMessage } from "./message.ts";
import { type RunResult, startRun } from "./run.ts";
import { type SharedState, sharedStateSection, sharedStateTool, SHARED_STATE_TOOL } from "./shared-state.ts";
import { joinPrompt, type Skill, skillIndex } from "./skill.ts";
import {
  type AgentTool,
  invalidArguments,
  textOutput,
  toolCancelled,
  type ToolContext,
  toolFailed,
  type ToolOutput,
} from "./tool.ts";

/** What a sub-agent is. Its context is neither capped nor compacted unless `context` and `outputCap` say so. */
export interface SubAgentOptions extends Omit<
  LoopConfig,
  "ancestry" | "label" | "runId" | "pollSteering" | "pollFollowUps" | "requeue"
> {
  readonly name: string;
  readonly description: string;
  readonly skills?: readonly Skill[];
  /** Shared with the parent and its other children; pass a scope to isolate. */
  readonly sharedState?: SharedState;
  /** How deep delegation may nest, this agent included. */
  readonly maxDepth?: number;
}

const DEFAULT_MAX_DEPTH = 5;
const NO_TEXT = "(the agent finished without an answer)";
const PARAMETERS: JsonObject = {
  type: "object",
  properties: { task: { type: "string", description: "The whole task: the agent sees nothing else." } },
  required: ["task"],
};

/** A tool that hands its task to an agent. */
export function subAgentTool(options: SubAgentOptions): AgentTool {
  return {
    name: options.name,
    description: options.description,
    parameters: PARAMETERS,
    execute: (args, context) => delegate(options, args["task"], context),
  };
}

async function delegate(options: SubAgentOptions, task: unknown, context: ToolContext): Promise<ToolOutput> {
  if (typeof task !== "string" || task.trim() === "") throw invalidArguments('"task" must say what to do');
  const { maxDepth = DEFAULT_MAX_DEPTH } = options;
  if (context.delegation.depth + 1 > maxDepth) {
    throw toolFailed(`Delegation is nested ${maxDepth} deep already; do the task yourself.`);
  }
  const config = await childConfig(options, context);
  const result = await startRun([userMessage(task, options.clock.now())], config, {
    history: [],
    sink: forwardTo(context, options.name),
    signal: context.signal,
  });
  context.delegation.report(result.stats);
  return outcomeOf(result, options.name);
}

async function childConfig(options: SubAgentOptions, context: ToolContext): Promise<LoopConfig> {
  const { name, description: _description, skills = [], sharedState, maxDepth: _depth, ...config } = options;
  const section = sharedState === undefined ? "" : await sharedStateSection(sharedState);
  const tools = config.tools ?? [];
  const injects = sharedState !== undefined && !tools.some((tool) => tool.name === SHARED_STATE_TOOL);
  return {
    ...config,
    label: name,
    systemPrompt: joinPrompt(config.systemPrompt ?? "", skillIndex(skills), section),
    tools: injects ? [...tools, sharedStateTool(sharedState)] : tools,
    ...(sharedState === undefined ? {} : { outputStash: sharedState }),
    limits: config.limits === undefined ? SUB_AGENT_LIMITS : config.limits,
    context: config.context ?? null,
    outputCap: config.outputCap ?? null,
    ancestry: delegatedFrom(context.delegation),
  };
}

/** What a parent sees of its child while it works: text, the tools it calls, its progress. */
function forwardTo(context: ToolContext, name: string): (event: AgentEvent) => void {
  return (event) => {
    if (event.type === "messageUpdate" && event.delta.type === "text") {
      context.onUpdate(textOutput(event.delta.delta));
    } else if (event.type === "toolExecutionStart") {
      context.onUpdate(textOutput(`${name} calls ${event.toolName}`));
    } else if (event.type === "progressMessage") {
      context.onProgress(event.text);
    }
  };
}

function outcomeOf(result: RunResult, name: string): ToolOutput {
  const { end, messages } = result;
  const details = { sub_agent: name, turns: messages.length };
  const text = lastText(result);
  switch (end.kind) {
    case "completed": {
      const last = messages.findLast((message) => message.role === "assistant");
      if (last?.stopReason === "refusal") throw toolFailed(`${name} refused: ${last.errorMessage ?? text}`);
      return textOutput(text === "" ? NO_TEXT : text, details);
    }
    case "stopped": {
      const notice = stopNotice(result, end.reason);
      if (stopMarkerKind(notice) === "loop") throw toolFailed(`${name} failed. ${notice}`);
      return textOutput(text === "" ? notice : `${text}\n\n${notice}`, details);
    }
    case "rejected":
      throw toolFailed(`${name} did not take the task: ${end.reason}`);
    case "cancelled":
      throw toolCancelled(`${name} was cancelled before it finished.`);
    case "waiting":
      throw toolFailed(
        `${name} wants to call ${result.waiting.map((call) => call.toolName).join(", ")}, which needs an approval that ` +
          "cannot be asked for inside a delegated task. Do that step yourself.",
      );
    case "failed":
      throw toolFailed(`${name} failed: ${end.error}${text === "" ? "" : `\nUntil then it said:\n${text}`}`);
  }
}

/** The marker that the run ended with. */
function stopNotice(result: RunResult, reason: string): string {
  const last = result.messages.at(-1);
  const text = last?.role === "user" ? messageText(last) : "";
  return stopMarkerKind(text) === undefined ? `${LIMIT_STOP_PREFIX}${reason}` : text;
}

function lastText(result: RunResult): string {
  for (const message of result.messages.toReversed()) {
    if (message.role !== "assistant") continue;
    const texts = message.content.flatMap((part) =>
      part.type === "text" && part.text.trim() !== "" ? [part.text] : [],
    );
    if (texts.length > 0) return texts.join("\n");
  }
  return "";
}
