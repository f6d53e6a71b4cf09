/**
 * The JSON values of a file of cases, each with its place.
 *
 * V1  Accepted beside one object a line: a byte order mark, CRLF, blank lines, comments (`//`, `#`), objects over several lines,
 *     several values on a line, one array around all.
 * V2  What cannot be read is a problem with its line; reading goes on with the next line that begins an object.
 */

import { type Json, MeshError } from "@mesh/kernel";
import { parseTree, type ParseError, printParseErrorCode } from "jsonc-parser";

import type { LoadProblem } from "./problem.ts";

/** One value of a file. */
export interface PlacedValue {
  readonly value: Json;
  /** Its text, for the lines of what is inside. */
  readonly text: string;
  readonly line: number;
}

const MAX_VALUE_CHARS = 64 * 1024 * 1024;
const LINE_END = /\r\n|\r|\n/g;

/** Text of a file; refuses what is not UTF-8. */
export function decodeText(bytes: Uint8Array, file: string): string {
  if ((bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)) {
    throw new MeshError("invalid_argument", `${file} is UTF-16; save it as UTF-8`);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    throw new MeshError("invalid_argument", `${file} is not UTF-8 text; save it as UTF-8`, { cause: error });
  }
}

/** The values of a text, in order; see the file comment. */
export function* placedValues(text: string, file: string, problems: LoadProblem[]): Generator<PlacedValue> {
  let at = 0;
  let line = 1;
  while (at < text.length) {
    const { end, next } = lineFrom(text, at);
    const content = text
      .slice(at, end)
      .replace(/^\uFEFF+/, "")
      .trim();
    if (content === "" || isComment(content)) {
      at = next;
      line += 1;
      continue;
    }
    const whole = parsed(content);
    if (whole !== undefined) {
      yield* elements({ value: whole.value, text: content, line });
      at = next;
      line += 1;
      continue;
    }
    const found = new Scan(text, at, line).value();
    if (found.problem !== undefined) problems.push({ file, line: found.line, message: found.problem });
    if (found.placed !== undefined) yield* elements(found.placed);
    ({ at, line } = found.after);
  }
}

function isComment(content: string): boolean {
  return content.startsWith("//") || content.startsWith("#");
}

function lineFrom(text: string, at: number): { readonly end: number; readonly next: number } {
  LINE_END.lastIndex = at;
  const match = LINE_END.exec(text);
  return match === null
    ? { end: text.length, next: text.length }
    : { end: match.index, next: match.index + match[0].length };
}

function parsed(text: string): { readonly value: Json } | undefined {
  if (text.length > MAX_VALUE_CHARS) return undefined;
  try {
    return { value: JSON.parse(text) as Json };
  } catch {
    return undefined;
  }
}

/** One array around all cases stands for its elements. */
function* elements(placed: PlacedValue): Generator<PlacedValue> {
  if (!Array.isArray(placed.value)) {
    yield placed;
    return;
  }
  const nodes = parseTree(placed.text)?.children ?? [];
  for (const [index, value] of (placed.value as readonly Json[]).entries()) {
    const node = nodes[index];
    const from = node?.offset ?? 0;
    const text = placed.text.slice(from, from + (node?.length ?? 0));
    yield { value, text, line: placed.line + linesIn(placed.text.slice(0, from)) };
  }
}

/** How many lines end in a text. */
export function linesIn(text: string): number {
  return text.match(/\r\n|\r|\n/g)?.length ?? 0;
}

interface Position {
  readonly at: number;
  readonly line: number;
}

interface Found {
  readonly placed?: PlacedValue;
  readonly problem?: string;
  readonly line: number;
  /** Where reading goes on. */
  readonly after: Position;
}

/** Reads a value that is not one whole line. */
class Scan {
  readonly #text: string;
  readonly #from: number;
  readonly #line: number;

  constructor(text: string, from: number, line: number) {
    this.#text = text;
    // What stands before the value on its line is white space, a comma between values, or a stray mark.
    this.#from = from + (/^[\s,\uFEFF]*/.exec(text.slice(from, from + 1000))?.[0].length ?? 0);
    this.#line = line + linesIn(text.slice(from, this.#from));
  }

  value(): Found {
    const first = this.#text[this.#from];
    if (first !== "{" && first !== "[") return this.#refused('a case must be a JSON object: {"id": …, "input": …}');
    const end = this.#end();
    if (end === undefined)
      return this.#refused(`the object that begins here is never closed with "${first === "{" ? "}" : "]"}"`);
    const text = this.#text.slice(this.#from, end);
    if (text.length > MAX_VALUE_CHARS)
      return this.#refused("the case has more than 64 MB; put its files beside it and name them with file://");
    const after = { at: end, line: this.#line + linesIn(text) };
    const whole = parsed(text);
    if (whole !== undefined) return { placed: { value: whole.value, text, line: this.#line }, line: this.#line, after };
    const errors: ParseError[] = [];
    // Comments inside of an object are read as they are meant; anything else is a problem.
    const node = parseTree(text, errors, { allowTrailingComma: false, disallowComments: false });
    const [error] = errors;
    if (error !== undefined || node === undefined) {
      const offset = error?.offset ?? 0;
      const what = error === undefined ? "invalid JSON" : words(printParseErrorCode(error.error));
      const line = this.#line + linesIn(text.slice(0, offset));
      return { problem: `${what} ${near(text, offset)}`, line, after };
    }
    return { placed: { value: valueOf(node), text, line: this.#line }, line: this.#line, after };
  }

  /** Where the bracket that is open at the start is closed. */
  #end(): number | undefined {
    let depth = 0;
    for (let at = this.#from; at < this.#text.length; at += 1) {
      switch (this.#text[at]) {
        case '"':
          at = this.#stringEnd(at);
          break;
        case "/":
          if (this.#text[at + 1] === "/") at = lineFrom(this.#text, at).end;
          break;
        case "{":
        case "[":
          depth += 1;
          break;
        case "}":
        case "]":
          depth -= 1;
          if (depth === 0) return at + 1;
          break;
        default:
      }
    }
    return undefined;
  }

  #stringEnd(from: number): number {
    for (let at = from + 1; at < this.#text.length; at += 1) {
      const char = this.#text[at];
      if (char === "\\") at += 1;
      // A line end cannot be part of a string: the quote was left open, and the brackets after it still count.
      else if (char === '"' || char === "\n") return at;
    }
    return this.#text.length;
  }

  #refused(problem: string): Found {
    let { next } = lineFrom(this.#text, this.#from);
    let line = this.#line + 1;
    while (next < this.#text.length && this.#text[next] !== "{") {
      next = lineFrom(this.#text, next).next;
      line += 1;
    }
    return { problem, line: this.#line, after: { at: next, line } };
  }
}

type Node = NonNullable<ReturnType<typeof parseTree>>;

function valueOf(node: Node): Json {
  if (node.type === "array") return (node.children ?? []).map(valueOf);
  if (node.type !== "object") return node.value as Json;
  return Object.fromEntries(
    (node.children ?? []).flatMap(({ children: [key, value] = [] }) =>
      key === undefined || value === undefined ? [] : [[String(key.value), valueOf(value)]],
    ),
  );
}

/** `CloseBraceExpected` as people say it. */
function words(code: string): string {
  return code.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).toLowerCase();
}

function near(text: string, offset: number): string {
  const rest = text
    .slice(offset, offset + 20)
    .replaceAll(/\s+/g, " ")
    .trim();
  return rest === "" ? "at the end of the object" : `near ${JSON.stringify(rest)}`;
}
