/** The methods of models that write. What one call changes, it changes as a whole or not at all. */

import { isObject, type Json, MeshError } from "@mesh/kernel";

import type { Session } from "./access.ts";
import { textOf } from "./json-text.ts";
import type { ModelDefinition } from "./model.ts";
import { isKeyTaken } from "./model-error.ts";
import { parseQuery, requireColumn } from "./parse-query.ts";
import type { Query } from "./query.ts";
import { keyArgument, missingRow } from "./read-method.ts";
import { decoderOf, encodeValue } from "./value-codec.ts";
import {
  advanceKeys,
  type Assignment,
  changes,
  deleteWhere,
  destroyWhere,
  insertRows,
  keyColumn,
  newRow,
  updateRow,
  updateWhere,
  upsertRow,
} from "./write-rows.ts";

const MAX_INSERT = 5000;
const MAX_SAVE = 1000;
// Hashing a password takes its time on purpose.
const MAX_HASHED = 100;
const MAX_BATCH_BYTES = 8 * 1024 * 1024;
const KEY_TRIES = 3;

/** `Create(row)`: adds a row and returns its key. */
export async function create(session: Session, model: ModelDefinition, [input]: readonly Json[]): Promise<Json> {
  const row = await newRow(session, model, input ?? null);
  const [key = null] = await withFreshKeys(session, model, () => insertRows(session, model, [row]));
  return key;
}

/** `Update(id, row)`: changes the row of this key. Tools may give one object that holds the key. */
export async function update(
  session: Session,
  model: ModelDefinition,
  [first, second]: readonly Json[],
): Promise<Json> {
  const { key, rest } = keyArgument(model, first ?? null);
  const input = second ?? rest;
  const row = await changes(session, model, withoutKey(model, key, input));
  if (!(await updateRow(session, model, key, row))) throw missingRow(model, key);
  return null;
}

/** `Save(row)`: changes the row of its key, or adds it; returns the key. */
export async function save(session: Session, model: ModelDefinition, [input]: readonly Json[]): Promise<Json> {
  return withFreshKeys(session, model, () => saveOne(session, model, input ?? null));
}

/** `Upsert(row, uniqueBy, updateColumns?)`: adds a row or changes the one that has the same values in `uniqueBy`. */
export async function upsert(session: Session, model: ModelDefinition, args: readonly Json[]): Promise<Json> {
  const [input = null, uniqueBy = null, updateColumns] = args;
  const row = await newRow(session, model, input);
  const columns = columnNames(model, uniqueBy, "uniqueBy");
  const given = isObject(input) ? Object.keys(input) : [];
  const update = updateColumns ? columnNames(model, updateColumns, "updateColumns") : given;
  return withFreshKeys(session, model, () => upserted(session, model, row, { columns, update }));
}

/** `Insert(columns, rows)`, or `Insert(rows)` with objects: adds rows and returns how many. */
export async function insert(
  session: Session,
  model: ModelDefinition,
  [first, second]: readonly Json[],
): Promise<Json> {
  const isWithColumns = second !== undefined && second !== null;
  const written = listOf(isWithColumns ? second : first, "rows");
  checkBatch(model, written, MAX_INSERT);
  const inputs = isWithColumns ? rowsOf(model, first, written) : written;
  if (inputs.length === 0) return 0;
  const rows: Assignment[] = [];
  for (const input of inputs) rows.push(await newRow(session, model, input));
  await withFreshKeys(session, model, () => inTransaction(session, (inner) => insertRows(inner, model, rows)));
  return rows.length;
}

/** `EachSave(rows, each?)`: saves rows, each with the values of `each` added; returns their keys. */
export async function eachSave(session: Session, model: ModelDefinition, [rows, each]: readonly Json[]): Promise<Json> {
  return eachSaveAfterDelete(session, model, [[], rows ?? [], each ?? {}]);
}

/** `EachSaveAfterDelete(ids, rows, each?)`: deletes the rows of these keys, then saves; returns the keys saved. */
export async function eachSaveAfterDelete(
  session: Session,
  model: ModelDefinition,
  [ids, rows, each]: readonly Json[],
): Promise<Json> {
  const [keys, inputs] = [listOf(ids ?? [], "ids"), listOf(rows ?? [], "rows")];
  const added = isObject(each) ? each : {};
  checkBatch(model, inputs, MAX_SAVE);
  if (keys.length > MAX_SAVE) throw invalid(`at most ${MAX_SAVE} rows can be deleted in one call`);
  return withFreshKeys(session, model, () =>
    inTransaction(session, async (inner) => {
      for (const key of keys) await deleteWhere(inner, model, keyQuery(model, key));
      const saved: Json[] = [];
      for (const input of inputs) {
        if (!isObject(input)) throw invalid(`${model.id}: each row must be an object`);
        saved.push(await saveOne(inner, model, { ...input, ...added }));
      }
      return saved;
    }),
  );
}

/** `Delete(id)`: deletes a row, softly where the model says so. One that is not there is as good as deleted. */
export async function remove(session: Session, model: ModelDefinition, [first]: readonly Json[]): Promise<Json> {
  await deleteWhere(session, model, keyQuery(model, keyArgument(model, first ?? null).key));
  return null;
}

/** `Destroy(id)`: removes a row for good, a deleted one too. */
export async function destroy(session: Session, model: ModelDefinition, [first]: readonly Json[]): Promise<Json> {
  await destroyWhere(session, model, keyQuery(model, keyArgument(model, first ?? null).key));
  return null;
}

/** `UpdateWhere(query, row)`: changes the rows that fit; returns how many. */
export async function updateAll(
  session: Session,
  model: ModelDefinition,
  [query, input]: readonly Json[],
): Promise<Json> {
  return updateWhere(session, model, parseQuery(session, model, query), await changes(session, model, input ?? null));
}

/** `DeleteWhere(query)`: deletes the rows that fit; returns how many. */
export async function removeAll(session: Session, model: ModelDefinition, [query]: readonly Json[]): Promise<Json> {
  return deleteWhere(session, model, parseQuery(session, model, query));
}

/** `DestroyWhere(query)`: removes the rows that fit for good; returns how many. */
export async function destroyAll(session: Session, model: ModelDefinition, [query]: readonly Json[]): Promise<Json> {
  return destroyWhere(session, model, parseQuery(session, model, query));
}

async function saveOne(session: Session, model: ModelDefinition, input: Json): Promise<Json> {
  const { key, rest } = keyArgument(model, input);
  if (!isObject(input) || key === null) {
    const [created = null] = await insertRows(session, model, [await newRow(session, model, input)]);
    return created;
  }
  if (Object.keys(rest).some((name) => model.columns.has(name))) {
    if (await updateRow(session, model, key, await changes(session, model, rest))) return keyAsRead(model, key);
  }
  const row = await newRow(session, model, input);
  return upserted(session, model, row, { columns: [keyColumn(model).name], update: Object.keys(rest) });
}

async function upserted(
  session: Session,
  model: ModelDefinition,
  row: Assignment,
  conflict: Parameters<typeof upsertRow>[3],
): Promise<Json> {
  const key = await upsertRow(session, model, row, conflict);
  if (key !== undefined) return key;
  throw new MeshError(
    "already_exists",
    `${model.id}: a row with the same ${conflict.columns.join(" and ")} exists, but it is deleted or belongs to another owner`,
    { details: { columns: conflict.columns } },
  );
}

/** Rows that were written with keys of their own leave the generated ones behind; then those are moved on. */
async function withFreshKeys<T>(session: Session, model: ModelDefinition, work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (thrown) {
      if (tries >= KEY_TRIES || model.primaryKey?.isGenerated !== true || !isKeyTaken(thrown, model)) throw thrown;
      await advanceKeys(session, model);
    }
  }
}

function inTransaction<T>(session: Session, work: (inner: Session) => Promise<T>): Promise<T> {
  return session.db.transaction().execute((tx) => work({ ...session, db: tx }));
}

// A key given as text comes back as the number it is read as.
function keyAsRead(model: ModelDefinition, key: Json): Json {
  const column = keyColumn(model);
  return decoderOf(column)(encodeValue(column, key));
}

function keyQuery(model: ModelDefinition, key: Json): Query {
  const column = keyColumn(model);
  if (key === null || typeof key === "object") throw invalid(`${model.id}: ${column.name} must be given to find a row`);
  const comparison = { kind: "compare", op: "=", value: encodeValue(column, key) } as const;
  return { ...EVERYTHING, wheres: [{ kind: "test", isOr: false, column, related: undefined, comparison }] };
}

const EVERYTHING: Query = {
  select: undefined,
  wheres: [],
  orders: [],
  limit: undefined,
  page: undefined,
  pageSize: undefined,
  withs: [],
  trashed: "hidden",
};

function withoutKey(model: ModelDefinition, key: Json, input: Json): Json {
  if (!isObject(input)) return input;
  const { key: written, rest } = keyArgument(model, input);
  if (written === null || textOf(written) === textOf(key)) return rest;
  throw invalid(`${model.id}: ${keyColumn(model).name} cannot be changed`);
}

function columnNames(model: ModelDefinition, input: Json, what: string): readonly string[] {
  const names = typeof input === "string" ? [input] : listOf(input, what);
  if (names.length === 0) throw invalid(`${what} must name at least one column`);
  return names.map((name) => requireColumn(model, name).name);
}

function rowsOf(model: ModelDefinition, columns: Json | undefined, rows: readonly Json[]): readonly Json[] {
  const names = listOf(columns, "columns").map((name) => requireColumn(model, name).name);
  return rows.map((row, index) => {
    if (isObject(row)) return row;
    if (Array.isArray(row) && row.length === names.length) {
      return Object.fromEntries(names.map((name, at) => [name, (row as readonly Json[])[at] ?? null]));
    }
    throw invalid(`row ${index + 1} must have ${names.length} values, one for each column`);
  });
}

function checkBatch(model: ModelDefinition, rows: readonly Json[], most: number): void {
  const isHashed = [...model.columns.values()].some((column) => column.crypt === "PASSWORD");
  const limit = isHashed ? MAX_HASHED : most;
  if (rows.length > limit) throw invalid(`at most ${limit} rows can be written in one call, not ${rows.length}`);
  if (Buffer.byteLength(JSON.stringify(rows)) > MAX_BATCH_BYTES) {
    throw invalid(`at most ${MAX_BATCH_BYTES} bytes of rows can be written in one call`);
  }
}

function listOf(input: Json | undefined, what: string): readonly Json[] {
  if (Array.isArray(input)) return input as readonly Json[];
  throw invalid(`${what} must be a list`);
}

function invalid(message: string): MeshError {
  return new MeshError("invalid_argument", message);
}
