/**
 * The processes of one run: the standard groups, and those that lead back into the run's app: its models, scripts, agents and
 * connectors.
 */

import { isObject, type Json, MeshError } from "@mesh/kernel";
import {
  addressedGroup,
  functionGroup,
  type ProcessGroup,
  type ProcessRegistry,
  standardProcesses,
  type StandardProcessDeps,
} from "@mesh/scripts/process";

import { ChunkTap } from "../op/chunk-tap.ts";
import { outcomeOf } from "../op/llm-op.ts";
import type { OpCaller } from "../op/op-table.ts";
import { callProcess } from "../op/process-op.ts";
import { stateOf } from "../op/state.ts";
import { callFunction } from "../script-call.ts";
import type { StatePort } from "../state-port.ts";
import { agentGroup, streamAgent } from "./agent-group.ts";
import { callerOf } from "./run-caller.ts";
import { stateStores } from "./state-store.ts";

/** What the processes of a run need. */
export interface RunProcessDeps extends Omit<StandardProcessDeps, "stores" | "env" | "query"> {
  readonly state: StatePort;
  /** Variables the run may read. */
  readonly env: (name: string) => string | undefined;
}

/** The registry of one run. */
export function runProcesses({ state, env, ...deps }: RunProcessDeps): ProcessRegistry {
  const registry = standardProcesses({ ...deps, stores: stateStores(state), env: (_scope, name) => env(name) });
  registry.register("models", modelGroup);
  registry.register("scripts", scriptGroup);
  registry.register("agents", agentScriptGroup);
  registry.register("agent", agentGroup);
  registry.register("llms", llmGroup);
  return registry;
}

/** Calls the process behind a tool: a function of a script gets the agent's `ctx` as its last argument. */
export async function callToolProcess(
  name: string,
  args: readonly Json[],
  caller: OpCaller,
  signal: AbortSignal,
): Promise<Json | undefined> {
  if (/^(agents|scripts)\./.test(name)) return callFunction(name, { args, ctxAt: "last" }, caller, signal);
  return callProcess(caller, name, args, signal);
}

const modelGroup: ProcessGroup = addressedGroup(({ id, method, args }, caller) => {
  const { context } = callerOf(caller);
  return stateOf(context).call("models", method, [id, ...args.values], caller.signal);
});

/** `scripts.<path>.<Function>` and `agents.<assistant>.<path>.<Function>`. */
const scriptGroup: ProcessGroup = addressedGroup(({ name, args }, caller) =>
  callFunction(name, { args: args.values, ctxAt: "none" }, callerOf(caller), caller.signal),
);

/** The same, and `agents.<assistant>.Stream`, which asks the assistant itself. */
const agentScriptGroup: ProcessGroup = addressedGroup(({ name, id, method, args }, caller) => {
  const { app } = callerOf(caller).context.shared.input;
  const isAgent = method === "Stream" && app.assistants.has(id) && !app.scripts.has(`agents.${id}`);
  if (isAgent) return streamAgent(id, args, caller);
  return callFunction(name, { args: args.values, ctxAt: "none" }, callerOf(caller), caller.signal);
});

const llmGroup: ProcessGroup = functionGroup({
  /** `llms.chat(connector, messages, options?)`, or one object with these. */
  chat: async (args, caller) => {
    const first = args.json(0);
    const request = isObject(first) ? first : { connector: first, messages: args.json(1), options: args.json(2) };
    const { connector, messages = [], options } = request;
    if (typeof connector !== "string" || connector === "") return args.refuse("needs the id of a connector");
    const io = { signal: caller.signal, callback: () => Promise.resolve(undefined) };
    const asked = { connector, messages, options: isObject(options) ? options : {} };
    const how = { tap: new ChunkTap(null, io), isShown: false, signal: caller.signal };
    const outcome = await outcomeOf(asked, callerOf(caller), how);
    if (outcome.error !== undefined) throw new MeshError("failed_precondition", outcome.error);
    return outcome.response;
  },
});
