/**
 * Brings a database to the tables of this release.
 *
 * M1  Several replicas may call this at once: one applies, the others wait (60 s at most) and find nothing to do.
 * M2  Either all pending migrations are applied or none.
 * M3  A database that a newer release has migrated is refused, untouched.
 *
 * The lock belongs to a session, so the URL must reach PostgreSQL directly, not through a pooler in transaction mode.
 */

import { MeshError } from "@mesh/kernel";
import { Kysely, Migrator } from "kysely";
import { PostgresJSDialect } from "kysely-postgres-js";
import type postgres from "postgres";

import { openSql } from "./connection.ts";
import { databaseError, sqlState } from "./database-error.ts";
import type { StoreLog } from "./log.ts";
import { MIGRATIONS } from "./migrations/index.ts";

/** What {@link migrate} may be told. */
export interface MigrateOptions {
  readonly log?: StoreLog;
  /** How long to wait for another replica that is migrating; default 60 s. */
  readonly lockWaitMs?: number;
}

const LOCK_WAIT_MS = 60_000;
// "yao" and "migr" as integers: our own lock, because the wait of Kysely's is an hour.
const LOCK_CLASS = 0x79616f;
const LOCK_MIGRATE = 0x6d696772;
const LOCK_NOT_AVAILABLE = "55P03";

/** Applies what is missing and returns the names applied. */
export async function migrate(url: string, options: MigrateOptions = {}): Promise<{ readonly applied: string[] }> {
  const sql = openSql({ url, maxConnections: 1, applicationName: "yao migrate", statementTimeoutMs: 0 });
  try {
    await lock(sql, options.lockWaitMs ?? LOCK_WAIT_MS);
    await refuseNewer(sql);
    return { applied: await applyAll(sql, options.log) };
  } finally {
    // Ending the session releases the lock.
    await sql.end({ timeout: 1 });
  }
}

async function lock(sql: postgres.Sql, waitMs: number): Promise<void> {
  try {
    await sql`SELECT set_config('lock_timeout', ${String(waitMs)}, false)`;
    await sql`SELECT pg_advisory_lock(${LOCK_CLASS}::int, ${LOCK_MIGRATE}::int)`;
  } catch (error) {
    if (sqlState(error) !== LOCK_NOT_AVAILABLE)
      throw databaseError(error, "cannot prepare the database that YAO_DATABASE_URL names");
    throw new MeshError(
      "unavailable",
      `another process has been migrating this database for more than ${Math.ceil(waitMs / 1000)} s; wait for it to end and start again`,
      { cause: error },
    );
  }
}

async function refuseNewer(sql: postgres.Sql): Promise<void> {
  const [row] = await sql<{ present: boolean }[]>`SELECT to_regclass('kysely_migration') IS NOT NULL AS present`;
  if (row?.present !== true) return;
  const done = await sql<{ name: string }[]>`SELECT name FROM kysely_migration ORDER BY name`;
  const unknown = done.map(({ name }) => name).filter((name) => !(name in MIGRATIONS));
  if (unknown.length === 0) return;
  throw new MeshError(
    "failed_precondition",
    `this database was migrated by a newer release (${unknown.join(", ")}); upgrade this program, or restore a backup taken before that upgrade`,
    { details: { unknown } },
  );
}

async function applyAll(sql: postgres.Sql, log: StoreLog | undefined): Promise<string[]> {
  // Not destroyed: the pool below it belongs to the caller.
  const db = new Kysely<unknown>({ dialect: new PostgresJSDialect({ postgres: sql }) });
  const migrator = new Migrator({ db, provider: { getMigrations: async () => ({ ...MIGRATIONS }) } });
  const { error, results = [] } = await migrator.migrateToLatest();
  if (error !== undefined) {
    const failed = results.find((result) => result.status === "Error")?.migrationName ?? "setup";
    throw databaseError(error, `migration ${failed} failed, nothing was changed`);
  }
  const applied = results.map((result) => result.migrationName);
  if (applied.length > 0) log?.info({ applied }, "database migrated");
  return applied;
}
