/** Which variables parts of an app read, so that a run is given those and no others. */

import type { App, ConnectorFile } from "./app.ts";
import { ENV_OPTIONS, envNamesIn } from "./env-ref.ts";
import { findMcpServer, MCP_ENV_FIELDS, type McpServerFile } from "./mcp-server-file.ts";
import { compareText } from "./problem-log.ts";
import { searchConfigOf } from "./search-config.ts";

/**
 * Names of the variables that a run of this assistant may read: its connector, its prompts, its computer, its search, the MCP
 * servers it names or has of its own, and the app's roles.
 */
export function envNamesOfAssistant(app: App, assistantId: string): readonly string[] {
  const assistant = app.assistants.get(assistantId);
  if (assistant === undefined) return [];
  const prompts = [...app.globalPrompts, ...assistant.prompts, ...Object.values(assistant.promptPresets).flat()];
  const named = assistant.mcp.servers.map(({ serverId }) => findMcpServer(app, assistantId, serverId));
  const own = [...app.mcpServers.values()].filter((server) => server.assistantId === assistantId);
  const servers = new Set([...named, ...own].filter((server) => server !== undefined));
  const { environment = {}, secrets = {} } = assistant.sandbox ?? {};
  const key = searchConfigOf(app, assistant).web?.api_key_env ?? "";
  const texts: readonly unknown[] = [
    assistant.connector,
    ...prompts.map((prompt) => prompt.content),
    ...Object.values(app.settings["system"] ?? {}),
    ...Object.values(environment),
    ...Object.values(secrets).map((secret) => (typeof secret === "string" ? secret : secret.value)),
    // The name itself, in old files.
    /^\w+$/.test(key) ? `$ENV.${key}` : key,
  ];
  return sortedNames([...texts, ...[...servers].flatMap(textsOfServer)]);
}

/** Names of the variables that this connector reads. */
export function envNamesOfConnector(connector: Pick<ConnectorFile, "options">): readonly string[] {
  return sortedNames(ENV_OPTIONS.map((option) => connector.options[option]));
}

/** Names of the variables that this MCP server reads. */
export function envNamesOfMcpServer(server: McpServerFile): readonly string[] {
  return sortedNames(textsOfServer(server));
}

function textsOfServer(server: McpServerFile): readonly unknown[] {
  const fields = MCP_ENV_FIELDS.map((field) => server[field]);
  return [...fields, ...(server.arguments ?? []), ...Object.values(server.env ?? {})];
}

function sortedNames(texts: readonly unknown[]): readonly string[] {
  const names = texts.flatMap((text) => (typeof text === "string" ? envNamesIn(text) : []));
  return [...new Set(names)].toSorted(compareText);
}
