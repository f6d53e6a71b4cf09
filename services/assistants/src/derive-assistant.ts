/**
 * A new app around one assistant of another: what the assistant consists of under a new id, with further instructions.
 *
 * Of the source app everything that is shared goes along (connectors, MCP servers, scripts, models, global prompts), its other
 * assistants do not. References to the old id inside of the assistant's folder name the new one.
 */

import { type JsonObject, MeshError } from "@mesh/kernel";
import { parse as parseYaml, stringify as toYaml } from "yaml";

import type { AppFiles } from "./app.ts";
import { loadApp } from "./load-app.ts";

/** What the new assistant is. */
export interface Derivation {
  /** Id of the assistant it is made of. */
  readonly sourceId: string;
  /** One word: letters, digits, dashes and underscores. */
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** Becomes the last of its system prompts. */
  readonly instructions: string;
  /** Further files, by path inside of the assistant's folder. */
  readonly files: ReadonlyMap<string, string>;
}

const ROOT = "assistants/";
/** What says who an assistant is and who may see it: the new one says it itself. */
const IDENTITY = [
  "avatar",
  "placeholder",
  "public",
  "share",
  "sort",
  "readonly",
  "automated",
  "built_in",
  "created_at",
];
const TEXT_FILE = /\.(ts|js|yao|yml|yaml|json|jsonc|md)$/;

/** Builds the files; throws `not_found` when the app has no such assistant. */
export function deriveAssistant(source: AppFiles, wish: Derivation): AppFiles {
  const folder = `${ROOT}${wish.sourceId.replaceAll(".", "/")}/`;
  const target = `${ROOT}${wish.id}/`;
  const own = loadApp(source).app.assistants.get(wish.sourceId);
  if (own === undefined) throw new MeshError("not_found", `the app holds no assistant ${wish.sourceId}`);
  const files = new Map<string, Uint8Array>();
  for (const [path, bytes] of source) {
    if (!path.startsWith(ROOT)) files.set(path, bytes);
    else if (path.startsWith(folder)) {
      files.set(target + path.slice(folder.length), renamed(path, bytes, wish));
    }
  }
  files.set(`${target}package.yao`, encode(packageText(own.source, wish)));
  const prompts = source.get(`${folder}prompts.yml`);
  files.set(`${target}prompts.yml`, encode(promptsText(prompts === undefined ? "" : decode(prompts), wish)));
  for (const [path, text] of wish.files) files.set(target + path, encode(text));
  return files;
}

function packageText(source: JsonObject, { name, description }: Derivation): string {
  const kept = Object.entries(source).filter(([key]) => !IDENTITY.includes(key));
  const next = { ...Object.fromEntries(kept), name, description, tags: ["task agent"], mentionable: true };
  return `${JSON.stringify(next, undefined, 2)}\n`;
}

function promptsText(text: string, { instructions }: Derivation): string {
  const before: unknown = parseYaml(text);
  const prompts: readonly unknown[] = Array.isArray(before) ? before : [];
  return toYaml([...prompts, { role: "system", content: instructions }], { lineWidth: 0 });
}

function renamed(path: string, bytes: Uint8Array, { sourceId, id }: Derivation): Uint8Array {
  if (!TEXT_FILE.test(path)) return bytes;
  const text = decode(bytes);
  const next = text.replaceAll(`agents.${sourceId}.`, `agents.${id}.`);
  return next === text ? bytes : encode(next);
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
