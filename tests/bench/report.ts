/** One measured number beside what it is compared with, and how rows of them are printed. */

/** One measured number. */
export interface Row {
  readonly name: string;
  readonly unit: "ms" | "/s" | "MB" | "%";
  readonly ours: number;
  /** A peer measured in the same run, or the limit we set ourselves. */
  readonly against?: { readonly what: string; readonly value: number };
  /** Bound of ours / against; a row without one only informs. */
  readonly aim?: { readonly atMost: number } | { readonly atLeast: number };
}

/** `ours` must not exceed `limit`. */
export function atMost(name: string, unit: Row["unit"], ours: number, limit: number): Row {
  return { name, unit, ours, against: { what: "limit", value: limit }, aim: { atMost: 1 } };
}

/** `ours` must reach `limit`. */
export function atLeast(name: string, unit: Row["unit"], ours: number, limit: number): Row {
  return { name, unit, ours, against: { what: "limit", value: limit }, aim: { atLeast: 1 } };
}

/** ours / against; undefined when there is nothing to compare with. */
export function ratioOf(row: Row): number | undefined {
  return row.against === undefined ? undefined : row.ours / row.against.value;
}

/** Whether the aim of a row is met; `-` for a row without an aim. */
export function verdictOf(row: Row): "ok" | "MISS" | "-" {
  const ratio = ratioOf(row);
  if (row.aim === undefined || ratio === undefined) return "-";
  const isMet = "atMost" in row.aim ? ratio <= row.aim.atMost : ratio >= row.aim.atLeast;
  return isMet ? "ok" : "MISS";
}

/** The row as one aligned line: name, ours, peer or limit, ratio, verdict. */
export function lineOf(row: Row): string {
  const ratio = ratioOf(row);
  return [
    row.name.padEnd(62),
    quantity(row.ours, row.unit).padStart(12),
    (row.against === undefined ? "-" : `${row.against.what} ${quantity(row.against.value, row.unit)}`).padStart(26),
    (ratio === undefined ? "-" : `${ratio.toFixed(2)}x`).padStart(8),
    verdictOf(row),
  ].join("  ");
}

/** The row for programs. */
export function jsonOf(row: Row): Record<string, unknown> {
  return { ...row, ratio: ratioOf(row), verdict: verdictOf(row) };
}

function quantity(value: number, unit: Row["unit"]): string {
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return `${value.toFixed(digits)} ${unit}`;
}
