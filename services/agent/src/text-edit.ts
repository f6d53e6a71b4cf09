/** Replaces exact parts of a text, and says precisely why when it cannot. */

import { MeshError } from "@mesh/kernel";

/** One replacement. */
export interface TextEdit {
  readonly oldText: string;
  readonly newText: string;
  /** Every occurrence instead of the only one. */
  readonly replaceAll?: boolean;
}

/** The text after all edits, one after the other; all of them apply or none. */
export function applyEdits(text: string, edits: readonly TextEdit[]): string {
  const isCrlf = text.includes("\r\n");
  return edits.reduce((current, edit, index) => {
    const where = edits.length > 1 ? `edit ${index + 1}: ` : "";
    return applyEdit(current, isCrlf ? withCrlf(edit) : edit, where);
  }, text);
}

function applyEdit(text: string, edit: TextEdit, where: string): string {
  const { oldText, newText, replaceAll = false } = edit;
  if (oldText === "") throw invalid(`${where}old_text is empty; say what to replace`);
  if (oldText === newText) throw invalid(`${where}old_text and new_text are the same; there is nothing to change`);
  const count = countOf(text, oldText);
  if (count === 0) throw invalid(`${where}old_text was not found.${nearHint(text, oldText)}`);
  if (count > 1 && !replaceAll) {
    throw invalid(`${where}old_text was found ${count} times; add lines around it, or set replace_all`);
  }
  // A function: `$&` and its like in the new text are just text.
  return replaceAll ? text.replaceAll(oldText, () => newText) : text.replace(oldText, () => newText);
}

function countOf(text: string, part: string): number {
  let count = 0;
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + part.length)) count += 1;
  return count;
}

/** Models write `\n`; a file with `\r\n` keeps its own line ends. */
function withCrlf(edit: TextEdit): TextEdit {
  const convert = (text: string): string => text.replaceAll(/\r?\n/gu, "\r\n");
  return { ...edit, oldText: convert(edit.oldText), newText: convert(edit.newText) };
}

function nearHint(text: string, oldText: string): string {
  const wanted =
    oldText
      .split("\n")
      .find((line) => line.trim() !== "")
      ?.trim() ?? "";
  if (wanted === "") return "";
  const lines = text.split("\n");
  const at = lines.findIndex((line) => line.trim() === wanted);
  if (at >= 0)
    return ` Line ${at + 1} is its first line with other whitespace, or what follows differs: ${quote(lines[at])}`;
  const start = wanted.slice(0, Math.max(8, Math.floor(wanted.length / 2)));
  const near = lines.findIndex((line) => line.includes(start));
  return near >= 0 ? ` The nearest line is ${near + 1}: ${quote(lines[near])}` : " Read the file again.";
}

function quote(line: string | undefined): string {
  return JSON.stringify((line ?? "").slice(0, 200));
}

function invalid(text: string): MeshError {
  return new MeshError("invalid_argument", text);
}

const CONTEXT_LINES = 3;
const MAX_DIFF_LINES = 200;

/** The lines that differ between two texts, with a few around them, as one hunk. */
export function diffOf(before: string, after: string): string {
  const a = before.split(/\r?\n/u);
  const b = after.split(/\r?\n/u);
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
  const from = Math.max(0, start - CONTEXT_LINES);
  const lines = [
    `@@ -${from + 1} +${from + 1} @@`,
    ...a.slice(from, start).map((line) => ` ${line}`),
    ...a.slice(start, a.length - end).map((line) => `-${line}`),
    ...b.slice(start, b.length - end).map((line) => `+${line}`),
    ...a.slice(a.length - end, a.length - end + CONTEXT_LINES).map((line) => ` ${line}`),
  ];
  if (lines.length <= MAX_DIFF_LINES) return lines.join("\n");
  return [...lines.slice(0, MAX_DIFF_LINES), `(${lines.length - MAX_DIFF_LINES} lines more)`].join("\n");
}
