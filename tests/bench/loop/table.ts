/** The measured numbers as a Markdown table: one row per quantity, one column per contender. */

import type { Measured, Value } from "./measure.ts";

/** Whether ours meets the aim; `-` where there is none. */
export function verdictOf({ aim, values }: Measured): "ok" | "MISS" | "-" {
  if (aim === undefined) return "-";
  const ours = values.get("ours");
  if (ours?.kind !== "measured") return "MISS";
  const isMet = "atMost" in aim ? ours.median <= aim.atMost : ours.toRaw <= aim.atMostRaw;
  return isMet ? "ok" : "MISS";
}

/** The table, and below it why contenders have no number somewhere. */
export function tableOf(rows: readonly Measured[], names: readonly string[]): string {
  const header = ["measured", ...names, "aim", "verdict"];
  const body = rows.map((row) => [
    `${row.title}, ${row.unit}`,
    ...names.map((name) => cellOf(row.values.get(name), row)),
    aimOf(row),
    verdictOf(row),
  ]);
  const widths = header.map((_, column) => Math.max(...[header, ...body].map((cells) => cells[column]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`;
  const rule = line(widths.map((width) => "-".repeat(width)));
  const failures = rows.flatMap((row) =>
    [...row.values].flatMap(([name, value]) =>
      value.kind === "failed" ? [`${name}, ${row.title}: ${value.why}`] : [],
    ),
  );
  return [line(header), rule, ...body.map(line), ...failures].join("\n");
}

function cellOf(value: Value | undefined, { unit }: Measured): string {
  if (value === undefined) return "-";
  if (value.kind === "failed") return "failed";
  const number = digits(value.median);
  return unit === "ms/turn" ? `${number} (${value.toRaw.toFixed(2)}×)` : number;
}

function aimOf({ aim }: Measured): string {
  if (aim === undefined) return "";
  return "atMost" in aim ? `≤ ${aim.atMost}` : `≤ ${aim.atMostRaw}×`;
}

function digits(value: number): string {
  return value.toFixed(Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2);
}
