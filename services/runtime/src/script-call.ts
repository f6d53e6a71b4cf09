/** Calls functions of an app's scripts: hooks of an assistant, and functions behind process names. */

import type { Assistant, ScriptFile } from "@mesh/assistants";
import { type Json, MeshError } from "@mesh/kernel";
import type { ContextSeed, ScriptArgument } from "@mesh/scripts";

import type { AgentContext } from "./agent-context.ts";
import type { OpCaller } from "./op/op-table.ts";

/** The two functions of `src/index.ts` that the runtime calls. */
export type HookName = "Create" | "Next";

/** Calls a hook with `ctx` and further arguments; undefined where the assistant has no such hook. */
export async function callHook(
  name: HookName,
  args: readonly Json[],
  { assistant, context }: { readonly assistant: Assistant; readonly context: AgentContext },
): Promise<Json | undefined> {
  const { hooks: path } = assistant;
  if (path === undefined || !(await hasHook(name, assistant, context))) return undefined;
  const call = { path, fn: name, args, assistantId: assistant.id, label: `${assistant.id} ${name}` };
  try {
    return await callScript(call, context, "first");
  } finally {
    context.hookOutput.endAll();
  }
}

/** Whether an assistant has a hook. */
export async function hasHook(name: HookName, assistant: Assistant, { shared }: AgentContext): Promise<boolean> {
  const { scripts } = shared.ports;
  if (assistant.hooks === undefined || scripts === undefined) return false;
  return (await scripts.program(assistant.hooks)).functions.includes(name);
}

/**
 * Calls a function of a script by its process name, such as `scripts.math.Add` or `agents.shop.order.List`. Tools get the
 * agent's `ctx` as their last argument.
 */
export async function callFunction(
  name: string,
  args: readonly Json[],
  { context, assistantId }: OpCaller,
  ctxAt: "last" | "none",
): Promise<Json | undefined> {
  const { scripts } = context.shared.input.app;
  const dot = name.lastIndexOf(".");
  const file = scripts.get(name.slice(0, Math.max(0, dot)));
  if (file === undefined) throw unknownFunction(name, scripts);
  const call = {
    path: file.path,
    fn: name.slice(dot + 1),
    args,
    assistantId: file.assistantId ?? assistantId,
    label: name,
  };
  return callScript(call, context, ctxAt);
}

function unknownFunction(name: string, scripts: ReadonlyMap<string, ScriptFile>): MeshError {
  const group = name.slice(0, name.indexOf(".") + 1);
  const known = [...scripts.keys()].filter((key) => key.startsWith(group)).slice(0, 20);
  const there = known.length === 0 ? `the app has no ${group}*` : `there are ${known.join(", ")}`;
  return new MeshError("not_found", `there is no process "${name}"; ${there}`);
}

interface FunctionCall {
  readonly path: string;
  readonly fn: string;
  readonly args: readonly Json[];
  readonly assistantId: string;
  readonly label: string;
}

/** Calls any function; `ctxAt` says where the agent's `ctx` stands among the arguments. */
async function callScript(
  { path, fn, args, assistantId, label }: FunctionCall,
  context: AgentContext,
  ctxAt: "first" | "last" | "none",
): Promise<Json | undefined> {
  const { scripts } = context.shared.ports;
  if (scripts === undefined) throw new MeshError("failed_precondition", `${label}: this run cannot execute scripts`);
  const program = await scripts.program(path);
  const json = args.map((each): ScriptArgument => ({ json: each }));
  const ctx: ScriptArgument = { ctx: seedOf(context, assistantId) };
  const all = ctxAt === "first" ? [ctx, ...json] : ctxAt === "last" ? [...json, ctx] : json;
  const leave = context.enterScript();
  try {
    const result = await scripts.call(
      { program, fn, args: all, label, contextMemory: context.contextMemory, depth: context.scriptDepth },
      context.shared.opsOf({ context, assistantId }),
      context.signal,
    );
    if (result.kind === "returned") return result.value;
    const known = result.functions.length === 0 ? "it has none" : `it has ${result.functions.join(", ")}`;
    throw new MeshError("not_found", `${path} has no function ${fn}; ${known}`);
  } finally {
    leave();
  }
}

/** The facts that a script's `ctx` is made from. */
function seedOf(context: AgentContext, assistantId: string): ContextSeed {
  const { runId, workspaceId, userId } = context.shared.input.context;
  const { chatId } = context;
  const hasState = context.shared.ports.state !== undefined;
  return {
    chat_id: chatId ?? "",
    assistant_id: assistantId,
    locale: context.locale,
    theme: context.theme,
    accept: "standard",
    route: context.route,
    referer: context.referer,
    client: { type: "mesh", user_agent: "", ip: "" },
    metadata: context.metadata,
    authorized: { user_id: userId, team_id: workspaceId, sub: userId },
    trace_id: context.trace.id,
    memory: {
      ...(hasState ? { user: userId, team: workspaceId } : {}),
      ...(hasState && chatId !== undefined ? { chat: chatId } : {}),
      context: context.threadId === undefined ? runId : `${runId}:${context.threadId}`,
    },
    ...(context.shared.ports.files === undefined
      ? {}
      : { sandbox: { workdir: "." }, computer: { id: "node" }, workspace: { id: workspaceId } }),
  };
}
