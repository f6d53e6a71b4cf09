import { Kysely, Migrator } from "kysely";
import { PostgresJSDialect } from "kysely-postgres-js";
import { afterEach, beforeEach, expect, test } from "vitest";

import { openSql } from "../connection.ts";
import { migrate } from "../migrate.ts";
import { emptyTestDatabase, type TestDatabase } from "../testing/index.ts";
import { MIGRATIONS } from "./index.ts";

let database: TestDatabase;

beforeEach(async () => {
  database = await emptyTestDatabase();
});

afterEach(async () => {
  await database.drop();
});

test("the database of the release before is brought on with its runs as they were", async () => {
  const sql = openSql({ url: database.url, maxConnections: 1 });
  const db = new Kysely<unknown>({ dialect: new PostgresJSDialect({ postgres: sql }) });
  const [first = ["", undefined]] = Object.entries(MIGRATIONS);
  const { error } = await new Migrator({
    db,
    provider: { getMigrations: async () => Object.fromEntries([first]) as never },
  }).migrateToLatest();
  expect(error).toBeUndefined();
  await sql`INSERT INTO workspaces (id, name) VALUES ('ws_1', 'w')`;
  await sql`INSERT INTO bundles (digest, bytes, size_bytes) VALUES ('d', ''::bytea, 0)`;
  await sql`
    INSERT INTO runs (id, workspace_id, assistant_id, app_id, app_name, app_version, bundle_digest, input, queue_key, timeout_ms,
      queue_until, created_by)
    VALUES ('run_1', 'ws_1', 'a', 'app', 'app', 1, 'd', '', 'k', 1000, now(), 'user:ann')`;
  expect((await migrate(database.url)).applied).toEqual(Object.keys(MIGRATIONS).slice(1));
  const rows = await sql`SELECT id, state, saved_epoch, active_ms FROM runs`;
  expect([...rows]).toEqual([{ id: "run_1", state: "queued", saved_epoch: null, active_ms: 0 }]);
  await sql.end();
});

test("a question has an answer with its author and its time, or none of them", async () => {
  await migrate(database.url);
  const sql = openSql({ url: database.url, maxConnections: 1 });
  await sql`ALTER TABLE run_questions DROP CONSTRAINT run_questions_run_id_fkey`;
  const ask = sql`INSERT INTO run_questions (run_id, epoch, call_id, position, item, answer) VALUES ('r', 1, 'c', 0, '{}', '{}')`;
  await expect(ask).rejects.toThrow("run_questions_check");
  await sql.end();
});
