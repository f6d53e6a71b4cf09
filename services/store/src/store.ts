/** A connection pool to PostgreSQL, seen through Kysely and through postgres.js for the hot statements. */

import { Kysely } from "kysely";
import { PostgresJSDialect } from "kysely-postgres-js";
import type postgres from "postgres";

import { openSql } from "./connection.ts";
import type { Database } from "./schema.ts";

/** postgres.js, pooled. */
export type Sql = postgres.Sql;

/** postgres.js inside a transaction. */
export type Tx = postgres.TransactionSql;

/** An open pool. int8 and numeric arrive as numbers, timestamptz as Date, jsonb as parsed values, bytea as Buffer. */
export interface Store extends AsyncDisposable {
  readonly db: Kysely<Database>;
  readonly sql: Sql;
  readonly url: string;
  close(): Promise<void>;
}

/** Where the database is and how much of it to use. */
export interface StoreOptions {
  readonly url: string;
  /** Upper bound of the pool; default 10. */
  readonly maxConnections?: number;
  /** Shown in `pg_stat_activity`. */
  readonly applicationName?: string;
  /** Longest time one statement may take; 0 is no limit; default 15 s. */
  readonly statementTimeoutMs?: number;
}

const CLOSE_TIMEOUT_SECONDS = 5;

/** Opens a pool; it connects with the first statement. Closing twice is harmless. */
export function openStore(options: StoreOptions): Store {
  const sql = openSql(options);
  const db = new Kysely<Database>({ dialect: new PostgresJSDialect({ postgres: sql }) });
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => (closing ??= sql.end({ timeout: CLOSE_TIMEOUT_SECONDS }));
  return { db, sql, url: options.url, close, [Symbol.asyncDispose]: close };
}
