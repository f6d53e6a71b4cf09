/**
 * What a method of a model costs beside the same statement written by hand with Kysely, in turns, on one connection.
 *
 * Usage: node --import tsx --conditions=@mesh/source services/models/src/model-service.bench.ts
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { type Json, systemClock } from "@mesh/kernel";
import { openStore, startEmbeddedPostgres, type StoreLog } from "@mesh/store";
import { sql } from "kysely";

import { migrateModels } from "./migrate.ts";
import { type ModelDb, modelDb } from "./model-db.ts";
import { ModelService } from "./model-service.ts";
import { catalogOf, newScope } from "./testing/model-fixture.ts";

interface Case {
  readonly name: string;
  readonly ours: () => Promise<unknown>;
  readonly peer: () => Promise<unknown>;
}

const CALLS = 1500;
const ROWS = 5000;
const silent: StoreLog = { debug() {}, info() {}, warn() {}, error() {} };

const ORDER = {
  columns: [
    { name: "id", type: "ID" },
    { name: "order_no", type: "string", length: 100, unique: true },
    { name: "customer", type: "string", index: true },
    { name: "total", type: "decimal", precision: 15, scale: 2 },
    { name: "status", type: "enum", option: ["pending", "shipped"], default: "pending", index: true },
    { name: "metadata", type: "json", nullable: true },
  ],
  option: { timestamps: true, soft_deletes: true },
};
const COLUMNS = ["id", "order_no", "customer", "total", "status", "metadata", "created_at", "updated_at", "deleted_at"];

const dataDir = mkdtempSync(join(tmpdir(), "yao-bench-models-"));
const server = await startEmbeddedPostgres({ dataDir, log: silent, clock: systemClock, durable: false });
const store = openStore({ url: server.url, maxConnections: 1 });
try {
  for (const one of await cases(modelDb(store))) console.log(lineOf(one.name, await compare(one)));
} finally {
  await store.close();
  await server.stop();
  rmSync(dataDir, { recursive: true, force: true });
}

async function cases(db: ModelDb): Promise<readonly Case[]> {
  const catalog = catalogOf({ order: ORDER });
  const scope = newScope();
  await migrateModels(db, catalog, { workspaceId: scope.workspaceId, app: "bench" });
  const service = new ModelService({ db });
  const call = (method: string, ...args: Json[]): Promise<Json> =>
    service.call({ scope, catalog, modelId: "order", method, args });
  const seed = (i: number): Json[] => [`no-${i}`, `c${i % 500}`, i / 100, i % 2 === 0 ? "pending" : "shipped", { i }];
  const names = ["order_no", "customer", "total", "status", "metadata"];
  await call(
    "Insert",
    names,
    Array.from({ length: ROWS }, (_, i) => seed(i)),
  );
  await sql`ANALYZE`.execute(db);
  const table = `${scope.workspaceId}.order`;
  const select = (limit: number) =>
    db.selectFrom(table).select(COLUMNS).where("deleted_at", "is", null).orderBy("id").limit(limit);
  let next = ROWS;
  return [
    {
      name: "Find",
      ours: () => call("Find", 77),
      peer: () => select(1).where("id", "=", 77).execute(),
    },
    {
      name: "Get where, 10 rows",
      ours: () => call("Get", { wheres: [{ column: "customer", value: "c7" }], limit: 10 }),
      peer: () => select(10).where("customer", "=", "c7").execute(),
    },
    {
      name: "Get, 100 rows",
      ours: () => call("Get", {}),
      peer: () => select(100).execute(),
    },
    {
      name: "Get, 100 rows of short columns",
      ours: () => call("Get", { select: ["id", "order_no", "total", "status"] }),
      peer: () =>
        db
          .selectFrom(table)
          .select(["id", "order_no", "total", "status"])
          .where("deleted_at", "is", null)
          .orderBy("id")
          .limit(100)
          .execute(),
    },
    {
      name: "Count",
      ours: () => call("Count", { wheres: [{ column: "customer", value: "c7" }] }),
      peer: () =>
        db
          .selectFrom(table)
          .select(sql`count(*)`.as("count"))
          .where("deleted_at", "is", null)
          .where("customer", "=", "c7")
          .execute(),
    },
    {
      name: "Create",
      ours: () => call("Create", { order_no: `no-${next++}`, customer: "x", total: 1.5, metadata: { a: 1 } }),
      peer: () =>
        db
          .insertInto(table)
          .values({
            order_no: `no-${next++}`,
            customer: "x",
            total: 1.5,
            status: "pending",
            metadata: '{"a":1}',
            created_at: sql`date_trunc('second', now() AT TIME ZONE 'utc')`,
          })
          .returning("id")
          .execute(),
    },
    {
      name: "Update",
      ours: () => call("Update", 99, { total: 2.5 }),
      peer: () =>
        db
          .updateTable(table)
          .set({ total: 2.5, updated_at: sql`date_trunc('second', now() AT TIME ZONE 'utc')` })
          .where("id", "=", 99)
          .where("deleted_at", "is", null)
          .execute(),
    },
  ];
}

async function compare({ ours, peer }: Case): Promise<{ readonly ours: number; readonly peer: number }> {
  const [a, b]: [number[], number[]] = [[], []];
  for (let call = 0; call < CALLS; call += 1) {
    // In turns, so that both meet the same machine.
    const first = call % 2 === 0;
    if (first) a.push(await timed(ours));
    b.push(await timed(peer));
    if (!first) a.push(await timed(ours));
  }
  return { ours: quiet(a), peer: quiet(b) };
}

/** Microseconds of one call. */
async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return (performance.now() - start) * 1000;
}

/** The value a fifth is below: what the machine does when others leave it alone. */
function quiet(values: readonly number[]): number {
  return values.toSorted((x, y) => x - y)[Math.floor(values.length / 5)] ?? Number.NaN;
}

function lineOf(name: string, { ours, peer }: { readonly ours: number; readonly peer: number }): string {
  return `${name.padEnd(32)} ${ours.toFixed(0).padStart(6)} µs  ${peer.toFixed(0).padStart(6)} µs  ${(ours / peer).toFixed(2)}×`;
}
