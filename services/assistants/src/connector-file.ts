/** Connector files: how assistants reach models. Values may name variables as `$ENV.NAME`; they are resolved per run. */

import { isObject, type JsonObject } from "@mesh/kernel";

import type { ConnectorFile } from "./app.ts";
import type { ProblemLog } from "./problem-log.ts";
import { checkFields, checkShape, type Fields } from "./shape.ts";
import { entryOf, plainJson, type SourceObject } from "./source-node.ts";
import type { SourceReader } from "./source-reader.ts";

// Databases share the folder and the file form with models; assistants do not talk to them through this package.
const DATABASE_TYPES = ["mysql", "mongo", "oracle", "postgres", "redis", "sqlite3", "sqlite", "xun", "hdb"];

// Servers that need no key are usually given one of these.
const PLACEHOLDER_KEYS = ["", "-", "demo", "dummy", "empty", "mock", "none", "ollama", "test"];

const text = { shape: { kind: "text" } } as const;
const ignored = { shape: { kind: "any" } } as const;
const textRequired = { shape: { kind: "text" }, isRequired: true } as const;

const CONNECTOR_FIELDS: Fields = {
  type: textRequired,
  options: { shape: { kind: "map", of: { kind: "any" } }, isRequired: true },
  label: text,
  name: text,
  auth_mode: text,
  supported_params: ignored,
  LANG: ignored,
  VERSION: ignored,
  version: ignored,
};

// Every provider has options of its own, so that unknown ones pass.
const OPTION_FIELDS: Fields = {
  model: textRequired,
  host: text,
  proxy: text,
  key: text,
};

/** Reads one connector; undefined when it has errors, or is a database. */
export function readConnector(reader: SourceReader, path: string, id: string): ConnectorFile | undefined {
  const { log } = reader;
  const root = reader.json(path);
  if (root === undefined) return undefined;
  if (root.kind !== "object") {
    log.error(path, root.line, "a connector file must be an object");
    return undefined;
  }
  const type = entryOf(root, "type")?.value;
  if (type?.kind === "string" && DATABASE_TYPES.includes(type.value)) {
    log.warn(path, type.line, `type "${type.value}" is a database, which no assistant can be run with; it is ignored`);
    return undefined;
  }
  const options = checkedOptions(root, path, log);
  if (type?.kind !== "string" || options === undefined) return undefined;
  warnOfLiteralKey(options, path, id, log);
  const label = ["label", "name"].map((key) => textOf(root, key)).find((text) => text !== "");
  return { id, type: type.value, label: label ?? id, options: { ...besideOptions(root), ...objectOf(options) } };
}

function checkedOptions(root: SourceObject, path: string, log: ProblemLog): SourceObject | undefined {
  const check = { file: path, log };
  if (!checkFields(check, "", root, CONNECTOR_FIELDS)) return undefined;
  const options = entryOf(root, "options")?.value;
  if (options?.kind !== "object") return undefined;
  const shape = { kind: "object", fields: OPTION_FIELDS, isOpen: true } as const;
  return checkShape(check, "options", options, shape) ? options : undefined;
}

/** `auth_mode` and `supported_params` stand beside the options in the file and belong to them. */
function besideOptions(root: SourceObject): JsonObject {
  const entries = root.entries.filter(({ key }) => key === "auth_mode" || key === "supported_params");
  return objectOf({ ...root, entries });
}

function objectOf(node: SourceObject): JsonObject {
  const plain = plainJson(node);
  return isObject(plain) ? plain : {};
}

function textOf(node: SourceObject, key: string): string {
  const value = entryOf(node, key)?.value;
  return value?.kind === "string" ? value.value : "";
}

function warnOfLiteralKey(options: SourceObject, path: string, id: string, log: ProblemLog): void {
  const entry = entryOf(options, "key");
  if (entry?.value.kind !== "string") return;
  const key = entry.value.value.trim();
  if (key.includes("$ENV.") || PLACEHOLDER_KEYS.includes(key.toLowerCase())) return;
  const message = `options.key is written in the file; put it in $ENV.NAME or use “yao connector add ${id}”`;
  log.warn(path, entry.line, message);
}
