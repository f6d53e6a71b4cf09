/** The tools an agent's model may call: built-in ones by name, and those of its MCP servers. */

import type { AgentTool } from "@mesh/agent";
import { type Assistant, findMcpServer, type McpServerRef, resolveMcpServer } from "@mesh/assistants";
import { type Json, type JsonObject, MeshError } from "@mesh/kernel";
import type { InputContent } from "@mesh/llm";
import { type McpClient, type McpContent, type McpTool, ToolNames, toolResultText, parseToolResult } from "@mesh/mcp";

import type { AgentContext } from "./agent-context.ts";
import type { SourcedTool } from "./model-run.ts";
import type { OpCaller } from "./op/op-table.ts";

const MAX_TOOLS = 128;
const MAX_SAMPLES = 3;

/** What an agent's model may use. */
export interface ToolRequest {
  /** Names of built-in tools. */
  readonly names: readonly string[];
  readonly servers: readonly McpServerRef[];
  readonly assistant: Assistant;
  readonly context: AgentContext;
}

/** What the model is offered, and what it is told about it. */
export interface OfferedTools {
  readonly tools: readonly SourcedTool[];
  /** Samples of calls, for the system prompt; empty where there are none. */
  readonly samples: string;
}

/** Finds the tools; throws for one that does not exist or a server that cannot be reached, saying which. */
export async function toolsOf({ names, servers, assistant, context }: ToolRequest): Promise<OfferedTools> {
  const builtIn = await builtInTools(names, context);
  const naming = new ToolNames(builtIn.map((each) => each.name));
  const caller: OpCaller = { context, assistantId: assistant.id };
  const offered = await Promise.all(servers.map((server) => serverTools(server, caller, naming)));
  const tools = [...builtIn, ...offered.flatMap((each) => each.tools)];
  if (tools.length > MAX_TOOLS) {
    throw new MeshError(
      "invalid_argument",
      `${assistant.id} offers ${tools.length} tools to its model; ${MAX_TOOLS} are the most: list the ones it needs in mcp.servers`,
    );
  }
  return { tools, samples: offered.map((each) => each.samples).filter((text) => text !== "").join("\n\n") };
}

async function builtInTools(names: readonly string[], { shared }: AgentContext): Promise<readonly SourcedTool[]> {
  if (names.length === 0) return [];
  const offered = (await shared.ports.tools?.()) ?? [];
  return names.map((name) => {
    const tool = offered.find((each) => each.name === name);
    if (tool !== undefined) return { server: "", name, tool };
    const known = offered.map((each) => each.name).join(", ");
    const there = known === "" ? "this device has none" : `there are ${known}`;
    throw new MeshError("not_found", `there is no built-in tool ${JSON.stringify(name)}; ${there}`);
  });
}

/** The client of a server by the name an assistant has for it. */
export function mcpClient(name: string, { context, assistantId }: OpCaller): McpClient<OpCaller> {
  const { input, ports } = context.shared;
  const file = findMcpServer(input.app, assistantId, name);
  if (file === undefined) {
    const known = [...input.app.mcpServers.keys()].slice(0, 10).join(", ");
    throw new MeshError("not_found", `there is no MCP server "${name}"; ${known === "" ? "the app has none" : `the app has ${known}`}`);
  }
  if (ports.mcp === undefined) throw new MeshError("failed_precondition", `MCP server "${name}": this run cannot use MCP servers`);
  return ports.mcp.get(resolveMcpServer(file, input.env));
}

async function serverTools(
  { serverId, tools: wanted }: McpServerRef,
  caller: OpCaller,
  naming: ToolNames,
): Promise<OfferedTools> {
  const client = mcpClient(serverId, caller);
  const { signal } = caller.context;
  const { tools: all } = await client.list("tools", { caller, signal });
  const chosen = wanted === undefined ? all : all.filter((tool) => wanted.includes(tool.name));
  const missing = wanted?.find((name) => !all.some((tool) => tool.name === name));
  if (missing !== undefined) {
    throw new MeshError("not_found", `MCP server "${serverId}" has no tool "${missing}"; it has ${all.map((tool) => tool.name).join(", ")}`);
  }
  const tools = chosen.map((tool) => ({
    server: serverId,
    name: tool.name,
    tool: toAgentTool(tool, naming.encode(serverId, tool.name), { client, caller }),
  }));
  return { tools, samples: samplesOf(client, serverId, chosen) };
}

function toAgentTool(
  tool: McpTool,
  name: string,
  { client, caller }: { readonly client: McpClient<OpCaller>; readonly caller: OpCaller },
): AgentTool {
  return {
    name,
    description: tool.description ?? tool.name,
    parameters: tool.inputSchema,
    execute: async (args, { signal, onProgress }) => {
      const result = await client.callToolRaw(tool.name, args, {
        caller,
        signal,
        onProgress: ({ message }) => {
          if (message !== undefined) onProgress(message);
        },
      });
      const text = toolResultText(result);
      // What the tool itself reports as a failure is one for the model as well; it may correct its call.
      if (result.isError === true) throw new MeshError("failed_precondition", text === "" ? "the tool failed" : text);
      return { content: contentOf(result.content, text), details: parseToolResult(result) };
    },
  };
}

function contentOf(content: readonly McpContent[], text: string): readonly InputContent[] {
  const images = content.flatMap((part): InputContent[] =>
    part.type === "image" ? [{ type: "image", data: part.data, mimeType: part.mimeType }] : [],
  );
  return [{ type: "text", text }, ...images];
}

function samplesOf(client: McpClient<OpCaller>, serverId: string, tools: readonly McpTool[]): string {
  const lines = tools.flatMap((tool) => {
    const { samples } = client.listSamples("tool", tool.name);
    return samples.slice(0, MAX_SAMPLES).map((sample) => `- ${serverId} ${tool.name}: ${sampleText(sample)}`);
  });
  return lines.length === 0 ? "" : `Examples of tool calls:\n${lines.join("\n")}`;
}

function sampleText(sample: JsonObject): string {
  const { input = sample as Json } = sample;
  return JSON.stringify(input);
}
