import { afterAll, beforeAll, expect, test } from "vitest";

import { insertAudit } from "./audit.ts";
import { claimIdempotency, forgetIdempotency } from "./idempotency.ts";
import { openStore, type Store } from "./store.ts";
import { type TestDatabase, testDatabase } from "./testing/index.ts";

let database: TestDatabase;
let store: Store;

beforeAll(async () => {
  database = await testDatabase();
  store = openStore({ url: database.url });
});

afterAll(async () => {
  await store.close();
  await database.drop();
});

test("an audit row is written with the change, and gone with it", async () => {
  const entry = { actor: "user_1", action: "node.drain", object: "node_1" };
  await insertAudit(store.sql, { ...entry, id: "audit_1", workspaceId: "ws_1", detail: { reason: "update" } });
  await store.sql
    .begin(async (tx) => {
      await insertAudit(tx, { ...entry, id: "audit_2" });
      throw new Error("rolled back");
    })
    .catch(() => undefined);
  const rows = await store.sql`SELECT id, actor, action, object, workspace_id, detail FROM audit`;
  expect([...rows]).toEqual([{ ...entry, id: "audit_1", workspace_id: "ws_1", detail: { reason: "update" } }]);
});

const claim = { scope: "ws_1 runs.create", key: "k1", requestHash: "h1" };

test("the first call under a key creates, a repetition is given the first result", async () => {
  const first = await store.sql.begin((tx) => claimIdempotency(tx, { ...claim, resultId: "run_1" }));
  const second = await store.sql.begin((tx) => claimIdempotency(tx, { ...claim, resultId: "run_2" }));
  expect([first, second]).toEqual([undefined, "run_1"]);
});

test("keys of different scopes do not meet", async () => {
  const other = { ...claim, scope: "ws_2 runs.create", resultId: "run_3" };
  expect(await store.sql.begin((tx) => claimIdempotency(tx, other))).toBeUndefined();
});

test("I1: of concurrent calls one creates and all others get its result", async () => {
  const calls = Array.from({ length: 8 }, (_, i) =>
    store.sql.begin((tx) => claimIdempotency(tx, { ...claim, key: "race", resultId: `run_${i}` })),
  );
  const results = await Promise.all(calls);
  const created = results.indexOf(undefined);
  expect(results.filter((result) => result === undefined)).toHaveLength(1);
  expect(results.filter((result) => result === `run_${created}`)).toHaveLength(7);
});

test("I1: a creation that was rolled back leaves the key free", async () => {
  const own = { ...claim, key: "rolled-back", resultId: "run_9" };
  await store.sql
    .begin(async (tx) => {
      await claimIdempotency(tx, own);
      throw new Error("rolled back");
    })
    .catch(() => undefined);
  expect(await store.sql.begin((tx) => claimIdempotency(tx, own))).toBeUndefined();
});

test("I2: a key used for a different request is refused", async () => {
  const other = { ...claim, requestHash: "h2", resultId: "run_4" };
  await expect(store.sql.begin((tx) => claimIdempotency(tx, other))).rejects.toMatchObject({ code: "already_exists" });
});

test.each(["", "x".repeat(256)])("a key must have 1 to 255 characters", async (key) => {
  const odd = { ...claim, key, resultId: "run_5" };
  await expect(store.sql.begin((tx) => claimIdempotency(tx, odd))).rejects.toMatchObject({ code: "invalid_argument" });
});

test("old keys are forgotten, recent ones kept", async () => {
  await store.sql`UPDATE idempotency SET created_at = now() - interval '2 days' WHERE key = 'race'`;
  expect(await forgetIdempotency(store.sql, 24 * 3_600_000)).toBe(1);
  expect(await store.sql`SELECT 1 FROM idempotency WHERE key = 'k1'`).not.toHaveLength(0);
});
