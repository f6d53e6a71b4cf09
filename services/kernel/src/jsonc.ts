/**
 * JSON with comments and trailing commas, as people write it, with the line of everything. An entry of its own, since it
 * brings a parser along.
 *
 * J1  A hostile text costs neither stack nor time: nesting is bounded, and nothing is read twice.
 * J2  A fault says in words what is wrong and where; only the first is told, later ones are mostly its echoes.
 */

import { findNodeAtLocation, type Node, type ParseError, parseTree, printParseErrorCode } from "jsonc-parser";

/** A node of a parsed text; properties are nodes between an object and its values. */
export type JsoncNode = Node;

/** A place inside a text: keys and positions from the root. */
export type JsoncPath = readonly (string | number)[];

/** A parsed text. */
export interface JsoncTree {
  readonly root: JsoncNode;
  /** The line of an offset, from 1. */
  lineAt(offset: number): number;
  /** The node at a place or, where there is none, the one that should hold it. */
  nearest(path: JsoncPath): JsoncNode;
}

/** Why a text cannot be read; the line is undefined where there is none to name. */
export interface JsoncFault {
  readonly line: number | undefined;
  readonly message: string;
}

/** Parses a text whose values are nested at most `maxDepth` levels deep. */
export function parseJsonc(text: string, maxDepth: number): JsoncTree | JsoncFault {
  if (text.trim() === "") return { line: 1, message: "the file is empty" };
  const lineAt = lineFinder(text);
  const tooDeep = `nested more than ${maxDepth} levels deep`;
  const errors: ParseError[] = [];
  let root: Node | undefined;
  try {
    root = parseTree(text, errors, { allowTrailingComma: true });
  } catch (thrown) {
    // The library recurses per level.
    if (!(thrown instanceof RangeError)) throw thrown;
    return { line: undefined, message: tooDeep };
  }
  const [first] = errors;
  if (first !== undefined) return { line: lineAt(first.offset), message: words(first, text) };
  if (root === undefined) return { line: 1, message: "the file is empty" };
  const deep = firstDeeper(root, maxDepth);
  if (deep !== undefined) return { line: lineAt(deep.offset), message: tooDeep };
  return { root, lineAt, nearest: (path) => nearestNode(root, path) };
}

function lineFinder(text: string): (offset: number) => number {
  const starts = [0];
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return (offset) => {
    let [low, high] = [0, starts.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle + 1;
      else high = middle;
    }
    return low;
  };
}

function firstDeeper(root: Node, maxDepth: number): Node | undefined {
  let level: readonly Node[] = [root];
  // A property is a level of the tree between an object and its value, hence the factor.
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > 2 * maxDepth) return level[0];
    level = level.flatMap((node) => node.children ?? []);
  }
  return undefined;
}

function nearestNode(root: Node, path: JsoncPath): Node {
  for (let length = path.length; length > 0; length -= 1) {
    const found = findNodeAtLocation(root, path.slice(0, length));
    if (found !== undefined) return found;
  }
  return root;
}

const WORDS: Readonly<Partial<Record<string, string>>> = {
  InvalidSymbol: "not JSON: text that is neither a string in double quotes, a number, true, false nor null",
  InvalidNumberFormat: "not JSON: this is not a number",
  PropertyNameExpected: "not JSON: a key in double quotes is expected here",
  ValueExpected: "not JSON: a value is expected here",
  ColonExpected: 'not JSON: a ":" is missing after the key',
  CommaExpected: "not JSON: a comma is missing before this",
  CloseBraceExpected: 'not JSON: a "}" is missing before this',
  CloseBracketExpected: 'not JSON: a "]" is missing before this',
  EndOfFileExpected: "not JSON: there is text after the end of the value",
  UnexpectedEndOfComment: "not JSON: a comment is not closed",
  UnexpectedEndOfString: "not JSON: a string is not closed on its line",
  UnexpectedEndOfNumber: "not JSON: a number ends too early",
  InvalidUnicode: "not JSON: a \\u escape needs four hexadecimal digits",
  InvalidEscapeCharacter: "not JSON: this escape is not known; write \\\\ for a backslash",
  InvalidCharacter: "not JSON: a control character inside a string; write it as an escape",
};

function words(error: ParseError, text: string): string {
  if (error.offset >= text.trimEnd().length) return "not JSON: the file ends too early; a bracket is not closed";
  return WORDS[printParseErrorCode(error.error)] ?? "not JSON";
}
