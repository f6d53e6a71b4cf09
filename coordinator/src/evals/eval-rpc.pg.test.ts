/** What devices ask about evals: the content of batches, and permits to call models. */

import { nodeDigest } from "@mesh/bus";
import { openStore } from "@mesh/store";
import { afterEach, beforeEach, expect, test } from "vitest";

import { createBatchReader, partsOf } from "./batch-rpc.ts";
import type { StoredEvalSettings } from "./eval-row.ts";
import { evalPermit } from "./permit-rpc.ts";
import { type EvalFixture, type PlayedBatch, startEvals } from "./testing/eval-fixture.ts";

let evals: EvalFixture;
beforeEach(async () => {
  evals = await startEvals();
  await evals.addNode("a", { slots: 1 });
});
afterEach(() => evals[Symbol.asyncDispose]());

async function nextBatch(): Promise<PlayedBatch> {
  await evals.turn();
  const [batch] = await evals.batches();
  if (batch === undefined) throw new Error("no batch");
  return batch;
}

async function contentOf({ runId }: PlayedBatch): Promise<Record<string, unknown>> {
  const reader = createBatchReader(evals.store.sql);
  const bodies: string[] = [];
  for (let part = 0, parts = 1; part < parts; part += 1) {
    const answer = await reader.part(nodeDigest("a"), { run_id: runId, epoch: 1, part });
    parts = answer.parts;
    bodies.push(answer.body);
    expect(Buffer.byteLength(answer.body)).toBeLessThanOrEqual(384 * 1024);
  }
  return JSON.parse(bodies.join("")) as Record<string, unknown>;
}

test("a batch has its units with their cases as they were written, and the settings of the eval", async () => {
  const settings = {
    runs: 2,
    parallel: 3,
    user: "u1",
    connector: "demo",
    requests_per_minute: 60,
    context: { locale: "de" },
  };
  const id = await evals.start({ cases: 2, settings });
  await evals.store.sql`
    UPDATE eval_cases SET body = '{"id":"case-0","input":"big","n":12345678901234567890}' WHERE eval_id = ${id} AND ordinal = 0`;
  const batch = await nextBatch();
  expect(await contentOf(batch)).toEqual({
    phase: "units",
    eval_id: id,
    nonce: "nonce",
    settings: {
      agentId: "hello",
      timeoutMs: 120_000,
      parallel: 3,
      connector: "demo",
      user: "u1",
      context: { locale: "de" },
      device: "a",
      hasPermits: true,
    },
    cases: [
      { id: "case-0", input: "big", n: Number("12345678901234567890") },
      { id: "case-1", input: "hi" },
    ],
    units: [
      { ordinal: 0, run: 1, copy: 1, case: 0 },
      { ordinal: 0, run: 2, copy: 1, case: 0 },
      { ordinal: 1, run: 1, copy: 1, case: 1 },
    ],
  });
  const reader = createBatchReader(evals.store.sql);
  const { body } = await reader.part(nodeDigest("a"), { run_id: batch.runId, epoch: 1, part: 0 });
  expect(body).toContain("12345678901234567890");
});

test("a batch has at most 2 MB of cases, and comes in parts that fit a message", async () => {
  const id = await evals.start({ cases: 6 });
  await evals.store.sql`
    UPDATE eval_cases SET body = json_build_object('id', case_id, 'input', repeat('😀', 200000))::text WHERE eval_id = ${id}`;
  const content = await contentOf(await nextBatch());
  expect((content["cases"] as { input: string }[]).map(({ input }) => input.length)).toEqual([400_000, 400_000]);
});

test("only the device that holds the lease gets a batch", async () => {
  await evals.start({ cases: 1 });
  const { runId } = await nextBatch();
  const reader = createBatchReader(evals.store.sql);
  const ask = { run_id: runId, epoch: 1, part: 0 };
  await expect(reader.part(nodeDigest("b"), ask)).rejects.toMatchObject({ code: "failed_precondition" });
  await expect(reader.part(nodeDigest("a"), { ...ask, epoch: 2 })).rejects.toMatchObject({
    code: "failed_precondition",
  });
  await expect(reader.part(nodeDigest("a"), { ...ask, part: 1 })).rejects.toMatchObject({ code: "invalid_argument" });
  await evals.end({ runId });
  await expect(reader.part(nodeDigest("a"), ask)).rejects.toMatchObject({ code: "failed_precondition" });
});

test("hooks around the eval get all cases; AfterAll also the results and what BeforeAll gave", async () => {
  const id = await evals.start({ cases: 3, settings: { before_all: "t.Before", after_all: "t.After" } });
  const seen: Record<string, unknown>[] = [];
  await evals.play(id, async (batch) => {
    seen.push(await contentOf(batch));
    await evals.finish(batch);
  });
  const [before] = seen;
  const after = seen.at(-1);
  const cases = [0, 1, 2].map((n) => ({ id: `case-${n}`, input: "hi" }));
  expect(before).toMatchObject({ phase: "before", cases, settings: { beforeAll: "t.Before" } });
  expect(after).toMatchObject({
    phase: "after",
    data: { from: "a" },
    results: cases.map(({ id: caseId }) => ({ id: caseId, status: "passed", device: "a", output: "ok" })),
  });
});

test("AfterAll gets results without their texts when they are too many", async () => {
  const id = await evals.start({ cases: 3, settings: { after_all: "t.After" } });
  let after: Record<string, unknown> = {};
  await evals.play(id, async (batch) => {
    if (batch.phase === "after") after = await contentOf(batch);
    for (const at of batch.units.keys()) await evals.say(batch, at, { output: "x".repeat(2_000_000) });
    if (batch.phase === "after") return evals.finish(batch);
    await evals.end(batch);
  });
  expect(after["results"]).toEqual(
    [0, 1, 2].map((n) => ({ id: `case-${n}`, run: 1, status: "passed", duration_ms: 5, input: null, output: null })),
  );
});

test("parts never halve a character, and an empty text is one part", () => {
  const text = `${"x".repeat(128 * 1024 - 1)}😀${"é".repeat(300_000)}`;
  const parts = partsOf(text);
  expect(parts.join("")).toBe(text);
  for (const part of parts) expect(Buffer.from(part, "utf8").toString("utf8")).toBe(part);
  expect(partsOf("")).toEqual([""]);
});

async function heldEval(
  settings: Partial<StoredEvalSettings>,
): Promise<(calls: number, slowMs?: number) => ReturnType<typeof evalPermit>> {
  await evals.start({ cases: 1, settings });
  const { runId } = await nextBatch();
  return (calls, slowMs = 0) =>
    evalPermit(evals.store.sql, nodeDigest("a"), {
      run_id: runId,
      epoch: 1,
      provider: "api.test",
      calls,
      slow_down_ms: slowMs,
    });
}

async function refill(seconds: number): Promise<void> {
  await evals.store.sql`UPDATE eval_permits SET updated_at = updated_at - ${seconds} * interval '1 s'`;
}

test("calls are granted as fast as the eval may make them, with a wait for the next one", async () => {
  const ask = await heldEval({ requests_per_minute: 120 });
  expect(await ask(5)).toMatchObject({ granted: 2, wait_ms: 0 });
  const { granted, wait_ms: waitMs } = await ask(1);
  expect(granted).toBe(0);
  expect(waitMs).toBeGreaterThan(10);
  expect(waitMs).toBeLessThanOrEqual(500);
  await refill(0.5);
  expect(await ask(1)).toMatchObject({ granted: 1 });
  // A long pause is not followed by a burst.
  await refill(3600);
  expect(await ask(64)).toMatchObject({ granted: 2 });
});

test("two replicas that are asked at once never grant the same call", async () => {
  const ask = await heldEval({ requests_per_minute: 600 });
  const other = openStore({ url: evals.store.url });
  try {
    const [run] = await evals.store.sql<{ id: string }[]>`SELECT id FROM runs`;
    const elsewhere = (calls: number): ReturnType<typeof evalPermit> =>
      evalPermit(other.sql, nodeDigest("a"), {
        run_id: run?.id ?? "",
        epoch: 1,
        provider: "api.test",
        calls,
        slow_down_ms: 0,
      });
    const began = performance.now();
    const answers = await Promise.all(Array.from({ length: 60 }, (_, i) => (i % 2 === 0 ? ask(1) : elsewhere(1))));
    const elapsedS = (performance.now() - began) / 1000;
    const sum = answers.reduce((total, { granted }) => total + granted, 0);
    expect(sum).toBeGreaterThanOrEqual(10);
    // What the bucket held, and what came in meanwhile.
    expect(sum).toBeLessThanOrEqual(10 + Math.ceil(elapsedS * 10));
  } finally {
    await other.close();
  }
});

test("when one device is told to slow down, all pause, with and without a rate", async () => {
  const ask = await heldEval({});
  expect(await ask(7)).toEqual({ granted: 7, wait_ms: 0 });
  expect(await ask(1, 30_000)).toMatchObject({ granted: 0 });
  const { granted, wait_ms: waitMs } = await ask(1);
  expect(granted).toBe(0);
  expect(waitMs).toBeGreaterThan(25_000);
  expect(waitMs).toBeLessThanOrEqual(30_000);
  await evals.store.sql`UPDATE eval_permits SET paused_until = now()`;
  expect(await ask(3)).toEqual({ granted: 3, wait_ms: 0 });
});

test("a workspace has a bounded number of providers", async () => {
  const ask = await heldEval({});
  await ask(1);
  await evals.store.sql`
    INSERT INTO eval_permits (workspace_id, provider, tokens, per_minute)
    SELECT ${evals.workspaceId}, 'p' || n, 0, 0 FROM generate_series(1, 199) n`;
  expect(await ask(1)).toMatchObject({ granted: 1 });
  await evals.store.sql`UPDATE eval_permits SET provider = 'other' WHERE provider = 'api.test'`;
  await expect(ask(1)).rejects.toMatchObject({ code: "failed_precondition" });
});

test("a pause has a limit, a provider a name, and a stranger no permit", async () => {
  const ask = await heldEval({});
  expect((await ask(1, 10 ** 12)).wait_ms).toBeLessThanOrEqual(600_000);
  const [run] = await evals.store.sql<{ id: string }[]>`SELECT id FROM runs`;
  const request = { run_id: run?.id ?? "", epoch: 1, provider: "api.test", calls: 1, slow_down_ms: 0 };
  await expect(evalPermit(evals.store.sql, nodeDigest("b"), request)).rejects.toMatchObject({
    code: "failed_precondition",
  });
  await expect(evalPermit(evals.store.sql, nodeDigest("a"), { ...request, provider: "" })).rejects.toMatchObject({
    code: "invalid_argument",
  });
});
