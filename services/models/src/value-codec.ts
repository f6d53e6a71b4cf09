/**
 * Values of columns between JSON and PostgreSQL.
 *
 * V1  A decimal or big integer is a JSON number when that is exactly it, else its digits as text.
 * V2  Dates are `YYYY-MM-DD`, times `HH:mm:ss`, datetimes `YYYY-MM-DD HH:mm:ss` in UTC; fractions of seconds are cut off.
 *     RFC 3339 with a zone is accepted and converted.
 * V3  What a column cannot hold is refused here, by name and reason, not by the database.
 */

import { type Json, MeshError } from "@mesh/kernel";
import { type Expression, type RawBuilder, sql } from "kysely";

import { lengthOf, shownJson } from "./json-text.ts";
import type { Column, ColumnKind } from "./model.ts";

/** A value as the driver takes it. */
export type Encoded = string | number | boolean | Buffer | null;

const MAX_VALUE_BYTES = 1024 * 1024;
// JSON comes back with spaces, sealed text as base64.
const MAX_READ_BYTES = 2 * MAX_VALUE_BYTES;
const MAX_NUMBER_LENGTH = 400;

/** Turns a JSON value into what is stored; throws `invalid_argument` naming the column. Leaves `crypt` to others. */
export function encodeValue(column: Column, value: Json): Encoded {
  return value === null ? null : ENCODERS[column.kind](column, value);
}

/** The encoded value as a part of a statement. */
export function bound(column: Column, value: Encoded): Expression<unknown> {
  // The driver would read a text bound to a time as local time; bound as text, PostgreSQL reads it.
  if (value !== null && column.kind === "datetime") return sql`${value}::text::timestamp`;
  if (value !== null && column.kind === "date") return sql`${value}::text::date`;
  return sql`${value}`;
}

/** The expression that reads a column so that {@link decoderOf} can turn it into JSON. */
export function readable(column: Column, ref: string): RawBuilder<unknown> {
  const at = sql.ref(ref);
  switch (column.kind) {
    case "bigint":
    case "decimal":
    case "time":
    case "json":
      return sql`${at}::text`;
    case "date":
      return sql`to_char(${at}, 'YYYY-MM-DD')`;
    case "datetime":
      return sql`to_char(${at}, 'YYYY-MM-DD HH24:MI:SS')`;
    default:
      return at;
  }
}

/** Makes what turns the values {@link readable} gives into JSON. */
export function decoderOf(column: Column): (value: unknown) => Json {
  const decode = DECODERS[column.kind];
  if (decode === undefined) return (value) => (value ?? null) as Json;
  return (value) => (value === null || value === undefined ? null : decode(value));
}

/** The longest a value can be in bytes when read. */
export function maxBytes(column: Column): number {
  if (column.crypt !== undefined || column.kind === "json" || column.kind === "binary") return MAX_READ_BYTES;
  if (column.kind === "text") return Math.min(4 * (column.maxLength ?? MAX_READ_BYTES), MAX_READ_BYTES);
  if (column.kind === "enum") return 4 * 255;
  return column.kind === "decimal" ? (column.precision ?? 10) + 2 : 40;
}

const WHOLE_TEXT = /^[+-]?\d{1,40}$/;
const DECIMAL_TEXT = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d{1,3})?$/i;
const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const DATETIME = /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.\d{1,9})?)?\s?(Z|[+-]\d\d:?\d\d)?)?$/i;
const TIME = /^([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:\.\d{1,9})?)?$/;

const ENCODERS: Readonly<Record<ColumnKind, (column: Column, value: Json) => Encoded>> = {
  integer: encodeWhole,
  bigint: encodeWhole,
  decimal: encodeDecimal,
  float: encodeFloat,
  boolean: encodeBoolean,
  text: encodeText,
  enum: encodeOption,
  date: encodeTime,
  datetime: encodeTime,
  time: encodeTime,
  json: encodeJson,
  uuid: encodeUuid,
  binary: encodeBytes,
};

const DECODERS: Readonly<Partial<Record<ColumnKind, (value: unknown) => Json>>> = {
  bigint: (value) => exactNumber(value as string),
  decimal: (value) => exactNumber(value as string),
  json: (value) => JSON.parse(value as string) as Json,
  binary: (value) => (Buffer.isBuffer(value) ? value.toString("base64") : null),
};

function encodeWhole(column: Column, value: Json): number | string {
  const isWhole =
    typeof value === "number" ? Number.isInteger(value) : typeof value === "string" && WHOLE_TEXT.test(value.trim());
  if (!isWhole) throw wrong(column, "a whole number", value);
  const exact = BigInt(typeof value === "string" ? value.trim().replace(/^\+/, "") : (value as number));
  const { range } = column;
  if (range !== undefined && (exact < range.min || exact > range.max)) {
    throw wrong(column, `a whole number from ${range.min} to ${range.max}`, value);
  }
  return column.kind === "integer" ? Number(exact) : exact.toString();
}

function encodeDecimal(column: Column, value: Json): string {
  const text = typeof value === "number" ? String(value) : typeof value === "string" ? value.trim() : "";
  if (!DECIMAL_TEXT.test(text) || text.length > MAX_NUMBER_LENGTH) throw wrong(column, "a decimal number", value);
  return text;
}

function encodeFloat(column: Column, value: Json): number {
  const isNumeric = typeof value === "number" || (typeof value === "string" && DECIMAL_TEXT.test(value.trim()));
  const number = isNumeric ? Number(value) : Number.NaN;
  if (!Number.isFinite(number)) throw wrong(column, "a number", value);
  const { precision, scale } = column;
  const rounded = scale === undefined || scale > 15 ? number : Number(number.toFixed(scale));
  if (precision !== undefined && Math.abs(rounded) >= 10 ** (precision - (scale ?? 0))) {
    throw wrong(column, `a number with at most ${precision - (scale ?? 0)} digits before the point`, value);
  }
  return rounded;
}

function encodeBoolean(column: Column, value: Json): boolean {
  if (value === true || value === 1 || value === "1" || value === "true") return true;
  if (value === false || value === 0 || value === "0" || value === "false") return false;
  throw wrong(column, "true or false", value);
}

function encodeText(column: Column, value: Json): string {
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") {
    throw wrong(column, "text", value);
  }
  const text = String(value);
  if (Buffer.byteLength(text) > MAX_VALUE_BYTES) throw fault(column, `must have at most ${MAX_VALUE_BYTES} bytes`);
  const max = column.maxLength ?? MAX_VALUE_BYTES;
  const length = text.length <= max ? text.length : lengthOf(text);
  if (length > max) throw fault(column, `must have at most ${max} characters, not ${length}`);
  if (text.includes("\0")) throw fault(column, "must not hold the character U+0000");
  return text;
}

function encodeOption(column: Column, value: Json): string {
  const text = typeof value === "string" || typeof value === "number" ? String(value) : undefined;
  if (text !== undefined && column.options?.includes(text) === true) return text;
  throw wrong(column, `one of ${(column.options ?? []).slice(0, 50).join(", ")}`, value);
}

function encodeJson(column: Column, value: Json): string {
  const text = JSON.stringify(value);
  if (Buffer.byteLength(text) > MAX_VALUE_BYTES)
    throw fault(column, `must have at most ${MAX_VALUE_BYTES} bytes of JSON`);
  if (/(?:^|[^\\])(?:\\\\)*\\u0000/.test(text)) throw fault(column, "must not hold the character U+0000");
  return text;
}

function encodeUuid(column: Column, value: Json): string {
  if (typeof value === "string" && UUID.test(value)) return value.toLowerCase();
  throw wrong(column, "a UUID", value);
}

function encodeBytes(column: Column, value: Json): Buffer {
  const isBase64 = typeof value === "string" && value.length <= MAX_VALUE_BYTES && BASE64.test(value);
  if (!isBase64) throw wrong(column, "bytes as base64 text", value);
  return Buffer.from(value, "base64");
}

function encodeTime(column: Column, value: Json): string {
  if (typeof value === "string") {
    const text = column.kind === "time" ? timeText(value.trim()) : dateText(value.trim(), column.kind === "date");
    if (text !== undefined) return text;
  }
  const form = { time: "HH:mm:ss", date: "YYYY-MM-DD", datetime: "YYYY-MM-DD HH:mm:ss" } as const;
  throw wrong(column, `a time like ${form[column.kind as keyof typeof form]}`, value);
}

function timeText(text: string): string | undefined {
  const match = TIME.exec(text);
  return match === null ? undefined : `${match[1]}:${match[2]}:${match[3] ?? "00"}`;
}

function dateText(text: string, isDateOnly: boolean): string | undefined {
  const match = DATETIME.exec(text);
  if (match === null) return undefined;
  const [, year, month, day, hour = "00", minute = "00", second = "00", zone = "Z"] = match;
  const local = `${year}-${month}-${day}T${hour}:${minute}:${second}`;
  const time = new Date(`${local}Z`);
  // A day that does not exist, such as 30 February, becomes another one.
  if (year === "0000" || Number.isNaN(time.getTime()) || !time.toISOString().startsWith(local)) return undefined;
  if (isDateOnly) return local.slice(0, 10);
  const zoned = new Date(`${local}${zone.toUpperCase().replace(/^([+-]\d\d)(\d\d)$/, "$1:$2")}`);
  if (Number.isNaN(zoned.getTime()) || zoned.getUTCFullYear() < 1 || zoned.getUTCFullYear() > 9999) return undefined;
  return zoned.toISOString().slice(0, 19).replace("T", " ");
}

function exactNumber(text: string): number | string {
  // So few digits are always exact.
  if (text.length <= 15) return Number(text);
  const trimmed = text.includes(".") ? text.replace(/\.?0+$/, "") : text;
  const number = Number(trimmed);
  const digits = trimmed.replaceAll(/\D/g, "").replace(/^0+/, "");
  return digits.length <= 15 || Number.isSafeInteger(number) ? number : text;
}

function wrong(column: Column, expected: string, value: Json): MeshError {
  return fault(column, `must be ${expected}, not ${shownJson(value)}`);
}

function fault(column: Column, what: string): MeshError {
  return new MeshError("invalid_argument", `${column.name} ${what}`, { details: { column: column.name } });
}
