/**
 * Reads rows of one model, with the related rows asked for.
 *
 * R1  A result is bounded in rows and, before it leaves the database, in bytes.
 * R2  Related rows come with one statement per relation, however many rows there are, at most `limit` for each of them.
 */

import { type Json, MeshError } from "@mesh/kernel";
import { type Expression, type SelectQueryBuilder, type SqlBool, sql } from "kysely";

import { type Session, tableOf } from "./access.ts";
import { comparable, shown } from "./crypt.ts";
import { textOf } from "./json-text.ts";
import type { Column, ModelDefinition } from "./model.ts";
import type { LinkQuery, Query, With } from "./query.ts";
import { bound, maxBytes, readable } from "./value-codec.ts";
import { conjunction, orderTerms, queryConditions } from "./where-sql.ts";

/** A row as JSON. */
export type Row = Record<string, Json>;

/** Which of the rows that fit. */
export interface Slice {
  readonly limit: number;
  readonly offset: number;
  /** What they must fulfil besides the query. */
  readonly condition?: Expression<SqlBool>;
}

const DEFAULT_RELATED = 100;
const KEYS_AT_ONCE = 1000;
// Names no column can have.
const BYTES = "$bytes";
const ROW_BYTES = "$row_bytes";
const RANK = "$rank";

export type Select = SelectQueryBuilder<
  Readonly<Record<string, Readonly<Record<string, unknown>>>>,
  string,
  Readonly<Record<string, unknown>>
>;

/** The rows that fit a query, in its order. */
export async function readRows(session: Session, model: ModelDefinition, query: Query, slice: Slice): Promise<Row[]> {
  const fields = fieldsOf(model, query);
  let select = rowsOf(session, model, fields).where(
    conjunction([
      ...queryConditions(session, model, "r", query),
      ...(slice.condition === undefined ? [] : [slice.condition]),
    ]),
  );
  for (const term of orderTerms(session, model, "r", query.orders)) select = select.orderBy(term);
  select = select.limit(slice.limit);
  if (slice.offset > 0) select = select.offset(slice.offset);
  const found = await fetchBounded(session, fields.all, select, slice.limit);
  return finish(
    session,
    query,
    fields,
    found.map((raw) => decodeRow(session, model, fields.all, raw)),
  );
}

/** How many rows fit a query. */
export async function countRows(session: Session, model: ModelDefinition, query: Query): Promise<number> {
  const row = await session.db
    .selectFrom(`${tableOf(session, model)} as r`)
    .select(sql`count(*)`.as("count"))
    .where(conjunction(queryConditions(session, model, "r", query)))
    .executeTakeFirst();
  return Number(row?.count ?? 0);
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

function rowsOf(session: Session, model: ModelDefinition, fields: Fields): Select {
  return session.db
    .selectFrom(`${tableOf(session, model)} as r`)
    .select(fields.all.map((column) => readable(column, `r.${column.name}`).as(column.name))) as Select;
}

/** Runs a select; when its rows might be too many bytes, the database counts them and stops sending. */
export async function fetchBounded(
  session: Session,
  columns: readonly Column[],
  select: Select,
  rowLimit: number,
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const { maxResultBytes } = session.limits;
  const rowBytes = columns.reduce((sum, column) => sum + maxBytes(column), 0);
  if (rowBytes * rowLimit <= maxResultBytes) return select.execute();
  const long = columns.filter((column) => maxBytes(column) > 40);
  const sizes = long.map((column) => sql`coalesce(octet_length(${sql.ref(`g.${column.name}`)}), 0)`);
  const sized = session.db
    .selectFrom(select.as("g"))
    .selectAll("g")
    .select(sql`${sql.join(sizes, sql` + `)}`.as(ROW_BYTES))
    .select(sql`sum(${sql.join(sizes, sql` + `)}) OVER (ROWS UNBOUNDED PRECEDING)`.as(BYTES));
  // The row that goes over the bound still comes: it tells that there was more.
  const rows = await session.db
    .selectFrom(sized.as("h"))
    .selectAll("h")
    .where(sql<SqlBool>`${sql.ref(`h.${BYTES}`)} - ${sql.ref(`h.${ROW_BYTES}`)} <= ${maxResultBytes}`)
    .execute();
  if (Number(rows.at(-1)?.[BYTES] ?? 0) > maxResultBytes) {
    throw new MeshError(
      "resource_exhausted",
      `the result is larger than ${Math.floor(maxResultBytes / 1024)} KB; select fewer columns or set a smaller limit`,
    );
  }
  return rows;
}

export function decodeRow(
  session: Session,
  model: ModelDefinition,
  columns: readonly Column[],
  raw: Readonly<Record<string, unknown>>,
): Row {
  const row: Row = {};
  for (const column of columns) row[column.name] = shown(session.ciphers, model, column, raw[column.name]);
  return row;
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
    const terms = orderTerms(session, model, "r", query.orders);
    const order = terms.length === 0 ? sql`` : sql`ORDER BY ${sql.join(terms)}`;
    const keyRef = sql.ref(`r.${key.name}`);
    const ranked = rowsOf(session, model, fields)
      .select(sql`row_number() OVER (PARTITION BY ${keyRef} ${order})`.as(RANK))
      .where(
        conjunction([sql<SqlBool>`${keyRef} IN (${sql.join(keys)})`, ...queryConditions(session, model, "r", query)]),
      );
    const select = session.db
      .selectFrom(ranked.as("g"))
      .selectAll("g")
      .where(sql.ref(`g.${RANK}`), "<=", perParent)
      .orderBy(sql.ref(`g.${RANK}`))
      .limit(maxRows + 1) as Select;
    const found = await fetchBounded(session, fields.all, select, Math.min(keys.length * perParent, maxRows) + 1);
    rows.push(...found.map((raw) => decodeRow(session, model, fields.all, raw)));
    if (rows.length > maxRows) throw tooMany(model.id, maxRows);
  }
  const finished = next === undefined ? await finish(session, query, fields, rows) : rows;
  return groupByKey(rows, finished, key, fields);
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
