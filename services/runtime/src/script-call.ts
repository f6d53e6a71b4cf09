/** Calls functions of an app's scripts: hooks of an assistant, and functions behind process names. */

import type { Assistant, ScriptFile } from "@mesh/assistants";
import { type Json, MeshError } from "@mesh/kernel";
import type { ContextSeed, ScriptArgument, ScriptLimits } from "@mesh/scripts";

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
  const label = `${assistant.id} ${name}`;
  const call = { path, fn: name, args: args.map(jsonArgument), ctxAt: "first", label } as const;
  try {
    return await callScript(call, { context, assistantId: assistant.id }, context.signal);
  } finally {
    context.hookOutput.endAll();
  }
}

/** Whether an assistant has a hook. */
export async function hasHook(name: HookName, assistant: Assistant, { shared }: AgentContext): Promise<boolean> {
  const { scripts } = shared.ports;
  if (assistant.hooks === undefined) return false;
  if (scripts === undefined) throw noScripts(assistant.id);
  return (await scripts.program(assistant.hooks)).functions.includes(name);
}

/** How a function of a script is called. */
export interface FunctionArguments {
  readonly args: readonly Json[];
  /** Tools get the agent's `ctx` as their last argument. */
  readonly ctxAt: "last" | "none";
}

/** Calls a function of a script by its process name, such as `scripts.math.Add` or `agents.shop.order.List`. */
export async function callFunction(
  name: string,
  { args, ctxAt }: FunctionArguments,
  caller: OpCaller,
  signal: AbortSignal,
): Promise<Json | undefined> {
  const { scripts } = caller.context.shared.input.app;
  const dot = name.lastIndexOf(".");
  const file = scripts.get(name.slice(0, Math.max(0, dot)));
  if (file === undefined) throw unknownFunction(name, scripts);
  const { path, assistantId = caller.assistantId } = file;
  const call = { path, fn: name.slice(dot + 1), args: args.map(jsonArgument), ctxAt, label: name };
  return callScript(call, { ...caller, assistantId }, signal);
}

function unknownFunction(name: string, scripts: ReadonlyMap<string, ScriptFile>): MeshError {
  const group = name.slice(0, name.indexOf(".") + 1);
  const known = [...scripts.keys()].filter((key) => key.startsWith(group)).slice(0, 20);
  const there = known.length === 0 ? `the app has no ${group}*` : `there are ${known.join(", ")}`;
  return new MeshError("not_found", `there is no process "${name}"; ${there}`);
}

/** One function of a script file, and what it is given. */
export interface FunctionCall {
  readonly path: string;
  readonly fn: string;
  /** Besides `ctx`. */
  readonly args: readonly ScriptArgument[];
  /** Where the agent's `ctx` stands among the arguments. */
  readonly ctxAt: "first" | "second" | "last" | "none";
  /** For messages. */
  readonly label: string;
  readonly limits?: Partial<ScriptLimits>;
}

function jsonArgument(json: Json): ScriptArgument {
  return { json };
}

// Of scripts inside of scripts, also where agents are called in between.
const MAX_DEPTH = 16;

/** Calls any function of a script file. */
export async function callScript(
  { path, fn, args, ctxAt, label, limits = {} }: FunctionCall,
  { context, assistantId, scripts: depth = context.scripts }: OpCaller,
  signal: AbortSignal,
): Promise<Json | undefined> {
  const { scripts } = context.shared.ports;
  if (scripts === undefined) throw noScripts(label);
  if (depth > MAX_DEPTH) {
    throw new MeshError("failed_precondition", `scripts call each other ${MAX_DEPTH} deep already`);
  }
  const program = await scripts.program(path);
  const ctx: ScriptArgument = { ctx: seedOf(context, assistantId) };
  const place = { first: 0, second: 1, last: args.length };
  const all = ctxAt === "none" ? args : args.toSpliced(place[ctxAt], 0, ctx);
  const result = await scripts.call(
    { program, fn, args: all, label, contextMemory: context.contextMemory, depth, limits },
    await context.shared.opsOf({ context, assistantId, scripts: depth + 1 }),
    signal,
  );
  if (result.kind === "returned") return result.value;
  const known = result.functions.length === 0 ? "it has none" : `it has ${result.functions.join(", ")}`;
  throw new MeshError("not_found", `${path} has no function ${fn}; ${known}`);
}

function noScripts(what: string): MeshError {
  return new MeshError("failed_precondition", `${what}: this run cannot execute scripts`);
}

/** The facts that a script's `ctx` is made from. */
function seedOf(context: AgentContext, assistantId: string): ContextSeed {
  const { runId, workspaceId, userId, authorized, client } = context.shared.input.context;
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
    client: { type: "mesh", user_agent: "", ip: "", ...client },
    metadata: context.metadata,
    authorized: { ...authorized, user_id: userId, team_id: workspaceId, sub: userId },
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
