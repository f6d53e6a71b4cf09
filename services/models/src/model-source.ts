/** A model file as JSON that still knows its lines. Bounded: a hostile file costs neither stack nor time. */

import { isObject, type JsonObject } from "@mesh/kernel";
import { findNodeAtLocation, type Node, type ParseError, parseTree, printParseErrorCode } from "jsonc-parser";

/** A place inside the file: keys and positions from the root. */
export type JsonPath = readonly (string | number)[];

/** A parsed file. */
export interface ModelSource {
  readonly json: JsonObject;
  /** The line of the value at this place or, where there is none, of what should hold it. */
  lineOf(path: JsonPath): number | undefined;
}

/** What is wrong with a file that cannot be read at all. */
export interface SourceFault {
  readonly line: number | undefined;
  readonly message: string;
}

const MAX_TEXT_LENGTH = 1024 * 1024;
const MAX_DEPTH = 64;

/** Reads a file's text (JSON with comments and trailing commas) or JSON that was read already. */
export function readModelSource(input: string | JsonObject): ModelSource | SourceFault {
  if (typeof input !== "string") return { json: input, lineOf: () => undefined };
  if (input.length > MAX_TEXT_LENGTH) return fault(undefined, `the file is larger than ${MAX_TEXT_LENGTH} characters`);
  if (input.trim() === "") return fault(1, "the file is empty");
  const errors: ParseError[] = [];
  let tree: Node | undefined;
  try {
    tree = parseTree(input, errors, { allowTrailingComma: true });
  } catch (thrown) {
    // The library recurses per level.
    if (!(thrown instanceof RangeError)) throw thrown;
    return fault(undefined, TOO_DEEP);
  }
  const first = errors[0];
  if (first !== undefined) return fault(lineAt(input, first.offset), `not JSON: ${words(first)}`);
  if (tree === undefined) return fault(1, "the file is empty");
  const forbidden = forbiddenNode(tree);
  if (forbidden !== undefined) return fault(lineAt(input, forbidden.node.offset), forbidden.message);
  const json: unknown = plain(tree);
  if (!isObject(json)) return fault(1, "a model is one JSON object");
  return { json: json as JsonObject, lineOf: (path) => lineAt(input, nearestNode(tree, path).offset) };
}

const TOO_DEEP = `nested more than ${MAX_DEPTH} levels deep`;

function fault(line: number | undefined, message: string): SourceFault {
  return { line, message };
}

function forbiddenNode(root: Node): { readonly node: Node; readonly message: string } | undefined {
  let level: readonly Node[] = [root];
  // A property is a level of the tree between an object and its value, hence the factor.
  for (let depth = 0; level.length > 0; depth += 1) {
    const [first] = level;
    if (depth > 2 * MAX_DEPTH && first !== undefined) return { node: first, message: TOO_DEEP };
    const key = level.find((node) => node.type === "property" && node.children?.[0]?.value === "__proto__");
    if (key !== undefined) return { node: key, message: 'the key "__proto__" is not allowed' };
    level = level.flatMap((node) => node.children ?? []);
  }
  return undefined;
}

function plain(node: Node): unknown {
  if (node.type === "array") return (node.children ?? []).map(plain);
  if (node.type !== "object") return node.value;
  const entries = (node.children ?? []).flatMap(({ children }) => {
    const [key, value] = children ?? [];
    return key === undefined || value === undefined ? [] : [[String(key.value), plain(value)] as const];
  });
  return Object.fromEntries(entries);
}

function nearestNode(root: Node, path: JsonPath): Node {
  for (let length = path.length; length > 0; length -= 1) {
    const found = findNodeAtLocation(root, path.slice(0, length));
    if (found !== undefined) return found;
  }
  return root;
}

function lineAt(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf("\n"); at !== -1 && at < offset; at = text.indexOf("\n", at + 1)) line += 1;
  return line;
}

const WORDS: Readonly<Partial<Record<string, string>>> = {
  PropertyNameExpected: "a key in double quotes is expected here",
  ValueExpected: "a value is expected here",
  ColonExpected: 'a ":" is missing after the key',
  CommaExpected: "a comma is missing before this",
  CloseBraceExpected: 'a "}" is missing before this',
  CloseBracketExpected: 'a "]" is missing before this',
  EndOfFileExpected: "there is text after the end of the value",
  UnexpectedEndOfComment: "a comment is not closed",
  UnexpectedEndOfString: "a string is not closed on its line",
};

function words(error: ParseError): string {
  return WORDS[printParseErrorCode(error.error)] ?? "this text is no JSON value";
}
