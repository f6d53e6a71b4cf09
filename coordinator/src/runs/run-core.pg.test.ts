import { until } from "@mesh/kernel";
import { afterEach, beforeEach, expect, test } from "vitest";

import { listEvents } from "./run-row.ts";
import { ANYWHERE, type RunCore, startRunCore, workFor } from "./testing/run-core.ts";

let core: RunCore;

beforeEach(async () => {
  core = await startRunCore({ sweep: true });
});

afterEach(async () => {
  await core[Symbol.asyncDispose]();
});

const FINISH = { kind: "run.finished", body: { state: "succeeded", output: "done" } };
const START = [
  { kind: "run.accepted", body: {} },
  { kind: "run.started", body: {} },
];

async function kinds(runId: string): Promise<string[]> {
  return (await listEvents(core.store.sql, runId, 0, 100)).map((row) => row.kind);
}

test("D1: a run is placed at creation, its node gets the work, and its end frees the slot", async () => {
  const node = await core.addNode("a", { slots: 1 });
  const first = await core.dispatcher.create(core.draft());
  const second = await core.dispatcher.create(core.draft());
  const work = await workFor(node, first);
  expect([await core.state(first), await core.state(second)]).toEqual(["placed", "queued"]);
  await node.send(work, 1, [...START, { kind: "message", body: { type: "text" } }, FINISH]);
  await until(async () => (await core.state(first)) === "succeeded");
  await workFor(node, second);
  expect(await kinds(first)).toEqual([
    "run.queued",
    "run.placed",
    "run.accepted",
    "run.started",
    "message",
    "run.finished",
  ]);
  expect(await core.state(second)).toBe("placed");
});

test("N1 and N2: doubled, reordered and early events end up once, in order, with dense seqs", async () => {
  const node = await core.addNode("a");
  const runId = await core.dispatcher.create(core.draft());
  const work = await workFor(node, runId);
  const message = (i: number): { kind: string; body: object } => ({ kind: "message", body: { i } });
  await node.send(work, 3, [message(3), message(4)]);
  await node.send(work, 1, START);
  await node.send(work, 1, [...START, message(3)]);
  await node.send(work, 3, [message(3), message(4), message(5)]);
  await until(async () => (await kinds(runId)).filter((kind) => kind === "message").length === 3);
  const rows = await listEvents(core.store.sql, runId, 0, 100);
  expect(rows.map((row) => row.seq)).toEqual([1, 2, 3, 4, 5, 6, 7]);
  expect(rows.slice(4).map((row) => JSON.parse(row.body) as unknown)).toEqual([{ i: 3 }, { i: 4 }, { i: 5 }]);
});

test("N3: events of a stale epoch, of another node and after the end are refused", async () => {
  const node = await core.addNode("a");
  const thief = await core.addNode("b", { silent: true });
  const runId = await core.dispatcher.create(
    core.draft({ requirements: { ...ANYWHERE, node_id: node.id, node: "a" } }),
  );
  const work = await workFor(node, runId);
  await thief.send(work, 1, [...START, FINISH]);
  await node.send({ run_id: runId, epoch: work.epoch + 1 }, 1, [...START, FINISH]);
  await node.send(work, 1, [...START, FINISH, { kind: "message", body: { late: true } }]);
  await until(async () => (await core.state(runId)) === "succeeded");
  await node.send(work, 5, [FINISH]);
  await node.beat();
  expect(await kinds(runId)).toEqual(["run.queued", "run.placed", "run.accepted", "run.started", "run.finished"]);
});

test("P1: a run for an offline device waits for it by name and starts when it is back", async () => {
  const node = await core.addNode("laptop");
  await core.addNode("other");
  await node.beat([], true);
  const runId = await core.dispatcher.create(
    core.draft({ requirements: { ...ANYWHERE, node_id: node.id, node: "laptop" } }),
  );
  const rows = await core.store.sql`SELECT state, reason FROM runs WHERE id = ${runId}`;
  expect(rows[0]).toEqual({ state: "queued", reason: "waiting for device laptop" });
  await node.beat();
  await workFor(node, runId);
});

test("D3: queued runs start in order, and by priority before order", async () => {
  const node = await core.addNode("a", { slots: 1 });
  const running = await core.dispatcher.create(core.draft());
  const low = await core.dispatcher.create(core.draft());
  const later = await core.dispatcher.create(core.draft());
  const urgent = await core.dispatcher.create(core.draft({ priority: 5 }));
  const order: string[] = [];
  for (let next = running; order.length < 4;) {
    const work = await workFor(node, next);
    order.push(next);
    await node.send(work, 1, [...START, FINISH]);
    await until(() => node.work.length > order.length || order.length === 4);
    next = node.work.at(-1)?.run_id ?? "";
  }
  expect(order).toEqual([running, urgent, low, later]);
});

test("D2: many creations at once never exceed the slots", async () => {
  const nodes = [await core.addNode("a", { slots: 3 }), await core.addNode("b", { slots: 2 })];
  await Promise.all(Array.from({ length: 40 }, () => core.dispatcher.create(core.draft())));
  await until(() => nodes.reduce((sum, node) => sum + node.work.length, 0) >= 5);
  const rows = await core.store.sql<{ node_id: string; used: number }[]>`
    SELECT node_id, count(*)::int AS used FROM runs WHERE state = 'placed' GROUP BY node_id`;
  expect(Object.fromEntries(rows.map((row) => [row.node_id, row.used]))).toEqual({
    [nodes[0]!.id]: 3,
    [nodes[1]!.id]: 2,
  });
});

test("an idempotency key gives the first run again, and refuses another request", async () => {
  await core.addNode("a");
  const [one, two] = await Promise.all([
    core.dispatcher.create(core.draft({ idempotencyKey: "k" })),
    core.dispatcher.create(core.draft({ idempotencyKey: "k" })),
  ]);
  expect(two).toBe(one);
  await expect(core.dispatcher.create(core.draft({ idempotencyKey: "k", input: "other" }))).rejects.toThrow(
    /idempotency key/,
  );
});

test("heartbeats renew leases of the reported epoch only, pass on cancels, and drop what is not the node's", async () => {
  const node = await core.addNode("a");
  const runId = await core.dispatcher.create(core.draft());
  const work = await workFor(node, runId);
  await node.send(work, 1, START);
  await until(async () => (await core.state(runId)) === "running");
  await core.store
    .sql`UPDATE runs SET lease_until = now() + interval '1 s', cancel_requested_at = now() WHERE id = ${runId}`;
  const answer = await node.beat([
    { run_id: runId, epoch: 1, last_n: 2 },
    { run_id: runId, epoch: 9, last_n: 2 },
  ]);
  expect(answer.runs.map((run) => [run.epoch, run.desired, run.committed_n])).toEqual([
    [1, "cancel", 2],
    [9, "drop", 0],
  ]);
  expect(answer.runs[0]!.lease_ms).toBeGreaterThan(50_000);
});

test("W1: a lost device holds a run, loses it or gives it to another, as the run says", async () => {
  const node = await core.addNode("a", { labels: { first: "yes" } });
  const made: string[] = [];
  for (const onLost of ["hold", "fail", "replace"] as const) {
    const runId = await core.dispatcher.create(core.draft({ onLost }));
    made.push(runId);
    await node.send(await workFor(node, runId), 1, START);
    await until(async () => (await core.state(runId)) === "running");
  }
  const other = await core.addNode("b");
  await node.beat([], true);
  await core.store.sql`UPDATE runs SET lease_until = now() - interval '1 s'`;
  const moved = await workFor(other, made[2]!);
  expect(moved.epoch).toBe(2);
  await until(async () => (await core.state(made[1]!)) === "lost");
  const held = await core.store.sql`SELECT state, reason FROM runs WHERE id = ${made[0]!}`;
  expect(held[0]).toEqual({
    state: "running",
    reason: "waiting for device a: it holds this run and cannot be reached",
  });
  await node.beat([{ run_id: made[0]!, epoch: 1, last_n: 2 }]);
  expect((await core.store.sql`SELECT reason FROM runs WHERE id = ${made[0]!}`)[0]).toEqual({ reason: "" });
});

test("W2: work that no node takes is placed again in a new epoch", async () => {
  const silent = await core.addNode("silent", { silent: true });
  const runId = await core.dispatcher.create(core.draft());
  await core.store
    .sql`UPDATE runs SET placed_at = placed_at - interval '16 s', lease_until = lease_until - interval '16 s' WHERE id = ${runId}`;
  await until(async () => {
    const rows = await core.store.sql<{ lease_epoch: number }[]>`SELECT lease_epoch FROM runs WHERE id = ${runId}`;
    await silent.beat();
    return rows[0]?.lease_epoch === 2;
  });
  expect(await kinds(runId)).toEqual(["run.queued", "run.placed", "run.requeued", "run.placed"]);
});

test("T1: a reader sees every seq once, from any cursor, while events arrive", async () => {
  const node = await core.addNode("a");
  const runId = await core.dispatcher.create(core.draft());
  const work = await workFor(node, runId);
  const seen: number[] = [];
  const reader = core.tail.open(runId, 1);
  const following = (async () => {
    for (let last = ""; last !== "run.finished";) {
      const rows = await reader.next(AbortSignal.timeout(20_000));
      seen.push(...rows.map((row) => row.seq));
      last = rows.at(-1)?.kind ?? "";
    }
  })();
  await node.send(work, 1, START);
  for (let n = 3; n < 103; n += 1) await node.send(work, n, [{ kind: "message", body: { n } }]);
  await node.send(work, 103, [FINISH]);
  await following;
  expect(seen).toEqual(Array.from({ length: 104 }, (_, i) => i + 2));
});
