/** The settings of a whole app: agent/agent.yml, agent/search.yml and agent/kb.yml. */

import type { JsonObject } from "@mesh/kernel";

import type { App } from "./app.ts";
import { checkRoot } from "./shape/check-shape.ts";
import { SEARCH_SHAPE } from "./shape/search-shape.ts";
import { AGENT_SHAPE, KNOWLEDGE_SHAPE } from "./shape/settings-shape.ts";
import type { ObjectShape } from "./shape/shape.ts";
import { entryOf, plainObject, type SourceNode, type SourceObject, withoutEmpty } from "./source-node.ts";
import type { SourceReader } from "./source-reader.ts";

/** Reads the settings; what has errors is left out. */
export function loadSettings(source: SourceReader): Pick<App, "settings" | "uses" | "search" | "knowledge"> {
  const settings = readSettings(source, "agent/agent.yml", AGENT_SHAPE);
  const search = readSettings(source, "agent/search.yml", SEARCH_SHAPE);
  const knowledge = readSettings(source, "agent/kb.yml", KNOWLEDGE_SHAPE);
  return {
    settings: plainOrEmpty(settings),
    uses: textsOf(entryOf(settings, "uses")?.value),
    search: withoutEmpty(plainOrEmpty(search)),
    knowledge: plainOrEmpty(knowledge),
  };
}

function readSettings(source: SourceReader, path: string, shape: ObjectShape): SourceObject | undefined {
  const root = source.yaml(path);
  if (root === undefined || root.kind === "null") return undefined;
  if (root.kind !== "object") {
    source.log.error(path, root.line, `${path.slice(path.lastIndexOf("/") + 1)} must be a mapping`);
    return undefined;
  }
  return checkRoot({ file: path, log: source.log }, root, shape) ? root : undefined;
}

function plainOrEmpty(root: SourceObject | undefined): JsonObject {
  return root === undefined ? {} : plainObject(root);
}

function textsOf(node: SourceNode | undefined): Readonly<Record<string, string>> {
  if (node?.kind !== "object") return {};
  return Object.fromEntries(
    node.entries.flatMap(({ key, value }) => (value.kind === "string" ? [[key, value.value]] : [])),
  );
}
