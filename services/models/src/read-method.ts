/** The methods of models that read. Arguments that are documented as optional, and some more, may be left out. */

import { isObject, type Json, type JsonObject, MeshError } from "@mesh/kernel";

import type { Session } from "./access.ts";
import { escaped } from "./comparison.ts";
import { shownJson, textOf } from "./json-text.ts";
import type { ModelDefinition } from "./model.ts";
import { parseQuery, requireColumn } from "./parse-query.ts";
import type { Query } from "./query.ts";
import { countRows, readRows, type Row } from "./read-rows.ts";
import { keyColumn, keyIs } from "./write-rows.ts";

/** A method: what it is called with after the caller and the model. */
export type Method = (session: Session, model: ModelDefinition, args: readonly Json[]) => Promise<Json>;

const DEFAULT_LIMIT = 100;
const DEFAULT_PAGE_SIZE = 20;
const MAX_PAGE = 1_000_000;

/** `Find(id, query?)`: the row of this key, or `not_found`. Tools may give `{"id": …}`. */
export async function find(session: Session, model: ModelDefinition, [first, second]: readonly Json[]): Promise<Json> {
  const { key, rest } = keyArgument(model, first ?? null);
  const query = parseQuery(session, model, second ?? rest["query"] ?? null);
  const [row] = await readRows(session, model, query, { limit: 1, offset: 0, condition: keyIs(model, key) });
  if (row !== undefined) return row;
  throw missingRow(model, key);
}

/** `Get(query?)`: the rows that fit, 100 unless the query says otherwise. */
export async function get(session: Session, model: ModelDefinition, [input]: readonly Json[]): Promise<Json> {
  const query = parseQuery(session, model, input);
  const limit = bounded(
    session,
    "limit",
    query.limit ?? query.pageSize ?? Math.min(DEFAULT_LIMIT, session.limits.maxRows),
  );
  return readRows(session, model, query, { limit, offset: ((query.page ?? 1) - 1) * limit });
}

/** `Paginate(query?, page?, pagesize?)`: one page of the rows that fit, with how many there are. */
export async function paginate(session: Session, model: ModelDefinition, args: readonly Json[]): Promise<Json> {
  const query = parseQuery(session, model, args[0]);
  const page = positive("page", args[1]) ?? query.page ?? 1;
  const written = positive("pagesize", args[2]) ?? query.pageSize ?? (query.limit || undefined);
  const pageSize = bounded(session, "pagesize", written ?? Math.min(DEFAULT_PAGE_SIZE, session.limits.maxRows));
  if (page > MAX_PAGE) throw invalid(`page must be at most ${MAX_PAGE}`);
  const [total, data] = [
    await countRows(session, model, query),
    await readRows(session, model, query, { limit: pageSize, offset: (page - 1) * pageSize }),
  ];
  const pageCount = Math.ceil(total / pageSize);
  return {
    data,
    total,
    page,
    pagesize: pageSize,
    pagecnt: pageCount,
    next: page < pageCount ? page + 1 : -1,
    prev: page > 1 ? page - 1 : -1,
  };
}

/** `Count(query?)`: how many rows fit. */
export async function count(session: Session, model: ModelDefinition, [input]: readonly Json[]): Promise<Json> {
  return countRows(session, model, parseQuery(session, model, input));
}

/** `SelectOption(keyword?, name?, value?, limit?)`: rows as choices of a form. */
export async function selectOption(session: Session, model: ModelDefinition, args: readonly Json[]): Promise<Json> {
  const [keyword, name, value, limit] = args;
  const nameColumn = requireColumn(model, name || "name");
  const valueColumn = value ? requireColumn(model, value) : keyColumn(model);
  const query: Query = {
    ...parseQuery(session, model, null),
    select: [nameColumn, valueColumn],
    wheres: keyword
      ? parseQuery(session, model, {
          wheres: [{ column: nameColumn.name, op: "like", value: `%${escaped(textOf(keyword))}%` }],
        }).wheres
      : [],
  };
  const rows = await readRows(session, model, query, {
    limit: bounded(session, "limit", positive("limit", limit) ?? DEFAULT_PAGE_SIZE),
    offset: 0,
  });
  return rows.map((row: Row) => ({ name: row[nameColumn.name] ?? null, value: row[valueColumn.name] ?? null }));
}

/** `Metadata()`: the model as it was written, with its id. */
export async function metadata(_session: Session, model: ModelDefinition): Promise<Json> {
  return { ...model.source, id: model.id };
}

/** The key a method was called with: itself, or in an object under its name. */
export function keyArgument(model: ModelDefinition, input: Json): { readonly key: Json; readonly rest: JsonObject } {
  if (!isObject(input)) return { key: input, rest: {} };
  const { name } = keyColumn(model);
  const { [name]: key = null, ...rest } = input;
  return { key, rest };
}

/** Said of a row that is not there, for this caller. */
export function missingRow(model: ModelDefinition, key: Json): MeshError {
  return new MeshError("not_found", `${model.id} has no row with ${keyColumn(model).name} = ${shownJson(key)}`);
}

function positive(name: string, value: Json | undefined): number | undefined {
  if (value === undefined || value === null) return undefined;
  const number = typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) : value;
  if (typeof number === "number" && Number.isSafeInteger(number) && number > 0) return number;
  throw invalid(`${name} must be a whole number of at least 1, not ${shownJson(value)}`);
}

function bounded(session: Session, name: string, value: number): number {
  const { maxRows } = session.limits;
  if (value <= maxRows) return value;
  throw invalid(`${name} must be at most ${maxRows}; read more rows page by page`);
}

function invalid(message: string): MeshError {
  return new MeshError("invalid_argument", message);
}
