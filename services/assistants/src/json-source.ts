/** JSON with comments and trailing commas, as `*.yao` files are written, with lines. */

import { type Node, type ParseError, parseTree, printParseErrorCode } from "jsonc-parser";

import {
  isUnsafeKey,
  MAX_CONFIG_DEPTH,
  type ParsedSource,
  type SourceEntry,
  type SourceNode,
  TOO_DEEP,
} from "./source-node.ts";

type Finding = ParsedSource["problems"][number];

/** Parses the text, which starts at `firstLine` of its file; never throws. */
export function parseJsonSource(text: string, firstLine = 1): ParsedSource {
  if (text.trim() === "") return failed(text, firstLine, "the file is empty");
  const lines = new LineIndex(text, firstLine);
  const errors: ParseError[] = [];
  let tree: Node | undefined;
  try {
    tree = parseTree(text, errors, { allowTrailingComma: true });
  } catch (thrown) {
    // The library recurses per level.
    if (!(thrown instanceof RangeError)) throw thrown;
    return failed(text, 0, TOO_DEEP);
  }
  const first = errors[0];
  // Later errors are mostly echoes of the first.
  if (first !== undefined) {
    return failed(text, lines.lineAt(first.offset), words(first, text));
  }
  if (tree === undefined) return failed(text, firstLine, "the file is empty");
  const tooDeep = firstTooDeep(tree);
  if (tooDeep !== undefined) return failed(text, lines.lineAt(tooDeep.offset), TOO_DEEP);
  const problems: Finding[] = [];
  return { root: convert(tree, lines, problems), problems, tokenCount: tokensIn(text) };
}

/** Offset to line number. */
class LineIndex {
  readonly #firstLine: number;
  readonly #starts: number[] = [0];

  constructor(text: string, firstLine: number) {
    this.#firstLine = firstLine;
    for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) this.#starts.push(at + 1);
  }

  lineAt(offset: number): number {
    let low = 0;
    let high = this.#starts.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#starts[middle] ?? 0) <= offset) low = middle + 1;
      else high = middle;
    }
    return low - 1 + this.#firstLine;
  }
}

function failed(text: string, line: number, message: string): ParsedSource {
  return { root: undefined, problems: [{ line, message, isError: true }], tokenCount: tokensIn(text) };
}

/** An estimate: parsing JSON costs little. */
function tokensIn(text: string): number {
  return Math.ceil(text.length / 16);
}

function firstTooDeep(root: Node): Node | undefined {
  let level: readonly Node[] = [root];
  // A property is a level of the tree between an object and its value, hence the factor.
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > 2 * MAX_CONFIG_DEPTH) return level[0];
    level = level.flatMap((node) => node.children ?? []);
  }
  return undefined;
}

function convert(node: Node, lines: LineIndex, problems: Finding[]): SourceNode {
  const line = lines.lineAt(node.offset);
  if (node.type === "object") return { kind: "object", line, entries: convertEntries(node, lines, problems) };
  if (node.type === "array") {
    const items = (node.children ?? []).map((child) => convert(child, lines, problems));
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

function convertEntries(node: Node, lines: LineIndex, problems: Finding[]): SourceEntry[] {
  const entries = new Map<string, SourceEntry>();
  for (const property of node.children ?? []) {
    const [keyNode, valueNode] = property.children ?? [];
    if (keyNode === undefined || valueNode === undefined) continue;
    const key = String(keyNode.value);
    const line = lines.lineAt(keyNode.offset);
    if (isUnsafeKey(key)) {
      problems.push({ line, message: `the key "${key}" is not allowed`, isError: true });
      continue;
    }
    if (entries.has(key)) {
      problems.push({ line, message: `"${key}" is set twice; the last one is used`, isError: false });
    }
    entries.set(key, { key, line, value: convert(valueNode, lines, problems) });
  }
  return [...entries.values()];
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
