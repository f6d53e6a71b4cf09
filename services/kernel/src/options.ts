/**
 * Configuration as a table: one row per option, read once in `main`, all problems reported together.
 * Empty means unset. `<ENV>_FILE` names a file that holds the value. Unknown `YAO_*` variables are errors, to catch typos.
 */

import { readFileSync } from "node:fs";

import { MeshError } from "./errors.ts";
import { parseDuration } from "./clock.ts";

/** One option: where it comes from, how it is read, what it means. */
export interface OptionRow<T> {
  /** Environment variable, `YAO_…`. */
  readonly env: string;
  /** Throws an Error whose message completes "`YAO_X` …". */
  readonly parse: (text: string) => T;
  readonly default?: T;
  readonly secret?: boolean;
  /** One sentence for people. */
  readonly doc: string;
}

/** A table of options by field name. */
export type OptionTable = Readonly<Record<string, OptionRow<unknown>>>;

/** The object a table parses to; an option without a default may be undefined. */
export type OptionValues<T extends OptionTable> = {
  readonly [K in keyof T]: T[K] extends { readonly default: infer D; readonly parse: (text: string) => infer V }
    ? V | D
    : T[K] extends { readonly parse: (text: string) => infer V }
      ? V | undefined
      : never;
};

/** Where values come from, and which other variables are known to somebody else. */
export interface OptionSource {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Values given on the command line, by field name; they win. */
  readonly flags?: Readonly<Record<string, string | undefined>>;
  /** Environment names owned by other tables of the same system. */
  readonly alsoKnown?: readonly string[];
}

/** Reads a table; throws one `invalid_argument` listing every problem. */
export function parseOptions<T extends OptionTable>(table: T, source: OptionSource): OptionValues<T> {
  const problems: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [field, row] of Object.entries(table)) {
    try {
      const text = rawValue(field, row, source);
      values[field] = text === undefined ? row.default : row.parse(text);
    } catch (error) {
      problems.push(`${row.env} ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  problems.push(...unknownNames(table, source));
  if (problems.length > 0) {
    throw new MeshError("invalid_argument", `configuration: ${problems.join("; ")}`, { details: { problems } });
  }
  return Object.freeze(values) as OptionValues<T>;
}

function rawValue(field: string, row: OptionRow<unknown>, source: OptionSource): string | undefined {
  const flag = source.flags?.[field];
  if (flag !== undefined && flag !== "") return flag;
  const direct = source.env[row.env];
  if (direct !== undefined && direct !== "") return direct;
  const path = source.env[`${row.env}_FILE`];
  if (path === undefined || path === "") return undefined;
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    throw new Error(`cannot be read from ${path} (named by ${row.env}_FILE)`);
  }
}

function unknownNames(table: OptionTable, source: OptionSource): string[] {
  const known = new Set([...Object.values(table).map((row) => row.env), ...(source.alsoKnown ?? [])]);
  return Object.keys(source.env)
    .filter((name) => name.startsWith("YAO_") && !known.has(name) && !known.has(name.replace(/_FILE$/, "")))
    .map((name) => `${name} is not an option; see docs/generated/config.md`);
}

/** Any text. */
export const text = (value: string): string => value;

/** A whole number within bounds. */
export function integer(min: number, max: number): (value: string) => number {
  return (value) => {
    const number = Number(value);
    if (!Number.isInteger(number) || number < min || number > max) {
      throw new Error(`must be a whole number from ${min} to ${max}, not "${value}"`);
    }
    return number;
  };
}

/** `true/false`, `1/0`, `yes/no`, `on/off`. */
export function flag(value: string): boolean {
  if (/^(1|true|yes|on)$/i.test(value)) return true;
  if (/^(0|false|no|off)$/i.test(value)) return false;
  throw new Error(`must be true or false, not "${value}"`);
}

/** Milliseconds from a duration such as `15m`. */
export function duration(value: string): number {
  const ms = parseDuration(value);
  if (ms === undefined) throw new Error(`must be a duration such as 30s or 15m, not "${value}"`);
  return ms;
}

/** One of the given words. */
export function oneOf<const T extends readonly string[]>(...words: T): (value: string) => T[number] {
  return (value) => {
    if (!words.includes(value)) throw new Error(`must be one of ${words.join(", ")}, not "${value}"`);
    return value;
  };
}
