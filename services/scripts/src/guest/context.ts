/** `ctx`: what a hook is handed, made from a seed. */

import { MemoryNamespace } from "../memory/memory-namespace.ts";
import { api, isRecord, later } from "./api.ts";
import { agents, llms, mcp, search } from "./call.ts";
import { computerOf, sandboxOf, workspaceOf } from "./computer.ts";
import { contextSpace, memoryOf, spaceOf } from "./memory.ts";
import { messaging } from "./message.ts";
import { traceOf } from "./trace.ts";
import type { JsonObject } from "@mesh/kernel";

type Context = Record<string, unknown>;

let callSeed: JsonObject = {};

/** The context of the running call; also what `new Context()` and `Authorized()` start from. */
export function contextOf(seed: JsonObject): Context {
  callSeed = seed;
  return assemble(seed, contextSpace);
}

/** Who is asking, as `ctx.authorized` says. */
export function authorized(): unknown {
  return callSeed["authorized"] ?? {};
}

/** The run's trace, for `new Trace()`. */
export function currentTrace(): Context {
  return traceOf(idOf(callSeed["trace_id"]));
}

/** `new Context(options)`: another view of the same call, with request memory of its own until it is released. */
export function manualContext(options: unknown): Context {
  const memory = new MemoryNamespace(() => new Date().getTime());
  const context = assemble({ ...callSeed, ...(isRecord(options) ? (options as JsonObject) : {}) }, () => memory);
  context["Release"] = () => void memory.call("Clear", []);
  return context;
}

function assemble(seed: JsonObject, requestMemory: () => MemoryNamespace): Context {
  const { memory, trace_id: traceId, sandbox, computer, workspace, ...properties } = seed;
  const context: Context = { __proto__: null, ...properties, ...messaging() };
  later(context, "memory", () => memoryOf(isRecord(memory) ? memory : {}, requestMemory));
  later(context, "space", () => spaceOf(requestMemory));
  later(context, "trace", () => traceOf(idOf(traceId)));
  later(context, "mcp", mcp);
  later(context, "agent", agents);
  later(context, "llm", llms);
  later(context, "search", search);
  // The host ends the context; there is nothing a script could release too early.
  context["Release"] = () => undefined;
  if (isRecord(sandbox)) later(context, "sandbox", () => sandboxOf(sandbox));
  if (isRecord(computer)) later(context, "computer", () => computerOf(computer));
  if (isRecord(workspace)) later(context, "workspace", () => workspaceOf(workspace));
  return api("ctx", context);
}

function idOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
