/** Reads what tables a workspace's schema has, for the planner. */

import { sql } from "kysely";

import type { ModelCatalog } from "./catalog.ts";
import type { ModelDb } from "./model-db.ts";
import { checkName } from "./name.ts";
import type { ExistingColumn, ExistingTable, ExistingTables } from "./plan-migration.ts";

interface ColumnRow {
  readonly table: string;
  readonly column: string;
  readonly type: string;
  readonly is_nullable: boolean;
  readonly identity: string;
}

interface TableRow {
  readonly table: string;
  readonly note: string | null;
  readonly primary_key: string | null;
  readonly indexes: string[] | null;
}

interface CheckRow {
  readonly table: string;
  readonly name: string;
  readonly note: string | null;
}

/** The tables of `schema`; whether one has rows is only looked up where it matters to this catalog. */
export async function readTables(db: ModelDb, schema: string, catalog: ModelCatalog): Promise<ExistingTables> {
  const [tables, columns, checks] = [
    await tableRows(db, schema),
    await columnRows(db, schema),
    await checkRows(db, schema),
  ];
  const options = new Map(checks.map((row) => [`${row.table} ${row.name}`, optionsOf(row.note)]));
  const existing = new Map<string, ExistingTable>();
  for (const table of tables) {
    const own = columns.filter((row) => row.table === table.table);
    const byName = new Map<string, ExistingColumn>(
      own.map((row) => [
        row.column,
        {
          sqlType: row.type,
          isNullable: row.is_nullable,
          isGenerated: row.identity !== "",
          options: options.get(`${table.table} ${checkName(table.table, row.column)}`),
        },
      ]),
    );
    existing.set(table.table, {
      columns: byName,
      indexes: table.indexes ?? [],
      primaryKey: table.primary_key ?? undefined,
      hasRows: false,
      note: table.note ?? "",
    });
  }
  for (const { table, columns: wanted } of catalog.models) {
    const found = existing.get(table);
    const isMissingOne = [...wanted.values()].some((column) => !column.isNullable && !found?.columns.has(column.name));
    if (found === undefined || !isMissingOne) continue;
    const row = await db
      .selectFrom(`${schema}.${table}`)
      .select(sql`1`.as("one"))
      .limit(1)
      .executeTakeFirst();
    existing.set(table, { ...found, hasRows: row !== undefined });
  }
  return existing;
}

async function tableRows(db: ModelDb, schema: string): Promise<readonly TableRow[]> {
  const { rows } = await sql<TableRow>`
    SELECT c.relname::text AS table, obj_description(c.oid, 'pg_class') AS note,
      (SELECT a.attname::text FROM pg_index i JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0]
        WHERE i.indrelid = c.oid AND i.indisprimary AND i.indnkeyatts = 1) AS primary_key,
      (SELECT array_agg(x.relname::text) FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid
        WHERE i.indrelid = c.oid) AS indexes
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = ${schema} AND c.relkind = 'r'`.execute(db);
  return rows;
}

async function columnRows(db: ModelDb, schema: string): Promise<readonly ColumnRow[]> {
  const { rows } = await sql<ColumnRow>`
    SELECT c.relname::text AS table, a.attname::text AS column, format_type(a.atttypid, a.atttypmod) AS type,
      NOT a.attnotnull AS is_nullable, a.attidentity::text AS identity
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE n.nspname = ${schema} AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped`.execute(db);
  return rows;
}

async function checkRows(db: ModelDb, schema: string): Promise<readonly CheckRow[]> {
  const { rows } = await sql<CheckRow>`
    SELECT c.relname::text AS table, k.conname::text AS name, obj_description(k.oid, 'pg_constraint') AS note
    FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = ${schema} AND k.contype = 'c'`.execute(db);
  return rows;
}

function optionsOf(note: string | null): readonly string[] | undefined {
  if (note === null) return undefined;
  try {
    const parsed: unknown = JSON.parse(note);
    return Array.isArray(parsed) ? parsed.map(String) : undefined;
  } catch {
    return undefined;
  }
}
