/**
 * Cases out of a text as people keep them: JSON objects, one a line or over several lines. Pure.
 *
 * T1  Accepted beside one object a line: a byte order mark, CRLF, blank lines, comments (`//`, `#`), one array around all.
 * T2  What is wrong is told with its line, and reading goes on with the next line that begins an object.
 * T3  Only what every case must have is looked at; the coordinator looks at the rest.
 */

import { isRecord } from "../../api/error.ts";

/** A case as it was written. */
export interface WrittenCase {
  readonly id: string;
  /** From 1. */
  readonly line: number;
  readonly value: Readonly<Record<string, unknown>>;
  readonly bytes: number;
}

/** What is wrong in a line. */
export type CaseProblem =
  | { readonly line: number; readonly kind: "json"; readonly detail: string }
  | { readonly line: number; readonly kind: "object" | "id" | "longId" | "input" | "large" | "many" }
  | { readonly line: number; readonly kind: "twice"; readonly detail: string };

/** What a text holds. */
export interface CaseText {
  readonly cases: readonly WrittenCase[];
  readonly problems: readonly CaseProblem[];
  /** Cases name files, which only an app's bundle can carry. */
  readonly hasFiles: boolean;
}

/** The largest text that is read. */
export const MAX_TEXT_BYTES: number = 32 * 1024 * 1024;

// One call takes 1 MB with what is around the case.
const MAX_CASE_BYTES = 1_000_000;
const MAX_CASES = 200_000;
const MAX_ID_CHARS = 500;
const MAX_PROBLEMS = 100;
const encoder = new TextEncoder();

/** Reads a text; see the file comment. */
export function readCases(text: string): CaseText {
  const cases: WrittenCase[] = [];
  const problems: CaseProblem[] = [];
  const lines = new Map<string, number>();
  for (const found of values(text.replace(/^\uFEFF/, ""))) {
    if (problems.length >= MAX_PROBLEMS) break;
    const read = "kind" in found ? found : readCase(found);
    if ("kind" in read) {
      problems.push(read);
      continue;
    }
    const first = lines.get(read.id);
    if (first !== undefined) problems.push({ line: read.line, kind: "twice", detail: String(first) });
    else if (cases.length >= MAX_CASES) {
      problems.push({ line: read.line, kind: "many" });
      break;
    } else {
      lines.set(read.id, read.line);
      cases.push(read);
    }
  }
  return { cases, problems, hasFiles: /"file:\/\//.test(text) };
}

interface Found {
  readonly line: number;
  readonly text: string;
  readonly value: unknown;
}

function readCase({ line, text, value }: Found): WrittenCase | CaseProblem {
  if (!isRecord(value)) return { line, kind: "object" };
  const id = typeof value["id"] === "number" ? String(value["id"]) : value["id"];
  if (typeof id !== "string" || id.trim() === "") return { line, kind: "id" };
  if (id.length > MAX_ID_CHARS) return { line, kind: "longId" };
  const { input } = value;
  const isInput = typeof input === "string" ? input !== "" : typeof input === "object" && input !== null;
  if (!isInput) return { line, kind: "input" };
  const bytes = encoder.encode(text).length;
  if (bytes > MAX_CASE_BYTES) return { line, kind: "large" };
  return { id: id.normalize("NFC").trim(), line, value, bytes };
}

/** The values of a text, each with its line; what cannot be read is a problem in its place. */
function* values(text: string): Generator<Found | CaseProblem> {
  const whole = arrayOf(text);
  if (whole !== undefined) {
    for (const value of whole) yield { line: 1, text: JSON.stringify(value), value };
    return;
  }
  const lines = text.split(/\r\n|\r|\n/);
  for (let at = 0; at < lines.length;) {
    const content = (lines[at] ?? "").trim();
    const line = at + 1;
    if (content === "" || content.startsWith("//") || content.startsWith("#")) {
      at += 1;
      continue;
    }
    const end = content.startsWith("{") ? endOfObject(lines, at) : at + 1;
    const own = lines.slice(at, end).join("\n");
    const read = parsed(own);
    // An object that does not end takes no later one with it.
    at = "detail" in read && end > at + 1 ? nextObject(lines, at + 1) : end;
    yield "detail" in read
      ? { line, kind: "json", detail: read.detail }
      : { line, text: own.trim(), value: read.value };
  }
}

function arrayOf(text: string): readonly unknown[] | undefined {
  if (!text.trimStart().startsWith("[")) return undefined;
  const read = parsed(text);
  return "value" in read && Array.isArray(read.value) ? (read.value as readonly unknown[]) : undefined;
}

function parsed(text: string): { readonly value: unknown } | { readonly detail: string } {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (thrown) {
    return { detail: thrown instanceof Error ? thrown.message : String(thrown) };
  }
}

/** The line after that in which the object that begins at a line ends. */
function endOfObject(lines: readonly string[], from: number): number {
  let depth = 0;
  for (let at = from; at < lines.length; at += 1) {
    depth += depthOf(lines[at] ?? "");
    if (depth <= 0) return at + 1;
  }
  return lines.length;
}

/** How many more brackets a line opens than it closes; strings end in their line, and what is in them is no bracket. */
function depthOf(line: string): number {
  let depth = 0;
  let isText = false;
  for (let at = 0; at < line.length; at += 1) {
    const letter = line[at];
    if (letter === '"') isText = !isText;
    else if (isText) at += letter === "\\" ? 1 : 0;
    else if (letter === "{") depth += 1;
    else if (letter === "}") depth -= 1;
  }
  return depth;
}

function nextObject(lines: readonly string[], from: number): number {
  for (let at = from; at < lines.length; at += 1) if ((lines[at] ?? "").startsWith("{")) return at;
  return lines.length;
}
