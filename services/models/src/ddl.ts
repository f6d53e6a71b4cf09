/** The statements of a migration, one function each. Names and texts of models are quoted by Kysely, never by hand. */

import { type Expression, type RawBuilder, sql } from "kysely";

import type { Column, ModelDefinition, ModelIndex } from "./model.ts";
import { MANAGED } from "./model.ts";
import type { ModelDb } from "./model-db.ts";
import { checkName, indexName } from "./name.ts";
import { tableNote } from "./plan-migration.ts";
import { encodeValue } from "./value-codec.ts";

/** Where statements run. */
export interface Target {
  readonly db: ModelDb;
  readonly schema: string;
}

export async function createTable({ db, schema }: Target, model: ModelDefinition, app: string): Promise<void> {
  let table = db.schema.createTable(`${schema}.${model.table}`);
  for (const column of model.columns.values()) {
    table = table.addColumn(column.name, typeOf(column), (built) => {
      let next = built;
      if (!column.isNullable) next = next.notNull();
      if (column.isGenerated) next = next.generatedByDefaultAsIdentity();
      return column.isPrimary ? next.primaryKey() : next;
    });
  }
  await table.execute();
  for (const column of model.columns.values()) await addOptions({ db, schema }, model, column);
  await describeTable({ db, schema }, model, app);
}

/** Rows that are there get the default; later ones get it from whoever writes them, so none stays in the table. */
export async function addColumn(target: Target, model: ModelDefinition, column: Column): Promise<void> {
  const { db, schema } = target;
  const value = defaultExpression(column);
  await db.schema
    .alterTable(`${schema}.${model.table}`)
    .addColumn(column.name, typeOf(column), (built) => {
      let next = built;
      if (value !== undefined) next = next.defaultTo(value);
      if (!column.isNullable) next = next.notNull();
      return column.isGenerated ? next.generatedByDefaultAsIdentity() : next;
    })
    .execute();
  if (value !== undefined) await alterColumn(target, model, column.name, "DROP DEFAULT");
  await addOptions(target, model, column);
}

export async function changeType({ db, schema }: Target, model: ModelDefinition, column: Column): Promise<void> {
  await db.schema
    .alterTable(`${schema}.${model.table}`)
    .alterColumn(column.name, (built) => built.setDataType(typeOf(column)))
    .execute();
}

export async function relaxColumn(target: Target, model: ModelDefinition, columnName: string): Promise<void> {
  await alterColumn(target, model, columnName, "DROP NOT NULL");
}

export async function setOptions(target: Target, model: ModelDefinition, column: Column): Promise<void> {
  const { db, schema } = target;
  const name = sql.id(checkName(model.table, column.name));
  await sql`ALTER TABLE ${sql.id(schema, model.table)} DROP CONSTRAINT IF EXISTS ${name}`.execute(db);
  await addOptions(target, model, column);
}

export async function createIndex({ db, schema }: Target, model: ModelDefinition, index: ModelIndex): Promise<void> {
  let built = db.schema.createIndex(indexName(model, index)).on(`${schema}.${model.table}`);
  if (index.type === "fulltext") {
    built = built.using("gin").expression(sql`to_tsvector('simple', ${documentOf(index.columns)})`);
  } else {
    built = built.columns([...index.columns]);
    if (index.type === "unique") built = built.unique();
  }
  // A deleted row must not keep its values from being used again.
  const isPartial = index.type === "unique" && model.hasSoftDeletes;
  await (isPartial ? built.where(sql.ref(MANAGED.deletedAt), "is", null) : built).execute();
}

export async function dropIndex({ db, schema }: Target, name: string): Promise<void> {
  await db.withSchema(schema).schema.dropIndex(name).execute();
}

export async function dropTable({ db, schema }: Target, table: string): Promise<void> {
  await db.schema.dropTable(`${schema}.${table}`).ifExists().execute();
}

export async function describeTable({ db, schema }: Target, model: ModelDefinition, app: string): Promise<void> {
  const table = sql.id(schema, model.table);
  await sql`COMMENT ON TABLE ${table} IS ${sql.lit(printable(tableNote(model, app)))}`.execute(db);
  for (const column of model.columns.values()) {
    if (column.comment === "") continue;
    const comment = sql.lit(printable(column.comment));
    await sql`COMMENT ON COLUMN ${sql.id(schema, model.table, column.name)} IS ${comment}`.execute(db);
  }
}

/** The texts of these columns as one. */
export function documentOf(columns: readonly string[], alias?: string): RawBuilder<string> {
  const prefix = alias === undefined ? "" : `${alias}.`;
  return sql<string>`(${sql.join(
    columns.map((name) => sql`coalesce(${sql.ref(`${prefix}${name}`)}::text, '')`),
    sql` || ' ' || `,
  )})`;
}

async function alterColumn(
  { db, schema }: Target,
  model: ModelDefinition,
  columnName: string,
  change: "DROP NOT NULL" | "DROP DEFAULT",
): Promise<void> {
  await sql`ALTER TABLE ${sql.id(schema, model.table)} ALTER COLUMN ${sql.id(columnName)} ${sql.raw(change)}`.execute(
    db,
  );
}

async function addOptions({ db, schema }: Target, model: ModelDefinition, column: Column): Promise<void> {
  if (column.options === undefined) return;
  const [table, name] = [sql.id(schema, model.table), sql.id(checkName(model.table, column.name))];
  const options = sql.join(column.options.map((option) => sql.lit(option)));
  await sql`ALTER TABLE ${table} ADD CONSTRAINT ${name} CHECK (${sql.id(column.name)} IN (${options}))`.execute(db);
  // What the constraint says in a form that need not be parsed; see the reader of tables.
  await sql`COMMENT ON CONSTRAINT ${name} ON ${table} IS ${sql.lit(JSON.stringify(column.options))}`.execute(db);
}

function defaultExpression(column: Column): Expression<unknown> | undefined {
  if (column.default === undefined) return undefined;
  if (column.default.kind === "now") return sql`(now() AT TIME ZONE 'utc')`;
  if (column.default.kind === "uuid") return sql`gen_random_uuid()`;
  const value = encodeValue(column, column.default.value);
  if (typeof value === "string") return sql.lit(value);
  return Buffer.isBuffer(value) ? sql`decode(${sql.lit(value.toString("hex"))}, 'hex')` : sql.lit(value);
}

// The type's text is made by `column-type.ts` from its own words and from numbers.
function typeOf(column: Column): RawBuilder<unknown> {
  return sql.raw(column.sqlType);
}

// A comment cannot hold the one character PostgreSQL has no place for.
function printable(text: string): string {
  return text.replaceAll("\0", "");
}
