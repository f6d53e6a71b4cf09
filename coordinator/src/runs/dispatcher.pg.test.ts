import { MeshError, systemClock, until } from "@mesh/kernel";
import { silentLogger } from "@mesh/observability";
import { openStore } from "@mesh/store";
import { afterEach, beforeEach, expect, test } from "vitest";

import { Dispatcher } from "./dispatcher.ts";
import { queueKeyOf } from "./run-draft.ts";
import { ANYWHERE, type RunCore, startRunCore, workFor } from "./testing/run-core.ts";
import { WorkPublisher } from "./work-publisher.ts";

let core: RunCore;

beforeEach(async () => {
  core = await startRunCore();
});

afterEach(async () => {
  await core[Symbol.asyncDispose]();
});

/** Copies of a queued run, newer than it, as if they had been created one by one. */
async function copies(of: string, count: number): Promise<void> {
  await core.store.sql`
    INSERT INTO runs (id, workspace_id, assistant_id, app_id, app_name, app_version, bundle_digest, input, requirements,
      queue_key, state, reason, timeout_ms, queue_until, last_seq, created_by)
    SELECT 'run_z' || lpad(i::text, 25, '0'), workspace_id, assistant_id, app_id, app_name, app_version, bundle_digest, input,
      requirements, queue_key, state, reason, timeout_ms, queue_until, last_seq, created_by
    FROM runs, generate_series(1, ${count}) AS i WHERE id = ${of}`;
}

/** A dispatcher of another replica. */
function replica(store = core.store): Dispatcher {
  return new Dispatcher({
    store,
    work: new WorkPublisher({ bus: core.hub.connect(), store, log: silentLogger }),
    clock: systemClock,
    log: silentLogger,
    penalized: () => false,
    committed: () => undefined,
  });
}

test("a run is placed however many groups of runs wait for devices that are away", async () => {
  const label = (i: number): typeof ANYWHERE => ({ ...ANYWHERE, labels: { rack: String(i) } });
  const keys = Array.from({ length: 1100 }, (_, i) => ({ i, key: queueKeyOf(core.workspaceId, label(i)) }));
  const last = keys.toSorted((a, b) => (a.key < b.key ? -1 : 1)).at(-1)!.i;
  const runs: string[] = [];
  for (let i = 0; i < keys.length; i += 100) {
    const drafts = keys.slice(i, i + 100).map((entry) => core.draft({ requirements: label(entry.i) }));
    runs.push(...(await Promise.all(drafts.map((draft) => core.dispatcher.create(draft)))));
  }
  const node = await core.addNode("a", { labels: { rack: String(last) } });
  core.dispatcher.poke();
  await workFor(node, runs[last]!);
});

test("D2 and D3: a long queue is placed in order, in bounded steps, and a new run does not overtake it", async () => {
  const first = await core.dispatcher.create(core.draft());
  await copies(first, 599);
  const node = await core.addNode("a", { slots: 400 });
  const late = await core.dispatcher.create(core.draft({ id: "run_zz000000000000000000000000" }));
  await until(async () => {
    const rows = await core.store.sql<{ n: number }[]>`SELECT count(*)::int AS n FROM runs WHERE state = 'placed'`;
    return rows[0]?.n === 400;
  });
  expect(await core.state(late)).toBe("queued");
  const rows = await core.store.sql<{ inorder: boolean; biggest: number }[]>`
    SELECT (SELECT max(id) FROM runs WHERE state = 'placed') < (SELECT min(id) FROM runs WHERE state = 'queued') AS inorder,
      (SELECT max(n)::int FROM (SELECT count(*) AS n FROM runs WHERE state = 'placed' GROUP BY placed_at) p) AS biggest`;
  expect(rows[0]?.inorder).toBe(true);
  expect(rows[0]?.biggest).toBeLessThanOrEqual(256);
  expect(node.id).not.toBe("");
});

test("a reason that flips writes ever fewer events into the logs of those who wait, and their rows always tell the newest", async () => {
  const node = await core.addNode("a", { slots: 1 });
  const requirements = { ...ANYWHERE, node_id: node.id, node: "a" };
  await core.dispatcher.create(core.draft({ requirements }));
  const waiting = await core.dispatcher.create(core.draft({ requirements }));
  await core.store.sql`UPDATE runs SET created_at = now() - interval '1 hour' WHERE id = ${waiting}`;
  await core.store.sql`UPDATE run_events SET at = now() - interval '1 hour' WHERE run_id = ${waiting}`;
  for (let i = 0; i < 10; i += 1) {
    const draining = i % 2 === 0;
    await core.store.sql`UPDATE nodes SET draining = ${draining}`;
    core.dispatcher.poke();
    const wanted = `waiting for device a: ${draining ? "draining" : "its only slot is in use"}`;
    await until(async () => {
      const rows = await core.store.sql<{ reason: string }[]>`SELECT reason FROM runs WHERE id = ${waiting}`;
      return rows[0]?.reason === wanted;
    });
  }
  const events = await core.store.sql`SELECT 1 FROM run_events WHERE run_id = ${waiting} AND kind = 'run.waiting'`;
  expect(events.length).toBe(2);
});

test("of a huge queue only a bounded part is told the new reason at a time, and in the end all of it", async () => {
  const node = await core.addNode("a", { slots: 1 });
  const requirements = { ...ANYWHERE, node_id: node.id, node: "a" };
  await core.dispatcher.create(core.draft({ requirements }));
  const waiting = await core.dispatcher.create(core.draft({ requirements }));
  await copies(waiting, 2_500);
  await core.store.sql`UPDATE nodes SET draining = true`;
  const steps: number[] = [];
  await until(async () => {
    core.dispatcher.poke();
    const rows = await core.store.sql<{ n: number }[]>`
      SELECT count(*)::int AS n FROM runs WHERE state = 'queued' AND reason LIKE '%draining'`;
    steps.push(rows[0]?.n ?? 0);
    return rows[0]?.n === 2_501;
  });
  expect(steps.some((n) => n > 0 && n < 2_501)).toBe(true);
});

test("when the database does not answer, every waiting creation is refused at once with what happened", async () => {
  const store = openStore({ url: core.store.url, statementTimeoutMs: 400 });
  const stop = new AbortController();
  const dispatcher = replica(store);
  const running = dispatcher.run(stop.signal);
  await core.store.sql.begin(async (tx) => {
    await tx`SELECT pg_advisory_xact_lock(7402001)`;
    const startedMs = performance.now();
    const outcomes = await Promise.allSettled(Array.from({ length: 30 }, () => dispatcher.create(core.draft())));
    expect(performance.now() - startedMs).toBeLessThan(5_000);
    expect(new Set(outcomes.map((one) => one.status === "rejected" && MeshError.from(one.reason).code))).toEqual(
      new Set(["deadline_exceeded"]),
    );
  });
  stop.abort();
  await running;
  await store.close();
});

test("one draft that the database refuses does not take its neighbours down", async () => {
  const outcomes = await Promise.allSettled([
    core.dispatcher.create(core.draft()),
    core.dispatcher.create(core.draft({ workspaceId: "ws_gone" })),
    core.dispatcher.create(core.draft()),
  ]);
  expect(outcomes.map((one) => one.status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect(MeshError.from((outcomes[1] as PromiseRejectedResult).reason).code).toBe("failed_precondition");
});

test("a creation after the stop is refused and not kept waiting", async () => {
  const stop = new AbortController();
  const dispatcher = replica();
  const running = dispatcher.run(stop.signal);
  stop.abort();
  await running;
  await expect(dispatcher.create(core.draft())).rejects.toThrow(/stopping/);
});

test("D2: two replicas that create at once never exceed the slots, and one key makes one run", async () => {
  await core.addNode("a", { slots: 3 });
  const stop = new AbortController();
  const other = replica();
  const running = other.run(stop.signal);
  const made = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      (i % 2 === 0 ? other : core.dispatcher).create(core.draft({ idempotencyKey: i < 10 ? "same" : "" })),
    ),
  );
  expect(new Set(made.slice(0, 10)).size).toBe(1);
  const rows = await core.store.sql`SELECT 1 FROM runs WHERE state = 'placed'`;
  expect(rows).toHaveLength(3);
  stop.abort();
  await running;
});
