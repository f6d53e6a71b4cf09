/** The column types a model file may name, and what each is in PostgreSQL. */

import type { ColumnKind } from "./model.ts";

/** The numbers a column definition may carry. */
export interface TypeSize {
  readonly length: number | undefined;
  readonly precision: number | undefined;
  readonly scale: number | undefined;
}

/** A column type: how its values behave and what the database calls it. */
export interface ColumnType {
  readonly kind: ColumnKind;
  readonly sqlType: (size: TypeSize) => string;
  /** Longest text, when the type has one. */
  readonly maxLength?: (size: TypeSize) => number;
  readonly range?: { readonly min: bigint; readonly max: bigint };
  readonly isGenerated?: boolean;
}

const DEFAULT_LENGTH = 255;
const DEFAULT_PRECISION = 10;
const DEFAULT_SCALE = 2;

function fixed(kind: ColumnKind, sqlType: string): ColumnType {
  return { kind, sqlType: () => sqlType };
}

function whole(sqlType: string, min: bigint, max: bigint): ColumnType {
  return { kind: "integer", sqlType: () => sqlType, range: { min, max } };
}

function bounded(sqlName: string, defaultLength: number): ColumnType {
  const maxLength = ({ length }: TypeSize): number => length ?? defaultLength;
  return { kind: "text", sqlType: (size) => `${sqlName}(${maxLength(size)})`, maxLength };
}

const BIG: ColumnType = {
  kind: "bigint",
  sqlType: () => "bigint",
  range: { min: -(2n ** 63n), max: 2n ** 63n - 1n },
};
const GENERATED: ColumnType = { ...BIG, isGenerated: true };
const UNSIGNED_BIG: ColumnType = {
  kind: "bigint",
  sqlType: () => "numeric(20,0)",
  range: { min: 0n, max: 2n ** 64n - 1n },
};
const DECIMAL: ColumnType = {
  kind: "decimal",
  sqlType: ({ precision = DEFAULT_PRECISION, scale = Math.min(DEFAULT_SCALE, precision) }) =>
    `numeric(${precision},${scale})`,
};
// Always eight bytes: a comparison of four-byte floats with what was written would fail.
const FLOAT = fixed("float", "double precision");
// Variable length even for `char`: PostgreSQL's own would pad with spaces.
const TEXT = fixed("text", "text");
const DATETIME = fixed("datetime", "timestamp(0) without time zone");
const TIME = fixed("time", "time(0) without time zone");
const JSON_TYPE = fixed("json", "jsonb");

const TYPES = {
  ID: GENERATED,
  string: bounded("character varying", DEFAULT_LENGTH),
  char: bounded("character varying", DEFAULT_LENGTH),
  text: TEXT,
  mediumText: TEXT,
  longText: TEXT,
  tinyInteger: whole("smallint", -128n, 127n),
  smallInteger: whole("smallint", -32_768n, 32_767n),
  mediumInteger: whole("integer", -8_388_608n, 8_388_607n),
  integer: whole("integer", -(2n ** 31n), 2n ** 31n - 1n),
  bigInteger: BIG,
  unsignedTinyInteger: whole("smallint", 0n, 255n),
  unsignedSmallInteger: whole("integer", 0n, 65_535n),
  unsignedInteger: { ...whole("bigint", 0n, 2n ** 32n - 1n), kind: "bigint" },
  unsignedBigInteger: UNSIGNED_BIG,
  tinyIncrements: GENERATED,
  smallIncrements: GENERATED,
  increments: GENERATED,
  bigIncrements: GENERATED,
  float: FLOAT,
  double: FLOAT,
  unsignedFloat: FLOAT,
  unsignedDouble: FLOAT,
  decimal: DECIMAL,
  unsignedDecimal: DECIMAL,
  boolean: fixed("boolean", "boolean"),
  date: fixed("date", "date"),
  datetime: DATETIME,
  datetimeTz: DATETIME,
  timestamp: DATETIME,
  timestampTz: DATETIME,
  time: TIME,
  timeTz: TIME,
  year: whole("smallint", 0n, 9999n),
  json: JSON_TYPE,
  jsonb: JSON_TYPE,
  enum: fixed("enum", "text"),
  uuid: fixed("uuid", "uuid"),
  binary: fixed("binary", "bytea"),
  ipAddress: bounded("character varying", 45),
  macAddress: bounded("character varying", 17),
} as const satisfies Readonly<Record<string, ColumnType>>;

/** The names a model file may use, as documented; case does not matter. */
export const COLUMN_TYPES: readonly string[] = Object.keys(TYPES);

const BY_LOWER_NAME: ReadonlyMap<string, ColumnType> = new Map(
  Object.entries<ColumnType>(TYPES).map(([name, type]) => [name.toLowerCase(), type]),
);

/** The type of this name, or undefined. */
export function columnType(name: string): ColumnType | undefined {
  return BY_LOWER_NAME.get(name.toLowerCase());
}

/**
 * Whether every value of the one type is a value of the other, so that a column can be changed without losing anything.
 * Both as `format_type` writes them.
 */
export function widens(from: string, to: string): boolean {
  const [fromName, fromSizes] = parsed(from);
  const [toName, toSizes] = parsed(to);
  if (fromName === "character varying" && toName === "text") return true;
  if (fromName === toName && fromName === "character varying") return (fromSizes[0] ?? 0) <= (toSizes[0] ?? 0);
  if (fromName === "numeric" && toName === "numeric") return numericWidens(fromSizes, toSizes);
  const fromRank = WHOLE.indexOf(fromName);
  return fromRank !== -1 && fromRank < WHOLE.indexOf(toName);
}

const WHOLE: readonly string[] = ["smallint", "integer", "bigint"];

function numericWidens([p1 = 0, s1 = 0]: readonly number[], [p2 = 0, s2 = 0]: readonly number[]): boolean {
  return s2 >= s1 && p2 - s2 >= p1 - s1;
}

function parsed(sqlType: string): readonly [string, readonly number[]] {
  const [name = "", sizes = ""] = sqlType.split(/[()]/);
  return [name, sizes === "" ? [] : sizes.split(",").map(Number)];
}
