/** One column of a model file: checked, with the documented defaults filled in. */

import { nearestName } from "@mesh/kernel";

import type { Json, JsonObject } from "@mesh/kernel";

import { COLUMN_TYPES, type ColumnType, columnType, type TypeSize } from "./column-type.ts";
import type { Column, ColumnDefault, Validation } from "./model.ts";
import type { JsonPath } from "./model-source.ts";
import { columnNameFault } from "./name.ts";
import { describe, type ProblemList } from "./problem-list.ts";
import { makeValidation } from "./validation.ts";
import { encodeValue } from "./value-codec.ts";

const MAX_LENGTH = 10_485_760;
const MAX_PRECISION = 1000;
const MAX_OPTIONS = 1000;
const MAX_OPTION_LENGTH = 255;

/** The keys of a column that mean something, or did once. */
export const COLUMN_KEYS: readonly string[] = [
  "name",
  "type",
  "label",
  "title",
  "comment",
  "description",
  "length",
  "precision",
  "scale",
  "option",
  "default",
  "default_raw",
  "nullable",
  "index",
  "unique",
  "primary",
  "crypt",
  "validations",
  "example",
  "generate",
  "origin",
  "search",
  "priority",
];
const VALIDATION_KEYS: readonly string[] = ["method", "args", "message"];

/** A column and what the file asks of the table besides. */
export interface ParsedColumn {
  readonly column: Column;
  readonly isUnique: boolean;
  readonly isIndexed: boolean;
}

/** Reads one entry of `columns`; undefined after reporting why it is none. */
export function parseColumn(json: JsonObject, at: JsonPath, list: ProblemList): ParsedColumn | undefined {
  list.checkKeys(json, COLUMN_KEYS, at);
  const name = list.text(json, "name", at);
  const type = parseType(json, at, list);
  if (name === undefined) list.error(at, "the column has no name");
  const fault = name === undefined ? undefined : columnNameFault(name);
  if (fault !== undefined) list.error([...at, "name"], fault);
  if (name === undefined || fault !== undefined || type === undefined) return undefined;
  const isPrimary = list.flag(json, "primary", at) || type.isGenerated === true;
  const column = { ...describeColumn(json, name, type, { at, list }), isPrimary };
  return {
    column: {
      ...column,
      isNullable: list.flag(json, "nullable", at) && !isPrimary,
      default: parseDefault(json, column, at, list),
    },
    isUnique: list.flag(json, "unique", at) && !isPrimary,
    isIndexed: list.flag(json, "index", at) && !isPrimary,
  };
}

function parseType(json: JsonObject, at: JsonPath, list: ProblemList): ColumnType | undefined {
  const written = list.text(json, "type", at);
  if (written === undefined) {
    list.error(at, `the column has no type; the types are ${COLUMN_TYPES.join(", ")}`);
    return undefined;
  }
  const type = columnType(written);
  if (type === undefined) {
    const guess = nearestName(written, COLUMN_TYPES);
    list.error(
      [...at, "type"],
      guess === undefined
        ? `unknown column type ${describe(written)}; the types are ${COLUMN_TYPES.join(", ")}`
        : `unknown column type ${describe(written)}; did you mean "${guess}"?`,
    );
  }
  return type;
}

interface Where {
  readonly at: JsonPath;
  readonly list: ProblemList;
}

function describeColumn(json: JsonObject, name: string, type: ColumnType, { at, list }: Where): Column {
  const size = parseSize(json, at, list);
  const crypt = parseCrypt(json, type, at, list);
  return {
    name,
    kind: type.kind,
    // What is stored of a protected text is longer than the text.
    sqlType: crypt === undefined ? type.sqlType(size) : "text",
    label: list.text(json, "label", at) ?? list.text(json, "title", at) ?? name,
    comment: list.text(json, "comment", at) ?? list.text(json, "description", at) ?? "",
    isNullable: false,
    isPrimary: false,
    isGenerated: type.isGenerated === true,
    isManaged: false,
    maxLength: type.maxLength?.(size),
    range: type.range,
    precision: size.precision,
    scale: size.scale,
    options: type.kind === "enum" ? parseOptions(json, at, list) : undefined,
    default: undefined,
    crypt,
    validations: parseValidations(json, at, list),
  };
}

function parseSize(json: JsonObject, at: JsonPath, list: ProblemList): TypeSize {
  const precision = list.count(json, "precision", at, [1, MAX_PRECISION]);
  const scale = list.count(json, "scale", at, [0, MAX_PRECISION]);
  if (scale !== undefined && scale > (precision ?? MAX_PRECISION)) {
    list.error([...at, "scale"], `scale ${scale} is larger than precision ${precision}`);
    return { length: undefined, precision: undefined, scale: undefined };
  }
  return { length: list.count(json, "length", at, [1, MAX_LENGTH]), precision: precision ?? widened(scale), scale };
}

// A scale alone: the documented default precision, or as many digits as the scale needs.
function widened(scale: number | undefined): number | undefined {
  return scale === undefined || scale <= 10 ? undefined : scale;
}

function parseCrypt(json: JsonObject, type: ColumnType, at: JsonPath, list: ProblemList): Column["crypt"] {
  const written = list.text(json, "crypt", at)?.toUpperCase();
  if (written === undefined || written === "") return undefined;
  if (written !== "AES" && written !== "PASSWORD") {
    list.error([...at, "crypt"], `crypt must be "AES" or "PASSWORD", not ${describe(written)}`);
    return undefined;
  }
  if (type.kind === "text") return written;
  list.error([...at, "crypt"], "crypt is for columns of text");
  return undefined;
}

function parseOptions(json: JsonObject, at: JsonPath, list: ProblemList): readonly string[] {
  const options = list.list(json, "option", at).flatMap((item) => {
    if (typeof item === "number") return [String(item)];
    return typeof item === "string" && item.length <= MAX_OPTION_LENGTH && !item.includes("\0") ? [item] : [];
  });
  const written = list.list(json, "option", at).length;
  if (options.length === 0 || options.length !== written || written > MAX_OPTIONS) {
    list.error(
      at,
      `an enum needs "option": a list of 1 to ${MAX_OPTIONS} texts of at most ${MAX_OPTION_LENGTH} characters`,
    );
  }
  return [...new Set(options)];
}

function parseValidations(json: JsonObject, at: JsonPath, list: ProblemList): readonly Validation[] {
  return list.objects(json, "validations", at).flatMap(({ item, at: itemAt }) => {
    list.checkKeys(item, VALIDATION_KEYS, itemAt);
    const method = list.text(item, "method", itemAt) ?? "";
    const made = makeValidation(method, list.list(item, "args", itemAt), list.text(item, "message", itemAt));
    if (!("fault" in made)) return [made];
    list.error(itemAt, made.fault);
    return [];
  });
}

function parseDefault(json: JsonObject, column: Column, at: JsonPath, list: ProblemList): ColumnDefault | undefined {
  const raw = list.text(json, "default_raw", at);
  if (raw !== undefined && raw !== "") return rawDefault(raw, column, at, list);
  const value: Json | undefined = Object.hasOwn(json, "default") ? json["default"] : undefined;
  if (value === undefined || value === null || column.isGenerated) return undefined;
  const isTime = column.kind === "datetime" || column.kind === "date" || column.kind === "time";
  if (isTime && typeof value === "string" && isNow(value)) return { kind: "now" };
  if (column.crypt !== undefined) {
    list.error([...at, "default"], "a column with crypt has no default");
    return undefined;
  }
  try {
    encodeValue(column, value);
    return { kind: "value", value };
  } catch (thrown) {
    list.error([...at, "default"], `default: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
    return undefined;
  }
}

// Never the text itself: only what it says, when that is something known.
function rawDefault(raw: string, column: Column, at: JsonPath, list: ProblemList): ColumnDefault | undefined {
  const isTime = column.kind === "datetime" || column.kind === "date" || column.kind === "time";
  if (isTime && isNow(raw)) return { kind: "now" };
  if (column.kind === "uuid" && /^(?:uuid|gen_random_uuid|uuid_generate_v4)\(\)$/i.test(raw.trim()))
    return { kind: "uuid" };
  if (/^null$/i.test(raw.trim())) return undefined;
  list.error([...at, "default_raw"], 'default_raw may be "NOW()" for times or "UUID()" for a uuid; else use "default"');
  return undefined;
}

function isNow(text: string): boolean {
  return /^(?:now\(\)|current_timestamp(?:\(\))?|current_date|current_time)$/i.test(text.trim());
}
