/** What files say about each other: servers, models and scripts that are named and do not exist. */

import type { App } from "./app.ts";
import type { Assistant } from "./assistant.ts";
import type { Loading } from "./loading.ts";
import { findMcpServer, findMcpUse, type McpServerFile, mcpUseName } from "./mcp-server-file.ts";
import { mcpServerRefs } from "./mcp-server-ref.ts";
import { nearestWord } from "./shape/nearest-word.ts";
import { entryOf, plainJson, type SourceNode } from "./source-node.ts";

/** Models of the system are not files of an app. */
const SYSTEM_PREFIX = "__yao.";

/** Reports names that lead nowhere. */
export function checkReferences(app: App, loading: Loading): void {
  for (const assistant of app.assistants.values()) {
    const path = `${assistant.folder}/package.yao`;
    const root = loading.roots.get(path);
    const origin: Origin = { app, loading, assistant, path };
    const uses = entryOf(root, "uses")?.value;
    const servers = entryOf(entryOf(root, "mcp")?.value, "servers")?.value;
    const models = entryOf(entryOf(root, "db")?.value, "models")?.value;
    for (const node of itemsOf(servers)) checkServerRef(origin, node);
    for (const node of itemsOf(models)) checkModelRef(origin, node);
    for (const { value } of uses?.kind === "object" ? uses.entries : []) checkUse(origin, value);
  }
  for (const server of app.mcpServers.values()) {
    if (server.transport === "process") checkProcesses(app, loading, server);
  }
}

interface Origin {
  readonly app: App;
  readonly loading: Loading;
  readonly assistant: Assistant;
  readonly path: string;
}

function itemsOf(node: SourceNode | undefined): readonly SourceNode[] {
  return node?.kind === "list" ? node.items : [];
}

function checkServerRef({ app, loading, assistant, path }: Origin, node: SourceNode): void {
  for (const { serverId, tools } of mcpServerRefs([plainJson(node)])) {
    const server = findMcpServer(app, assistant.id, serverId);
    if (server === undefined) {
      reportUnknownServer({ app, loading, assistant, path }, serverId, node.line);
      continue;
    }
    if (server.transport !== "process") continue;
    const known = Object.keys(server.tools ?? {});
    for (const tool of tools ?? []) {
      if (known.includes(tool)) continue;
      const guess = nearestWord(tool, known);
      const advice = guess === undefined ? `it has ${shown(known.join(", "))}` : `did you mean ${guess}?`;
      loading.log.warn(path, node.line, `${server.path} has no tool ${shown(tool)}; ${advice}`);
    }
  }
}

function reportUnknownServer({ app, loading, path }: Origin, serverId: string, line: number): void {
  const ids = [...app.mcpServers.keys()];
  const guess = nearestWord(serverId, ids) ?? ids.find((id) => id.startsWith(`${serverId}.`));
  const advice = guess === undefined ? "add the file or a server of the workspace" : `did you mean ${guess}?`;
  loading.log.warn(path, line, `this app has no MCP server ${shown(serverId)}; ${advice}`);
}

function checkUse(origin: Origin, node: SourceNode): void {
  const name = node.kind === "string" ? mcpUseName(node.value) : undefined;
  if (name === undefined || findMcpUse(origin.app, origin.assistant.id, `mcp:${name}`) !== undefined) return;
  reportUnknownServer(origin, name, node.line);
}

function checkModelRef({ app, loading, assistant, path }: Origin, node: SourceNode): void {
  if (node.kind !== "string" || node.value.startsWith(SYSTEM_PREFIX)) return;
  if (app.models.has(node.value) || app.models.has(`agents.${assistant.id}.${node.value}`)) return;
  loading.log.warn(path, node.line, `this app has no model ${shown(node.value)}`);
}

function checkProcesses(app: App, loading: Loading, server: McpServerFile): void {
  const root = loading.roots.get(server.path);
  const kinds = ["tools", "resources", "prompts"] as const;
  for (const kind of kinds) {
    const entries = entryOf(root, kind)?.value;
    if (entries?.kind !== "object") continue;
    for (const { key, line, value } of entries.entries) {
      const fault = value.kind === "string" ? processFault(app, value.value) : undefined;
      if (fault !== undefined) loading.log.warn(server.path, line, `${kind}.${shown(key)}: ${fault}`);
      if (kind === "tools" && !Object.hasOwn(server.mapping.tools, key)) {
        const message = `tools.${shown(key)} has no description: without mapping/…/schemes/${shown(key)}.in.yao the model has to guess its arguments`;
        loading.log.warn(server.path, line, message);
      }
    }
  }
  for (const kind of kinds) {
    const known = server[kind] ?? {};
    for (const name of Object.keys(server.mapping[kind])) {
      if (Object.hasOwn(known, name)) continue;
      loading.log.warn(server.path, 0, `mapping describes ${shown(name)}, which is not among its ${kind}`);
    }
  }
}

/** Why a process cannot be called; undefined when it can, or is none of the app's. */
function processFault(app: App, process: string): string | undefined {
  const owner = process.slice(0, Math.max(0, process.lastIndexOf(".")));
  if (process.startsWith("scripts.") || process.startsWith("agents.")) {
    if (app.scripts.has(owner)) return undefined;
    return `there is no script ${shown(owner)}`;
  }
  if (!process.startsWith("models.")) return undefined;
  const model = owner.slice("models.".length);
  if (model.startsWith(SYSTEM_PREFIX) || app.models.has(model)) return undefined;
  return `there is no model ${shown(model)}`;
}

function shown(name: string): string {
  return name.length <= 120 ? name : `${name.slice(0, 120)}…`;
}
