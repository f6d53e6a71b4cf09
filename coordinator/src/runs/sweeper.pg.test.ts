import { type Clock, systemClock, until } from "@mesh/kernel";
import { afterEach, expect, test } from "vitest";

import { listEvents } from "./run-row.ts";
import { ANYWHERE, type RunCore, type ScriptedNode, startRunCore, workFor } from "./testing/run-core.ts";

let core: RunCore;

afterEach(async () => {
  await core[Symbol.asyncDispose]();
});

const START = [
  { kind: "run.accepted", body: {} },
  { kind: "run.started", body: {} },
];
const CRASH = {
  kind: "run.finished",
  body: { state: "failed", output: "", error: { code: "runner_crashed", message: "the runner crashed" } },
};

async function kinds(runId: string): Promise<string[]> {
  return (await listEvents(core.store.sql, runId, 0, 1000)).map((row) => row.kind);
}

async function failure(runId: string): Promise<string | undefined> {
  const rows = await core.store.sql<{ code: string }[]>`SELECT error ->> 'code' AS code FROM runs WHERE id = ${runId}`;
  return rows[0]?.code;
}

async function expireLease(runId: string): Promise<void> {
  await core.store.sql`UPDATE runs SET lease_until = now() - interval '1 s' WHERE id = ${runId}`;
}

/** Resolves when the sweeper has gone through two whole rounds from now on. */
async function twoSweeps(): Promise<void> {
  for (let i = 0; i < 2; i += 1) {
    const marker = await core.dispatcher.create(core.draft({ requirements: { ...ANYWHERE, labels: { no: "where" } } }));
    await core.store.sql`UPDATE runs SET queue_until = now() - interval '1 s' WHERE id = ${marker}`;
    await until(async () => (await core.state(marker)) === "failed", { what: "a sweep" });
  }
}

async function running(node: ScriptedNode, over: Parameters<RunCore["draft"]>[0] = {}): Promise<string> {
  const runId = await core.dispatcher.create(core.draft(over));
  await node.send(await workFor(node, runId), 1, START);
  await until(async () => (await core.state(runId)) === "running");
  return runId;
}

test("a run that lost its device has its whole queue time again to be replaced", async () => {
  core = await startRunCore({ sweep: true });
  const node = await core.addNode("a");
  const runId = await running(node, { onLost: "replace", queueTtlMs: 60_000 });
  await core.store
    .sql`UPDATE runs SET created_at = now() - interval '5 min', queue_until = now() - interval '4 min' WHERE id = ${runId}`;
  await node.beat([], true);
  await expireLease(runId);
  await until(async () => (await core.state(runId)) !== "running");
  await twoSweeps();
  expect(await core.state(runId)).toBe("queued");
  await core.addNode("b");
  await until(async () => (await core.state(runId)) === "placed");
});

test("a run that was replaced has its whole time limit again", async () => {
  core = await startRunCore({ sweep: true });
  const node = await core.addNode("a");
  const runId = await running(node, { onLost: "replace", timeoutMs: 60_000 });
  await core.store.sql`UPDATE runs SET started_at = now() - interval '170 s' WHERE id = ${runId}`;
  await node.beat([], true);
  const other = await core.addNode("b");
  await expireLease(runId);
  const work = await workFor(other, runId);
  await other.send(work, 1, START);
  await until(async () => (await core.state(runId)) === "running");
  const rows = await core.store.sql<{ fresh: boolean }[]>`
    SELECT started_at > now() - interval '60 s' AS fresh FROM runs WHERE id = ${runId}`;
  expect(rows[0]?.fresh).toBe(true);
});

test("a run that brings down every runner is given up after five attempts", async () => {
  core = await startRunCore({ sweep: true });
  const node = await core.addNode("a");
  const runId = await core.dispatcher.create(core.draft({ onLost: "replace" }));
  for (let epoch = 1; epoch <= 5; epoch += 1) {
    const work = await until(() => node.work.find((item) => item.run_id === runId && item.epoch === epoch), {
      what: `epoch ${epoch}`,
    });
    await node.send(work, 1, [...START, CRASH]);
  }
  await until(async () => (await core.state(runId)) === "failed");
  expect(await failure(runId)).toBe("runner_crashed");
});

test("a run that loses every device is given up after five attempts", async () => {
  core = await startRunCore({ sweep: true });
  const node = await core.addNode("a");
  const runId = await running(node, { onLost: "replace" });
  await core.store.sql`UPDATE runs SET attempt = 5 WHERE id = ${runId}`;
  await node.beat([], true);
  await expireLease(runId);
  await until(async () => (await core.state(runId)) === "lost");
});

test("a placed run that its node reports is not started a second time, however late its events are", async () => {
  core = await startRunCore({ sweep: true });
  const node = await core.addNode("a");
  await core.addNode("b", { slots: 1 });
  const runId = await core.dispatcher.create(
    core.draft({ requirements: { ...ANYWHERE, node_id: node.id, node: "a" } }),
  );
  const work = await workFor(node, runId);
  await node.beat([{ run_id: runId, epoch: 1, last_n: 1 }]);
  await core.store.sql`
    UPDATE runs SET placed_at = placed_at - interval '20 s', lease_until = lease_until - interval '20 s' WHERE id = ${runId}`;
  await twoSweeps();
  expect((await core.store.sql`SELECT state, lease_epoch FROM runs WHERE id = ${runId}`)[0]).toEqual({
    state: "placed",
    lease_epoch: 1,
  });
  await node.send(work, 1, START);
  await until(async () => (await core.state(runId)) === "running");
});

test("W1: a placed run whose node reported it and went away follows its policy", async () => {
  core = await startRunCore({ sweep: true });
  const node = await core.addNode("a");
  const runId = await core.dispatcher.create(core.draft({ onLost: "fail" }));
  await workFor(node, runId);
  await node.beat([{ run_id: runId, epoch: 1, last_n: 1 }]);
  await node.beat([], true);
  await core.store.sql`
    UPDATE runs SET placed_at = placed_at - interval '90 s', lease_until = lease_until - interval '90 s' WHERE id = ${runId}`;
  await until(async () => (await core.state(runId)) === "lost");
});

test("W3: after the whole machine slept, nodes have a lease's time to report before they lose runs", async () => {
  let sleptMs = 0;
  const clock: Clock = { ...systemClock, now: () => systemClock.now() + sleptMs };
  core = await startRunCore({ sweep: true, clock, graceMs: 3_000 });
  const node = await core.addNode("a");
  const runId = await running(node, { onLost: "fail" });
  const lost = await running(node, { onLost: "fail" });
  await expireLease(lost);
  await until(async () => (await core.state(lost)) === "lost", { what: "the first grace to be over" });
  sleptMs += 120_000;
  await expireLease(runId);
  await twoSweeps();
  expect(await core.state(runId)).toBe("running");
  await node.beat([{ run_id: runId, epoch: 1, last_n: 2 }]);
  await twoSweeps();
  expect(await core.state(runId)).toBe("running");
});

test("W3: a coordinator that is cut off from NATS takes no runs from nodes it cannot hear", async () => {
  core = await startRunCore({ sweep: true });
  const node = await core.addNode("a");
  const runId = await running(node, { onLost: "fail" });
  core.bus.cut();
  await expireLease(runId);
  await twoSweeps();
  expect(await core.state(runId)).toBe("running");
  core.bus.heal();
  await until(async () => (await core.state(runId)) === "lost");
});

test("W1: a step that fails does not keep the other deadlines from being watched", async () => {
  core = await startRunCore({
    sweep: true,
    endDrains: async () => {
      throw new Error("made to fail");
    },
  });
  const node = await core.addNode("a");
  const runId = await running(node, { onLost: "fail" });
  await node.beat([], true);
  await expireLease(runId);
  await until(async () => (await core.state(runId)) === "lost");
});

test("memory whose time is over is dropped by the sweep", async () => {
  let drops = 0;
  core = await startRunCore({ sweep: true, dropEndedMemory: async () => (drops += 1) });
  await until(() => drops > 0, { what: "a drop" });
});

test("a held run whose events still arrive is told unreachable once, not again and again", async () => {
  core = await startRunCore({ sweep: true });
  const node = await core.addNode("a");
  const runId = await running(node);
  await node.beat([], true);
  await expireLease(runId);
  await until(async () => (await kinds(runId)).includes("run.unreachable"));
  for (let n = 3; n < 6; n += 1) {
    await node.send({ run_id: runId, epoch: 1 }, n, [{ kind: "message", body: { n } }]);
    await until(async () => (await kinds(runId)).filter((kind) => kind === "message").length === n - 2);
    await twoSweeps();
  }
  expect((await kinds(runId)).filter((kind) => kind === "run.unreachable")).toHaveLength(1);
  const rows = await core.store.sql<{ reason: string }[]>`SELECT reason FROM runs WHERE id = ${runId}`;
  expect(rows[0]?.reason).toContain("waiting for device a");
});

test("work that no node takes is not published over and over", async () => {
  core = await startRunCore({ sweep: true });
  const node = await core.addNode("a", { silent: true });
  const runId = await core.dispatcher.create(core.draft());
  let published = 0;
  core.bus.subscribe(`mesh.v1.work.${node.digest}`, () => {
    published += 1;
  });
  await core.store
    .sql`UPDATE runs SET placed_at = now() - interval '3 s', lease_until = now() + interval '57 s' WHERE id = ${runId}`;
  await until(() => published > 0);
  await twoSweeps();
  await twoSweeps();
  expect(published).toBeLessThanOrEqual(3);
});
