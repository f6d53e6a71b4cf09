/** Conditions and orders of a checked query as SQL. Everything is an expression of Kysely; values are parameters. */

import { type Expression, type RawBuilder, type SqlBool, sql } from "kysely";

import { type Session, tableOf, visible } from "./access.ts";
import { comparisonSql } from "./comparison.ts";
import type { ModelDefinition } from "./model.ts";
import type { LinkQuery, Order, Query, Where } from "./query.ts";

/** What a row of `alias` must fulfil for this query: the caller's right to see it and the query's own conditions. */
export function queryConditions(
  session: Session,
  model: ModelDefinition,
  alias: string,
  query: Query,
): Expression<SqlBool>[] {
  return [...visible(session, model, alias, query.trashed), ...whereConditions(session, alias, query.wheres)];
}

/** The conditions of `wheres` as at most one expression, complete in itself. */
export function whereConditions(session: Session, alias: string, wheres: readonly Where[]): Expression<SqlBool>[] {
  const alternatives: Expression<SqlBool>[][] = [];
  for (const where of wheres) {
    const parts =
      where.kind === "group" ? whereConditions(session, alias, where.wheres) : [testSql(session, alias, where)];
    // An empty group says nothing, whatever joins it.
    if (parts.length === 0) continue;
    const current = alternatives.at(-1);
    if (current === undefined || where.isOr) alternatives.push([...parts]);
    else current.push(...parts);
  }
  if (alternatives.length === 0) return [];
  const joined = alternatives.map((parts) => sql<SqlBool>`(${sql.join(parts, sql` AND `)})`);
  return [sql<SqlBool>`(${sql.join(joined, sql` OR `)})`];
}

/** The orders of a query, ended by the primary key so that pages never overlap. */
export function orderTerms(
  session: Session,
  model: ModelDefinition,
  alias: string,
  orders: readonly Order[],
): RawBuilder<unknown>[] {
  const terms = orders.map((order) => directed(orderedBy(session, alias, order), order));
  const { primaryKey } = model;
  if (primaryKey === undefined || orders.some((order) => order.related === undefined && order.column === primaryKey)) {
    return terms;
  }
  const isDescending = orders.at(-1)?.isDescending ?? false;
  const last: Order = { column: primaryKey, related: undefined, isDescending };
  return [...terms, directed(sql.ref(`${alias}.${primaryKey.name}`), last)];
}

function directed(at: Expression<unknown>, { column, related, isDescending }: Order): RawBuilder<unknown> {
  // Nothing sorts before everything. Said only where it matters: it keeps an index from being used.
  if (column.isNullable || related !== undefined)
    return isDescending ? sql`${at} DESC NULLS LAST` : sql`${at} ASC NULLS FIRST`;
  return isDescending ? sql`${at} DESC` : sql`${at} ASC`;
}

function orderedBy(session: Session, alias: string, { column, related }: Order): Expression<unknown> {
  const [link] = related?.links ?? [];
  if (link === undefined) return sql.ref(`${alias}.${column.name}`);
  const inner = `${alias}o`;
  return session.db
    .selectFrom(`${tableOf(session, link.model)} as ${inner}`)
    .select(sql.ref(`${inner}.${column.name}`).as("value"))
    .where(conjunction([linkCondition(link, alias, inner), ...queryConditions(session, link.model, inner, link.query)]))
    .limit(1);
}

function testSql(session: Session, alias: string, test: Extract<Where, { kind: "test" }>): Expression<SqlBool> {
  const links = test.related?.links ?? [];
  return existsSql(session, alias, links, (inner) =>
    comparisonSql(test.column, `${inner}.${test.column.name}`, test.comparison),
  );
}

// Some row at the far end of the links passes the test.
function existsSql(
  session: Session,
  alias: string,
  links: readonly LinkQuery[],
  test: (alias: string) => Expression<SqlBool>,
): Expression<SqlBool> {
  const [link, ...rest] = links;
  if (link === undefined) return test(alias);
  const inner = `${alias}x`;
  const found = session.db
    .selectFrom(`${tableOf(session, link.model)} as ${inner}`)
    .select(sql`1`.as("one"))
    .where(
      conjunction([
        linkCondition(link, alias, inner),
        ...queryConditions(session, link.model, inner, link.query),
        existsSql(session, inner, rest, test),
      ]),
    );
  return sql<SqlBool>`EXISTS (${found})`;
}

function linkCondition({ key, foreign }: LinkQuery, alias: string, inner: string): Expression<SqlBool> {
  const [left, right] = [sql.ref(`${inner}.${key.name}`), sql.ref(`${alias}.${foreign.name}`)];
  if (key.kind === foreign.kind) return sql<SqlBool>`${left} = ${right}`;
  // A list of keys in a json column.
  if (foreign.kind === "json") return sql<SqlBool>`${right} @> to_jsonb(${left})`;
  return sql<SqlBool>`${left}::text = ${right}::text`;
}

/** All of these, as one expression. */
export function conjunction(conditions: readonly Expression<SqlBool>[]): Expression<SqlBool> {
  return conditions.length === 0 ? sql<SqlBool>`true` : sql<SqlBool>`${sql.join([...conditions], sql` AND `)}`;
}
