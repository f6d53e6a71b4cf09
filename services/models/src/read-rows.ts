/**
 * Reads rows of one model, with the related rows asked for.
 *
 * R1  A result is bounded in rows and, before it leaves the database, in bytes.
 * R2  Related rows come with one statement per relation, however many rows there are, at most `limit` for each of them.
 */

import { type Json, MeshError } from "@mesh/kernel";
import { type Expression, type RawBuilder, type SqlBool, sql } from "kysely";

import { type Session, tableSql } from "./access.ts";
import { comparable, shownBy } from "./crypt.ts";
import { textOf } from "./json-text.ts";
import type { Column, ModelDefinition } from "./model.ts";
import type { LinkQuery, Query, With } from "./query.ts";
import { isLong, wasCut } from "./selection.ts";
import { bound } from "./value-codec.ts";
import { conjunction, orderTerms, queryConditions } from "./where-sql.ts";

/** A row as JSON. */
export type Row = Record<string, Json>;

/** A row as the driver gives it. */
export type RawRow = Readonly<Record<string, unknown>>;

/** Which of the rows that fit. */
export interface Slice {
  readonly limit: number;
  readonly offset: number;
  /** What they must fulfil besides the query. */
  readonly condition?: Expression<SqlBool>;
}

const DEFAULT_RELATED = 100;
const KEYS_AT_ONCE = 1000;

/** The rows that fit a query, in its order. */
export async function readRows(session: Session, model: ModelDefinition, query: Query, slice: Slice): Promise<Row[]> {
  const fields = fieldsOf(model, query);
  const conditions = queryConditions(session, model, "r", query);
  if (slice.condition !== undefined) conditions.push(slice.condition);
  const terms = orderTerms(session, model, "r", query.orders);
  const order = terms.length === 0 ? sql`` : sql` ORDER BY ${sql.join(terms)}`;
  const offset = slice.offset === 0 ? sql`` : sql` OFFSET ${slice.offset}`;
  const found = await fetchBounded(session, model, { columns: fields.all, rowCount: slice.limit }, (list) => {
    const where = conjunction(conditions);
    return sql`SELECT ${list} FROM ${tableSql(session, model)} AS r WHERE ${where}${order} LIMIT ${slice.limit}${offset}`;
  });
  return finish(session, query, fields, decodeRows(session, model, fields.all, found));
}

/** How many rows fit a query. */
export async function countRows(session: Session, model: ModelDefinition, query: Query): Promise<number> {
  const where = conjunction(queryConditions(session, model, "r", query));
  const { rows } = await sql<{ readonly count: number }>`
    SELECT count(*) AS count FROM ${tableSql(session, model)} AS r WHERE ${where}`.execute(session.db);
  return rows[0]?.count ?? 0;
}

interface Fields {
  /** What the caller sees. */
  readonly shown: readonly Column[];
  /** Besides, what finding related rows needs. */
  readonly all: readonly Column[];
}

function fieldsOf(model: ModelDefinition, query: Query, more: readonly Column[] = []): Fields {
  const columns = query.select ?? [...model.columns.values()];
  const foreign = query.withs.flatMap(({ links }) => links.slice(0, 1).map((link) => link.foreign));
  return { shown: columns, all: [...new Set([...columns, ...foreign, ...more])] };
}

/**
 * Runs a select of at most `rowCount` rows, made for a list of columns. Where their values might be too long together,
 * they are cut; should one really be that long, the database counts the bytes and stops sending.
 */
export async function fetchBounded(
  session: Session,
  model: ModelDefinition,
  { columns, rowCount }: { readonly columns: readonly Column[]; readonly rowCount: number },
  make: (list: Expression<unknown>) => RawBuilder<unknown>,
): Promise<readonly RawRow[]> {
  const { maxResultBytes } = session.limits;
  const selection = session.selections.bounded(model, columns, { rowCount, maxResultBytes });
  const { rows } = await (make(selection.list) as RawBuilder<RawRow>).execute(session.db);
  if (!wasCut(selection, rows)) return rows;
  return fetchCounted(session, columns, make(session.selections.whole(model, columns).list));
}

async function fetchCounted(
  session: Session,
  columns: readonly Column[],
  select: RawBuilder<unknown>,
): Promise<readonly RawRow[]> {
  const { maxResultBytes } = session.limits;
  const sizes = columns.filter(isLong).map((column) => sql`coalesce(octet_length(${sql.ref(`g.${column.name}`)}), 0)`);
  const size = sql.join(sizes, sql` + `);
  // The row that goes over the bound still comes: it tells that there was more.
  const { rows } = await sql<RawRow>`
    SELECT * FROM (
      SELECT g.*, ${size} AS "$size", sum(${size}) OVER (ROWS UNBOUNDED PRECEDING) AS "$total" FROM (${select}) AS g
    ) AS h WHERE "$total" - "$size" <= ${maxResultBytes}`.execute(session.db);
  if (Number(rows.at(-1)?.["$total"] ?? 0) <= maxResultBytes) return rows;
  throw new MeshError(
    "resource_exhausted",
    `the result is larger than ${Math.floor(maxResultBytes / 1024)} KB; select fewer columns or set a smaller limit`,
  );
}

/** Rows of the driver as JSON. */
export function decodeRows(
  session: Session,
  model: ModelDefinition,
  columns: readonly Column[],
  raws: readonly RawRow[],
): Row[] {
  const fields = columns.map((column) => [column.name, shownBy(session.ciphers, model, column)] as const);
  return raws.map((raw) => {
    const row: Row = {};
    for (const [name, decode] of fields) row[name] = decode(raw[name]);
    return row;
  });
}

/** Adds the related rows, then leaves out what the caller did not ask for. */
async function finish(session: Session, query: Query, fields: Fields, rows: Row[]): Promise<Row[]> {
  if (rows.length === 0 || query.withs.length === 0) return rows;
  const related = new Map<string, readonly (Json | readonly Row[])[]>();
  for (const one of query.withs) related.set(one.relation.name, await relatedOf(session, rows, one));
  return rows.map((row, index) => {
    const out: Row = {};
    for (const column of fields.shown) out[column.name] = row[column.name] ?? null;
    for (const [name, values] of related) out[name] = values[index] ?? null;
    return out;
  });
}

interface Step {
  readonly parent: number;
  readonly value: Json;
  /** What the steps before selected. */
  readonly carried: Row;
  readonly row: Row;
}

/** For each row what one relation has: a row or null, or a list. */
async function relatedOf(session: Session, rows: readonly Row[], one: With): Promise<(Json | Row[])[]> {
  const { links, relation } = one;
  let steps: readonly Step[] = rows.map((row, parent) => ({
    parent,
    value: row[links[0]?.foreign.name ?? ""] ?? null,
    carried: {},
    row: {},
  }));
  for (const [index, link] of links.entries()) {
    const next = links[index + 1];
    // A relation of type hasOneThrough may pass through many rows: only its end is one.
    const isOne = relation.type === "hasOne";
    const found = await linkedRows(session, link, steps, { isOne, next: next?.foreign });
    steps = steps.flatMap((step) =>
      keysOf(step.value).flatMap((key) =>
        (found.get(textOf(key)) ?? []).map(({ row, shown: own }) => ({
          parent: step.parent,
          value: next === undefined ? null : (row[next.foreign.name] ?? null),
          carried: next !== undefined && link.query.select !== undefined ? { ...step.carried, ...own } : step.carried,
          row: next === undefined ? { ...step.carried, ...own } : {},
        })),
      ),
    );
    if (steps.length > session.limits.maxRows) throw tooMany(relation.name, session.limits.maxRows);
  }
  const byParent: Row[][] = rows.map(() => []);
  for (const step of steps) byParent[step.parent]?.push(step.row);
  const isMany = relation.type === "hasMany" || relation.type === "hasManyThrough";
  return byParent.map((list) => (isMany ? list : (list[0] ?? null)));
}

interface Linked {
  readonly row: Row;
  readonly shown: Row;
}

/** The rows at the other end of one link, by the text of their key. */
async function linkedRows(
  session: Session,
  link: LinkQuery,
  steps: readonly Step[],
  { isOne, next }: { readonly isOne: boolean; readonly next: Column | undefined },
): Promise<ReadonlyMap<string, readonly Linked[]>> {
  const { model, key, query } = link;
  const fields = fieldsOf(model, query, [key, ...(next === undefined ? [] : [next])]);
  const { maxRows } = session.limits;
  const perParent = isOne ? 1 : Math.min(query.limit ?? query.pageSize ?? DEFAULT_RELATED, maxRows);
  const rows: Row[] = [];
  for (const keys of chunks(distinctKeys(session, link, steps), KEYS_AT_ONCE)) {
    const rowCount = Math.min(keys.length * perParent, maxRows) + 1;
    const found = await fetchBounded(session, model, { columns: fields.all, rowCount }, (list) =>
      rankedSql(session, link, { list, keys, perParent, rowCount }),
    );
    rows.push(...decodeRows(session, model, fields.all, found));
    if (rows.length > maxRows) throw tooMany(model.id, maxRows);
  }
  const finished = next === undefined ? await finish(session, query, fields, rows) : rows;
  return groupByKey(rows, finished, key, fields);
}

/** For each of the keys its first rows. */
function rankedSql(session: Session, { model, key, query }: LinkQuery, parts: RankedParts): RawBuilder<unknown> {
  const keyRef = sql.ref(`r.${key.name}`);
  const terms = orderTerms(session, model, "r", query.orders);
  const order = terms.length === 0 ? sql`` : sql`ORDER BY ${sql.join(terms)}`;
  const isOne = sql<SqlBool>`${keyRef} IN (${sql.join(parts.keys)})`;
  const where = conjunction([isOne, ...queryConditions(session, model, "r", query)]);
  return sql`
    SELECT * FROM (
      SELECT ${parts.list}, row_number() OVER (PARTITION BY ${keyRef} ${order}) AS "$rank"
      FROM ${tableSql(session, model)} AS r WHERE ${where}
    ) AS k WHERE "$rank" <= ${parts.perParent} ORDER BY "$rank" LIMIT ${parts.rowCount}`;
}

interface RankedParts {
  readonly list: Expression<unknown>;
  readonly keys: readonly Expression<unknown>[];
  readonly perParent: number;
  readonly rowCount: number;
}

function groupByKey(
  rows: readonly Row[],
  finished: readonly Row[],
  key: Column,
  fields: Fields,
): Map<string, Linked[]> {
  const hasExtra = fields.all.length > fields.shown.length;
  const groups = new Map<string, Linked[]>();
  for (const [index, row] of rows.entries()) {
    const done = finished[index] ?? row;
    const shownRow = hasExtra && done === row ? pick(row, fields.shown) : done;
    const name = textOf(row[key.name] ?? null);
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [{ row, shown: shownRow }]);
    else group.push({ row, shown: shownRow });
  }
  return groups;
}

function pick(row: Row, columns: readonly Column[]): Row {
  return Object.fromEntries(columns.map((column) => [column.name, row[column.name] ?? null]));
}

function distinctKeys(session: Session, { model, key }: LinkQuery, steps: readonly Step[]): Expression<unknown>[] {
  const distinct = new Map<string, Expression<unknown>>();
  for (const value of steps.flatMap((step) => keysOf(step.value))) {
    if (distinct.has(textOf(value))) continue;
    try {
      distinct.set(textOf(value), bound(key, comparable(session.ciphers, model, key, value)));
    } catch (error) {
      // A value the key's type cannot hold has no related rows.
      if (!(error instanceof MeshError) || error.code !== "invalid_argument") throw error;
    }
  }
  return [...distinct.values()];
}

// A json column may hold a list of keys.
function keysOf(value: Json): readonly Json[] {
  if (Array.isArray(value))
    return (value as readonly Json[]).filter((item) => item !== null && typeof item !== "object");
  return value === null || typeof value === "object" ? [] : [value];
}

function* chunks<T>(items: readonly T[], size: number): Generator<readonly T[]> {
  for (let at = 0; at < items.length; at += size) yield items.slice(at, at + size);
}

function tooMany(name: string, maxRows: number): MeshError {
  return new MeshError(
    "resource_exhausted",
    `"${name}" has more than ${maxRows} related rows for this result; set a smaller limit in the query or in its withs`,
  );
}
