/** A parsed configuration file that still knows its lines: the one form behind JSON and YAML. */

import { isObject, type Json, type JsonObject } from "@mesh/kernel";

/** One entry of a mapping. */
export interface SourceEntry {
  readonly key: string;
  readonly line: number;
  readonly value: SourceNode;
}

/** One value of a configuration file and the line it starts on. */
export type SourceNode =
  | { readonly kind: "null"; readonly line: number }
  | { readonly kind: "boolean"; readonly line: number; readonly value: boolean }
  | { readonly kind: "number"; readonly line: number; readonly value: number }
  /** `textLine` is the line of the first character: one below `line` for YAML block text. */
  | { readonly kind: "string"; readonly line: number; readonly textLine: number; readonly value: string }
  | { readonly kind: "list"; readonly line: number; readonly items: readonly SourceNode[] }
  | { readonly kind: "object"; readonly line: number; readonly entries: readonly SourceEntry[] };

/** Narrowed {@link SourceNode} of a mapping. */
export type SourceObject = Extract<SourceNode, { kind: "object" }>;

/** What a parser makes of a text: the tree, or the first reason why there is none. */
export interface ParsedSource {
  readonly root: SourceNode | undefined;
  /** How many tokens were looked at: what parsing costs. */
  readonly tokenCount: number;
  readonly problems: readonly { readonly line: number; readonly message: string; readonly isError: boolean }[];
}

/** Configuration is written by hand; these bounds keep a hostile file from costing time or stack. */
export const MAX_CONFIG_DEPTH = 64;
export const MAX_CONFIG_NODES = 100_000;
export const MAX_CONFIG_TOKENS = 100_000;

/** Said of a file nested deeper than that. */
export const TOO_DEEP: string = `nested more than ${MAX_CONFIG_DEPTH} levels deep`;

const UNSAFE_KEY = "__proto__";

/** Whether this key would reach an object's prototype. */
export function isUnsafeKey(key: string): boolean {
  return key === UNSAFE_KEY;
}

/** The entry of a mapping with this key; the last one wins, as in JSON. */
export function entryOf(node: SourceNode | undefined, key: string): SourceEntry | undefined {
  return node?.kind === "object" ? node.entries.findLast((entry) => entry.key === key) : undefined;
}

/** The tree as plain JSON. */
export function plainJson(node: SourceNode): Json {
  if (node.kind === "null") return null;
  if (node.kind === "list") return node.items.map(plainJson);
  if (node.kind !== "object") return node.value;
  return plainObject(node);
}

/** The value without the keys that are set to nothing: those mean the same as absent ones. */
export function withoutEmpty(value: JsonObject): JsonObject {
  const entries = Object.entries(value).filter(([, inner]) => inner !== null);
  return Object.fromEntries(entries.map(([key, inner]) => [key, isObject(inner) ? withoutEmpty(inner) : inner]));
}

/** A mapping as a plain JSON object. */
export function plainObject(node: SourceObject): JsonObject {
  return Object.fromEntries(node.entries.map((entry) => [entry.key, plainJson(entry.value)]));
}
