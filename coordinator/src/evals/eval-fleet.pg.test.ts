/** Evals through the real dispatcher, ingest and heartbeats, with scripted devices on a memory bus. */

import { systemClock, systemIds, until } from "@mesh/kernel";
import { silentLogger } from "@mesh/observability";
import type { WorkItem } from "@mesh/proto";
import { Command } from "@mesh/proto";
import { subjects } from "@mesh/bus";
import { afterEach, beforeEach, expect, test } from "vitest";

import { type RunCore, type ScriptedNode, startRunCore, workFor } from "../runs/testing/run-core.ts";
import { EvalScheduler } from "./eval-scheduler.ts";
import { cancelEval, startEval } from "./eval-service.ts";
import { EvalTail } from "./eval-tail.ts";

let core: RunCore;
let tail: EvalTail;
let scheduler: EvalScheduler;
let stop: AbortController;
let running: Promise<unknown>;

beforeEach(async () => {
  core = await startRunCore();
  stop = new AbortController();
  tail = new EvalTail({ bus: core.bus, clock: systemClock });
  scheduler = new EvalScheduler({
    store: core.store,
    bus: core.bus,
    ids: systemIds(),
    clock: systemClock,
    log: silentLogger,
    isLeader: () => true,
    pokeQueue: () => core.dispatcher.poke(),
    grown: (evalId) => tail.grown(evalId),
    committed: (runIds) => core.tail.committed(runIds),
  });
  running = Promise.all([scheduler.run(stop.signal), tail.run(stop.signal)]);
});
afterEach(async () => {
  stop.abort();
  await running;
  await core[Symbol.asyncDispose]();
});

async function start(cases: number): Promise<string> {
  const id = systemIds().next("eval");
  const { sql } = core.store;
  await sql`
    INSERT INTO evals (id, workspace_id, name, assistant_id, bundle_digest, nonce, placement, settings, created_by)
    VALUES (${id}, ${core.workspaceId}, 'e', 'hello', 'd', 'nonce', '{}', '{}', 'user:test')`;
  await sql`
    INSERT INTO eval_cases (eval_id, ordinal, case_id, hash, body)
    SELECT ${id}, n, 'case-' || n, 'h', '{}' FROM generate_series(0, ${cases - 1}::int) AS n`;
  await sql.begin((tx) => startEval(tx, id));
  scheduler.poke();
  return id;
}

async function stateOf(evalId: string): Promise<string> {
  const [row] = await core.store.sql<{ state: string }[]>`SELECT state FROM evals WHERE id = ${evalId}`;
  return row?.state ?? "absent";
}

/** Gives every batch of a device its results, as its work arrives. */
async function serve(node: ScriptedNode, evalId: string): Promise<void> {
  const served = new Set<string>();
  await until(
    async () => {
      for (const item of node.work) {
        if (served.has(item.run_id)) continue;
        served.add(item.run_id);
        await answer(node, item);
      }
      return (await stateOf(evalId)) === "ended";
    },
    { what: `the end of ${evalId}` },
  );
}

async function answer(node: ScriptedNode, item: WorkItem): Promise<void> {
  const [batch] = await core.store.sql<{ units: [number, number, number][] }[]>`
    SELECT units FROM eval_batches WHERE run_id = ${item.run_id}`;
  const results = (batch?.units ?? []).map(([ordinal, run, copy]) => ({
    kind: "eval.result",
    body: { ordinal, run, copy, result: { id: `case-${ordinal}`, run, status: "passed", duration_ms: 1 } },
  }));
  await node.send(item, 1, [
    { kind: "run.accepted", body: {} },
    { kind: "run.started", body: {} },
    ...results,
    { kind: "run.finished", body: { state: "succeeded" } },
  ]);
}

test("batches reach devices as runs of the eval, results come back as events, and followers hear of it", async () => {
  const a = await core.addNode("a", { slots: 2 });
  const b = await core.addNode("b", { slots: 2 });
  const id = await start(100);
  const news = tail.open(id);
  await Promise.all([serve(a, id), serve(b, id)]);
  await news.next(stop.signal);
  news.close();
  const rows = await core.store.sql<{ ordinal: number; node_id: string }[]>`
    SELECT ordinal, node_id FROM eval_results WHERE eval_id = ${id} AND NOT observation ORDER BY ordinal`;
  expect(rows.map(({ ordinal }) => ordinal)).toEqual(Array.from({ length: 100 }, (_, i) => i));
  expect(new Set(rows.map(({ node_id: nodeId }) => nodeId))).toEqual(new Set([a.id, b.id]));
  expect([...a.work, ...b.work].every((item) => item.eval && item.assistant_id === "hello")).toBe(true);
});

test("a batch that is cancelled is told to its device at once", async () => {
  const a = await core.addNode("a", { slots: 1 });
  const told: string[] = [];
  core.bus.subscribe(subjects.command(a.digest), (data) => {
    const { command } = Command.decode(data);
    if (command?.$case === "cancel") told.push(command.value.run_id);
  });
  const id = await start(4);
  const item = await until(() => a.work[0], { what: "a batch" });
  await workFor(a, item.run_id);
  await core.store.sql.begin((tx) => cancelEval(tx, id, "user:test"));
  scheduler.poke();
  await until(() => told.includes(item.run_id), { what: "the command" });
  expect(await stateOf(id)).toBe("cancelling");
  await a.send(item, 1, [
    { kind: "run.accepted", body: {} },
    { kind: "run.finished", body: { state: "cancelled" } },
  ]);
  await until(async () => (await stateOf(id)) === "cancelled", { what: "the end" });
});
