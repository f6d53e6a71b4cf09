/**
 * Runs that are one tool: no hooks, no model. The option `tool_call` names a tool of the assistant's MCP servers (or of the app's)
 * with its arguments; the option `tool_list` asks which there are.
 */

import { capText } from "@mesh/agent";
import type { Assistant, McpServerRef } from "@mesh/assistants";
import { isObject, type Json, type JsonObject, MeshError } from "@mesh/kernel";
import { type McpTool, parseToolResult, toolResultText } from "@mesh/mcp";

import type { AgentContext } from "./agent-context.ts";
import { cappedInput, OUTPUT_CAP } from "./loop-output.ts";
import { mcpClient } from "./mcp-tool.ts";

/** What such a run does. */
export type ToolRun =
  | { readonly kind: "list" }
  | { readonly kind: "call"; readonly server: string; readonly tool: string; readonly args: JsonObject };

/** What such a run gives. */
export interface ToolRunResult {
  /** For people: the text of the answer, or the list as JSON. */
  readonly output: string;
  readonly next: Json;
}

/** What the options ask for; undefined for an ordinary run. */
export function toolRunOf(options: JsonObject): ToolRun | undefined {
  if (options["tool_list"] === true) return { kind: "list" };
  const call = options["tool_call"];
  if (call === undefined || call === null) return undefined;
  const { server, tool, arguments: args = {} } = isObject(call) ? call : {};
  if (typeof server === "string" && server !== "" && typeof tool === "string" && tool !== "" && isObject(args)) {
    return { kind: "call", server, tool, args };
  }
  throw new MeshError("invalid_argument", 'the option "tool_call" must be {server, tool, arguments}');
}

/** Does it; a tool that reports a failure fails the run. */
export async function runTool(run: ToolRun, assistant: Assistant, context: AgentContext): Promise<ToolRunResult> {
  if (run.kind === "list") {
    const list = await listTools(assistant, context);
    return { output: JSON.stringify(list, undefined, 2), next: list };
  }
  const { server, tool, args } = run;
  const caller = { context, assistantId: assistant.id };
  const head = { tool, server, input: cappedInput(args) };
  const messageId = context.out.send("execute", { ...head, status: "running" });
  const result = await mcpClient(server, caller).callToolRaw(tool, args, {
    caller,
    signal: context.signal,
    onProgress: ({ message }) => {
      if (message !== undefined) {
        context.out.merge("execute", { progress: capText(message, OUTPUT_CAP) }, messageId);
      }
    },
  });
  const text = toolResultText(result);
  const isError = result.isError === true;
  const shown = { ...head, output: capText(text, OUTPUT_CAP), status: isError ? "error" : "completed" };
  context.out.send("execute", shown, messageId);
  if (isError) throw new MeshError("failed_precondition", text === "" ? `${tool} failed without saying why` : text);
  return { output: text, next: parseToolResult(result) };
}

async function listTools(assistant: Assistant, context: AgentContext): Promise<readonly JsonObject[]> {
  const caller = { context, assistantId: assistant.id };
  const lists = await Promise.allSettled(
    serversOf(assistant, context).map(async ({ serverId, tools: wanted }) => {
      const { tools } = await mcpClient(serverId, caller).list("tools", { caller, signal: context.signal });
      const chosen = wanted === undefined ? tools : tools.filter(({ name }) => wanted.includes(name));
      return chosen.map((tool) => toEntry(serverId, tool));
    }),
  );
  const found = lists.filter((list) => list.status === "fulfilled");
  const [failed] = lists.filter((list) => list.status === "rejected");
  // A server that is down does not take the others away; where none is up, its failure is the answer.
  if (failed !== undefined && found.length === 0) throw failed.reason;
  for (const { reason } of lists.filter((list) => list.status === "rejected")) {
    context.shared.write({
      type: "log",
      props: { level: "warn", source: "mcp", text: MeshError.from(reason).message },
    });
  }
  return found.flatMap(({ value }) => value);
}

/** The servers an assistant names, or every one of its app. */
function serversOf(assistant: Assistant, { shared }: AgentContext): readonly McpServerRef[] {
  if (assistant.mcp.servers.length > 0) return assistant.mcp.servers;
  const own = `agents.${assistant.id}.`;
  return [...shared.input.app.mcpServers.values()]
    .filter(({ assistantId }) => assistantId === undefined || assistantId === assistant.id)
    .map(({ id }) => ({ serverId: id.startsWith(own) ? id.slice(own.length) : id }));
}

function toEntry(server: string, { name, description, inputSchema }: McpTool): JsonObject {
  return { server, tool: name, ...(description === undefined ? {} : { description }), input_schema: inputSchema };
}
