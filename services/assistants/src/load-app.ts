/**
 * The files of an app → validated, typed data, with everything that is wrong reported at once.
 *
 * L1  Never throws on what a user wrote.
 * L2  An assistant or connector is in the result only when none of its own files has an error.
 * L3  The result depends on the files alone: no environment, no clock, no order of the input.
 */

import { isObject, type JsonObject } from "@mesh/kernel";

import type { App, AppFiles, Assistant, ConnectorFile, LoadedApp, Prompt } from "./app.ts";
import { readConnector } from "./connector-file.ts";
import { type LocaleTexts, localeName, readLocale } from "./locale-file.ts";
import { readPackage } from "./package-file.ts";
import { compareText, ProblemLog } from "./problem-log.ts";
import { PromptReader } from "./prompt-file.ts";
import { checkFields, type Fields } from "./shape.ts";
import { plainJson } from "./source-node.ts";
import { SourceReader } from "./source-reader.ts";

const PACKAGE_FILE = /^assistants\/(?:(.+)\/)?package\.yao$/;
const CONNECTOR_FILE = /^connectors\/(.+?)(?:\.conn)?\.yao$/;
const SETTINGS_FILE = "agent/agent.yml";
const GLOBAL_PROMPTS_FILE = "agent/prompts.yml";
const MAX_ID_LENGTH = 128;

const texts = { shape: { kind: "map", of: { kind: "text" } } } as const;
const SETTINGS_FIELDS: Fields = { uses: texts, system: texts };

interface Loading {
  readonly source: SourceReader;
  /** Sorted, so that of two files with one id the same one wins everywhere. */
  readonly paths: readonly string[];
  readonly prompts: PromptReader;
}

/** Loads an app; `problems` holds every finding, sorted by file and line. */
export function loadApp(files: AppFiles): LoadedApp {
  const log = new ProblemLog();
  const paths = [...files.keys()].toSorted(compareText);
  const source = new SourceReader(files, log);
  const loading: Loading = { source, paths, prompts: new PromptReader(source) };
  const app: App = {
    assistants: loadAssistants(loading),
    connectors: loadConnectors(loading),
    globalPrompts: loading.prompts.read(GLOBAL_PROMPTS_FILE, "agent/assets"),
    globalLocales: loadLocales(loading, "agent/locales"),
    settings: loadSettings(loading),
  };
  if (!paths.some((path) => PACKAGE_FILE.test(path))) {
    const message = "no assistant found: an app has files such as assistants/hello/package.yao";
    // Connectors alone can be an app; a directory with neither is the wrong one.
    if (paths.some((path) => CONNECTOR_FILE.test(path))) log.warn("assistants", 0, message);
    else log.error("assistants", 0, message);
  }
  return { app, problems: log.sorted() };
}

function loadAssistants(loading: Loading): ReadonlyMap<string, Assistant> {
  const assistants = new Map<string, Assistant>();
  const pathOfId = new Map<string, string>();
  for (const path of loading.paths) {
    const match = PACKAGE_FILE.exec(path);
    if (match === null) continue;
    const id = claimId(loading.source.log, path, match[1] ?? "", pathOfId);
    const assistant = id === undefined ? undefined : loadAssistant(loading, path, id);
    if (assistant !== undefined) assistants.set(assistant.id, assistant);
  }
  return assistants;
}

function loadAssistant(loading: Loading, path: string, id: string): Assistant | undefined {
  const { source, prompts } = loading;
  const { files, log } = source;
  const folder = path.slice(0, path.lastIndexOf("/"));
  const errorsBefore = log.errorCount;
  const fields = readPackage(source, path);
  const own = prompts.read(`${folder}/prompts.yml`, `${folder}/assets`);
  const promptPresets = loadPresets(loading, folder);
  const locales = loadLocales(loading, `${folder}/locales`);
  if (files.has(`${folder}/prompts.yaml`)) {
    log.warn(`${folder}/prompts.yaml`, 0, "this file is not read; rename it to prompts.yml");
  }
  if (fields === undefined || log.errorCount > errorsBefore) return undefined;
  return { id, ...fields, prompts: own, promptPresets, locales };
}

function loadPresets(loading: Loading, folder: string): Readonly<Record<string, readonly Prompt[]>> {
  const presets: [string, readonly Prompt[]][] = [];
  const prefix = `${folder}/prompts/`;
  for (const path of loading.paths) {
    if (!path.startsWith(prefix) || !path.endsWith(".yml")) continue;
    const name = path.slice(prefix.length, -".yml".length).replaceAll("/", ".");
    presets.push([name, loading.prompts.read(path, `${folder}/assets`)]);
  }
  return Object.fromEntries(presets);
}

function loadLocales(loading: Loading, folder: string): Readonly<Record<string, LocaleTexts>> {
  const locales: [string, LocaleTexts][] = [];
  const prefix = `${folder}/`;
  for (const path of loading.paths) {
    if (!path.startsWith(prefix) || !path.endsWith(".yml")) continue;
    const name = path.slice(prefix.length, -".yml".length);
    const found = name.includes("/") ? undefined : readLocale(loading.source, path);
    if (found !== undefined) locales.push([localeName(name), found]);
  }
  return Object.fromEntries(locales);
}

function loadConnectors(loading: Loading): ReadonlyMap<string, ConnectorFile> {
  const connectors = new Map<string, ConnectorFile>();
  const pathOfId = new Map<string, string>();
  for (const path of loading.paths) {
    const match = CONNECTOR_FILE.exec(path);
    if (match === null) continue;
    const id = claimId(loading.source.log, path, match[1] ?? "", pathOfId);
    const connector = id === undefined ? undefined : readConnector(loading.source, path, id);
    if (connector !== undefined) connectors.set(connector.id, connector);
  }
  return connectors;
}

function loadSettings({ source }: Loading): JsonObject {
  const { log } = source;
  const root = source.yaml(SETTINGS_FILE);
  if (root === undefined || root.kind === "null") return {};
  if (root.kind !== "object") {
    log.error(SETTINGS_FILE, root.line, "agent.yml must be a mapping");
    return {};
  }
  const checked = root.entries.filter((entry) => Object.hasOwn(SETTINGS_FIELDS, entry.key));
  if (!checkFields({ file: SETTINGS_FILE, log }, "", { ...root, entries: checked }, SETTINGS_FIELDS)) return {};
  const plain = plainJson(root);
  return isObject(plain) ? plain : {};
}

/** The id that a path stands for; undefined after reporting that it cannot be one or is taken. */
function claimId(log: ProblemLog, path: string, dotless: string, taken: Map<string, string>): string | undefined {
  const id = dotless.replaceAll("/", ".");
  if (!/^[\p{L}\p{N}_-]+(?:\.[\p{L}\p{N}_-]+)*$/u.test(id) || id.length > MAX_ID_LENGTH) {
    const rule = `the names of its folders may hold letters, digits, - and _, at most ${MAX_ID_LENGTH} characters in all`;
    log.error(path, 0, `${JSON.stringify(id.slice(0, MAX_ID_LENGTH))} cannot be an id: ${rule}`);
    return undefined;
  }
  const other = taken.get(id);
  if (other !== undefined) {
    log.error(path, 0, `its id ${id} is already that of ${other}; rename one of them`);
    return undefined;
  }
  taken.set(id, path);
  return id;
}
