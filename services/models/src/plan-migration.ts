/**
 * What it takes to bring the tables of a workspace to the models of an app. Pure.
 *
 * G1  A step that could lose or hide data is never planned: it is listed in `destructive`.
 * G2  What no model uses any more stays: it is listed in `kept`, and made optional where it would stop new rows.
 * G3  A plan made of its own result is empty.
 */

import { canonicalJson } from "@mesh/kernel";

import type { ModelCatalog } from "./catalog.ts";
import { widens } from "./column-type.ts";
import { type Column, MANAGED, type ModelDefinition, type ModelIndex } from "./model.ts";
import { indexName, isModelIndexName } from "./name.ts";

/** One column as the database has it. */
export interface ExistingColumn {
  readonly sqlType: string;
  readonly isNullable: boolean;
  readonly isGenerated: boolean;
  /** What its values are limited to, when it is an enum. */
  readonly options: readonly string[] | undefined;
}

/** One table as the database has it. */
export interface ExistingTable {
  readonly columns: ReadonlyMap<string, ExistingColumn>;
  readonly indexes: readonly string[];
  readonly primaryKey: string | undefined;
  readonly hasRows: boolean;
  /** The comment; see {@link tableNote}. */
  readonly note: string;
}

/** The tables of one workspace by name. */
export type ExistingTables = ReadonlyMap<string, ExistingTable>;

/** One change that loses nothing. */
export type MigrationStep = { readonly message: string; readonly model: ModelDefinition } & (
  | { readonly kind: "create_table" | "describe" }
  | { readonly kind: "add_column" | "change_type" | "set_options"; readonly column: Column }
  | { readonly kind: "relax_column"; readonly columnName: string }
  | { readonly kind: "create_index"; readonly index: ModelIndex }
  | { readonly kind: "drop_index"; readonly indexName: string }
);

/** One difference that is not brought about. */
export interface MigrationNote {
  readonly table: string;
  readonly column?: string;
  readonly message: string;
}

/** What to do, what not, and why. */
export interface MigrationPlan {
  readonly additive: readonly MigrationStep[];
  /** Changes that would lose or hide data: done only by starting the tables anew. */
  readonly destructive: readonly MigrationNote[];
  /** What the database has and no model uses. */
  readonly kept: readonly MigrationNote[];
  /** One line for people. */
  readonly summary: string;
}

/** Compares the models of an app with the tables that are there; `app` names the app, for the tables it owns. */
export function planMigration(catalog: ModelCatalog, existing: ExistingTables, app: string): MigrationPlan {
  const draft: Draft = { additive: [], destructive: [], kept: [] };
  const tables = new Set<string>();
  for (const model of catalog.models) {
    tables.add(model.table);
    const table = existing.get(model.table);
    if (table === undefined) planTable(model, draft);
    else if (isForeign(table, app)) {
      draft.destructive.push({
        table: model.table,
        message: `${model.id}: the table ${model.table} belongs to another app of this workspace; give the model another table name`,
      });
    } else planChanges(model, table, app, draft);
  }
  for (const [name, table] of existing) {
    if (tables.has(name) || ownerOf(table.note) !== app) continue;
    draft.kept.push({ table: name, message: `the table ${name} has no model any more; it stays` });
  }
  return { ...draft, summary: summaryOf(draft) };
}

/** The comment of a model's table: whose it is and what people wrote about it. */
export function tableNote(model: ModelDefinition, app: string): string {
  const comments = [...model.columns.values()].map((column) => [column.name, column.comment]);
  return canonicalJson({ app, model: model.id, comment: model.tableComment, columns: Object.fromEntries(comments) });
}

/** Whether a table belongs to another app. */
export function isForeign(table: ExistingTable, app: string): boolean {
  const owner = ownerOf(table.note);
  return owner !== undefined && owner !== app;
}

interface Draft {
  readonly additive: MigrationStep[];
  readonly destructive: MigrationNote[];
  readonly kept: MigrationNote[];
}

function planTable(model: ModelDefinition, draft: Draft): void {
  draft.additive.push({ kind: "create_table", model, message: `create the table ${model.table}` });
  for (const index of model.indexes) planIndex(model, index, draft);
}

function planIndex(model: ModelDefinition, index: ModelIndex, draft: Draft): void {
  const message = `add the ${index.type === "unique" ? "unique index" : "index"} ${index.name} to ${model.table}`;
  draft.additive.push({ kind: "create_index", model, index, message });
}

function planChanges(model: ModelDefinition, table: ExistingTable, app: string, draft: Draft): void {
  const { table: name } = model;
  if (table.primaryKey !== model.primaryKey?.name) {
    draft.destructive.push({ table: name, message: `${model.id}: the primary key of ${name} would change` });
  }
  for (const column of model.columns.values()) {
    const before = table.columns.get(column.name);
    if (before === undefined) planColumn(model, column, table, draft);
    else planColumnChange(model, column, before, draft);
  }
  for (const [columnName, column] of table.columns) {
    if (!model.columns.has(columnName)) planUnused(model, columnName, column, draft);
  }
  planIndexes(model, table, draft);
  if (table.note !== tableNote(model, app)) {
    draft.additive.push({ kind: "describe", model, message: `update the comments of ${name}` });
  }
}

function planColumn(model: ModelDefinition, column: Column, table: ExistingTable, draft: Draft): void {
  const at = { table: model.table, column: column.name };
  const isFilled = column.isNullable || column.default !== undefined || column.isGenerated;
  if (!table.hasRows || isFilled) {
    draft.additive.push({ kind: "add_column", model, column, message: `add the column ${model.table}.${column.name}` });
    return;
  }
  const message = `${model.id}: the rows of ${model.table} have no ${column.name}; give the new column a default or "nullable": true`;
  draft.destructive.push({ ...at, message });
}

function planColumnChange(model: ModelDefinition, column: Column, before: ExistingColumn, draft: Draft): void {
  const at = { table: model.table, column: column.name };
  const label = `${model.table}.${column.name}`;
  if (before.isGenerated !== column.isGenerated || !fits(before, column)) {
    const from = before.isGenerated ? "ID" : before.sqlType;
    const to = column.isGenerated ? "ID" : column.sqlType;
    draft.destructive.push({ ...at, message: `${model.id}: the type of ${label} would change from ${from} to ${to}` });
  } else if (before.sqlType !== column.sqlType) {
    draft.additive.push({ kind: "change_type", model, column, message: `widen ${label} to ${column.sqlType}` });
  }
  if (before.isNullable && !column.isNullable && !column.isPrimary) {
    draft.destructive.push({ ...at, message: `${model.id}: ${label} may be empty and would no longer` });
  } else if (!before.isNullable && column.isNullable) {
    draft.additive.push({ kind: "relax_column", model, columnName: column.name, message: `let ${label} be empty` });
  }
  planOptions(model, column, before, draft);
}

function fits(before: ExistingColumn, column: Column): boolean {
  return before.sqlType === column.sqlType || widens(before.sqlType, column.sqlType);
}

function planOptions(model: ModelDefinition, column: Column, before: ExistingColumn, draft: Draft): void {
  if (canonicalJson(before.options ?? null) === canonicalJson(column.options ?? null)) return;
  const label = `${model.table}.${column.name}`;
  const isLimitedAnew = before.options === undefined;
  const lost = before.options?.filter((option) => column.options?.includes(option) === false) ?? [];
  if (!isLimitedAnew && lost.length === 0) {
    draft.additive.push({ kind: "set_options", model, column, message: `change the options of ${label}` });
    return;
  }
  const what = isLimitedAnew ? "would be limited to its options" : `would lose the option ${lost.join(", ")}`;
  draft.destructive.push({ table: model.table, column: column.name, message: `${model.id}: ${label} ${what}` });
}

function planUnused(model: ModelDefinition, columnName: string, column: ExistingColumn, draft: Draft): void {
  const at = { table: model.table, column: columnName };
  const label = `${model.table}.${columnName}`;
  // These columns hide rows: leaving them out would show what was deleted, or what belongs to others.
  const hidden: string | undefined = HIDING[columnName];
  if (hidden !== undefined) {
    draft.destructive.push({ ...at, message: `${model.id}: ${hidden} of ${model.table} would become visible` });
    return;
  }
  draft.kept.push({ ...at, message: `the column ${label} is in no model any more; it stays` });
  if (column.isNullable || column.isGenerated) return;
  draft.additive.push({
    kind: "relax_column",
    model,
    columnName,
    message: `let ${label} be empty, as no model fills it`,
  });
}

const HIDING: Readonly<Record<string, string>> = {
  [MANAGED.deletedAt]: "the deleted rows",
  [MANAGED.createdBy]: "the rows of all owners",
  [MANAGED.teamId]: "the rows of all teams",
};

function planIndexes(model: ModelDefinition, table: ExistingTable, draft: Draft): void {
  const wanted = new Map(model.indexes.map((index) => [indexName(model, index), index]));
  for (const name of table.indexes) {
    if (wanted.has(name) || !isModelIndexName(name)) continue;
    draft.additive.push({ kind: "drop_index", model, indexName: name, message: `drop the index ${name}` });
  }
  for (const [name, index] of wanted) {
    if (!table.indexes.includes(name)) planIndex(model, index, draft);
  }
}

function ownerOf(note: string): string | undefined {
  try {
    const parsed: unknown = JSON.parse(note);
    return typeof parsed === "object" && parsed !== null && "app" in parsed ? String(parsed.app) : undefined;
  } catch {
    return undefined;
  }
}

function summaryOf({ additive, destructive, kept }: Draft): string {
  if (additive.length + destructive.length + kept.length === 0) return "the tables are up to date";
  const created = additive.filter((step) => step.kind === "create_table").length;
  const parts = [
    `${created} tables to create`,
    `${additive.length - created} other additions`,
    `${destructive.length} changes that would lose data`,
    `${kept.length} leftovers`,
  ];
  return parts.filter((part) => !part.startsWith("0 ")).join(", ");
}
