import { systemClock, until } from "@mesh/kernel";
import type postgres from "postgres";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";

import { openSql } from "./connection.ts";
import { databaseError } from "./database-error.ts";
import { type TestDatabase, testDatabase } from "./testing/index.ts";

let database: TestDatabase;
let admin: postgres.Sql;
const opened: postgres.Sql[] = [];

beforeAll(async () => {
  database = await testDatabase();
  admin = openSql({ url: database.url, maxConnections: 2 });
});

beforeEach(async () => {
  await admin`CREATE TABLE IF NOT EXISTS entry (key text, part integer, UNIQUE (key, part))`;
  await admin`TRUNCATE entry`;
});

afterEach(async () => {
  await Promise.all(opened.splice(0).map((sql) => sql.end({ timeout: 0 })));
});

afterAll(async () => {
  await admin.end({ timeout: 1 });
  await database.drop();
});

function pool(maxConnections: number, onClose?: () => void): postgres.Sql {
  const sql = openSql({
    url: database.url,
    maxConnections,
    applicationName: "victim",
    ...(onClose === undefined ? {} : { onClose }),
  });
  opened.push(sql);
  return sql;
}

async function cut(): Promise<number> {
  const rows = await admin`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'victim'`;
  return rows.length;
}

async function connections(): Promise<number> {
  return (await admin`SELECT 1 FROM pg_stat_activity WHERE application_name = 'victim'`).length;
}

async function keys(): Promise<string[]> {
  const rows = await admin<{ key: string }[]>`SELECT key FROM entry ORDER BY key, part`;
  return rows.map((row) => row.key);
}

test("C1: under load and many cuts every statement settles, nothing is torn, and the pool works on", async () => {
  const sql = pool(4);
  const stop = new AbortController();
  let done = 0;
  const failures: unknown[] = [];
  const loops = Array.from({ length: 16 }, async (_, i) => {
    for (let n = 0; !stop.signal.aborted; n += 1) {
      const key = `${i}-${n}`;
      try {
        if (i % 2 === 0) await sql`SELECT ${n}::int`;
        else {
          await sql.begin(async (tx) => {
            await tx`INSERT INTO entry VALUES (${key}, 1)`;
            if (i % 4 === 1) await systemClock.sleep(1);
            await tx`INSERT INTO entry VALUES (${key}, 2)`;
          });
        }
        done += 1;
      } catch (error) {
        failures.push(error);
      }
    }
  });
  for (let round = 0; round < 15; round += 1) {
    const before = done;
    await until(() => done > before + 50);
    await cut();
  }
  const before = done;
  await until(() => done > before + 200);
  stop.abort();
  await Promise.all(loops);
  expect(failures.length).toBeGreaterThan(0);
  expect(new Set(failures.map((error) => databaseError(error).code))).toEqual(new Set(["unavailable"]));
  expect(await admin`SELECT key FROM entry GROUP BY key HAVING count(*) <> 2`).toHaveLength(0);
});

test("C1: a statement of a transaction that lost its connection fails and never runs elsewhere", async () => {
  const sql = pool(1);
  const transaction = sql.begin(async (tx) => {
    await tx`INSERT INTO entry VALUES ('a', 1)`;
    expect(await cut()).toBe(1);
    await until(async () => (await connections()) === 0);
    await tx`INSERT INTO entry VALUES ('a', 2)`.catch(() => undefined);
    await tx`INSERT INTO entry VALUES ('a', 3)`;
  });
  await expect(transaction).rejects.toSatisfy((error) => databaseError(error).code === "unavailable");
  expect(await sql`SELECT 1 AS one`).toEqual([{ one: 1 }]);
  expect(await keys()).toEqual([]);
});

test("C1: a reserved connection that was lost refuses, and can be given back", async () => {
  const sql = pool(1);
  const reserved = await sql.reserve();
  const [before] = await reserved<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`;
  await cut();
  await until(async () => (await connections()) === 0);
  await expect(reserved`SELECT 1`.then(() => reserved`SELECT 1`)).rejects.toThrow();
  await expect(reserved`SELECT 1`).rejects.toMatchObject({ code: "unavailable" });
  reserved.release();
  reserved.release();
  const [after] = await sql<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`;
  expect(after?.pid).not.toBe(before?.pid);
});

test("a lost connection is reported once", async () => {
  let losses = 0;
  const sql = pool(1, () => (losses += 1));
  await sql`SELECT 1`;
  await cut();
  await until(() => losses > 0);
  await sql`SELECT 1`;
  expect(losses).toBe(1);
});

test("a server that is away fails statements, transactions and reservations at once", async () => {
  const away = openSql({ url: "postgres://yao:x@127.0.0.1:1/yao" });
  opened.push(away);
  for (let i = 0; i < 3; i += 1) {
    await expect(away`SELECT 1`).rejects.toSatisfy((error) => databaseError(error).code === "unavailable");
  }
  await expect(away.begin((tx) => tx`SELECT 1`)).rejects.toThrow("ECONNREFUSED");
  await expect(away.reserve().then((reserved) => reserved`SELECT 1`)).rejects.toThrow("ECONNREFUSED");
});

test("C2: a transaction commits when its work succeeds and gives its result", async () => {
  const sql = pool(1);
  const result = await sql.begin("isolation level serializable", async (tx) => {
    await tx`INSERT INTO entry ${tx({ key: "a", part: 1 })}`;
    const [row] = await tx`SELECT current_setting('transaction_isolation') AS level`;
    return row;
  });
  expect(result).toEqual({ level: "serializable" });
  expect(await keys()).toEqual(["a"]);
});

test("C2: a transaction is rolled back when its work fails, and the connection is used again", async () => {
  const sql = pool(1);
  const work = sql.begin(async (tx) => {
    await tx`INSERT INTO entry VALUES ('a', 1)`;
    throw new Error("changed my mind");
  });
  await expect(work).rejects.toThrow("changed my mind");
  await sql`INSERT INTO entry VALUES ('b', 1)`;
  expect(await keys()).toEqual(["b"]);
  expect(await connections()).toBe(1);
});

test("C2: a failed statement fails the transaction even if its error was swallowed", async () => {
  const sql = pool(1);
  const work = sql.begin(async (tx) => {
    await tx`INSERT INTO entry VALUES ('a', 1)`;
    await tx`INSERT INTO entry VALUES ('a', 1)`.catch(() => undefined);
  });
  await expect(work).rejects.toMatchObject({ code: "aborted" });
  expect(await keys()).toEqual([]);
});

test("C2: a savepoint undoes its part only", async () => {
  const sql = pool(1);
  await sql.begin(async (tx) => {
    await tx`INSERT INTO entry VALUES ('a', 1)`;
    await tx
      .savepoint(async (inner) => {
        await inner`INSERT INTO entry VALUES ('b', 1)`;
        await inner`INSERT INTO entry VALUES ('a', 1)`;
      })
      .catch(() => undefined);
    await tx`INSERT INTO entry VALUES ('c', 1)`;
  });
  expect(await keys()).toEqual(["a", "c"]);
});

test("C2: statements of a transaction may run side by side", async () => {
  const sql = pool(1);
  const rows = await sql.begin((tx) => [tx`SELECT 1 AS n`, tx`SELECT 2 AS n`]);
  expect(rows.map((result) => result[0])).toEqual([{ n: 1 }, { n: 2 }]);
});

test("C2: a statement that comes after the end of its transaction is refused", async () => {
  const sql = pool(1);
  let late: (() => Promise<unknown>) | undefined;
  await sql.begin(async (tx) => {
    late = async () => tx`INSERT INTO entry VALUES ('late', 1)`;
  });
  await expect(late?.()).rejects.toThrow("after the end of its transaction");
  expect(await keys()).toEqual([]);
});

test("C3: no more connections are opened than allowed", async () => {
  const sql = pool(2);
  await Promise.all(Array.from({ length: 40 }, () => sql`SELECT pg_sleep(0.002)`));
  expect(await connections()).toBe(2);
});

test("C3: those who wait are served in order", async () => {
  const sql = pool(1);
  const order: number[] = [];
  await Promise.all(Array.from({ length: 40 }, (_, i) => sql`SELECT 1`.then(() => order.push(i))));
  expect(order).toEqual(order.toSorted((a, b) => a - b));
});

test("C3: statements beyond the bound are refused at once", async () => {
  const sql = pool(1);
  const reserved = await sql.reserve();
  const waiting = Array.from({ length: 10_000 }, () => sql`SELECT 1`.then(() => "ran"));
  await expect(sql`SELECT 1`).rejects.toMatchObject({ code: "resource_exhausted" });
  reserved.release();
  expect(new Set(await Promise.all(waiting))).toEqual(new Set(["ran"]));
});

test("fragments, helpers and unsafe text work as in the driver", async () => {
  const sql = pool(1);
  await sql`INSERT INTO entry ${sql([
    { key: "a", part: 1 },
    { key: "b", part: 2 },
  ])}`;
  const where = sql`WHERE key IN ${sql(["a", "b"])} AND ${sql("part")} > ${1}`;
  expect(await sql`SELECT key FROM entry ${where}`).toEqual([{ key: "b" }]);
  const result = await sql.unsafe("DELETE FROM entry WHERE part > $1", [0]);
  expect([result.count, result.command]).toEqual([2, "DELETE"]);
});

test("a cursor works on a reserved connection and is refused on the pool", async () => {
  const sql = pool(1);
  await expect(
    (async () => {
      for await (const _rows of sql`SELECT 1`.cursor(1)) throw new Error("not reached");
    })(),
  ).rejects.toMatchObject({ code: "unimplemented" });
  const reserved = await sql.reserve();
  const seen: unknown[] = [];
  for await (const rows of reserved`SELECT generate_series(1, 5) AS n`.cursor(2)) seen.push(rows.length);
  reserved.release();
  expect(seen).toEqual([2, 2, 1]);
});

test("ending waits for what runs, refuses what waits, and refuses what comes", async () => {
  const sql = pool(1);
  const running = sql`SELECT pg_sleep(0.05)`.then(() => "ran");
  const waiting = sql`SELECT 1`.then(
    () => "ran",
    (error: unknown) => databaseError(error).code,
  );
  await until(async () => (await connections()) === 1);
  await sql.end();
  expect(await running).toBe("ran");
  expect(await waiting).toBe("unavailable");
  await expect(sql`SELECT 1`).rejects.toMatchObject({ code: "unavailable" });
  await until(async () => (await connections()) === 0);
});

test("ending with a time limit cuts what still runs", async () => {
  const sql = pool(1);
  const running = sql`SELECT pg_sleep(60)`.catch((error: unknown) => databaseError(error).code);
  await until(async () => (await connections()) === 1);
  await sql.end({ timeout: 0.05 });
  expect(await running).toBe("unavailable");
});
