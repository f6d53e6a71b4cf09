/** On which devices the units of an eval run. */

import { afterEach, beforeEach, expect, test } from "vitest";

import { planNodes } from "./eval-service.ts";
import { allUnits, type EvalFixture, startEvals, unitsOf } from "./testing/eval-fixture.ts";

let evals: EvalFixture;
beforeEach(async () => {
  evals = await startEvals();
});
afterEach(() => evals[Symbol.asyncDispose]());

test("each: everything runs on every device that took part at the start", async () => {
  await evals.addNode("a");
  await evals.addNode("b");
  const id = await evals.start({ cases: 5, placement: { mode: "each" }, settings: { runs: 2 } });
  await evals.addNode("late");
  await evals.play(id);
  const results = await evals.results(id);
  expect(unitsOf(results)).toEqual(allUnits(5, 2, 2));
  for (const node of ["a", "b"]) expect(results.filter((row) => row.node === node)).toHaveLength(10);
});

test("each: waits in words for a device that is away, and gives its units up when it is removed", async () => {
  await evals.addNode("a");
  const away = await evals.addNode("b");
  const id = await evals.start({ cases: 3, placement: { mode: "each" } });
  await evals.setOnline("b", false);
  await evals.turn();
  for (const batch of await evals.batches()) await evals.finish(batch);
  await evals.turn();
  for (const batch of await evals.batches()) await evals.finish(batch);
  await evals.turn();
  expect(await evals.get(id)).toMatchObject({
    state: "running",
    passed: 3,
    reason: "waiting for a device: b is offline",
  });
  await evals.store.sql`UPDATE nodes SET removed_at = now() WHERE id = ${away}`;
  await evals.play(id);
  expect(await evals.get(id)).toMatchObject({ state: "ended", passed: 3, errors: 3 });
});

test("each: with no device at the start, the devices are those that come first", async () => {
  const id = await evals.start({ cases: 3, placement: { mode: "each", labels: { gpu: "yes" } } });
  await evals.addNode("plain");
  await evals.turn();
  expect(await evals.get(id)).toMatchObject({
    state: "running",
    total: 0,
    reason: expect.stringContaining("waiting for a device"),
  });
  await evals.addNode("a", { labels: { gpu: "yes" } });
  await evals.play(id);
  expect((await evals.results(id)).map(({ node }) => node)).toEqual(["a", "a", "a"]);
});

test("mirror: each copy of a unit runs on a device of its own", async () => {
  for (const name of ["a", "b", "c"]) await evals.addNode(name, { slots: 1 });
  const id = await evals.start({ cases: 10, placement: { mode: "mirror", copies: 2 } });
  await evals.play(id);
  const results = await evals.results(id);
  expect(unitsOf(results)).toEqual(allUnits(10, 1, 2));
  for (let ordinal = 0; ordinal < 10; ordinal += 1) {
    expect(new Set(results.filter((row) => row.ordinal === ordinal).map(({ node }) => node)).size).toBe(2);
  }
});

test("mirror: with too few devices it runs what it can, and says what it waits for", async () => {
  await evals.addNode("a", { slots: 1 });
  const id = await evals.start({ cases: 2, placement: { mode: "mirror", copies: 2 } });
  for (let i = 0; i < 4; i += 1) {
    await evals.turn();
    for (const batch of await evals.batches()) await evals.finish(batch);
  }
  expect(await evals.get(id)).toMatchObject({
    passed: 2,
    reason: "waiting for a device: every case runs on 2, and 1 take part",
  });
  await evals.addNode("b", { slots: 1 });
  await evals.play(id);
  expect(unitsOf(await evals.results(id))).toEqual(allUnits(2, 1, 2));
});

test("sticky: all runs of a case are on one device, until that one is gone", async () => {
  for (const name of ["a", "b"]) await evals.addNode(name, { slots: 2 });
  const id = await evals.start({ cases: 12, placement: { mode: "sticky" }, settings: { runs: 5 } });
  await evals.play(id);
  const results = await evals.results(id);
  expect(unitsOf(results)).toEqual(allUnits(12, 5));
  for (let ordinal = 0; ordinal < 12; ordinal += 1) {
    expect(new Set(results.filter((row) => row.ordinal === ordinal).map(({ node }) => node)).size).toBe(1);
  }
  expect(new Set(results.map(({ node }) => node))).toEqual(new Set(["a", "b"]));
});

test("sticky: the runs of a device that went away go on elsewhere", async () => {
  for (const name of ["a", "b"]) await evals.addNode(name, { slots: 1 });
  const id = await evals.start({ cases: 4, placement: { mode: "sticky" }, settings: { runs: 3 } });
  let isGone = false;
  await evals.play(id, async (batch) => {
    if (isGone || batch.node !== "a") return evals.finish(batch);
    isGone = true;
    await evals.say(batch, 0);
    await evals.setOnline("a", false);
  });
  expect(unitsOf(await evals.results(id))).toEqual(allUnits(4, 3));
});

test("only devices that are named, have the labels, and are not more than wanted take part", async () => {
  await evals.addNode("big", { slots: 4, labels: { os: "mac" } });
  await evals.addNode("small", { slots: 1, labels: { os: "mac" } });
  await evals.addNode("other", { slots: 8 });
  const labelled = await evals.start({ cases: 30, placement: { labels: { os: "mac" }, max_nodes: 1 } });
  await evals.play(labelled);
  expect(new Set((await evals.results(labelled)).map(({ node }) => node))).toEqual(new Set(["big"]));
  const named = await evals.start({ cases: 30, placement: { nodes: ["small"] } });
  await evals.play(named);
  expect(new Set((await evals.results(named)).map(({ node }) => node))).toEqual(new Set(["small"]));
});

test("with no device that fits it says so, and goes on when one comes", async () => {
  const id = await evals.start({ cases: 3 });
  await evals.turn();
  expect(await evals.get(id)).toMatchObject({
    state: "running",
    reason: expect.stringContaining("waiting for a device"),
  });
  await evals.addNode("a");
  await evals.setOnline("a", false);
  await evals.turn();
  expect((await evals.get(id)).reason).toBe("waiting for a device: a is offline");
  await evals.setOnline("a", true);
  await evals.play(id);
  expect(await evals.get(id)).toMatchObject({ state: "ended", passed: 3, reason: "" });
});

test("a workspace's own bound on runs holds for its evals", async () => {
  await evals.addNode("a", { slots: 8 });
  await evals.store.sql`UPDATE workspaces SET settings = '{"max_active_runs": 2}' WHERE id = ${evals.workspaceId}`;
  const id = await evals.start({ cases: 40 });
  await evals.turn();
  expect(await evals.batches()).toHaveLength(2);
  await evals.play(id);
  expect((await evals.get(id)).passed).toBe(40);
});

test("two evals share the slots, and both end", async () => {
  await evals.addNode("a", { slots: 2 });
  const ids = [await evals.start({ cases: 30 }), await evals.start({ cases: 30 })];
  for (const id of ids) await evals.play(id);
  for (const id of ids) expect(unitsOf(await evals.results(id))).toEqual(allUnits(30));
});

test("who would take part is told before anything is made, and a device that nobody knows is an error", async () => {
  await evals.addNode("a");
  await evals.addNode("b");
  await evals.setOnline("b", false);
  const placement = { mode: "spread", copies: 1, max_nodes: 0, nodes: [], labels: {} } as const;
  const ask = { workspaceId: evals.workspaceId, placement };
  expect((await planNodes(evals.store.sql, ask)).map(({ name, state, slots }) => [name, state, slots])).toEqual([
    ["a", "active", 2],
    ["b", "offline", 2],
  ]);
  await expect(planNodes(evals.store.sql, { ...ask, placement: { ...placement, nodes: ["z"] } })).rejects.toMatchObject(
    {
      code: "not_found",
    },
  );
});
