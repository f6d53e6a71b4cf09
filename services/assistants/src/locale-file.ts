/** Locale files: YAML mappings of texts, flattened to dotted keys (`chat.prompts.0`). */

import type { SourceNode } from "./source-node.ts";
import type { SourceReader } from "./source-reader.ts";

/** Texts by dotted key. */
export type LocaleTexts = Readonly<Record<string, string>>;

/** The name that a locale is looked up by: lower case, with `-`. */
export function localeName(name: string): string {
  return name.trim().toLowerCase().replaceAll("_", "-");
}

/** Texts of one locale file; undefined after reporting why there are none. */
export function readLocale(source: SourceReader, path: string): LocaleTexts | undefined {
  const root = source.yaml(path);
  if (root === undefined) return undefined;
  if (root.kind === "null") return {};
  if (root.kind !== "object") {
    source.log.error(path, root.line, "a locale file must be a mapping of keys to texts");
    return undefined;
  }
  const texts = new Map<string, string>();
  flatten(root, "", texts);
  return Object.fromEntries(texts);
}

function flatten(node: SourceNode, key: string, into: Map<string, string>): void {
  switch (node.kind) {
    case "object":
      for (const entry of node.entries) flatten(entry.value, join(key, entry.key), into);
      return;
    case "list":
      node.items.forEach((item, index) => flatten(item, join(key, String(index)), into));
      return;
    case "null":
      into.set(key, "");
      return;
    case "boolean":
    case "number":
    case "string":
      into.set(key, String(node.value));
  }
}

function join(prefix: string, key: string): string {
  return prefix === "" ? key : `${prefix}.${key}`;
}
