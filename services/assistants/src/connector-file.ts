/** Connector files: how assistants reach models. Values may name variables as `$ENV.NAME`; they are resolved per run. */

import type { JsonObject } from "@mesh/kernel";

import type { ConnectorFile } from "./app.ts";
import type { ProblemLog } from "./problem-log.ts";
import { checkRoot } from "./shape/check-shape.ts";
import { CONNECTOR_SHAPE } from "./shape/connector-shape.ts";
import { entryOf, plainObject, type SourceObject } from "./source-node.ts";
import type { SourceReader } from "./source-reader.ts";

// Databases share the folder and the file form with models; assistants do not talk to them through this package.
const DATABASE_TYPES = ["mysql", "mongo", "oracle", "postgres", "redis", "sqlite3", "sqlite", "xun", "hdb"];

// Servers that need no key are usually given one of these.
const PLACEHOLDER_KEYS = ["", "-", "demo", "dummy", "empty", "mock", "none", "ollama", "test"];

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
    log.note(path, type.line, `type "${type.value}" is a database, which no assistant can be run with; it is ignored`);
    return undefined;
  }
  const options = checkedOptions(root, path, log);
  if (type?.kind !== "string" || options === undefined) return undefined;
  warnOfLiteralKey(options, path, id, log);
  const label = ["label", "name"].map((key) => textOf(root, key)).find((text) => text !== "");
  return { id, type: type.value, label: label ?? id, options: { ...besideOptions(root), ...plainObject(options) } };
}

function checkedOptions(root: SourceObject, path: string, log: ProblemLog): SourceObject | undefined {
  if (!checkRoot({ file: path, log }, root, CONNECTOR_SHAPE)) return undefined;
  const options = entryOf(root, "options")?.value;
  return options?.kind === "object" ? options : undefined;
}

/** `auth_mode` and `supported_params` stand beside the options in the file and belong to them. */
function besideOptions(root: SourceObject): JsonObject {
  const entries = root.entries.filter(({ key }) => key === "auth_mode" || key === "supported_params");
  return plainObject({ ...root, entries });
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
