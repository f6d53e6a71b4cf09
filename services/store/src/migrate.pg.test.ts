import { afterEach, beforeEach, expect, test } from "vitest";

import { openSql } from "./connection.ts";
import { migrate } from "./migrate.ts";
import { MIGRATIONS } from "./migrations/index.ts";
import { emptyTestDatabase, type TestDatabase } from "./testing/index.ts";

const ALL = Object.keys(MIGRATIONS);
let database: TestDatabase;

beforeEach(async () => {
  database = await emptyTestDatabase();
});

afterEach(async () => {
  await database.drop();
});

async function tables(): Promise<string[]> {
  const sql = openSql({ url: database.url, maxConnections: 1 });
  const rows = await sql<{ name: string }[]>`
    SELECT relname AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY 1`;
  await sql.end();
  return rows.map((row) => row.name);
}

test("migrations are named so that they sort in their order", () => {
  expect(ALL).toEqual(ALL.toSorted());
  for (const name of ALL) expect(name).toMatch(/^\d{4}-[a-z-]+$/);
});

test("an empty database gets every table, a second call changes nothing", async () => {
  expect(await migrate(database.url)).toEqual({ applied: ALL });
  expect(await tables()).toEqual(expect.arrayContaining(["runs", "run_events", "nodes", "audit"]));
  expect(await migrate(database.url)).toEqual({ applied: [] });
});

test("M1: of replicas that migrate at once, one applies and all succeed", async () => {
  const results = await Promise.all(Array.from({ length: 5 }, () => migrate(database.url)));
  expect(results.flatMap((result) => result.applied)).toEqual(ALL);
  expect(results.filter((result) => result.applied.length > 0)).toHaveLength(1);
});

test("M1: waiting for another replica is bounded and says so", async () => {
  const holder = openSql({ url: database.url, maxConnections: 1 });
  await holder`SELECT pg_advisory_lock(${0x79616f}::int, ${0x6d696772}::int)`;
  await expect(migrate(database.url, { lockWaitMs: 50 })).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringContaining("another process has been migrating"),
  });
  await holder.end();
  expect(await migrate(database.url)).toEqual({ applied: ALL });
});

test("M2: when a migration fails nothing of it stays, and the error names it", async () => {
  const sql = openSql({ url: database.url, maxConnections: 1 });
  await sql.unsafe("CREATE TABLE runs (id text)");
  await expect(migrate(database.url)).rejects.toThrow("0001-first failed");
  expect(await tables()).not.toContain("users");
  await sql.unsafe("DROP TABLE runs");
  await sql.end();
  expect(await migrate(database.url)).toEqual({ applied: ALL });
});

test("M3: a database of a newer release is refused, untouched", async () => {
  await migrate(database.url);
  const sql = openSql({ url: database.url, maxConnections: 1 });
  await sql`INSERT INTO kysely_migration (name, timestamp) VALUES ('9999-later', '2030')`;
  await sql.end();
  await expect(migrate(database.url)).rejects.toMatchObject({
    code: "failed_precondition",
    message: expect.stringContaining("9999-later"),
  });
});

test("a server that is not there is an error that says so", async () => {
  await expect(migrate("postgres://yao:secret@127.0.0.1:1/yao")).rejects.toMatchObject({ code: "unavailable" });
  await expect(migrate("postgres://yao:secret@127.0.0.1:1/yao")).rejects.not.toThrow("secret");
});
