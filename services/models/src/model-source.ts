/** A model file as JSON that still knows its lines. Bounded: a hostile file costs neither stack nor time. */

import { isObject, type JsonObject } from "@mesh/kernel";
import { type JsoncFault, type JsoncNode, type JsoncPath, parseJsonc } from "@mesh/kernel/jsonc";

/** A place inside the file: keys and positions from the root. */
export type JsonPath = JsoncPath;

/** A parsed file. */
export interface ModelSource {
  readonly json: JsonObject;
  /** The line of the value at this place or, where there is none, of what should hold it. */
  lineOf(path: JsonPath): number | undefined;
}

/** What is wrong with a file that cannot be read at all. */
export type SourceFault = JsoncFault;

const MAX_TEXT_LENGTH = 1024 * 1024;
const MAX_DEPTH = 64;

/** Reads a file's text (JSON with comments and trailing commas) or JSON that was read already. */
export function readModelSource(input: string | JsonObject): ModelSource | SourceFault {
  if (typeof input !== "string") return { json: input, lineOf: () => undefined };
  if (input.length > MAX_TEXT_LENGTH) return fault(undefined, `the file is larger than ${MAX_TEXT_LENGTH} characters`);
  const tree = parseJsonc(input, MAX_DEPTH);
  if (!("root" in tree)) return tree;
  const forbidden = protoKey(tree.root);
  if (forbidden !== undefined) return fault(tree.lineAt(forbidden.offset), 'the key "__proto__" is not allowed');
  const json: unknown = plain(tree.root);
  if (!isObject(json)) return fault(1, "a model is one JSON object");
  return { json: json as JsonObject, lineOf: (path) => tree.lineAt(tree.nearest(path).offset) };
}

function fault(line: number | undefined, message: string): SourceFault {
  return { line, message };
}

function protoKey(node: JsoncNode): JsoncNode | undefined {
  if (node.type === "property" && node.children?.[0]?.value === "__proto__") return node;
  for (const child of node.children ?? []) {
    const found = protoKey(child);
    if (found !== undefined) return found;
  }
  return undefined;
}

function plain(node: JsoncNode): unknown {
  if (node.type === "array") return (node.children ?? []).map(plain);
  if (node.type !== "object") return node.value;
  const entries = (node.children ?? []).flatMap(({ children }) => {
    const [key, value] = children ?? [];
    return key === undefined || value === undefined ? [] : [[String(key.value), plain(value)] as const];
  });
  return Object.fromEntries(entries);
}
