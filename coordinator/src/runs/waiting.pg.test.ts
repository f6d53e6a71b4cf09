import { systemIds, until } from "@mesh/kernel";
import { afterEach, beforeEach, expect, test } from "vitest";

import { takeFromRemoved, expireRuns, requeueUnaccepted } from "./sweep-store.ts";
import { requestCancel } from "./run-api-store.ts";
import { findRuns, listEvents, type RunRow } from "./run-row.ts";
import { toRun } from "./run-view.ts";
import { type RunCore, type ScriptedNode, startRunCore, workFor } from "./testing/run-core.ts";
import { dropOldStates, readSavedPart, recordAnswer } from "./waiting-store.ts";
import type { ItemAnswer } from "./answer-rule.ts";

let core: RunCore;
let node: ScriptedNode;
const ids = systemIds();

beforeEach(async () => {
  core = await startRunCore();
  node = await core.addNode("a");
});

afterEach(async () => {
  await core[Symbol.asyncDispose]();
});

const START = [
  { kind: "run.accepted", body: {} },
  { kind: "run.started", body: {} },
];

function asked(...callIds: readonly string[]): { kind: string; body: object } {
  const pending = callIds.map((id) => ({
    id,
    kind: "approval",
    tool: "bash",
    text: "bash needs your approval",
    // No jsonb column takes this.
    arguments: { ["\u0000"]: "\u0000" },
  }));
  return { kind: "run.asked", body: { pending, duration_ms: 40_000 } };
}

const piece = (text: string): { kind: string; body: object } => ({ kind: "run.state", body: { text } });

/** A run that waits for answers to these calls, two pieces of state behind it. */
async function waiting(callIds: readonly string[], draft: Parameters<RunCore["draft"]>[0] = {}): Promise<string> {
  const runId = await core.dispatcher.create(core.draft(draft));
  await node.send(await workFor(node, runId), 1, [...START, piece("one"), piece("two"), asked(...callIds)]);
  await until(async () => (await core.state(runId)) === "waiting");
  return runId;
}

async function row(runId: string): Promise<RunRow> {
  const [found] = await findRuns(core.store.sql, [runId]);
  return found!;
}

function answer(runId: string, given: ItemAnswer, actor = "user:ann"): Promise<{ readonly goesOn: boolean }> {
  return recordAnswer(core.store.sql, runId, given, { auditId: ids.next("audit"), actor });
}

const approve = (call_id: string): ItemAnswer => ({ call_id, decision: "approve" });

async function kinds(runId: string): Promise<string[]> {
  return (await listEvents(core.store.sql, runId, 0, 100)).map((event) => event.kind);
}

/** Sends the run on and returns the work item of its next epoch. */
async function goneOn(runId: string): Promise<ScriptedNode["work"][number]> {
  core.dispatcher.poke();
  return until(() => node.work.findLast((item) => item.run_id === runId && item.resume), { what: "the run to go on" });
}

test("a run that asks is on no device and holds no slot, and its state is no part of its log", async () => {
  const runId = await waiting(["c1", "c2"]);
  const stored = await row(runId);
  expect(stored).toMatchObject({ state: "waiting", node_id: null });
  expect(stored.reason).toBe("waiting for your approval: bash needs your approval, and 1 more");
  expect(toRun(stored)).toMatchObject({
    node: "a",
    pending: [{ id: "c1", arguments: { "\u0000": "\uFFFD" } }, { id: "c2" }],
  });
  const events = await listEvents(core.store.sql, runId, 0, 100);
  expect(events.map((event) => event.seq)).toEqual(events.map((_, i) => i + 1));
  expect(events.slice(-3).map((event) => event.kind)).toEqual(["run.accepted", "run.started", "run.asked"]);
  const [facts] = await core.store.sql`
    SELECT lease_until, active_ms, saved_epoch, (SELECT count(*)::int FROM run_state_parts WHERE run_id = runs.id) AS parts
    FROM runs WHERE id = ${runId}`;
  expect(facts).toEqual({ lease_until: null, active_ms: 40_000, saved_epoch: 1, parts: 2 });
  // A node that did not hear that it was committed is told that the run is not its own any more.
  const { runs } = await node.beat([{ run_id: runId, epoch: 1, last_n: 5 }]);
  expect(runs).toMatchObject([{ desired: "drop", lease_ms: 0 }]);
  expect(await core.state(runId)).toBe("waiting");
});

test("Q2: it goes on with its last answer, on its device, with what is left of its time, as the same attempt", async () => {
  const runId = await waiting(["c1", "c2"]);
  expect(await answer(runId, { call_id: "c2", decision: "deny", text: "no" })).toEqual({ goesOn: false });
  expect(toRun(await row(runId)).pending.map(({ id }) => id)).toEqual(["c1"]);
  await core.addNode("emptier", { slots: 50 });
  expect(await answer(runId, approve("c1"))).toEqual({ goesOn: true });
  const item = await goneOn(runId);
  expect(item).toMatchObject({ epoch: 2, attempt: 1, timeout_ms: 20_000, resume: true });
  expect((await kinds(runId)).slice(-4)).toEqual(["run.answered", "run.answered", "run.requeued", "run.placed"]);
  const audits = await core.store.sql`SELECT actor, detail FROM audit WHERE object = ${runId} ORDER BY id`;
  expect(audits).toMatchObject([
    { actor: "user:ann", detail: { call_id: "c2", decision: "deny" } },
    { actor: "user:ann", detail: { call_id: "c1", decision: "approve" } },
  ]);
});

test("the state and the answers are given, part by part, to the holder of the lease and to nobody else", async () => {
  const other = await core.addNode("b");
  const runId = await waiting(["c1"]);
  const held = { runId, epoch: 1, digest: node.digest };
  expect(await readSavedPart(core.store.sql, held, 0)).toBeUndefined();
  await answer(runId, { call_id: "c1", decision: "edit", arguments: { command: "ls" } });
  await goneOn(runId);
  for (const stranger of [held, { ...held, epoch: 2, digest: other.digest }]) {
    expect(await readSavedPart(core.store.sql, stranger, 0)).toBeUndefined();
  }
  const parts = await Promise.all(
    [0, 1, 2, 3].map((part) => readSavedPart(core.store.sql, { ...held, epoch: 2 }, part)),
  );
  expect(parts.map((part) => [part?.state_parts, part?.answers])).toEqual(parts.map(() => [2, 1]));
  expect(parts.map((part) => (part?.body === "" ? undefined : JSON.parse(part?.body ?? "")))).toEqual([
    { text: "one" },
    { text: "two" },
    { call_id: "c1", decision: "edit", arguments: { command: "ls" } },
    undefined,
  ]);
});

test("Q1: of many answers at once one is taken, the others hear which, and the run goes on once", async () => {
  for (let round = 0; round < 5; round += 1) {
    const runId = await waiting(["c1"]);
    const given = Array.from({ length: 8 }, (_, i): ItemAnswer =>
      i % 2 === 0 ? approve("c1") : { call_id: "c1", decision: "deny", text: `no ${i}` },
    );
    const outcomes = await Promise.allSettled(given.map((each, i) => answer(runId, each, `user:${i}`)));
    expect(outcomes.filter((each) => each.status === "fulfilled" && each.value.goesOn)).toHaveLength(1);
    const refused = outcomes.flatMap((each) => (each.status === "rejected" ? [each.reason as unknown] : []));
    expect(refused.length).toBeGreaterThanOrEqual(4);
    for (const error of refused) expect(error).toMatchObject({ code: "already_exists" });
    expect((await kinds(runId)).filter((kind) => kind === "run.answered")).toHaveLength(1);
  }
});

test("an answer and a cancel at once: the run is cancelled, whichever came first", async () => {
  for (let round = 0; round < 5; round += 1) {
    const runId = await waiting(["c1"]);
    await Promise.allSettled([
      answer(runId, approve("c1")),
      requestCancel(core.store.sql, runId, { auditId: ids.next("audit"), actor: "user:ann" }),
    ]);
    expect(await core.state(runId)).toBe("cancelled");
    expect((await kinds(runId)).at(-1)).toBe("run.finished");
  }
});

test("a run that asks again waits again, with the newer state; the older one is deleted", async () => {
  const runId = await waiting(["c1"]);
  await answer(runId, approve("c1"));
  await node.send(await goneOn(runId), 1, [...START, piece("three"), asked("c2")]);
  await until(async () => (await row(runId)).reason.startsWith("waiting for your approval"));
  const parts = (): Promise<readonly { epoch: number }[]> =>
    core.store.sql<{ epoch: number }[]>`SELECT epoch FROM run_state_parts WHERE run_id = ${runId} ORDER BY epoch, n`;
  expect((await parts()).map(({ epoch }) => epoch)).toEqual([1, 1, 2]);
  await dropOldStates(core.store.sql);
  expect((await parts()).map(({ epoch }) => epoch)).toEqual([2]);
  expect(await answer(runId, approve("c1"))).toEqual({ goesOn: false });
  await answer(runId, approve("c2"));
  core.dispatcher.poke();
  const item = await until(() => node.work.find(({ run_id, epoch }) => run_id === runId && epoch === 3));
  // Never less than a second, however much it took before.
  expect(item.timeout_ms).toBe(1000);
  await node.send(item, 1, [...START, { kind: "run.finished", body: { state: "succeeded" } }]);
  await until(async () => (await core.state(runId)) === "succeeded");
  await dropOldStates(core.store.sql);
  expect(await parts()).toEqual([]);
  expect(await answer(runId, approve("c2"))).toEqual({ goesOn: false });
});

test("a state that is being written, or that a run goes on from, is not deleted", async () => {
  const runId = await core.dispatcher.create(core.draft());
  await node.send(await workFor(node, runId), 1, [...START, piece("one")]);
  const count = async (): Promise<number> =>
    (await core.store.sql`SELECT 1 FROM run_state_parts WHERE run_id = ${runId}`).length;
  await until(async () => (await count()) === 1);
  await dropOldStates(core.store.sql);
  expect(await count()).toBe(1);
  await node.send({ run_id: runId, epoch: 1 }, 4, [asked("c1")]);
  await until(async () => (await core.state(runId)) === "waiting");
  await answer(runId, approve("c1"));
  await goneOn(runId);
  await dropOldStates(core.store.sql);
  expect(await count()).toBe(1);
});

test("Q3: what one state takes in the database is bounded", async () => {
  const runId = await core.dispatcher.create(core.draft());
  const text = "x".repeat(900_000);
  await node.send(await workFor(node, runId), 1, START);
  for (let n = 3; n < 43; n += 1) await node.send({ run_id: runId, epoch: 1 }, n, [piece(text)]);
  await node.send({ run_id: runId, epoch: 1 }, 43, [asked("c1")]);
  await until(async () => (await core.state(runId)) === "waiting", { timeoutMs: 30_000 });
  const [kept] = await core.store.sql`SELECT sum(bytes)::int AS bytes FROM run_state_parts WHERE run_id = ${runId}`;
  // One transaction may carry it over the bound, none after that adds to it.
  expect(kept?.["bytes"]).toBeLessThan(27 * 1024 * 1024);
});

test("a run whose device did not take it back goes on from its state all the same", async () => {
  const runId = await waiting(["c1"]);
  await answer(runId, approve("c1"));
  await goneOn(runId);
  await core.store
    .sql`UPDATE runs SET placed_at = now() - interval '1 minute', lease_until = placed_at WHERE id = ${runId}`;
  expect(await requeueUnaccepted(core.store.sql)).toHaveLength(1);
  core.dispatcher.poke();
  const item = await until(() => node.work.find(({ run_id, epoch }) => run_id === runId && epoch === 3));
  expect(item).toMatchObject({ resume: true, attempt: 2 });
});

test("waiting is no time that a run takes: only what it did since it went on counts", async () => {
  const runId = await waiting(["c1"]);
  await core.store.sql`UPDATE runs SET started_at = now() - interval '2 days' WHERE id = ${runId}`;
  expect(await expireRuns(core.store.sql)).toEqual([]);
  await answer(runId, approve("c1"));
  await node.send(await goneOn(runId), 1, START);
  await until(async () => (await core.state(runId)) === "running");
  expect(await expireRuns(core.store.sql)).toEqual([]);
  await core.store.sql`UPDATE runs SET placed_at = now() - interval '10 minutes' WHERE id = ${runId}`;
  expect(await expireRuns(core.store.sql)).toEqual([runId]);
});

test("removing the device ends what needs it, waiting or queued, and leaves what may be replaced waiting", async () => {
  const [needs, queued, free] = [
    await waiting(["c1"]),
    await waiting(["c1"]),
    await waiting(["c1"], { onLost: "replace" }),
  ];
  await node.beat([], true);
  await answer(queued, approve("c1"));
  await core.store.sql.begin(async (tx) => {
    await takeFromRemoved(tx, { id: node.id, name: "a" });
    await tx`UPDATE nodes SET removed_at = now() WHERE id = ${node.id}`;
  });
  expect(await Promise.all([needs, queued, free].map((id) => core.state(id)))).toEqual(["failed", "failed", "waiting"]);
  expect((await row(needs)).error?.message).toBe("device a, which this run needs, was removed");
  const other = await core.addNode("b");
  await answer(free, approve("c1"));
  core.dispatcher.poke();
  expect(await workFor(other, free)).toMatchObject({ epoch: 2, resume: true });
});
