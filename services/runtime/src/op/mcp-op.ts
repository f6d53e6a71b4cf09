/** `ctx.mcp`: the MCP servers of the app, as scripts use them. */

import { isObject, type Json, MeshError } from "@mesh/kernel";
import {
  callAll,
  callAny,
  callRace,
  callTools,
  callToolsParallel,
  type McpToolCall,
  type McpToolRequest,
  parseToolResult,
} from "@mesh/mcp";
import type { McpToolAnswer, McpToolOutcome, OpIo } from "@mesh/scripts";

import { mcpClient } from "../mcp-tool.ts";
import type { OpCaller, OpHandlers } from "./op-table.ts";
import { arrived } from "./race.ts";

/** Handlers of MCP. */
export const MCP_OPS: OpHandlers = {
  "mcp.ListTools": async (caller, [client, cursor], io) =>
    plain(await mcpClient(client, caller).list("tools", options(caller, io), cursor ?? undefined)),
  "mcp.ListResources": async (caller, [client, cursor], io) =>
    plain(await mcpClient(client, caller).list("resources", options(caller, io), cursor ?? undefined)),
  "mcp.ListPrompts": async (caller, [client, cursor], io) =>
    plain(await mcpClient(client, caller).list("prompts", options(caller, io), cursor ?? undefined)),
  "mcp.ReadResource": async (caller, [client, uri], io) =>
    plain(await mcpClient(client, caller).readResource(uri, options(caller, io))),
  "mcp.GetPrompt": async (caller, [client, name, args], io) =>
    plain(await mcpClient(client, caller).getPrompt(name, args ?? {}, options(caller, io))),
  "mcp.CallTool": async (caller, [client, name, args], io) => {
    const answer = await mcpClient(client, caller).callToolRaw(name, args ?? {}, options(caller, io));
    return { result: parseToolResult(answer), content: plain(answer.content) };
  },
  "mcp.CallTools": async (caller, [client, calls], io) =>
    answers(await callTools(mcpClient(client, caller), calls.map(readCall), options(caller, io))),
  "mcp.CallToolsParallel": async (caller, [client, calls], io) =>
    answers(await callToolsParallel(mcpClient(client, caller), calls.map(readCall), options(caller, io))),
  "mcp.All": (caller, [requests], io) => batch(callAll, caller, requests, io),
  "mcp.Any": async (caller, [requests], io) => arrived(await batch(callAny, caller, requests, io)),
  "mcp.Race": async (caller, [requests], io) => arrived(await batch(callRace, caller, requests, io)),
  "mcp.ListSamples": (caller, [client, type, name]) => plain(mcpClient(client, caller).listSamples(type, name)),
  "mcp.GetSample": (caller, [client, type, name, index]) => mcpClient(client, caller).getSample(type, name, index),
};

function options(caller: OpCaller, io: OpIo): { readonly caller: OpCaller; readonly signal: AbortSignal } {
  return { caller, signal: AbortSignal.any([caller.context.signal, io.signal]) };
}

async function batch(
  call: typeof callAll<OpCaller> | typeof callAny<OpCaller>,
  caller: OpCaller,
  requests: readonly Json[],
  io: OpIo,
): Promise<readonly (McpToolOutcome | null)[]> {
  return call(requests.map(readRequest), (name) => mcpClient(name, caller), options(caller, io));
}

function readCall(call: Json): McpToolCall {
  const { name, arguments: args } = isObject(call) ? call : {};
  if (typeof name === "string") return { name, arguments: args ?? {} };
  throw new MeshError("invalid_argument", "a tool call must be {name, arguments}");
}

function readRequest(request: Json): McpToolRequest {
  const { mcp, tool, arguments: args } = isObject(request) ? request : {};
  if (typeof mcp === "string" && typeof tool === "string") return { mcp, tool, arguments: args ?? {} };
  throw new MeshError("invalid_argument", "a request must be {mcp, tool, arguments}");
}

function answers(values: readonly Json[]): readonly McpToolAnswer[] {
  return values.map((result) => ({ result }));
}

// Drops what is undefined, which JSON does not have.
function plain(value: unknown): Json {
  return JSON.parse(JSON.stringify(value)) as Json;
}
