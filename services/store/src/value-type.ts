/**
 * How values of PostgreSQL's types are read and written, for the driver.
 *
 * A string bound to a json or jsonb parameter is JSON text already (that is what Kysely and the row types use); any other
 * value is encoded. The driver alone would encode such a string a second time. int8 and numeric are numbers: counters
 * and sizes here stay far below 2^53.
 *
 * Parameters may be arrays of numbers, texts and JSON objects. Arrays of booleans, times and bytes are only read: the driver
 * takes such a parameter for a single value; pass them as texts and cast (`${times}::text[]::timestamptz[]`).
 *
 * Array types are listed, because the driver's way of asking the server for them leaves a rejected promise to nobody,
 * which ends the process, when the connection is lost meanwhile.
 */

import type postgres from "postgres";

import { formatArray, parseArray } from "./array-text.ts";

interface ElementType {
  readonly serialize: (value: unknown) => string;
  readonly parse: (text: string) => unknown;
}

const TEXT: ElementType = { serialize: String, parse: (text) => text };
const NUMBER: ElementType = { serialize: String, parse: Number };
const BOOLEAN: ElementType = { serialize: String, parse: (text) => text === "t" };
const JSON_VALUE: ElementType = {
  serialize: (value) => (typeof value === "string" ? value : JSON.stringify(value)),
  parse: (text): unknown => JSON.parse(text),
};
const TIME: ElementType = {
  serialize: (value) => (value instanceof Date ? value.toISOString() : String(value)),
  parse: (text) => new Date(text),
};
const BYTES: ElementType = {
  serialize: (value) => `\\x${Buffer.from(value as Uint8Array).toString("hex")}`,
  parse: (text) => Buffer.from(text.slice(2), "hex"),
};

/** Types by name, in the form of the driver's option `types`. */
export const VALUE_TYPES: Readonly<Record<string, postgres.PostgresType>> = {
  bigint: scalar(NUMBER, [20]),
  numeric: scalar(NUMBER, [1700]),
  json: scalar(JSON_VALUE, [114, 3802]),
  // bool[]; bytea[]; int2[], int4[], int8[], float4[], float8[], numeric[], oid[]; json[], jsonb[]; timestamptz[]
  boolArray: arrayOf(BOOLEAN, [1000]),
  byteaArray: arrayOf(BYTES, [1001]),
  numberArray: arrayOf(NUMBER, [1016, 1005, 1007, 1021, 1022, 1231, 1028]),
  jsonArray: arrayOf(JSON_VALUE, [3807, 199]),
  timeArray: arrayOf(TIME, [1185]),
  // text[], varchar[], name[], uuid[]
  textArray: arrayOf(TEXT, [1009, 1015, 1003, 2951]),
};

function scalar(type: ElementType, oids: number[]): postgres.PostgresType {
  return { to: oids[0] ?? 0, from: oids, serialize: type.serialize, parse: type.parse };
}

function arrayOf(type: ElementType, oids: number[]): postgres.PostgresType {
  return {
    to: oids[0] ?? 0,
    from: oids,
    serialize: (values: unknown) => (Array.isArray(values) ? formatArray(values, type.serialize) : String(values)),
    parse: (text: string) => parseArray(text, type.parse),
  };
}
