/** The tools an agent's model may call: built-in ones by name, and those of its MCP servers. */

import type { AgentTool } from "@mesh/agent";
import { type Assistant, findMcpServer, type McpServerRef, resolveMcpServer } from "@mesh/assistants";
import { type Json, type JsonObject, MeshError } from "@mesh/kernel";
import type { InputContent } from "@mesh/llm";
import { type McpClient, type McpContent, type McpTool, ToolNames, toolResultText, parseToolResult } from "@mesh/mcp";

import type { AgentContext } from "./agent-context.ts";
import { askUserTool } from "./ask-user.ts";
import { toolNames } from "./model-call.ts";
import type { SourcedTool } from "./model-run.ts";
import type { OpCaller } from "./op/op-table.ts";

const MAX_TOOLS = 128;
const MAX_SAMPLES = 3;

/** What an agent's model may use. */
export interface ToolRequest {
  /** Names of built-in tools. */
  readonly names: readonly string[];
  /** Names of tools whose calls a person must approve. */
  readonly approve: readonly string[];
  readonly servers: readonly McpServerRef[];
  readonly assistant: Assistant;
  readonly context: AgentContext;
}

/** What the model is offered, and what it is told about it. */
export interface OfferedTools {
  readonly tools: readonly SourcedTool[];
  /** Names, as the model has them, of those that a person must approve. */
  readonly guarded: ReadonlySet<string>;
  /** Samples of calls, for the system prompt; empty where there are none. */
  readonly samples: string;
}

/** Finds the tools; throws for one that does not exist or a server that cannot be reached, saying which. */
export async function toolsOf({ names, approve, servers, assistant, context }: ToolRequest): Promise<OfferedTools> {
  const device = names.length + approve.length === 0 ? [] : await deviceTools(context);
  const builtIn = names.map((name) => ({ server: "", name, tool: builtInTool(name, device) }));
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
  const samples = offered.map((each) => each.samples).filter((text) => text !== "");
  requireKnown(approve, tools, device);
  // What the caller of the run wants approved holds for every agent that works for it, delegates and called ones as well.
  const ofRun = toolNames("approve", context.shared.input.options["approve"]);
  const guarded = new Set([...approve, ...ofRun].flatMap((name) => named(tools, name)));
  return { tools, guarded, samples: samples.join("\n\n") };
}

async function deviceTools({ shared }: AgentContext): Promise<readonly AgentTool[]> {
  return [...((await shared.ports.tools?.()) ?? []), askUserTool];
}

function builtInTool(name: string, device: readonly AgentTool[]): AgentTool {
  const tool = device.find((each) => each.name === name);
  if (tool === undefined) throw unknownTool(name, "tools", device);
  return tool;
}

// A misspelt name would leave the tool that was meant without its gate; one that this run does not use is harmless.
function requireKnown(approve: readonly string[], tools: readonly SourcedTool[], device: readonly AgentTool[]): void {
  for (const name of approve) {
    if (named(tools, name).length > 0 || device.some((each) => each.name === name)) continue;
    throw unknownTool(name, "approve", [...device, ...tools.map((each) => each.tool)]);
  }
}

/** Names, as the model has them, of the tools that one name means: the model's own name, or that of a tool of a server. */
function named(tools: readonly SourcedTool[], name: string): readonly string[] {
  return tools.filter((each) => each.tool.name === name || each.name === name).map((each) => each.tool.name);
}

function unknownTool(name: string, option: string, offered: readonly AgentTool[]): MeshError {
  const known = [...new Set(offered.map((tool) => tool.name))].join(", ");
  return new MeshError(
    "not_found",
    `there is no tool ${JSON.stringify(name)}, which the option "${option}" names; there are ${known}`,
  );
}

/** The client of a server by the name an assistant has for it. */
export function mcpClient(name: string, { context, assistantId }: OpCaller): McpClient<OpCaller> {
  const { input, ports } = context.shared;
  const file = findMcpServer(input.app, assistantId, name);
  if (file === undefined) {
    const known = [...input.app.mcpServers.keys()].slice(0, 10).join(", ");
    throw new MeshError(
      "not_found",
      `there is no MCP server "${name}"; ${known === "" ? "the app has none" : `the app has ${known}`}`,
    );
  }
  if (ports.mcp === undefined)
    throw new MeshError("failed_precondition", `MCP server "${name}": this run cannot use MCP servers`);
  return ports.mcp.get(resolveMcpServer(file, input.env));
}

async function serverTools(
  { serverId, tools: wanted }: McpServerRef,
  caller: OpCaller,
  naming: ToolNames,
): Promise<Omit<OfferedTools, "guarded">> {
  const client = mcpClient(serverId, caller);
  const { signal } = caller.context;
  const { tools: all } = await client.list("tools", { caller, signal });
  const chosen = wanted === undefined ? all : all.filter((tool) => wanted.includes(tool.name));
  const missing = wanted?.find((name) => !all.some((tool) => tool.name === name));
  if (missing !== undefined) {
    throw new MeshError(
      "not_found",
      `MCP server "${serverId}" has no tool "${missing}"; it has ${all.map((tool) => tool.name).join(", ")}`,
    );
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
    execute: async (args, call) => {
      const result = await client.callToolRaw(tool.name, args, {
        caller,
        signal: call.signal,
        onProgress: ({ message }) => {
          if (message !== undefined) call.onProgress(message);
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
