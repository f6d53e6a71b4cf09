/**
 * The files of an app → validated, typed data, with everything that is wrong reported at once.
 *
 * L1  Never throws on what a user wrote.
 * L2  An assistant with all that is in its folder, a connector, a server or a model is in the result only when none of its own
 *     files has an error.
 * L3  The result depends on the files alone: no environment, no clock, no order of the input.
 */

import type { App, AppFiles, ConnectorFile, LoadedApp, ModelFile, ScriptFile } from "./app.ts";
import { AppData } from "./app-data.ts";
import type { Assistant } from "./assistant.ts";
import { readConnector } from "./connector-file.ts";
import { checkReferences } from "./check-reference.ts";
import { loadAssistant, loadLocales, PACKAGE_FILE, reportStrayFolders } from "./load-assistant.ts";
import { loadMcpServers } from "./load-mcp.ts";
import { loadModels } from "./load-models.ts";
import { loadScripts } from "./load-scripts.ts";
import { APP_HOME, homeOf, type Loading, startLoading } from "./loading.ts";
import type { McpServerFile } from "./mcp-server-file.ts";
import { loadSettings } from "./settings-file.ts";

const CONNECTOR_FILE = /^connectors\/(.+?)(?:\.conn)?\.yao$/;
const GLOBAL_PROMPTS_FILE = "agent/prompts.yml";

/** Loads an app; `problems` holds every finding, sorted by file and line. */
export function loadApp(files: AppFiles): LoadedApp {
  const loading = startLoading(files);
  const parts: Parts = { assistants: new Map(), mcpServers: new Map(), models: new Map(), scripts: new Map() };
  loadHome(loading, parts);
  loadAssistants(loading, parts);
  const connectors = loadConnectors(loading);
  const app: App = new AppData(
    {
      ...parts,
      connectors,
      globalPrompts: loading.prompts.read(GLOBAL_PROMPTS_FILE, "agent/assets"),
      globalLocales: loadLocales(loading, "agent/locales"),
      ...loadSettings(loading.source),
    },
    files,
  );
  reportEmptyApp(loading);
  checkReferences(app, loading);
  return { app, problems: loading.log.sorted() };
}

interface Parts {
  readonly assistants: Map<string, Assistant>;
  readonly mcpServers: Map<string, McpServerFile>;
  readonly models: Map<string, ModelFile>;
  readonly scripts: Map<string, ScriptFile>;
}

function loadHome(loading: Loading, parts: Parts): void {
  for (const server of loadMcpServers(loading, APP_HOME)) parts.mcpServers.set(server.id, server);
  for (const model of loadModels(loading, APP_HOME)) parts.models.set(model.id, model);
  for (const script of loadScripts(loading, APP_HOME)) parts.scripts.set(script.id, script);
}

function loadAssistants(loading: Loading, parts: Parts): void {
  const folders = new Set<string>();
  for (const path of loading.paths.under("assistants")) {
    const match = PACKAGE_FILE.exec(path);
    if (match === null) continue;
    const folder = path.slice(0, path.lastIndexOf("/"));
    folders.add(folder);
    const id = loading.ids.assistants.claim(path, match[1] ?? "");
    if (id !== undefined) loadWhole(loading, parts, { id, folder });
  }
  reportStrayFolders(loading, folders);
}

function loadWhole(loading: Loading, parts: Parts, { id, folder }: { id: string; folder: string }): void {
  const errorsBefore = loading.log.errorCount;
  const home = homeOf(id, folder);
  const servers = loadMcpServers(loading, home);
  const models = loadModels(loading, home);
  const scripts = loadScripts(loading, home);
  const assistant = loadAssistant(loading, { id, folder, scripts });
  if (assistant === undefined || loading.log.errorCount > errorsBefore) return;
  parts.assistants.set(id, assistant);
  for (const server of servers) parts.mcpServers.set(server.id, server);
  for (const model of models) parts.models.set(model.id, model);
  for (const script of scripts) parts.scripts.set(script.id, script);
}

function loadConnectors(loading: Loading): ReadonlyMap<string, ConnectorFile> {
  const connectors = new Map<string, ConnectorFile>();
  for (const path of loading.paths.under("connectors")) {
    const match = CONNECTOR_FILE.exec(path);
    if (match === null) continue;
    const id = loading.ids.connectors.claim(path, match[1] ?? "");
    const connector = id === undefined ? undefined : readConnector(loading.source, path, id);
    if (connector !== undefined) connectors.set(connector.id, connector);
  }
  return connectors;
}

function reportEmptyApp({ paths, log }: Loading): void {
  if (paths.under("assistants").some((path) => PACKAGE_FILE.test(path))) return;
  const message = "no assistant found: an app has files such as assistants/hello/package.yao";
  // Connectors alone can be an app; a directory with neither is the wrong one.
  if (paths.under("connectors").some((path) => CONNECTOR_FILE.test(path))) log.warn("assistants", 0, message);
  else log.error("assistants", 0, message);
}
