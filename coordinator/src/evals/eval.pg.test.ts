/** What an eval over devices promises: one result per unit, in every placement, whatever happens to devices. */

import { MeshError } from "@mesh/kernel";
import { afterEach, beforeEach, expect, test } from "vitest";

import { listRuns } from "../runs/run-row.ts";
import { noteRunEvents } from "../webhooks/note-event.ts";
import { removeEval, startEval } from "./eval-service.ts";
import { allUnits, type EvalFixture, startEvals, unitsOf } from "./testing/eval-fixture.ts";

let evals: EvalFixture;
beforeEach(async () => {
  evals = await startEvals();
});
afterEach(() => evals[Symbol.asyncDispose]());

test("every unit has one result, numbered without gaps, on devices that take part equally", async () => {
  for (const name of ["a", "b", "c"]) await evals.addNode(name);
  const id = await evals.start({ cases: 200, settings: { runs: 2 } });
  const played = await evals.play(id);
  const results = await evals.results(id);
  expect(unitsOf(results)).toEqual(allUnits(200, 2));
  expect(results.map(({ seq }) => seq)).toEqual(Array.from({ length: 400 }, (_, i) => i + 1));
  expect(await evals.get(id)).toMatchObject({
    state: "ended",
    phase: "over",
    total: 400,
    passed: 400,
    last_seq: 400,
    reason: "",
  });
  // Large at first, small at the end, and never more than fits a batch.
  const sizes = played.map(({ units }) => units.length);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(64);
  expect([sizes[0], sizes.at(-1)]).toEqual([34, 1]);
  expect(new Set(played.map(({ node }) => node))).toEqual(new Set(["a", "b", "c"]));
});

test("a result has the case's id and digest and the device's name, whatever the device says", async () => {
  await evals.addNode("a", { slots: 1 });
  const id = await evals.start({ cases: 1 });
  await evals.play(id, async (batch) => {
    await evals.say(batch, 0, {
      id: "other",
      hash: "forged",
      device: "b",
      usage: { total_tokens: 7, cost_usd: 0.5, note: "x" },
    });
    await evals.end(batch);
  });
  const [row] = await evals.results(id);
  expect(JSON.parse(row?.result ?? "")).toMatchObject({ id: "case-0", hash: "hash-0", device: "a", output: "ok" });
  expect((await evals.get(id)).usage).toEqual({ total_tokens: 7, cost_usd: 0.5 });
});

test("a device speaks only for the units of its batch, and what is no result is none", async () => {
  await evals.addNode("a", { slots: 1 });
  await evals.addNode("b", { slots: 1 });
  const id = await evals.start({ cases: 2, settings: { retries: 0 } });
  await evals.turn();
  const [first, second] = await evals.batches();
  if (first === undefined || second === undefined) throw new Error("two batches were expected");
  await evals.say({ runId: first.runId, units: second.units }, 0);
  await evals.say(first, 0, { status: "splendid" });
  await evals.tell(first.runId, "eval.result", { ordinal: "x" });
  await evals.tell(first.runId, "eval.before", { error: "not my phase" });
  await evals.turn();
  expect(await evals.get(id)).toMatchObject({ state: "running", passed: 0, last_seq: 0 });
  await evals.play(id);
  expect(unitsOf(await evals.results(id))).toEqual(allUnits(2));
});

test("what a lost batch had goes to another device; what it had told is kept", async () => {
  await evals.addNode("a", { slots: 1 });
  await evals.addNode("b", { slots: 1 });
  const id = await evals.start({ cases: 20 });
  let isLost = false;
  await evals.play(id, async (batch) => {
    if (isLost || batch.node !== "a") return evals.finish(batch);
    isLost = true;
    await evals.say(batch, 0);
    await evals.end(batch, "lost", "device_lost", "device a went away");
    await evals.setOnline("a", false);
  });
  const results = await evals.results(id);
  expect(unitsOf(results)).toEqual(allUnits(20));
  expect(results.filter(({ node }) => node === "a")).toHaveLength(1);
});

test("a unit that brings down every batch it is in is given up alone, and the others have their results", async () => {
  await evals.addNode("a", { slots: 1 });
  await evals.addNode("b", { slots: 1 });
  const id = await evals.start({ cases: 12 });
  const played = await evals.play(id, async (batch) => {
    if (batch.units.every(([ordinal]) => ordinal !== 3)) return evals.finish(batch);
    await evals.end(batch, "failed", "runner_crashed", "the runner ended with SIGSEGV");
  });
  const errors = (await evals.results(id)).filter(({ status }) => status === "error");
  expect(errors.map(({ case_id }) => case_id)).toEqual(["case-3"]);
  expect(JSON.parse(errors[0]?.result ?? "")).toMatchObject({
    cause: "transport",
    error: expect.stringContaining("SIGSEGV"),
  });
  expect(await evals.get(id)).toMatchObject({ state: "ended", passed: 11, errors: 1 });
  expect(played.filter(({ units }) => units.some(([ordinal]) => ordinal === 3)).slice(2)).toSatisfy(
    (batches: readonly { units: readonly unknown[] }[]) => batches.every(({ units }) => units.length === 1),
  );
});

test("what failed outside of the assistant is tried on another device; its last try counts", async () => {
  await evals.addNode("a", { slots: 1 });
  await evals.addNode("b", { slots: 1 });
  const id = await evals.start({ cases: 4, settings: { retries: 1 } });
  const tries: string[] = [];
  await evals.play(id, async (batch) => {
    for (const [at, [ordinal]] of batch.units.entries()) {
      const isBad = ordinal === 0;
      if (isBad) tries.push(batch.node);
      await evals.say(batch, at, isBad ? { status: "error", cause: "transport", error: "connection reset" } : {});
    }
    await evals.end(batch);
  });
  expect(tries.toSorted()).toEqual(["a", "b"]);
  const results = await evals.results(id);
  expect(unitsOf(results)).toEqual(allUnits(4));
  expect(results.find(({ ordinal }) => ordinal === 0)).toMatchObject({
    status: "error",
    attempt: 1,
    observation: false,
  });
});

test("a device that fails three times in a row while another does not is quarantined, with its units re-leased", async () => {
  await evals.addNode("good", { slots: 1 });
  await evals.addNode("odd", { slots: 1 });
  const id = await evals.start({ cases: 30 });
  let told = 0;
  await evals.play(id, async (batch) => {
    if (batch.node === "good") return evals.finish(batch);
    for (let at = 0; at < 3; at += 1)
      await evals.say(batch, at, { status: "error", cause: "transport", error: "no network" });
    told += 1;
    // Its batch is stopped by the coordinator.
  });
  expect(told).toBe(1);
  const results = await evals.results(id);
  expect(unitsOf(results)).toEqual(allUnits(30));
  expect(results.every(({ node, status }) => node === "good" && status === "passed")).toBe(true);
  const [node] = await evals.store.sql`
    SELECT quarantined, infra_errors FROM eval_nodes e JOIN nodes n ON n.id = e.node_id WHERE eval_id = ${id} AND n.name = 'odd'`;
  expect(node).toEqual({ quarantined: "3 failures in a row that were not the assistant's", infra_errors: 3 });
});

test("the last device is never quarantined, and what fails everywhere is nobody's fault", async () => {
  await evals.addNode("a", { slots: 1 });
  await evals.addNode("b", { slots: 1 });
  const id = await evals.start({ cases: 10, settings: { retries: 1 } });
  await evals.play(id, async (batch) => {
    for (const at of batch.units.keys())
      await evals.say(batch, at, { status: "error", cause: "transport", error: "down" });
    await evals.end(batch);
  });
  expect(await evals.get(id)).toMatchObject({ state: "ended", errors: 10 });
  const rows = await evals.store
    .sql`SELECT quarantined FROM eval_nodes WHERE eval_id = ${id} AND quarantined IS NOT NULL`;
  expect(rows.length).toBeLessThan(2);
});

test.each(["invalid_argument", "not_found"])(
  "what no device can run fails the eval with the reason (%s)",
  async (code) => {
    await evals.addNode("a");
    const id = await evals.start({ cases: 5, settings: { after_all: "src/env_test.AfterAll" } });
    const played = await evals.play(id, (batch) =>
      batch.phase === "units" ? evals.end(batch, "failed", code, "no agent hello") : evals.finish(batch),
    );
    expect(await evals.get(id)).toMatchObject({ state: "failed", reason: "a: no agent hello", last_seq: 0 });
    expect(played.at(-1)?.phase).toBe("after");
  },
);

test("a runner that always crashes fails the eval instead of going round for ever", async () => {
  await evals.addNode("a");
  const id = await evals.start({ cases: 500 });
  const played = await evals.play(id, (batch) => evals.end(batch, "failed", "runner_crashed", "SIGKILL"));
  expect(await evals.get(id)).toMatchObject({
    state: "failed",
    reason: expect.stringContaining("failed one after the other"),
  });
  expect(played.length).toBeLessThan(30);
});

test("what a device that fell silent has is queued again when others idle; its late results are observations", async () => {
  await evals.addNode("a", { slots: 1 });
  await evals.addNode("b", { slots: 1 });
  const id = await evals.start({ cases: 8 });
  await evals.turn();
  const onA = (await evals.batches()).filter(({ node }) => node === "a");
  await evals.setOnline("a", false);
  let late = 0;
  await evals.play(id, async (batch) => {
    await evals.finish(batch);
    if ((await evals.get(id)).passed < 6 || late > 0) return;
    // Its word comes through at last, before the eval is over.
    late = 1;
    for (const each of onA) await evals.say(each, 0);
  });
  const results = await evals.results(id);
  expect(unitsOf(results.filter(({ observation }) => !observation))).toEqual(allUnits(8));
  expect(results.filter(({ observation }) => observation).length).toBe((await evals.get(id)).observations);
});

test("a batch that is quiet for long is run once more by an idle device; the first result counts", async () => {
  await evals.addNode("slow", { slots: 1 });
  await evals.addNode("fast", { slots: 1 });
  const id = await evals.start({ cases: 6 });
  await evals.turn();
  const slow = (await evals.batches()).find(({ node }) => node === "slow");
  if (slow === undefined) throw new Error("no batch on the slow device");
  const finishFast = async (): Promise<void> => {
    for (const batch of await evals.batches()) if (batch.node === "fast") await evals.finish(batch);
    await evals.turn();
  };
  for (let i = 0; i < 5; i += 1) await finishFast();
  expect(await evals.get(id)).toMatchObject({ state: "running", passed: 6 - slow.units.length });
  await evals.store.sql`
    UPDATE eval_batches SET progress_at = now() - interval '20 s' WHERE run_id = ${slow.runId}`;
  await evals.store.sql`UPDATE runs SET started_at = now() - interval '20 s' WHERE id = ${slow.runId}`;
  await evals.turn();
  const copies = (await evals.batches()).filter(({ isDuplicate }) => isDuplicate);
  expect(copies.map(({ node, units }) => [node, units])).toEqual([["fast", slow.units]]);
  await evals.turn();
  expect((await evals.batches()).filter(({ isDuplicate }) => isDuplicate)).toHaveLength(1);
  const [copy] = copies;
  if (copy === undefined) throw new Error("no copy");
  await evals.say(slow, 0);
  await evals.say(copy, 0);
  for (let at = 1; at < copy.units.length; at += 1) await evals.say(copy, at);
  await evals.play(id, async () => undefined);
  const results = await evals.results(id);
  expect(unitsOf(results.filter(({ observation }) => !observation))).toEqual(allUnits(6));
  const first = results.filter(({ ordinal, observation }) => ordinal === copy.units[0]?.[0] && !observation);
  expect(first.map(({ node }) => node)).toEqual(["slow"]);
  expect((await evals.get(id)).observations).toBe(1);
});

test("fail fast starts nothing new after the first case that does not pass, and finishes what runs", async () => {
  await evals.addNode("a", { slots: 2 });
  const id = await evals.start({ cases: 50, settings: { fail_fast: true, parallel: 3 } });
  const played = await evals.play(id, async (batch) => {
    for (const at of batch.units.keys())
      await evals.say(batch, at, batch.units[at]?.[0] === 1 ? { status: "failed" } : {});
    await evals.end(batch);
  });
  expect(played.map(({ units }) => units.length)).toEqual([3, 3]);
  expect(await evals.get(id)).toMatchObject({
    state: "ended",
    passed: 5,
    failed: 1,
    reason: expect.stringContaining("stopped"),
  });
  await evals.resume(id);
  await evals.store.sql`UPDATE evals SET settings = settings || '{"fail_fast": false}' WHERE id = ${id}`;
  await evals.play(id);
  expect(unitsOf(await evals.results(id))).toEqual(allUnits(50));
});

test("hooks around the eval run once each, before and after everything, and AfterAll gets what BeforeAll gave", async () => {
  await evals.addNode("a");
  const id = await evals.start({ cases: 6, settings: { before_all: "t.Before", after_all: "t.After" } });
  const played = await evals.play(id);
  const phases = played.map(({ phase }) => phase);
  expect([phases[0], phases.at(-1)]).toEqual(["before", "after"]);
  expect(phases.filter((phase) => phase !== "units")).toHaveLength(2);
  const [row] = await evals.store.sql`SELECT before_data FROM evals WHERE id = ${id}`;
  expect(row?.["before_data"]).toEqual({ from: "a" });
});

test("a BeforeAll that fails ends the eval as failed, after AfterAll; one whose device is lost is tried again", async () => {
  await evals.addNode("a");
  const settings = { before_all: "t.Before", after_all: "t.After" };
  const failing = await evals.start({ cases: 6, settings });
  const played = await evals.play(failing, async (batch) => {
    if (batch.phase !== "before") return evals.finish(batch);
    await evals.tell(batch.runId, "eval.before", { error: "t.Before failed: no database" });
    await evals.end(batch);
  });
  expect(played.map(({ phase }) => phase)).toEqual(["before", "after"]);
  expect(await evals.get(failing)).toMatchObject({
    state: "failed",
    reason: "t.Before failed: no database",
    last_seq: 0,
  });
  const lost = await evals.start({ cases: 6, settings });
  let losses = 0;
  await evals.play(lost, async (batch) => {
    losses += 1;
    if (losses < 3) return evals.end(batch, "lost", "device_lost", "gone");
    await evals.finish(batch);
  });
  expect(await evals.get(lost)).toMatchObject({ state: "ended", passed: 6 });
});

test("an AfterAll that cannot run is a warning", async () => {
  await evals.addNode("a");
  const id = await evals.start({ cases: 2, settings: { after_all: "t.After" } });
  await evals.play(id, (batch) =>
    batch.phase === "after" ? evals.end(batch, "failed", "runner_crashed", "boom") : evals.finish(batch),
  );
  expect(await evals.get(id)).toMatchObject({ state: "ended", passed: 2, warnings: [expect.stringContaining("boom")] });
});

test("cancel stops batches and ends once they have; results stay, and resume runs only what is missing", async () => {
  await evals.addNode("a", { slots: 2 });
  const id = await evals.start({ cases: 40, settings: { after_all: "t.After" } });
  await evals.turn();
  const [batch] = await evals.batches();
  if (batch === undefined) throw new Error("no batch");
  await evals.say(batch, 0);
  await evals.cancel(id);
  await evals.cancel(id);
  await evals.turn();
  expect(await evals.get(id)).toMatchObject({ state: "cancelling", passed: 1, reason: "cancelled by test" });
  const asked = await evals.store.sql`SELECT 1 FROM runs WHERE eval_id = ${id} AND cancel_requested_at IS NOT NULL`;
  expect(asked.length).toBe(2);
  const rest = await evals.play(id);
  expect(rest.map(({ phase }) => phase)).toEqual(["after"]);
  expect(await evals.get(id)).toMatchObject({ state: "cancelled", passed: 1 });
  await evals.resume(id);
  await evals.resume(id);
  await evals.play(id);
  expect(await evals.get(id)).toMatchObject({ state: "ended", passed: 40, last_seq: 40, reason: "" });
  expect(unitsOf(await evals.results(id))).toEqual(allUnits(40));
});

test("an eval that is cancelled with no device there ends anyway", async () => {
  await evals.addNode("a");
  const id = await evals.start({ cases: 4, settings: { after_all: "t.After" } });
  await evals.turn();
  await evals.setOnline("a", false);
  await evals.cancel(id);
  await evals.play(id);
  expect(await evals.get(id)).toMatchObject({ state: "cancelled", warnings: [expect.stringContaining("no device")] });
});

test("resume with errors runs them again; what they were becomes observations", async () => {
  await evals.addNode("a");
  const id = await evals.start({ cases: 10 });
  await evals.play(id, async (batch) => {
    for (const at of batch.units.keys()) {
      const isError = (batch.units[at]?.[0] ?? 0) % 2 === 0;
      await evals.say(batch, at, isError ? { status: "error", cause: "agent", error: "x" } : {});
    }
    await evals.end(batch);
  });
  expect(await evals.get(id)).toMatchObject({ errors: 5, passed: 5 });
  await expect(evals.resume(id)).rejects.toThrow(MeshError);
  await evals.resume(id, true);
  await evals.play(id);
  expect(await evals.get(id)).toMatchObject({ state: "ended", errors: 0, passed: 10, observations: 5, last_seq: 15 });
  const [node] = await evals.store.sql`SELECT passed, errors FROM eval_nodes WHERE eval_id = ${id}`;
  expect(node).toEqual({ passed: 10, errors: 0 });
});

test("batches are no runs of the workspace's list, no news for webhooks, and go with their eval", async () => {
  await evals.addNode("a");
  const { sql } = evals.store;
  await sql`
    INSERT INTO webhooks (id, workspace_id, url, events, sealed_secret, created_by)
    VALUES ('hook_1', ${evals.workspaceId}, 'https://example.com', '{}', ''::bytea, 'user:test')`;
  const id = await evals.start({ cases: 3 });
  await evals.turn();
  await expect(sql.begin((tx) => removeEval(tx, id))).rejects.toMatchObject({ code: "failed_precondition" });
  const runs = await sql<{ id: string }[]>`SELECT id FROM runs WHERE eval_id = ${id}`;
  expect(runs.length).toBeGreaterThan(0);
  await sql.begin((tx) =>
    noteRunEvents(
      tx,
      runs.map((run) => ({ runId: run.id, type: "run.failed" })),
    ),
  );
  expect(await sql`SELECT 1 FROM webhook_deliveries`).toHaveLength(0);
  const filter = { workspaceId: evals.workspaceId, state: "", nodeId: "", before: "", limit: 50 };
  expect(await listRuns(sql, filter)).toEqual([]);
  await evals.play(id);
  await sql.begin((tx) => removeEval(tx, id));
  expect(
    await sql`SELECT 1 FROM runs UNION ALL SELECT 1 FROM eval_results UNION ALL SELECT 1 FROM run_events`,
  ).toHaveLength(0);
});

test("what was to begin on a device that went away does not begin when it is back", async () => {
  await evals.addNode("a", { slots: 1 });
  await evals.addNode("b", { slots: 1 });
  const id = await evals.start({ cases: 2 });
  while ((await evals.scheduler.look()) > 0);
  await evals.setOnline("a", false);
  await evals.store.sql`
    UPDATE runs SET state = 'running', node_id = requirements ->> 'node_id', lease_epoch = 1, started_at = now()
    WHERE requirements ->> 'node' = 'b'`;
  for (const batch of await evals.batches()) await evals.finish(batch);
  while ((await evals.scheduler.look()) > 0);
  await evals.setOnline("a", true);
  const played = await evals.play(id);
  expect(played.map(({ node }) => node)).toEqual(["b"]);
  expect(unitsOf(await evals.results(id))).toEqual(allUnits(2));
});

test("a draft starts once, and only with all of its cases; what cannot be started or gone on with says why", async () => {
  await evals.addNode("a");
  const { sql } = evals.store;
  const draft = async (cases: number): Promise<string> => {
    const id = evals.ids.next("eval");
    await sql`
      INSERT INTO evals (id, workspace_id, name, assistant_id, bundle_digest, nonce, placement, settings, created_by)
      VALUES (${id}, ${evals.workspaceId}, 'e', 'hello', 'd', 'n', '{}', '{"runs": 100}', 'user:test')`;
    await sql`
      INSERT INTO eval_cases (eval_id, ordinal, case_id, hash, body)
      SELECT ${id}, n, 'case-' || n, 'h', '{}' FROM generate_series(1, ${cases}::int) AS n`;
    return id;
  };
  const started = (id: string): Promise<void> => sql.begin((tx) => startEval(tx, id)) as Promise<void>;
  await expect(started(await draft(0))).rejects.toMatchObject({ code: "failed_precondition" });
  await expect(started("eval_none")).rejects.toMatchObject({ code: "not_found" });
  const gap = await draft(3);
  await expect(started(gap)).rejects.toThrow("it has 3 of 4");
  await expect(evals.resume(gap)).rejects.toMatchObject({ code: "failed_precondition" });
  await sql`UPDATE eval_cases SET ordinal = ordinal - 1 WHERE eval_id = ${gap}`;
  await started(gap);
  await started(gap);
  expect(await evals.get(gap)).toMatchObject({ state: "running", total: 300 });
  const large = await draft(10_001);
  await sql`UPDATE eval_cases SET ordinal = -ordinal WHERE eval_id = ${large}`;
  await sql`UPDATE eval_cases SET ordinal = -ordinal - 1 WHERE eval_id = ${large}`;
  await expect(started(large)).rejects.toThrow("at most 1,000,000 units");
  await evals.cancel(large);
  expect(await evals.get(large)).toMatchObject({ state: "cancelled", reason: "cancelled by test" });
});
