/** The operators of conditions: which there are, what they take, and their SQL. */

import { type Json, type JsonObject, MeshError } from "@mesh/kernel";
import { type Expression, type SqlBool, sql } from "kysely";

import { type CipherSource, comparable } from "./crypt.ts";
import { shownJson } from "./json-text.ts";
import type { Column, ModelDefinition } from "./model.ts";
import type { Comparison } from "./query.ts";
import { bound } from "./value-codec.ts";

const MAX_LIST = 1000;
const MAX_PATTERN_LENGTH = 10_000;

type CompareOp = Extract<Comparison, { kind: "compare" }>["op"];
type Operator =
  | { readonly kind: "compare"; readonly op: CompareOp }
  | { readonly kind: Exclude<Kind, "compare">; readonly isNegated: boolean };
type Kind = Comparison["kind"] | "match";

const OPERATORS: Readonly<Record<string, Operator>> = {
  eq: { kind: "compare", op: "=" },
  "=": { kind: "compare", op: "=" },
  "==": { kind: "compare", op: "=" },
  ne: { kind: "compare", op: "<>" },
  "<>": { kind: "compare", op: "<>" },
  "!=": { kind: "compare", op: "<>" },
  gt: { kind: "compare", op: ">" },
  ">": { kind: "compare", op: ">" },
  lt: { kind: "compare", op: "<" },
  "<": { kind: "compare", op: "<" },
  ge: { kind: "compare", op: ">=" },
  gte: { kind: "compare", op: ">=" },
  ">=": { kind: "compare", op: ">=" },
  le: { kind: "compare", op: "<=" },
  lte: { kind: "compare", op: "<=" },
  "<=": { kind: "compare", op: "<=" },
  like: { kind: "pattern", isNegated: false },
  notlike: { kind: "pattern", isNegated: true },
  match: { kind: "match", isNegated: false },
  in: { kind: "list", isNegated: false },
  notin: { kind: "list", isNegated: true },
  null: { kind: "null", isNegated: false },
  notnull: { kind: "null", isNegated: true },
};

/** Reads `op` and `value` of a condition. `like` and `match` ignore case; a null value means "is null". */
export function parseComparison(
  ciphers: CipherSource,
  model: ModelDefinition,
  column: Column,
  json: JsonObject,
): Comparison {
  const operator = operatorOf(json["op"]);
  const value = json["value"] ?? null;
  const encode = (item: Json): ReturnType<typeof comparable> => comparable(ciphers, model, column, item);
  switch (operator.kind) {
    case "null":
      return { kind: "null", isNegated: operator.isNegated };
    case "list":
      return { kind: "list", values: listOf(column, value).map(encode), isNegated: operator.isNegated };
    case "pattern":
      return { kind: "pattern", pattern: patternOf(column, value), isNegated: operator.isNegated };
    case "match":
      return { kind: "pattern", pattern: `%${escaped(patternOf(column, value))}%`, isNegated: false };
    case "compare": {
      const { op } = operator;
      if (value === null && (op === "=" || op === "<>")) return { kind: "null", isNegated: op === "<>" };
      if (value === null)
        throw invalid(`${column.name}: ${op} needs a value; to look for nothing use the operator null`);
      const isOrdered = op !== "=" && op !== "<>";
      if (isOrdered && (column.crypt !== undefined || column.kind === "json")) {
        throw invalid(`${column.name} can be compared with = and <> only`);
      }
      return { kind: "compare", op, value: encode(value) };
    }
  }
}

/** The condition that `ref` compares so. */
export function comparisonSql(column: Column, ref: string, comparison: Comparison): Expression<SqlBool> {
  const at = sql.ref(ref);
  switch (comparison.kind) {
    case "null":
      return comparison.isNegated ? sql<SqlBool>`${at} IS NOT NULL` : sql<SqlBool>`${at} IS NULL`;
    case "list": {
      const { values, isNegated } = comparison;
      if (values.length === 0) return isNegated ? sql<SqlBool>`true` : sql<SqlBool>`false`;
      const list = sql.join(values.map((value) => bound(column, value)));
      return isNegated ? sql<SqlBool>`${at} NOT IN (${list})` : sql<SqlBool>`${at} IN (${list})`;
    }
    case "pattern": {
      const text = column.kind === "text" || column.kind === "enum" ? at : sql`${at}::text`;
      return comparison.isNegated
        ? sql<SqlBool>`${text} NOT ILIKE ${comparison.pattern}`
        : sql<SqlBool>`${text} ILIKE ${comparison.pattern}`;
    }
    case "compare":
      return sql<SqlBool>`${at} ${SQL_OPERATORS[comparison.op]} ${bound(column, comparison.value)}`;
  }
}

/** The text with what LIKE gives a meaning taken literally. */
export function escaped(text: string): string {
  return text.replaceAll(/[\\%_]/g, String.raw`\$&`);
}

const SQL_OPERATORS: Readonly<Record<CompareOp, Expression<unknown>>> = {
  "=": sql`=`,
  "<>": sql`<>`,
  ">": sql`>`,
  "<": sql`<`,
  ">=": sql`>=`,
  "<=": sql`<=`,
};

function operatorOf(written: Json | undefined): Operator {
  if (written === undefined || written === null || written === "") return { kind: "compare", op: "=" };
  const name = typeof written === "string" ? written.toLowerCase().replace(/^(?:is\s+)?(not)?[\s_]*/, "$1") : "";
  const operator = Object.hasOwn(OPERATORS, name) ? OPERATORS[name] : undefined;
  if (operator !== undefined) return operator;
  throw invalid(`unknown op ${shownJson(written)} in wheres; the operators are ${Object.keys(OPERATORS).join(" ")}`);
}

function listOf(column: Column, value: Json): readonly Json[] {
  const items = typeof value === "string" ? value.split(",").map((item) => item.trim()) : value;
  if (!Array.isArray(items)) throw invalid(`${column.name}: in needs a list or a text with commas as its value`);
  if (items.length > MAX_LIST) throw invalid(`${column.name}: in takes at most ${MAX_LIST} values`);
  if (items.includes(null)) throw invalid(`${column.name}: in does not take null; use the operator null`);
  return items as readonly Json[];
}

function patternOf(column: Column, value: Json): string {
  if (column.crypt !== undefined) throw invalid(`${column.name} is protected, so rows cannot be found by a part of it`);
  if (column.kind === "binary") throw invalid(`${column.name} holds bytes; it can be compared with = and <> only`);
  const text = typeof value === "string" || typeof value === "number" ? String(value) : undefined;
  if (text !== undefined && text.length <= MAX_PATTERN_LENGTH && !text.includes("\0")) return text;
  throw invalid(`${column.name}: like and match need a text of at most ${MAX_PATTERN_LENGTH} characters`);
}

function invalid(message: string): MeshError {
  return new MeshError("invalid_argument", message);
}
