/** Columns for people. Pure. */

import { oneLine } from "./terminal.ts";

/** One column: its heading and how to read a row. */
export interface Column<Row> {
  readonly title: string;
  readonly value: (row: Row) => string | number | boolean | undefined;
}

const GAP = "  ";

/** A table with a heading, each line ending in a newline; `empty` when there are no rows. */
export function table<Row>(rows: readonly Row[], columns: readonly Column<Row>[], empty: string): string {
  if (rows.length === 0) return `${empty}\n`;
  const cells = rows.map((row) => columns.map((column) => cellText(column.value(row))));
  const lines = [columns.map((column) => column.title.toUpperCase()), ...cells];
  const widths = columns.map((_, index) => Math.max(...lines.map((line) => displayWidth(line[index] ?? ""))));
  return lines
    .map(
      (line) =>
        `${line
          .map((cell, index) => pad(cell, widths[index] ?? 0))
          .join(GAP)
          .trimEnd()}\n`,
    )
    .join("");
}

/** "name: value" lines, aligned; absent values are left out. */
export function fields(rows: readonly (readonly [string, string | number | boolean | undefined])[]): string {
  const shown = rows.filter(([, value]) => value !== undefined && value !== "");
  const width = Math.max(0, ...shown.map(([name]) => name.length));
  return shown.map(([name, value]) => `${pad(`${name}:`, width + 1)} ${cellText(value)}\n`).join("");
}

/** Columns a text takes on a terminal; wide East Asian characters and emoji take two. */
export function displayWidth(text: string): number {
  let width = 0;
  for (const char of text) width += columnsOf(char);
  return width;
}

function cellText(value: string | number | boolean | undefined): string {
  if (value === undefined || value === "") return "-";
  if (typeof value === "boolean") return value ? "yes" : "no";
  return oneLine(String(value));
}

function pad(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - displayWidth(text)));
}

const COMBINING = /^(?:\p{Mn}|\p{Me}|\p{Cf})$/u;
const WIDE =
  /^[\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6\u{1F300}-\u{1FAFF}\u{20000}-\u{3FFFD}]$/u;

function columnsOf(char: string): number {
  if (COMBINING.test(char)) return 0;
  return WIDE.test(char) ? 2 : 1;
}
