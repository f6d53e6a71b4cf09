/**
 * Finds rows by words, over all text columns of some models.
 *
 * S1  A row is found when it has any of the words; the more of them, the higher its score, from 0 to 1.
 * S2  Words are matched from their beginning, the shortest as a whole, without regard to case. Scripts that are written
 *     without spaces are matched by pairs of letters.
 * S3  The caller finds only what reading would show.
 */

import { type Json, type JsonObject, MeshError } from "@mesh/kernel";
import { type Expression, type RawBuilder, type SqlBool, sql } from "kysely";

import { type Session, tableSql } from "./access.ts";
import { escaped } from "./comparison.ts";
import { documentOf } from "./ddl.ts";
import { textOf } from "./json-text.ts";
import type { Column, ModelDefinition } from "./model.ts";
import { parseQuery } from "./parse-query.ts";
import type { Query } from "./query.ts";
import { decodeRows, fetchBounded, type Row } from "./read-rows.ts";
import { conjunction, orderTerms, queryConditions } from "./where-sql.ts";

/** What to look for. */
export interface SearchRequest {
  readonly query: string;
  readonly wheres?: Json;
  readonly orders?: Json;
  readonly select?: Json;
  /** Over all models together; default 20, at most 100. */
  readonly limit?: number;
}

/** One row that was found. */
export interface SearchHit {
  readonly model: string;
  /** The row's key; null for a model without one. */
  readonly id: Json;
  /** From 0 to 1. */
  readonly score: number;
  readonly title: string;
  /** The row's texts, cut to a bound. */
  readonly content: string;
  readonly row: Row;
}

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;
const MAX_TERMS = 24;
const MAX_TERM_LENGTH = 64;
const MIN_PREFIX = 3;
const MAX_CONTENT = 2000;
const MAX_TITLE = 200;
const WORD = /[\p{L}\p{M}\p{N}_]+/gu;
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]/u;
const TITLE_NAMES: readonly string[] = ["title", "name", "label", "subject"];

/** The rows of these models that fit, best first. */
export async function searchRows(
  session: Session,
  models: readonly ModelDefinition[],
  request: SearchRequest,
): Promise<readonly SearchHit[]> {
  const terms = termsOf(request.query);
  const limit = Math.min(Math.max(1, Math.floor(request.limit ?? DEFAULT_LIMIT)), MAX_LIMIT);
  if (terms.length === 0) return [];
  const hits: SearchHit[] = [];
  for (const model of models) hits.push(...(await searchModel(session, model, { ...request, limit }, terms)));
  const isOrdered = request.orders !== undefined && request.orders !== null;
  return (isOrdered ? hits : hits.toSorted((a, b) => b.score - a.score)).slice(0, limit);
}

/** What a text is looked for by. */
interface Term {
  readonly text: string;
  readonly isWord: boolean;
}

/** The words of a query, and pairs of letters where there are no words. */
export function termsOf(text: string): readonly Term[] {
  const terms = new Map<string, Term>();
  for (const [run] of text.slice(0, 10_000).toLowerCase().matchAll(WORD)) {
    const letters = Array.from(run);
    const parts =
      UNSPACED.test(run) && letters.length > 2
        ? letters.slice(1).map((_, at) => letters.slice(at, at + 2).join(""))
        : [run];
    for (const part of parts) {
      if (part.length <= MAX_TERM_LENGTH) terms.set(part, { text: part, isWord: !UNSPACED.test(part) });
      if (terms.size >= MAX_TERMS) return [...terms.values()];
    }
  }
  return [...terms.values()];
}

async function searchModel(
  session: Session,
  model: ModelDefinition,
  request: SearchRequest & { readonly limit: number },
  terms: readonly Term[],
): Promise<readonly SearchHit[]> {
  const texts = [...model.columns.values()].filter(isSearched);
  if (texts.length === 0) return [];
  const query = parseQuery(session, model, queryOf(request));
  const key = model.primaryKey === undefined ? [] : [model.primaryKey];
  const columns = [...new Set([...(query.select ?? model.columns.values()), ...texts, ...key])];
  const rowCount = request.limit;
  const found = await fetchBounded(session, model, { columns, rowCount }, (list) =>
    scoredSql(session, model, { list, query, terms, columns, texts, rowCount }),
  );
  const rows = decodeRows(session, model, columns, found);
  return rows.map((row, index) => hitOf(model, row, Number(found[index]?.["$score"]), query.select));
}

interface ScoredParts {
  readonly list: Expression<unknown>;
  readonly query: Query;
  readonly terms: readonly Term[];
  readonly columns: readonly Column[];
  readonly texts: readonly Column[];
  readonly rowCount: number;
}

function scoredSql(session: Session, model: ModelDefinition, parts: ScoredParts): RawBuilder<unknown> {
  const { query, columns, texts } = parts;
  const document = documentOf(
    texts.map((column) => column.name),
    "r",
  );
  const order = orderTerms(session, model, "r", query.orders);
  const rank = order.length === 0 ? sql`0` : sql`row_number() OVER (ORDER BY ${sql.join(order)})`;
  const names = sql.join(columns.map((column) => sql.ref(`b.${column.name}`)));
  const best = query.orders.length > 0 ? sql`"$rank"` : sql`"$score" DESC, "$rank"`;
  // The offset keeps the planner from making the document anew for each term.
  return sql`
    SELECT * FROM (
      SELECT ${names}, "$rank", ${scoreOf(parts.terms)} AS "$score" FROM (
        SELECT ${parts.list}, ${document} AS "$text", to_tsvector('simple', ${document}) AS "$words", ${rank} AS "$rank"
        FROM ${tableSql(session, model)} AS r WHERE ${conjunction(queryConditions(session, model, "r", query))} OFFSET 0
      ) AS b
    ) AS s WHERE "$score" > 0 ORDER BY ${best} LIMIT ${parts.rowCount}`;
}

function scoreOf(terms: readonly Term[]): RawBuilder<number> {
  const words = terms.filter((term) => term.isWord);
  const matched = terms.map((term) => sql`(${matchOf(term)})::int`);
  const share = sql`(${sql.join(matched, sql` + `)})::float8 / ${sql.lit(terms.length)}`;
  if (words.length === 0) return sql<number>`${share}`;
  // Among rows with as many of the words, the one that has them oftener comes first.
  const any = words.map(prefixQuery).join(" | ");
  const rank = sql`ts_rank(${sql.ref("b.$words")}, to_tsquery('simple', ${any}), 32)`;
  return sql<number>`${share} * 0.9 + CASE WHEN ${share} > 0 THEN 0.1 * ${rank} ELSE 0 END`;
}

function matchOf(term: Term): Expression<SqlBool> {
  return term.isWord
    ? sql<SqlBool>`${sql.ref("b.$words")} @@ to_tsquery('simple', ${prefixQuery(term)})`
    : sql<SqlBool>`${sql.ref("b.$text")} ILIKE ${`%${escaped(term.text)}%`}`;
}

// A term has letters, digits and _ only, so quoting it is enough.
function prefixQuery(term: Term): string {
  return term.text.length < MIN_PREFIX ? `'${term.text}'` : `'${term.text}':*`;
}

function queryOf({ wheres, orders, select }: SearchRequest): JsonObject {
  const given = { wheres, orders, select };
  return Object.fromEntries(Object.entries(given).filter((entry): entry is [string, Json] => entry[1] !== undefined));
}

function isSearched(column: Column): boolean {
  if (column.crypt !== undefined || column.isManaged) return false;
  return column.kind === "text" || column.kind === "enum" || column.kind === "json";
}

function hitOf(model: ModelDefinition, row: Row, score: number, select: readonly Column[] | undefined): SearchHit {
  const texts = [...model.columns.values()].filter(isSearched);
  const named = texts.find((column) => TITLE_NAMES.includes(column.name.toLowerCase()) && wordsOf(row, column) !== "");
  const titled = named ?? texts.find((column) => wordsOf(row, column) !== "");
  const shown = texts.filter((column) => wordsOf(row, column) !== "");
  const content = shown.map((column) => `${column.label}: ${wordsOf(row, column)}`).join("\n");
  const names = select?.map((column) => column.name) ?? [...model.columns.keys()];
  return {
    model: model.id,
    id: model.primaryKey === undefined ? null : (row[model.primaryKey.name] ?? null),
    score,
    title: titled === undefined ? "" : wordsOf(row, titled).slice(0, MAX_TITLE),
    content: content.slice(0, MAX_CONTENT),
    row: Object.fromEntries(names.map((name) => [name, row[name] ?? null])),
  };
}

function wordsOf(row: Row, column: Column): string {
  const value = row[column.name] ?? null;
  return value === null ? "" : textOf(value);
}

/** Checks what a caller asks for. */
export function checkSearch(request: SearchRequest): void {
  if (typeof request.query !== "string")
    throw new MeshError("invalid_argument", "the text to search for must be given");
  const { limit } = request;
  if (limit !== undefined && (!Number.isFinite(limit) || limit < 1)) {
    throw new MeshError("invalid_argument", "limit must be a number of at least 1");
  }
}
