import { MeshError, until } from "@mesh/kernel";
import { afterEach, beforeEach, expect, test } from "vitest";

import type { StoredSettings } from "../workspaces/setting.ts";
import { type RunCore, startRunCore, workFor } from "./testing/run-core.ts";

let core: RunCore;

beforeEach(async () => {
  core = await startRunCore();
});

afterEach(async () => {
  await core[Symbol.asyncDispose]();
});

async function set(settings: StoredSettings): Promise<void> {
  await core.store
    .sql`UPDATE workspaces SET settings = ${JSON.stringify(settings)}::text::jsonb WHERE id = ${core.workspaceId}`;
  core.dispatcher.poke();
}

async function states(): Promise<readonly string[]> {
  const rows = await core.store.sql<{ state: string; reason: string }[]>`SELECT state, reason FROM runs ORDER BY id`;
  return rows.map(({ state, reason }) => (reason === "" ? state : `${state}: ${reason}`));
}

const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "ok",
    (thrown: unknown) => MeshError.from(thrown).code,
  );

test("M1: a workspace has as many runs at once as it allows itself; the others wait, say why, and follow one by one", async () => {
  await set({ max_active_runs: 2 });
  await core.addNode("a", { slots: 20 });
  const runs = await Promise.all(Array.from({ length: 12 }, () => core.dispatcher.create(core.draft())));
  const waiting = "queued: waiting: workspace w allows itself 2 runs at once, and that many are going";
  await until(async () => (await states()).filter((state) => state === waiting).length === 10);
  expect((await states()).filter((state) => state === "placed")).toHaveLength(2);
  const [first] = runs.toSorted();
  await core.store.sql`UPDATE runs SET state = 'succeeded', finished_at = now() WHERE id = ${first ?? ""}`;
  core.dispatcher.poke();
  await until(async () => (await states()).filter((state) => state === "placed").length === 2);
  await set({});
  await until(async () => (await states()).every((state) => !state.startsWith("queued")));
});

test("M1: a limit of one workspace holds up no other", async () => {
  await set({ max_active_runs: 1 });
  const other = "ws_other";
  await core.store.sql`INSERT INTO workspaces (id, name) VALUES (${other}, 'other')`;
  const node = await core.addNode("a", { slots: 20 });
  await core.dispatcher.create(core.draft());
  await core.dispatcher.create(core.draft());
  const free = await core.dispatcher.create(core.draft({ workspaceId: other }));
  await workFor(node, free);
  expect((await states()).filter((state) => state.startsWith("queued"))).toHaveLength(1);
});

test("M2: of many runs at once no more than the day allows are created, and a refused key may be used again", async () => {
  await set({ max_runs_per_day: 3 });
  const results = await Promise.all(
    Array.from({ length: 10 }, (_, i) => codeOf(core.dispatcher.create(core.draft({ idempotencyKey: `k${i}` })))),
  );
  expect(results.toSorted()).toEqual([...Array<string>(3).fill("ok"), ...Array<string>(7).fill("resource_exhausted")]);
  expect(await states()).toHaveLength(3);
  const again = core.dispatcher.create(core.draft({ idempotencyKey: "fresh" }));
  await expect(again).rejects.toThrow("workspace w allows itself 3 runs within 24 hours");
  await core.store.sql`UPDATE runs SET created_at = now() - interval '25 hours'`;
  expect(await codeOf(core.dispatcher.create(core.draft({ idempotencyKey: "fresh" })))).toBe("ok");
  const [claims] = await core.store.sql<{ count: number }[]>`SELECT count(*)::int AS count FROM idempotency`;
  expect(claims?.count).toBe(4);
});

test("M3: a run goes to no device its workspace leaves out", async () => {
  const [left, right] = [await core.addNode("left"), await core.addNode("right")];
  await set({ node_ids: [right.id] });
  const runs = await Promise.all(Array.from({ length: 4 }, () => core.dispatcher.create(core.draft())));
  for (const run of runs) await workFor(right, run);
  expect(left.work).toEqual([]);
  await set({ node_ids: ["node_gone"] });
  const stuck = await core.dispatcher.create(core.draft());
  const [row] = await core.store.sql<{ reason: string }[]>`SELECT reason FROM runs WHERE id = ${stuck}`;
  expect(row?.reason).toBe("no device serves this workspace");
});
