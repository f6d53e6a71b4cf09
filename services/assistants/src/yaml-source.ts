/** YAML with lines, bounded against alias bombs, deep nesting and quadratic key checks. */

import {
  type Alias,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
  type Scalar,
  type YAMLError,
  type YAMLMap,
} from "yaml";

import {
  isUnsafeKey,
  MAX_CONFIG_DEPTH,
  MAX_CONFIG_NODES,
  MAX_CONFIG_TOKENS,
  type ParsedSource,
  type SourceEntry,
  type SourceNode,
  TOO_DEEP,
} from "./source-node.ts";

/** Parses the text; an empty file is null; never throws. */
export function parseYamlSource(text: string): ParsedSource {
  const { tokenCount, finding } = scan(text);
  const failed = (line: number, message: string): ParsedSource => {
    return { root: undefined, problems: [{ line, message, isError: true }], tokenCount };
  };
  if (finding !== undefined) return failed(finding.line, finding.message);
  const lines = new LineCounter();
  // Unique keys are checked below: the library compares every pair of keys.
  const options = { lineCounter: lines, prettyErrors: false, uniqueKeys: false, logLevel: "error" } as const;
  const document = parseDocument(text, options);
  const first = document.errors[0];
  if (first !== undefined) return failed(lines.linePos(first.pos[0]).line, words(first, text));
  const converter = new Converter(lines);
  try {
    return { root: converter.convert(document.contents, 1, 0), problems: [], tokenCount };
  } catch (thrown) {
    if (!(thrown instanceof SourceRefused)) throw thrown;
    return failed(thrown.line, thrown.message);
  }
}

/** The lexer's sign that the next token is text and not punctuation. */
const SCALAR_FOLLOWS = "\u001f";

interface Scan {
  readonly tokenCount: number;
  readonly finding?: { readonly line: number; readonly message: string };
}

/**
 * Looks for what would make parsing expensive, before parsing: the library takes seconds for a megabyte of brackets or
 * commas. Blocks nested by indentation need a square of characters and are left to the conversion.
 */
function scan(text: string): Scan {
  let tokenCount = 0;
  let line = 1;
  let brackets = 0;
  let dashes = 0;
  let isText = false;
  for (const token of new Lexer().lex(text)) {
    tokenCount += 1;
    if (tokenCount > MAX_CONFIG_TOKENS) {
      return {
        tokenCount,
        finding: { line, message: `more than ${MAX_CONFIG_TOKENS} words and signs; split the file` },
      };
    }
    if (!isText) {
      brackets += bracketStep(token);
      if (brackets === 0 && (token === "-" || token === "?")) dashes += 1;
    }
    if (brackets > MAX_CONFIG_DEPTH || dashes > MAX_CONFIG_DEPTH) {
      return { tokenCount, finding: { line, message: TOO_DEEP } };
    }
    isText = token === SCALAR_FOLLOWS;
    for (let at = token.indexOf("\n"); at !== -1; at = token.indexOf("\n", at + 1)) {
      line += 1;
      dashes = 0;
    }
  }
  return { tokenCount };
}

function bracketStep(token: string): number {
  if (token === "[" || token === "{") return 1;
  return token === "]" || token === "}" ? -1 : 0;
}

/** Leaves the recursion at the first finding; never leaves this file. */
class SourceRefused extends Error {
  override readonly name = "SourceRefused";
  readonly line: number;

  constructor(line: number, message: string) {
    super(message);
    this.line = line;
  }
}

class Converter {
  readonly #lines: LineCounter;
  // Kept here because the library searches the whole document for each alias.
  readonly #anchors = new Map<string, Node>();
  #nodeCount = 0;
  #aliasDepth = 0;

  constructor(lines: LineCounter) {
    this.#lines = lines;
  }

  convert(node: Node | Alias | null, parentLine: number, depth: number): SourceNode {
    const line = this.#lineOf(node) ?? parentLine;
    this.#nodeCount += 1;
    // Aliases are followed each time they occur, so this also bounds what they multiply to.
    if (this.#nodeCount > MAX_CONFIG_NODES) throw new SourceRefused(line, `more than ${MAX_CONFIG_NODES} values`);
    if (depth > MAX_CONFIG_DEPTH) throw new SourceRefused(line, TOO_DEEP);
    if (isAlias(node)) return this.#alias(node, line, depth);
    // Inside an alias the anchors were all seen before.
    if (this.#aliasDepth === 0 && node?.anchor !== undefined) this.#anchors.set(node.anchor, node);
    if (isMap(node)) return { kind: "object", line, entries: this.#entries(node, line, depth) };
    if (isSeq(node)) {
      const items = node.items.map((item) => this.convert(item as Node | null, line, depth + 1));
      return { kind: "list", line, items };
    }
    return isScalar(node) ? scalar(node, line) : { kind: "null", line };
  }

  #alias(alias: Alias, line: number, depth: number): SourceNode {
    const target = this.#anchors.get(alias.source);
    if (target === undefined) {
      throw new SourceRefused(line, `*${alias.source} stands for nothing: there is no &${alias.source} before it`);
    }
    this.#aliasDepth += 1;
    const converted = this.convert(target, line, depth + 1);
    this.#aliasDepth -= 1;
    return converted;
  }

  #entries(map: YAMLMap, parentLine: number, depth: number): SourceEntry[] {
    const entries = new Map<string, SourceEntry>();
    const merged: SourceEntry[] = [];
    for (const pair of map.items as Pair<Node | null, Node | null>[]) {
      const line = this.#lineOf(pair.key) ?? parentLine;
      if (!isScalar(pair.key)) throw new SourceRefused(line, "a key must be plain text");
      if (this.#aliasDepth === 0 && pair.key.anchor !== undefined) this.#anchors.set(pair.key.anchor, pair.key);
      const key = String(pair.key.value);
      const value = this.convert(pair.value, line, depth + 1);
      if (isUnsafeKey(key)) throw new SourceRefused(line, `the key "${key}" is not allowed`);
      if (key === "<<") merged.push(...mergeSources(value));
      else if (entries.has(key)) throw new SourceRefused(line, `"${key}" is set twice in the same mapping`);
      else entries.set(key, { key, line, value });
    }
    for (const entry of merged) if (!entries.has(entry.key)) entries.set(entry.key, entry);
    return [...entries.values()];
  }

  #lineOf(node: Node | null): number | undefined {
    const start = node?.range?.[0];
    return start === undefined ? undefined : this.#lines.linePos(start).line;
  }
}

function mergeSources(value: SourceNode): readonly SourceEntry[] {
  if (value.kind === "object") return value.entries;
  if (value.kind === "list") return value.items.flatMap((item) => (item.kind === "object" ? item.entries : []));
  throw new SourceRefused(value.line, '"<<" needs an alias of a mapping, such as *defaults');
}

function scalar(node: Scalar, line: number): SourceNode {
  const { value } = node as Scalar<string | number | boolean | bigint | null | undefined>;
  if (typeof value === "boolean") return { kind: "boolean", line, value };
  if (typeof value === "number" && Number.isFinite(value)) return { kind: "number", line, value };
  if (value === null || value === undefined) return { kind: "null", line };
  const isBlock = node.type === "BLOCK_LITERAL" || node.type === "BLOCK_FOLDED";
  return { kind: "string", line, textLine: isBlock ? line + 1 : line, value: String(value) };
}

const TAB = "indented with a tab; use spaces";

const WORDS: Readonly<Partial<Record<string, string>>> = {
  TAB_AS_INDENT: TAB,
  UNEXPECTED_TOKEN: "this does not belong here; check the indentation, and put text with special characters in quotes",
  BAD_INDENT: "wrong indentation: lines of one block must start at the same column",
  BLOCK_AS_IMPLICIT_KEY: "a mapping cannot start here; put it on a line of its own, or quote text that holds a colon",
  MISSING_CHAR: "something is missing here, such as a colon after a key, a closing quote or a closing bracket",
  MULTILINE_IMPLICIT_KEY: "a key must stand on one line; a colon is missing, or the text needs quotes",
  MULTIPLE_DOCS: 'more than one document; remove the "---" line',
  BAD_ALIAS: "text cannot start with * or &; put it in quotes",
  BAD_DIRECTIVE: "text cannot start with %; put it in quotes",
  BAD_DQ_ESCAPE: "this escape is not known in double quotes; use single quotes or write \\\\ for a backslash",
  RESOURCE_EXHAUSTION: "nested too deeply",
  BAD_SCALAR_START: "text cannot start with this character; put it in quotes",
};

function words(error: YAMLError, text: string): string {
  const [at] = error.pos;
  const lineBefore = text.slice(text.lastIndexOf("\n", at - 1) + 1, at);
  // The library names the token after the tab, which tells nobody about the tab.
  if (/^\s*\t/.test(lineBefore)) return `not YAML: ${TAB}`;
  const detail = (error.message.split("\n", 1)[0] ?? "").slice(0, 120);
  return `not YAML: ${WORDS[error.code] ?? (detail === "" ? "it cannot be read" : detail)}`;
}
