/**
 * Who may see and change which rows.
 *
 * A1  Every statement runs in the schema of the scope's workspace; nothing a caller says chooses another.
 * A2  A row of a model with `permission` belongs to the team it was made in or, made outside of one, to the user who made
 *     it. Nobody else sees or changes it. Rows without any owner (those a table starts with) are seen by all, changed by none.
 * A3  A deleted row is hidden unless asked for, and is never changed except to destroy it.
 * A4  These conditions stand beside a caller's, joined by AND: no OR of a caller reaches around them.
 */

import { type Expression, type SqlBool, sql } from "kysely";

import { MANAGED, type ModelDefinition } from "./model.ts";
import type { ModelDb } from "./model-db.ts";
import type { ModelCatalog } from "./catalog.ts";
import type { CipherSource } from "./crypt.ts";
import type { SelectionCache } from "./selection.ts";

/** Who is asking. */
export interface Scope {
  readonly workspaceId: string;
  readonly userId: string;
  readonly teamId?: string;
  readonly chatId?: string;
  readonly runId?: string;
}

/** Whether deleted rows are left out, shown too, or shown alone. */
export type Trashed = "hidden" | "included" | "only";

/** One caller's view of one workspace's tables. */
export interface Session {
  readonly db: ModelDb;
  readonly schema: string;
  readonly catalog: ModelCatalog;
  /** Absent for what the system itself writes. */
  readonly scope: Scope | undefined;
  readonly ciphers: CipherSource;
  readonly selections: SelectionCache;
  readonly limits: Limits;
}

/** Bounds of one call. */
export interface Limits {
  readonly maxRows: number;
  readonly maxResultBytes: number;
}

/** The name of a model's table in statements of this session. */
export function tableOf(session: Session, model: ModelDefinition): string {
  return `${session.schema}.${model.table}`;
}

/** The same as an expression. */
export function tableSql(session: Session, model: ModelDefinition): Expression<unknown> {
  return sql.id(session.schema, model.table);
}

/** The conditions under which the caller sees a row of `alias`. */
export function visible(
  session: Session,
  model: ModelDefinition,
  alias: string,
  trashed: Trashed,
): Expression<SqlBool>[] {
  const conditions = trashConditions(model, alias, trashed);
  const { scope } = session;
  if (!model.hasPermission || scope === undefined) return conditions;
  const team = sql.ref(`${alias}.${MANAGED.teamId}`);
  const user = sql.ref(`${alias}.${MANAGED.createdBy}`);
  const own = owned(scope, alias);
  return [...conditions, sql<SqlBool>`(${own} OR (${team} IS NULL AND ${user} IS NULL))`];
}

/** The conditions under which the caller may change a row of `alias`. */
export function writable(
  session: Session,
  model: ModelDefinition,
  alias: string,
  trashed: Trashed,
): Expression<SqlBool>[] {
  const conditions = trashConditions(model, alias, trashed);
  if (!model.hasPermission || session.scope === undefined) return conditions;
  return [...conditions, owned(session.scope, alias)];
}

function trashConditions(model: ModelDefinition, alias: string, trashed: Trashed): Expression<SqlBool>[] {
  if (!model.hasSoftDeletes || trashed === "included") return [];
  const deletedAt = sql.ref(`${alias}.${MANAGED.deletedAt}`);
  return [trashed === "only" ? sql<SqlBool>`${deletedAt} IS NOT NULL` : sql<SqlBool>`${deletedAt} IS NULL`];
}

function owned(scope: Scope, alias: string): Expression<SqlBool> {
  const team = sql.ref(`${alias}.${MANAGED.teamId}`);
  const user = sql.ref(`${alias}.${MANAGED.createdBy}`);
  return scope.teamId === undefined
    ? sql<SqlBool>`(${team} IS NULL AND ${user} = ${scope.userId})`
    : sql<SqlBool>`${team} = ${scope.teamId}`;
}
