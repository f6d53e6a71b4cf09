/** JSON with comments and trailing commas, as `*.yao` files are written, with lines. */

import { type JsoncNode, type JsoncTree, parseJsonc } from "@mesh/kernel/jsonc";

import { isUnsafeKey, MAX_CONFIG_DEPTH, type ParsedSource, type SourceEntry, type SourceNode } from "./source-node.ts";

type Finding = ParsedSource["problems"][number];
type LineOf = (node: JsoncNode) => number;

/** Parses the text, which starts at `firstLine` of its file; never throws. */
export function parseJsonSource(text: string, firstLine = 1): ParsedSource {
  const tree = parseJsonc(text, MAX_CONFIG_DEPTH);
  const tokenCount = tokensIn(text);
  if (!("root" in tree)) {
    const line = tree.line === undefined ? 0 : tree.line - 1 + firstLine;
    return { root: undefined, problems: [{ line, message: tree.message, isError: true }], tokenCount };
  }
  const problems: Finding[] = [];
  return { root: convert(tree.root, linesOf(tree, firstLine), problems), problems, tokenCount };
}

function linesOf(tree: JsoncTree, firstLine: number): LineOf {
  return ({ offset }) => tree.lineAt(offset) - 1 + firstLine;
}

/** An estimate: parsing JSON costs little. */
function tokensIn(text: string): number {
  return Math.ceil(text.length / 16);
}

function convert(node: JsoncNode, lineOf: LineOf, problems: Finding[]): SourceNode {
  const line = lineOf(node);
  if (node.type === "object") return { kind: "object", line, entries: convertEntries(node, lineOf, problems) };
  if (node.type === "array") {
    const items = (node.children ?? []).map((child) => convert(child, lineOf, problems));
    return { kind: "list", line, items };
  }
  const value: unknown = node.value;
  if (typeof value === "string") return { kind: "string", line, textLine: line, value };
  if (typeof value === "number") {
    if (!Number.isFinite(value)) problems.push({ line, message: "the number is too large", isError: true });
    return { kind: "number", line, value };
  }
  return typeof value === "boolean" ? { kind: "boolean", line, value } : { kind: "null", line };
}

function convertEntries(node: JsoncNode, lineOf: LineOf, problems: Finding[]): SourceEntry[] {
  const entries = new Map<string, SourceEntry>();
  for (const property of node.children ?? []) {
    const [keyNode, valueNode] = property.children ?? [];
    if (keyNode === undefined || valueNode === undefined) continue;
    const key = String(keyNode.value);
    const line = lineOf(keyNode);
    if (isUnsafeKey(key)) {
      problems.push({ line, message: `the key "${key}" is not allowed`, isError: true });
      continue;
    }
    if (entries.has(key)) {
      problems.push({ line, message: `"${key}" is set twice; the last one is used`, isError: false });
    }
    entries.set(key, { key, line, value: convert(valueNode, lineOf, problems) });
  }
  return [...entries.values()];
}
