/** Calls of other parties: `ctx.agent`, `ctx.llm`, `ctx.mcp`, `ctx.search`, and the global `MCP`. */

import { api, functionOf, isRecord, listOf, numberOf, optionalRecord, optionalText, textOf } from "./api.ts";
import { invoke, withCallback } from "./bridge.ts";
import type { Json, JsonObject } from "@mesh/kernel";

import type { McpToolAnswer } from "../op.ts";

type Methods = Record<string, unknown>;
type OnChunk = ((...args: readonly Json[]) => unknown) | undefined;

/** `ctx.agent`. */
export function agents(): Methods {
  const call = (agent: unknown, messages: unknown, options?: unknown): unknown => {
    const [rest, onChunk] = split(options, "ctx.agent.Call");
    return withCallback(onChunk, (id) =>
      invoke(
        "agent.Call",
        textOf(agent, "ctx.agent.Call: the agent"),
        messagesOf(messages, "ctx.agent.Call"),
        rest,
        id,
      ),
    );
  };
  const several = (op: "agent.All" | "agent.Any" | "agent.Race") => (requests: unknown, options?: unknown) => {
    const [, onChunk] = split(options, `ctx.${op}`);
    const outcomes = withCallback(onChunk, (id) => invoke(op, listOf(requests, `ctx.${op}: the requests`), id));
    return op === "agent.Any" ? arrived(outcomes) : outcomes;
  };
  return api("ctx.agent", {
    __proto__: null,
    Call: call,
    Stream: call,
    All: several("agent.All"),
    Any: several("agent.Any"),
    Race: several("agent.Race"),
  });
}

/** `ctx.llm`. */
export function llms(): Methods {
  const one = (op: "llm.Call" | "llm.Stream") => (connector: unknown, messages: unknown, options?: unknown) => {
    const [rest, onChunk] = split(options, `ctx.${op}`);
    return withCallback(onChunk, (id) =>
      invoke(op, textOf(connector, `ctx.${op}: the connector`), messagesOf(messages, `ctx.${op}`), rest, id),
    );
  };
  const several = (op: "llm.All" | "llm.Any" | "llm.Race") => (requests: unknown, options?: unknown) => {
    const [, onChunk] = split(options, `ctx.${op}`);
    const outcomes = withCallback(onChunk, (id) => invoke(op, listOf(requests, `ctx.${op}: the requests`), id));
    return op === "llm.Any" ? arrived(outcomes) : outcomes;
  };
  return api("ctx.llm", {
    __proto__: null,
    Call: one("llm.Call"),
    Stream: one("llm.Stream"),
    All: several("llm.All"),
    Any: several("llm.Any"),
    Race: several("llm.Race"),
    GenerateImage: (connector: unknown, prompt: unknown, options?: unknown) =>
      invoke(
        "llm.GenerateImage",
        textOf(connector, "ctx.llm.GenerateImage: the connector"),
        textOf(prompt, "ctx.llm.GenerateImage: the prompt"),
        optionalRecord(options, "ctx.llm.GenerateImage: the options"),
      ),
  });
}

/** `ctx.mcp`: every method takes the client first. */
export function mcp(): Methods {
  return api("ctx.mcp", {
    __proto__: null,
    ListTools: (client: unknown, cursor?: unknown) => invoke("mcp.ListTools", clientOf(client), cursorOf(cursor)),
    CallTool: (client: unknown, name: unknown, args?: unknown) =>
      parsed(invoke("mcp.CallTool", clientOf(client), nameOf(name), optionalRecord(args, "the tool's arguments"))),
    CallTools: (client: unknown, tools: unknown) =>
      results(invoke("mcp.CallTools", clientOf(client), listOf(tools, "ctx.mcp.CallTools: the tools"))),
    CallToolsParallel: (client: unknown, tools: unknown) =>
      results(invoke("mcp.CallToolsParallel", clientOf(client), listOf(tools, "ctx.mcp.CallToolsParallel: the tools"))),
    ListResources: (client: unknown, cursor?: unknown) =>
      invoke("mcp.ListResources", clientOf(client), cursorOf(cursor)),
    ReadResource: (client: unknown, uri: unknown) =>
      invoke("mcp.ReadResource", clientOf(client), textOf(uri, "ctx.mcp.ReadResource: the uri")),
    ListPrompts: (client: unknown, cursor?: unknown) => invoke("mcp.ListPrompts", clientOf(client), cursorOf(cursor)),
    GetPrompt: (client: unknown, name: unknown, args?: unknown) =>
      invoke("mcp.GetPrompt", clientOf(client), nameOf(name), optionalRecord(args, "the prompt's arguments")),
    ListSamples: (client: unknown, type: unknown, name: unknown) =>
      invoke("mcp.ListSamples", clientOf(client), textOf(type, "ctx.mcp.ListSamples: the type"), nameOf(name)),
    GetSample: (client: unknown, type: unknown, name: unknown, index: unknown) =>
      invoke(
        "mcp.GetSample",
        clientOf(client),
        textOf(type, "ctx.mcp.GetSample: the type"),
        nameOf(name),
        numberOf(index, "ctx.mcp.GetSample: the index"),
      ),
    All: (requests: unknown) => invoke("mcp.All", listOf(requests, "ctx.mcp.All: the requests")),
    Any: (requests: unknown) => arrived(invoke("mcp.Any", listOf(requests, "ctx.mcp.Any: the requests"))),
    Race: (requests: unknown) => invoke("mcp.Race", listOf(requests, "ctx.mcp.Race: the requests")),
  });
}

/** `ctx.search`. */
export function search(): Methods {
  const one = (op: "search.Web" | "search.KB" | "search.DB") => (query: unknown, options?: unknown) =>
    invoke(op, textOf(query, `ctx.${op}: the query`), optionalRecord(options, `ctx.${op}: the options`));
  const several = (op: "search.All" | "search.Any" | "search.Race") => (requests: unknown) => {
    const found = invoke(op, listOf(requests, `ctx.${op}: the requests`));
    return op === "search.Any" ? arrived(found) : found;
  };
  return api("ctx.search", {
    __proto__: null,
    Web: one("search.Web"),
    KB: one("search.KB"),
    DB: one("search.DB"),
    All: several("search.All"),
    Any: several("search.Any"),
    Race: several("search.Race"),
  });
}

/** `MCP(id)`: the methods of `ctx.mcp` for one client. */
export function mcpClient(id: unknown): Methods {
  const client = clientOf(id);
  const several = new Set(["All", "Any", "Race"]);
  const bound = Object.entries(mcp()).flatMap(([name, method]) =>
    several.has(name) || typeof method !== "function"
      ? []
      : [
          [
            name,
            (...args: readonly unknown[]): unknown =>
              (method as (...all: readonly unknown[]) => unknown)(client, ...args),
          ],
        ],
  );
  return api("an MCP client", {
    __proto__: null,
    id: client,
    ...(Object.fromEntries(bound) as Methods),
    Release: () => undefined,
  });
}

/** `Any` gives what arrived up to the first success: scripts look at each entry's error without a check for null. */
function arrived(outcomes: unknown): unknown {
  return Array.isArray(outcomes) ? outcomes.filter((outcome) => outcome !== null) : outcomes;
}

/** Options without their callback, and the callback. */
function split(options: unknown, where: string): readonly [JsonObject | null, OnChunk] {
  // A function alone, as published assistants also pass it.
  if (typeof options === "function") return [null, functionOf(options, where)];
  const record = optionalRecord(options, `${where}: the options`);
  if (record === null) return [null, undefined];
  const { onChunk, ...rest } = record as JsonObject & { readonly onChunk?: unknown };
  const callback = onChunk === undefined || onChunk === null ? undefined : functionOf(onChunk, `${where}: onChunk`);
  return [rest, callback];
}

/** One text or message stands for a conversation of it. */
function messagesOf(value: unknown, where: string): readonly Json[] {
  if (typeof value === "string") return [{ role: "user", content: value }];
  if (isRecord(value)) return [value as JsonObject];
  return listOf(value, `${where}: the messages`);
}

function clientOf(value: unknown): string {
  return textOf(value, "the MCP client's id");
}

function nameOf(value: unknown): string {
  return textOf(value, "the name");
}

function cursorOf(value: unknown): string | null {
  const cursor = optionalText(value, "the cursor");
  return cursor === "" ? null : cursor;
}

/** The parsed answer. The older documents read `.content`; it is there, out of sight, where the answer has none itself. */
function parsed(answer: McpToolAnswer): unknown {
  const { result, content } = answer;
  if (typeof result === "object" && result !== null && content !== undefined && !("content" in result)) {
    Object.defineProperty(result, "content", { value: content, configurable: true });
  }
  return result;
}

/** The parsed answers. The older documents read `.results` of them. */
function results(answers: readonly McpToolAnswer[]): unknown {
  const list = answers.map(parsed);
  return Object.defineProperty(list, "results", { value: list, configurable: true });
}
