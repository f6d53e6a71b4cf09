/**
 * Brings a workspace's tables to the models of an app.
 *
 * M1  It only adds; what would lose data is listed and, without `reset`, stops all of it.
 * M2  All of it happens or none: one transaction. Processes that migrate one workspace at the same time do it one after another.
 * M3  Doing it again changes nothing.
 */

import { MeshError } from "@mesh/kernel";
import { databaseError } from "@mesh/store";
import { sql } from "kysely";

import type { Session } from "./access.ts";
import { ModelCatalog } from "./catalog.ts";
import { cipherSource } from "./crypt.ts";
import * as ddl from "./ddl.ts";
import type { ModelDefinition } from "./model.ts";
import type { ModelDb } from "./model-db.ts";
import { modelError } from "./model-error.ts";
import { workspaceSchema } from "./name.ts";
import {
  isForeign,
  type MigrationNote,
  type MigrationPlan,
  type MigrationStep,
  planMigration,
} from "./plan-migration.ts";
import { SelectionCache } from "./selection.ts";
import { readTables } from "./table-reader.ts";
import { insertRows, newRow } from "./write-rows.ts";

/** What a migration is told. */
export interface MigrateOptions {
  readonly workspaceId: string;
  /** The app whose models these are; a table belongs to one app. */
  readonly app: string;
  /** Drop and create anew: all tables of the app, or those of these models. Their rows are lost. */
  readonly reset?: boolean | readonly string[];
  /** Key of columns with `crypt: AES`, for the rows a table starts with. */
  readonly columnSecret?: Uint8Array;
}

/** What a migration did. */
export interface MigrateResult {
  readonly summary: string;
  /** What was done, in words. */
  readonly applied: readonly string[];
  /** What the database has and no model uses. */
  readonly kept: readonly string[];
}

const LOCK_WAIT_MS = 60_000;
const STATEMENT_MS = 120_000;
const MAX_LISTED = 20;
// "modl" as an integer: the advisory locks of migrations of models.
const LOCK_CLASS = 0x6d6f646c;

/** Compares without changing anything. */
export async function previewMigration(
  db: ModelDb,
  catalog: ModelCatalog,
  options: Pick<MigrateOptions, "workspaceId" | "app">,
): Promise<MigrationPlan> {
  return planMigration(catalog, await readTables(db, workspaceSchema(options.workspaceId), catalog), options.app);
}

/** Migrates; throws `failed_precondition` listing what would lose data, having changed nothing. */
export async function migrateModels(
  db: ModelDb,
  catalog: ModelCatalog,
  options: MigrateOptions,
): Promise<MigrateResult> {
  const schema = workspaceSchema(options.workspaceId);
  try {
    return await db.transaction().execute(async (tx) => {
      await lock(tx, schema);
      await tx.schema.createSchema(schema).ifNotExists().execute();
      const dropped = await dropChosen({ db: tx, schema }, catalog, options);
      const plan = planMigration(catalog, await readTables(tx, schema, catalog), options.app);
      if (plan.destructive.length > 0) throw refused(plan.destructive);
      for (const step of plan.additive) await apply({ db: tx, schema }, step, options);
      return {
        summary: plan.summary,
        applied: [...dropped, ...plan.additive.map((step) => step.message)],
        kept: plan.kept.map((note) => note.message),
      };
    });
  } catch (thrown) {
    if (databaseError(thrown).code !== "aborted") throw databaseError(thrown, "the tables could not be migrated");
    throw new MeshError("aborted", "another process is using or migrating these tables; try again", { cause: thrown });
  }
}

/** Removes all tables of a workspace, with all their rows. */
export async function dropModels(db: ModelDb, workspaceId: string): Promise<void> {
  await db.schema.dropSchema(workspaceSchema(workspaceId)).ifExists().cascade().execute();
}

async function lock(tx: ModelDb, schema: string): Promise<void> {
  // The pool's time-out is for queries; building an index may take longer.
  await sql`SELECT set_config('statement_timeout', ${String(STATEMENT_MS)}, true),
    set_config('lock_timeout', ${String(LOCK_WAIT_MS)}, true)`.execute(tx);
  await sql`SELECT pg_advisory_xact_lock(${LOCK_CLASS}::int, hashtext(${schema}))`.execute(tx);
}

async function dropChosen(
  target: ddl.Target,
  catalog: ModelCatalog,
  { reset = false, app }: MigrateOptions,
): Promise<readonly string[]> {
  const models = catalog.models.filter((model) => (typeof reset === "boolean" ? reset : reset.includes(model.id)));
  if (models.length === 0) return [];
  const existing = await readTables(target.db, target.schema, catalog);
  const dropped: string[] = [];
  for (const model of models) {
    const table = existing.get(model.table);
    if (table === undefined || isForeign(table, app)) continue;
    await ddl.dropTable(target, model.table);
    dropped.push(`drop the table ${model.table} with all its rows`);
  }
  return dropped;
}

async function apply(target: ddl.Target, step: MigrationStep, options: MigrateOptions): Promise<void> {
  const { model } = step;
  try {
    switch (step.kind) {
      case "create_table":
        await ddl.createTable(target, model, options.app);
        return await seed(target, model, options);
      case "describe":
        return await ddl.describeTable(target, model, options.app);
      case "add_column":
        return await ddl.addColumn(target, model, step.column);
      case "change_type":
        return await ddl.changeType(target, model, step.column);
      case "set_options":
        return await ddl.setOptions(target, model, step.column);
      case "relax_column":
        return await ddl.relaxColumn(target, model, step.columnName);
      case "create_index":
        return await ddl.createIndex(target, model, step.index);
      case "drop_index":
        return await ddl.dropIndex(target, step.indexName);
    }
  } catch (thrown) {
    const error = modelError(thrown, model);
    const isDuplicate = error.code === "already_exists" && step.kind === "create_index";
    if (!isDuplicate) throw error;
    throw new MeshError("failed_precondition", `${step.message}: not possible, because rows with equal values exist`, {
      cause: thrown,
    });
  }
}

async function seed(target: ddl.Target, model: ModelDefinition, options: MigrateOptions): Promise<void> {
  const session: Session = {
    ...target,
    catalog: new ModelCatalog([]),
    scope: undefined,
    ciphers: cipherSource(options.columnSecret, target.schema),
    selections: new SelectionCache(target.db),
    limits: { maxRows: 0, maxResultBytes: 0 },
  };
  // One by one: each row leaves out other columns.
  for (const row of model.values) await insertRows(session, model, [await newRow(session, model, row, "seed")]);
}

function refused(notes: readonly MigrationNote[]): MeshError {
  const lines = notes.slice(0, MAX_LISTED).map((note) => `- ${note.message}`);
  const more = notes.length > MAX_LISTED ? [`- and ${notes.length - MAX_LISTED} more`] : [];
  return new MeshError(
    "failed_precondition",
    [
      "these changes of models would lose or hide data, so nothing was changed:",
      ...lines,
      ...more,
      "Change the models back, or start their tables anew with --reset (their rows are lost).",
    ].join("\n"),
    { details: { changes: notes.map((note) => note.message).slice(0, MAX_LISTED) } },
  );
}
