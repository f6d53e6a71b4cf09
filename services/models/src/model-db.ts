/** How this package sees the database: tables and columns are known at run time only. */

import type { Store } from "@mesh/store";
import type { Kysely } from "kysely";

/** Kysely over tables whose names and columns come from models. */
export type ModelDb = Kysely<Readonly<Record<string, Readonly<Record<string, unknown>>>>>;

/** The model tables of a store. Give models a store of their own: its size and statement time-out bound what they may use. */
export function modelDb(store: Pick<Store, "db">): ModelDb {
  return store.db as unknown as ModelDb;
}
