/** package.yao: the configuration of one assistant. */

import { isObject, type Json, type JsonObject } from "@mesh/kernel";

import type { Assistant, McpUse } from "./assistant.ts";
import type { Loading } from "./loading.ts";
import { mcpServerRefs } from "./mcp-server-ref.ts";
import type { ProblemLog } from "./problem-log.ts";
import { fromOldSandbox } from "./sandbox-config.ts";
import { checkRoot } from "./shape/check-shape.ts";
import { PACKAGE_SHAPE } from "./shape/package-shape.ts";
import { entryOf, plainObject, type SourceObject, withoutEmpty } from "./source-node.ts";

/** What package.yao alone says about an assistant. */
export type PackageFields = Omit<
  Assistant,
  "id" | "folder" | "prompts" | "promptPresets" | "locales" | "hooks" | "evalInputs"
>;

/** Reads a package.yao; undefined when it has errors. */
export function readPackage({ source, log, roots }: Loading, path: string): PackageFields | undefined {
  const root = source.json(path);
  if (root === undefined) return undefined;
  if (root.kind !== "object") {
    log.error(path, root.line, "package.yao must be an object");
    return undefined;
  }
  if (!checkRoot({ file: path, log }, root, PACKAGE_SHAPE)) return undefined;
  const name = entryOf(root, "name");
  if (name?.value.kind === "string" && name.value.value.trim() === "") {
    log.error(path, name.line, "name is empty: say what people shall call this assistant");
    return undefined;
  }
  roots.set(path, root);
  warnOfUnknownMode(log, path, root);
  return fromJson(plainObject(root));
}

function warnOfUnknownMode(log: ProblemLog, path: string, root: SourceObject): void {
  const mode = entryOf(root, "default_mode");
  const modes = textsAt(plainObject(root), "modes");
  if (mode?.value.kind !== "string" || modes.length === 0 || modes.includes(mode.value.value)) return;
  log.warn(path, mode.line, `default_mode is none of modes (${modes.join(", ").slice(0, 200)})`);
}

// Every field was checked against its shape, so that a value of another kind means: absent.
function fromJson(source: JsonObject): PackageFields {
  const type = textAt(source, "type");
  return {
    name: textAt(source, "name"),
    description: textAt(source, "description"),
    type: type === "" ? "assistant" : type,
    ...optional("connector", textAt(source, "connector")),
    ...optional("avatar", textAt(source, "avatar")),
    ...optional("defaultMode", textAt(source, "default_mode")),
    connectorOptions: connectorOptionsOf(objectAt(source, "connector_options")),
    tags: textsAt(source, "tags"),
    options: objectAt(source, "options"),
    placeholder: placeholderOf(objectAt(source, "placeholder")),
    disableGlobalPrompts: source["disable_global_prompts"] === true,
    isPublic: source["public"] === true,
    share: source["share"] === "team" ? "team" : "private",
    readonly: source["readonly"] === true,
    isBuiltIn: source["built_in"] === true,
    mentionable: source["mentionable"] === true,
    automated: source["automated"] === true,
    sort: typeof source["sort"] === "number" ? source["sort"] : 0,
    modes: textsAt(source, "modes"),
    mcp: mcpOf(objectAt(source, "mcp")),
    ...knowledgeOf(source),
    uses: textMapAt(source, "uses"),
    source,
  };
}

function connectorOptionsOf(source: JsonObject): Assistant["connectorOptions"] {
  return {
    isOptional: source["optional"] === true,
    connectors: textsAt(source, "connectors"),
    filters: textsAt(source, "filters"),
  };
}

function placeholderOf(source: JsonObject): Assistant["placeholder"] {
  return {
    title: textAt(source, "title"),
    description: textAt(source, "description"),
    prompts: textsAt(source, "prompts"),
  };
}

function mcpOf(source: JsonObject): McpUse {
  const { tool_loop: toolLoop, max_turn: maxTurns, timeout } = objectAt(source, "options");
  return {
    servers: mcpServerRefs(source["servers"]),
    ...(typeof toolLoop === "boolean" ? { hasToolLoop: toolLoop } : {}),
    ...(typeof maxTurns === "number" ? { maxTurns } : {}),
    ...(typeof timeout === "number" ? { timeoutSeconds: timeout } : {}),
  };
}

function knowledgeOf(source: JsonObject): Pick<PackageFields, "kb" | "db" | "search" | "sandbox"> {
  const { kb, db, search, sandbox } = source;
  return {
    ...(isJsonObject(kb) ? { kb: { collections: textsAt(kb, "collections"), options: objectAt(kb, "options") } } : {}),
    ...(isJsonObject(db) ? { db: { models: textsAt(db, "models"), options: objectAt(db, "options") } } : {}),
    ...(isJsonObject(search) ? { search: withoutEmpty(search) } : {}),
    ...(isJsonObject(sandbox) ? { sandbox: fromOldSandbox(withoutEmpty(sandbox)) } : {}),
  };
}

function optional<Key extends string>(key: Key, text: string): Partial<Record<Key, string>> {
  return text === "" ? {} : ({ [key]: text } as Record<Key, string>);
}

function isJsonObject(value: Json | undefined): value is JsonObject {
  return isObject(value);
}

function objectAt(source: JsonObject, key: string): JsonObject {
  const value = source[key];
  return isJsonObject(value) ? value : {};
}

function textAt(source: JsonObject, key: string): string {
  const value = source[key];
  return typeof value === "string" ? value : "";
}

function textsAt(source: JsonObject, key: string): readonly string[] {
  const value = source[key];
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

function textMapAt(source: JsonObject, key: string): Readonly<Record<string, string>> {
  const entries = Object.entries(objectAt(source, key));
  return Object.fromEntries(entries.flatMap(([name, value]) => (typeof value === "string" ? [[name, value]] : [])));
}
