/** One assistant from the files of its folder. */

import type { ScriptFile } from "./app.ts";
import type { Assistant, Prompt } from "./assistant.ts";
import { type LocaleTexts, localeName, readLocale } from "./locale-file.ts";
import type { Loading } from "./loading.ts";
import { readPackage } from "./package-file.ts";
import { readSandbox } from "./sandbox-config.ts";

/** The file that makes a folder an assistant; group 1 is the path of the folder under `assistants/`. */
export const PACKAGE_FILE: RegExp = /^assistants\/(?:(.+)\/)?package\.yao$/;

/** What is known of an assistant before its own files are read. */
export interface AssistantSeed {
  readonly id: string;
  readonly folder: string;
  readonly scripts: readonly ScriptFile[];
}

/** Loads an assistant; undefined when its package.yao has errors. */
export function loadAssistant(loading: Loading, { id, folder, scripts }: AssistantSeed): Assistant | undefined {
  const fields = readPackage(loading, `${folder}/package.yao`);
  const prompts = loading.prompts.read(`${folder}/prompts.yml`, `${folder}/assets`);
  const promptPresets = loadPresets(loading, folder);
  const locales = loadLocales(loading, `${folder}/locales`);
  const sandbox = readSandbox(loading.source, `${folder}/sandbox.yao`);
  reportUnread(loading, folder, fields?.sandbox !== undefined);
  if (fields === undefined) return undefined;
  const hooks = scripts.find((script) => script.kind === "hooks")?.path;
  const evalInputs = loading.paths.under(`${folder}/tests`).filter((path) => path.endsWith(".jsonl"));
  return {
    id,
    folder,
    ...fields,
    prompts,
    promptPresets,
    locales,
    ...(sandbox === undefined ? {} : { sandbox }),
    ...(hooks === undefined ? {} : { hooks }),
    evalInputs,
  };
}

/** Files that look as if they were read. */
function reportUnread({ paths, source, log }: Loading, folder: string, hasOldSandbox: boolean): void {
  if (source.files.has(`${folder}/prompts.yaml`)) {
    log.warn(`${folder}/prompts.yaml`, 0, "this file is not read; rename it to prompts.yml");
  }
  for (const path of [...paths.under(`${folder}/prompts`), ...paths.under(`${folder}/locales`)]) {
    if (path.endsWith(".yaml")) log.warn(path, 0, "this file is not read; its name must end in .yml");
  }
  if (source.files.has(`${folder}/tools.yao`)) {
    log.note(`${folder}/tools.yao`, 0, "this file is not read: tools are those of the MCP servers in mcps/");
  }
  if (hasOldSandbox && source.files.has(`${folder}/sandbox.yao`)) {
    log.note(`${folder}/sandbox.yao`, 0, "this file counts, and sandbox in package.yao does not");
  }
}

function loadPresets(loading: Loading, folder: string): Readonly<Record<string, readonly Prompt[]>> {
  const presets = new Map<string, readonly Prompt[]>();
  const prefix = `${folder}/prompts/`;
  for (const path of loading.paths.under(`${folder}/prompts`)) {
    if (!path.endsWith(".yml")) continue;
    const name = path.slice(prefix.length, -".yml".length).replaceAll("/", ".");
    const prompts = loading.prompts.read(path, `${folder}/assets`);
    if (presets.has(name)) loading.log.error(path, 0, `there is already a preset ${name}; rename one of the files`);
    else presets.set(name, prompts);
  }
  return Object.fromEntries(presets);
}

/** The texts of a folder of locales, by locale. */
export function loadLocales(loading: Loading, folder: string): Readonly<Record<string, LocaleTexts>> {
  const locales = new Map<string, LocaleTexts>();
  const prefix = `${folder}/`;
  for (const path of loading.paths.under(folder)) {
    if (!path.endsWith(".yml")) continue;
    const name = path.slice(prefix.length, -".yml".length);
    const found = name.includes("/") ? undefined : readLocale(loading.source, path);
    if (found === undefined) continue;
    const locale = localeName(name);
    if (locales.has(locale)) loading.log.error(path, 0, `there is already a file for ${locale}; keep one of them`);
    else locales.set(locale, found);
  }
  return Object.fromEntries(locales);
}

/** Reports folders that hold what an assistant has, but no package.yao in them or above. */
export function reportStrayFolders({ paths, log }: Loading, folders: ReadonlySet<string>): void {
  for (const path of paths.under("assistants")) {
    const match = /^(assistants\/.+)\/(?:prompts\.yml|src\/index\.ts)$/.exec(path);
    if (match === null || isInside(match[1] ?? "", folders)) continue;
    log.warn(path, 0, `${match[1] ?? ""} has no package.yao, so that it is no assistant`);
  }
}

function isInside(folder: string, folders: ReadonlySet<string>): boolean {
  for (let end = folder.length; end > 0; end = folder.lastIndexOf("/", end - 1)) {
    if (folders.has(folder.slice(0, end))) return true;
  }
  return false;
}
