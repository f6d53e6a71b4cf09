/** Which MCP servers somebody wants: the four ways to write it in package.yao, and in what a hook returns. */

import { isObject, type Json } from "@mesh/kernel";

import type { McpServerRef } from "./assistant.ts";

/** More servers than this are more tools than any model can choose from. */
export const MAX_SERVER_REFS = 200;

/**
 * Reads `"id"`, `{server_id, tools?, resources?}`, `{"id": ["tool"]}` and `{"id": {tools?, resources?}}`; what has none of these
 * forms is left out.
 */
export function mcpServerRefs(servers: Json | undefined): readonly McpServerRef[] {
  if (!Array.isArray(servers)) return [];
  return servers.flatMap((entry: Json) => refsOf(entry)).slice(0, MAX_SERVER_REFS);
}

function refsOf(entry: Json): readonly McpServerRef[] {
  if (typeof entry === "string") return entry === "" ? [] : [{ serverId: entry }];
  if (!isObject(entry)) return [];
  const { server_id: serverId } = entry;
  if (typeof serverId === "string") return serverId === "" ? [] : [{ serverId, ...choiceOf(entry) }];
  return Object.entries(entry).map(([id, choice]) => {
    const tools = textsOf(choice);
    return { serverId: id, ...(tools === undefined ? choiceOf(choice) : { tools }) };
  });
}

function choiceOf(value: unknown): Omit<McpServerRef, "serverId"> {
  if (!isObject(value)) return {};
  const tools = textsOf(value["tools"]);
  const resources = textsOf(value["resources"]);
  return { ...(tools === undefined ? {} : { tools }), ...(resources === undefined ? {} : { resources }) };
}

function textsOf(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : undefined;
}
