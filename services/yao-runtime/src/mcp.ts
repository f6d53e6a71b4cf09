/** `ctx.mcp`: tools, resources and prompts of MCP servers. A server of your own assistant goes by its short name. */

import { outside } from "./outside.ts";
import type { Value, Values } from "./value.ts";

/** A tool as its server describes it. */
export interface McpTool {
  name: string;
  description?: string;
  /** JSON Schema of the arguments. */
  inputSchema?: Values;
  [detail: string]: Value;
}

/** One of several calls to the same server. */
export interface McpCall {
  name: string;
  arguments?: Values;
}

/** One of several calls to any servers. */
export interface McpRequest {
  mcp: string;
  tool: string;
  arguments?: Values;
}

/** How one of several calls went. */
export interface McpResult {
  mcp: string;
  tool: string;
  /** What the tool answered, parsed. */
  result?: Value;
  /** Why there is no result. */
  error?: string;
}

/**
 * MCP servers. Answers of tools are parsed: JSON text becomes a value, one item is not a list. Unknown servers and tools,
 * and servers that cannot be reached, throw.
 */
export interface Mcp {
  /**
   * Tools of a server; with more pages than one, `nextCursor` asks for the next.
   * @example
   * const { tools } = ctx.mcp.ListTools("shop");
   */
  ListTools(server: string, cursor?: string): { tools: McpTool[]; nextCursor?: string };
  /**
   * Calls a tool and gives its answer.
   * @example
   * const order = ctx.mcp.CallTool("shop", "get_order", { id: 7 });
   */
  CallTool(server: string, tool: string, args?: Values): Value;
  /**
   * Calls several tools of a server, one after the other.
   * @example
   * const [a, b] = ctx.mcp.CallTools("shop", [{ name: "open" }, { name: "list", arguments: { page: 1 } }]);
   */
  CallTools(server: string, calls: McpCall[]): Value[];
  /**
   * Calls several tools of a server at the same time; answers come in the order of the calls.
   * @example
   * const [a, b] = ctx.mcp.CallToolsParallel("shop", [{ name: "prices" }, { name: "stock" }]);
   */
  CallToolsParallel(server: string, calls: McpCall[]): Value[];
  /**
   * Calls tools of several servers and waits for all.
   * @example
   * const results = ctx.mcp.All([{ mcp: "shop", tool: "prices" }, { mcp: "bank", tool: "rates" }]);
   */
  All(requests: McpRequest[]): McpResult[];
  /**
   * The first that succeeds; the others are cancelled.
   * @example
   * const found = ctx.mcp.Any([{ mcp: "a", tool: "find" }, { mcp: "b", tool: "find" }]).find((it) => it && !it.error);
   */
  Any(requests: McpRequest[]): McpResult[];
  /**
   * The first that ends, well or not; the others are cancelled.
   * @example
   * const first = ctx.mcp.Race([{ mcp: "eu", tool: "ping" }, { mcp: "us", tool: "ping" }]).find((it) => it);
   */
  Race(requests: McpRequest[]): McpResult[];
  /**
   * Resources of a server.
   * @example
   * const { resources } = ctx.mcp.ListResources("files");
   */
  ListResources(server: string, cursor?: string): { resources: Values[]; nextCursor?: string };
  /**
   * Reads a resource.
   * @example
   * const { contents } = ctx.mcp.ReadResource("files", "docs://intro");
   */
  ReadResource(server: string, uri: string): { contents: Values[] };
  /**
   * Prompts of a server.
   * @example
   * const { prompts } = ctx.mcp.ListPrompts("files");
   */
  ListPrompts(server: string, cursor?: string): { prompts: Values[]; nextCursor?: string };
  /**
   * A prompt, filled in.
   * @example
   * const prompt = ctx.mcp.GetPrompt("files", "summary", { style: "short" });
   */
  GetPrompt(server: string, name: string, args?: Values): { description?: string; messages: Value[] };
  /**
   * Samples of a tool or resource.
   * @example
   * const { samples } = ctx.mcp.ListSamples("shop", "tool", "get_order");
   */
  ListSamples(server: string, type: "tool" | "resource", name: string): { samples: Values[] };
  /**
   * One sample, counted from 0.
   * @example
   * const { input } = ctx.mcp.GetSample("shop", "tool", "get_order", 0);
   */
  GetSample(server: string, type: "tool" | "resource", name: string, index: number): Values;
}

/** {@link Mcp} for one server: the same methods without their first argument. */
export type McpClient = {
  readonly [Method in Exclude<keyof Mcp, "All" | "Any" | "Race">]: Mcp[Method] extends (
    server: string,
    ...rest: infer Rest
  ) => infer Answer
    ? (...rest: Rest) => Answer
    : never;
} & { readonly id: string; Release(): void };

/** See {@link MCP}. */
export interface McpConstructor {
  new (server: string): McpClient;
  (server: string): McpClient;
}

/**
 * One MCP server.
 *
 * @example
 * const shop = new MCP("shop");
 * const order = shop.CallTool("get_order", { id: 7 });
 */
export const MCP: McpConstructor = outside("MCP");
