/** A connection pool to PostgreSQL, seen through Kysely and through postgres.js for the hot statements. */

import type { Kysely } from "kysely";
import type postgres from "postgres";

import type { Database } from "./schema.ts";

/** An open pool. int8 and numeric arrive as numbers, timestamptz as Date, jsonb as parsed values, bytea as Buffer. */
export interface Store extends AsyncDisposable {
  readonly db: Kysely<Database>;
  readonly sql: postgres.Sql;
  readonly url: string;
  close(): Promise<void>;
}
