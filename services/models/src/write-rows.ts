/**
 * Writes rows of one model.
 *
 * W1  What is written was checked first: columns exist, values fit, the column's rules hold, nothing required is missing.
 * W2  Times and owners are set here; what a caller gives for them is not taken, save the creation time of a new row.
 * W3  A row the caller may not change is, to the caller, not there.
 */

import { isObject, type Json, MeshError } from "@mesh/kernel";
import { type Expression, type RawBuilder, sql } from "kysely";

import { type Session, tableOf, tableSql, writable } from "./access.ts";
import { shownBy, stored } from "./crypt.ts";
import { type Column, MANAGED, type ModelDefinition } from "./model.ts";
import { requireColumn } from "./parse-query.ts";
import type { Query } from "./query.ts";
import { checkValidations } from "./validation.ts";
import { bound, encodeValue, readable } from "./value-codec.ts";
import { conjunction, orderTerms, whereConditions } from "./where-sql.ts";

/** What a column is set to, by column. */
export type Assignment = Readonly<Record<string, Expression<unknown>>>;

/** Why a row is checked: it is new, one a table starts with, or a change. */
type Purpose = "new" | "seed" | "change";

const MAX_ROW_BYTES = 2 * 1024 * 1024;
// Below PostgreSQL's bound of 65 535 parameters in one statement.
const MAX_PARAMETERS = 30_000;
const NOW = sql`date_trunc('second', now() AT TIME ZONE 'utc')`;

/** Checks a new row and completes it with defaults, times and owner. */
export async function newRow(
  session: Session,
  model: ModelDefinition,
  input: Json,
  purpose: Exclude<Purpose, "change"> = "new",
): Promise<Assignment> {
  const given = await assigned(session, model, input, purpose);
  const row: Record<string, Expression<unknown>> = { ...given };
  const missing: string[] = [];
  for (const column of model.columns.values()) {
    if (Object.hasOwn(row, column.name) || column.isManaged || column.isGenerated) continue;
    const value = defaultOf(column);
    if (value !== undefined) row[column.name] = value;
    else if (!column.isNullable) missing.push(column.name);
  }
  if (missing.length > 0) throw invalid(`${model.id}: ${missing.join(", ")} must be given`);
  if (model.hasTimestamps) row[MANAGED.createdAt] ??= NOW;
  if (model.hasPermission && session.scope !== undefined) {
    row[MANAGED.createdBy] = sql`${session.scope.userId}`;
    row[MANAGED.teamId] = sql`${session.scope.teamId ?? null}`;
  }
  return row;
}

/** Checks what a row is changed to, and adds time and person. */
export async function changes(session: Session, model: ModelDefinition, input: Json): Promise<Assignment> {
  const given = await assigned(session, model, input, "change");
  if (Object.keys(given).length === 0)
    throw invalid(`${model.id}: there is nothing to change; give at least one column`);
  return { ...given, ...stamp(session, model) };
}

/** Inserts rows with the same or different columns; returns their keys in order. */
export async function insertRows(
  session: Session,
  model: ModelDefinition,
  rows: readonly Assignment[],
): Promise<readonly Json[]> {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const keys: Json[] = [];
  const perStatement = Math.max(1, Math.floor(MAX_PARAMETERS / Math.max(1, names.length)));
  for (let at = 0; at < rows.length; at += perStatement) {
    const values = rows
      .slice(at, at + perStatement)
      .map((row) => Object.fromEntries(names.map((name) => [name, row[name] ?? sql`DEFAULT`])));
    const insert = session.db.insertInto(tableOf(session, model)).values(values);
    if (model.primaryKey === undefined) await insert.execute();
    else
      keys.push(
        ...(await insert.returning(keyOut(model.primaryKey)).execute()).map((row) => keyIn(session, model, row)),
      );
  }
  return keys;
}

/** Inserts a row, or changes the one that has the same values in `columns`; undefined when that one is not the caller's. */
export async function upsertRow(
  session: Session,
  model: ModelDefinition,
  row: Assignment,
  conflict: { readonly columns: readonly string[]; readonly update: readonly string[] },
): Promise<Json | undefined> {
  const table = tableOf(session, model);
  const key = model.primaryKey;
  const updates = conflict.update.filter((name) => {
    const column = model.columns.get(name);
    const isFixed = column === undefined || column.isManaged || column.isPrimary || conflict.columns.includes(name);
    return !isFixed && Object.hasOwn(row, name);
  });
  const set = Object.fromEntries(updates.map((name) => [name, sql.ref(`excluded.${name}`)]));
  const isByKey = conflict.columns.length === 1 && conflict.columns[0] === key?.name;
  const insert = session.db
    .insertInto(table)
    .values(row)
    .onConflict((on) => {
      const target = on.columns([...conflict.columns]);
      // The unique indexes of such a model leave deleted rows out; its key does not.
      const exact = model.hasSoftDeletes && !isByKey ? target.where(sql.ref(MANAGED.deletedAt), "is", null) : target;
      return exact
        .doUpdateSet({ ...set, ...stamp(session, model, conflict.columns[0]) })
        .where(conjunction(writable(session, model, model.table, "hidden")));
    });
  if (key === undefined) {
    const result = await insert.executeTakeFirst();
    return (result.numInsertedOrUpdatedRows ?? 0n) > 0n ? null : undefined;
  }
  const written = await insert.returning(keyOut(key)).executeTakeFirst();
  return written === undefined ? undefined : keyIn(session, model, written);
}

/** Changes the row of this key; whether there was one. */
export async function updateRow(
  session: Session,
  model: ModelDefinition,
  key: Json,
  row: Assignment,
): Promise<boolean> {
  const result = await session.db
    .updateTable(`${tableOf(session, model)} as r`)
    .set(row)
    .where(conjunction([keyIs(model, key), ...writable(session, model, "r", "hidden")]))
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

/** Changes the rows that fit a query; returns how many. */
export async function updateWhere(
  session: Session,
  model: ModelDefinition,
  query: Query,
  row: Assignment,
): Promise<number> {
  const result = await session.db
    .updateTable(`${tableOf(session, model)} as r`)
    .set(row)
    .where(chosen(session, model, query, "hidden"))
    .executeTakeFirst();
  return Number(result.numUpdatedRows);
}

/** Deletes the rows that fit a query, softly where the model says so; returns how many. */
export async function deleteWhere(session: Session, model: ModelDefinition, query: Query): Promise<number> {
  if (!model.hasSoftDeletes) return destroyWhere(session, model, query);
  return updateWhere(session, model, query, { [MANAGED.deletedAt]: NOW });
}

/** Removes the rows that fit a query, deleted ones included; returns how many. */
export async function destroyWhere(session: Session, model: ModelDefinition, query: Query): Promise<number> {
  const trashed = query.trashed === "only" ? "only" : "included";
  const result = await session.db
    .deleteFrom(`${tableOf(session, model)} as r`)
    .where(chosen(session, model, query, trashed))
    .executeTakeFirst();
  return Number(result.numDeletedRows);
}

/** The condition that a row has this key. */
export function keyIs(model: ModelDefinition, key: Json): RawBuilder<boolean> {
  const column = keyColumn(model);
  if (key === null || typeof key === "object") throw invalid(`${model.id}: ${column.name} must be given to find a row`);
  return sql<boolean>`${sql.ref(`r.${column.name}`)} = ${bound(column, encodeValue(column, key))}`;
}

/** The column rows are found by. */
export function keyColumn(model: ModelDefinition): Column {
  if (model.primaryKey !== undefined) return model.primaryKey;
  throw new MeshError("failed_precondition", `${model.id} has no primary key; use the …Where methods`);
}

/** Lets the next generated key follow the highest one, after rows were given keys of their own. */
export async function advanceKeys(session: Session, model: ModelDefinition): Promise<void> {
  const column = keyColumn(model);
  const sequence = sql`pg_get_serial_sequence(${quoted(session.schema, model.table)}, ${column.name})::regclass`;
  const highest = sql`(SELECT max(${sql.ref(column.name)}) FROM ${tableSql(session, model)})`;
  // Never back: others may have taken keys that are not committed yet.
  await sql`SELECT setval(${sequence}, greatest(${highest}, pg_sequence_last_value(${sequence}), 1))`.execute(
    session.db,
  );
}

async function assigned(
  session: Session,
  model: ModelDefinition,
  input: Json,
  purpose: Purpose,
): Promise<Record<string, Expression<unknown>>> {
  if (!isObject(input)) throw invalid(`${model.id}: a row must be an object, such as {"name": "value"}`);
  const size = Buffer.byteLength(JSON.stringify(input));
  if (size > MAX_ROW_BYTES) throw invalid(`${model.id}: a row has at most ${MAX_ROW_BYTES} bytes of JSON, not ${size}`);
  const row: Record<string, Expression<unknown>> = {};
  for (const [name, value] of Object.entries(input)) {
    // Rows that were read with their related rows can be saved as they are.
    if (model.relations.has(name) && !model.columns.has(name)) continue;
    const column = requireColumn(model, name);
    if (!isTaken(column, value, purpose)) continue;
    if (value === null && !column.isNullable) throw invalid(`${model.id}: ${name} must not be empty`);
    if (purpose !== "seed") checkValidations(column, value);
    row[name] = bound(column, await stored(session.ciphers, model, column, value));
  }
  return row;
}

function isTaken(column: Column, value: Json | undefined, purpose: Purpose): value is Json {
  if (value === undefined) return false;
  if (column.isManaged) return column.name === MANAGED.createdAt && value !== null && purpose !== "change";
  if (value !== null || purpose === "change") return true;
  // Nothing given for what is filled in anyway.
  return !column.isGenerated && (column.isNullable || column.default === undefined);
}

function defaultOf(column: Column): Expression<unknown> | undefined {
  if (column.default === undefined) return undefined;
  if (column.default.kind === "now") return NOW;
  if (column.default.kind === "uuid") return sql`gen_random_uuid()`;
  return bound(column, encodeValue(column, column.default.value));
}

// A statement must set something even when nothing changes: then it sets `fallback` to what it is.
function stamp(session: Session, model: ModelDefinition, fallback?: string): Record<string, Expression<unknown>> {
  const row: Record<string, Expression<unknown>> = {};
  if (model.hasTimestamps) row[MANAGED.updatedAt] = NOW;
  if (model.hasPermission && session.scope !== undefined) row[MANAGED.updatedBy] = sql`${session.scope.userId}`;
  if (fallback !== undefined && Object.keys(row).length === 0) row[fallback] = sql.ref(`excluded.${fallback}`);
  return row;
}

// UPDATE and DELETE know no order and no limit: with those, the rows are chosen first.
function chosen(
  session: Session,
  model: ModelDefinition,
  query: Query,
  trashed: "hidden" | "included" | "only",
): Expression<boolean> {
  const conditions = [...writable(session, model, "r", trashed), ...whereConditions(session, "r", query.wheres)];
  if (query.limit === undefined) return conjunction(conditions) as Expression<boolean>;
  const column = keyColumn(model);
  let rows = session.db
    .selectFrom(`${tableOf(session, model)} as r`)
    .select(sql.ref(`r.${column.name}`).as("key"))
    .where(conjunction(conditions));
  for (const term of orderTerms(session, model, "r", query.orders)) rows = rows.orderBy(term);
  rows = rows.limit(query.limit);
  return sql<boolean>`${sql.ref(`r.${column.name}`)} IN (${rows})`;
}

function keyOut(column: Column): ReturnType<RawBuilder<unknown>["as"]> {
  return readable(column, column.name).as(column.name);
}

function keyIn(session: Session, model: ModelDefinition, row: unknown): Json {
  const column = keyColumn(model);
  return shownBy(session.ciphers, model, column)((row as Record<string, unknown>)[column.name]);
}

// For a function that takes a table's name as text.
function quoted(schema: string, table: string): string {
  return [schema, table].map((name) => `"${name.replaceAll('"', '""')}"`).join(".");
}

function invalid(message: string): MeshError {
  return new MeshError("invalid_argument", message);
}
