import { MeshError } from "@mesh/kernel";
import { afterAll, beforeAll, expect, test } from "vitest";

import { openStore, type Store } from "./store.ts";
import { type TestDatabase, testDatabase } from "./testing/index.ts";

let database: TestDatabase;
let store: Store;

beforeAll(async () => {
  database = await testDatabase();
  store = openStore({ url: database.url, maxConnections: 3 });
});

afterAll(async () => {
  await store.close();
  await database.drop();
});

test("values arrive as the row types say", async () => {
  const [row] = await store.sql`
    SELECT 9007199254740991::int8 AS big, 1.25::numeric AS exact, '{"a": [1, null]}'::jsonb AS json, '"text"'::jsonb AS text,
      '\\x00ff'::bytea AS bytes, '2030-01-02T03:04:05.678Z'::timestamptz AS at, '{a,b}'::text[] AS list`;
  expect(row).toEqual({
    big: 9007199254740991,
    exact: 1.25,
    json: { a: [1, null] },
    text: "text",
    bytes: Buffer.from([0, 255]),
    at: new Date("2030-01-02T03:04:05.678Z"),
    list: ["a", "b"],
  });
});

test("JSON text written through Kysely is stored as the value it describes, not as a string", async () => {
  await store.db
    .insertInto("nodes")
    .values({
      id: "node_1",
      digest: "d",
      nkey: "n",
      name: "laptop",
      labels: JSON.stringify({ gpu: "yes" }),
      facts: "{}",
      slots: 2,
      workspace_ids: ["ws_1", "ws_2"],
      version: "1",
    })
    .execute();
  const row = await store.db
    .selectFrom("nodes")
    .select(["labels", "workspace_ids", "draining", "created_at"])
    .where("id", "=", "node_1")
    .executeTakeFirstOrThrow();
  expect(row.labels).toEqual({ gpu: "yes" });
  expect(row.workspace_ids).toEqual(["ws_1", "ws_2"]);
  expect(row.draining).toBe(false);
  expect(row.created_at).toBeInstanceOf(Date);
  const [found] = await store.sql`SELECT id FROM nodes WHERE labels ->> 'gpu' = 'yes'`;
  expect(found).toEqual({ id: "node_1" });
});

test("a value given to postgres.js as JSON is encoded once", async () => {
  const [row] = await store.sql`SELECT ${store.sql.json({ a: "x" })}::jsonb -> 'a' AS a`;
  expect(row).toEqual({ a: "x" });
});

test("arrays of numbers, texts and JSON go in, arrays of anything come out", async () => {
  // The driver's types know no arrays of objects; it does send them.
  const objects = [{ a: 1 }, { b: [2] }] as unknown as string[];
  const [row] = await store.sql`
    SELECT ${[1, 2]}::int8[] AS big, ${[1, 2]}::int4[] AS small, ${["a", 'b"{},\\', ""]}::text[] AS texts, ${[]}::text[] AS none,
      ${objects}::jsonb[] AS json, ARRAY['x', NULL] AS holes, ARRAY[true, false] AS flags,
      ARRAY['2030-01-02T03:04:05.678Z']::timestamptz[] AS times, ARRAY['\\x00ff']::bytea[] AS bytes`;
  expect(row).toEqual({
    big: [1, 2],
    small: [1, 2],
    texts: ["a", 'b"{},\\', ""],
    none: [],
    json: [{ a: 1 }, { b: [2] }],
    holes: ["x", null],
    flags: [true, false],
    times: [new Date("2030-01-02T03:04:05.678Z")],
    bytes: [Buffer.from([0, 255])],
  });
  const rows = await store.sql`SELECT * FROM unnest(${[1, 2]}::int8[], ${["a", "b"]}::text[]) AS t (id, name)`;
  expect([...rows]).toEqual([
    { id: 1, name: "a" },
    { id: 2, name: "b" },
  ]);
});

test("a statement that takes too long is stopped by the server", async () => {
  const slow = openStore({ url: database.url, statementTimeoutMs: 50 });
  await expect(slow.sql`SELECT pg_sleep(10)`).rejects.toMatchObject({ code: "57014" });
  await slow.close();
});

test("the pool heals after its connections were cut", async () => {
  const own = openStore({ url: database.url, maxConnections: 2, applicationName: "cut" });
  await own.db.selectFrom("runs").select("id").execute();
  await store.sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'cut'`;
  // The first statement may meet the connection while it is being cut.
  await own.db
    .selectFrom("runs")
    .select("id")
    .execute()
    .catch(() => undefined);
  expect(await own.db.selectFrom("runs").select("id").execute()).toEqual([]);
  await own.close();
});

test("closing twice is harmless, and closing frees the connections", async () => {
  const own = openStore({ url: database.url, applicationName: "closer" });
  await own.sql`SELECT 1`;
  await Promise.all([own.close(), own.close()]);
  await own.close();
  const open = await store.sql`SELECT 1 FROM pg_stat_activity WHERE application_name = 'closer'`;
  expect(open).toHaveLength(0);
});

test.each(["", "localhost:5432", "mysql://root:hunter2@localhost/x", "postgres//yao:hunter2@localhost"])(
  "%j is refused as a URL, without repeating the password",
  (url) => {
    const opening = (): Store => openStore({ url });
    expect(opening).toThrow(MeshError);
    expect(opening).toThrow("YAO_DATABASE_URL");
    expect(opening).not.toThrow("hunter2");
  },
);
