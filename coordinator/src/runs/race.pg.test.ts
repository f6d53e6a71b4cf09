import { subjects } from "@mesh/bus";
import { systemClock, systemIds, until } from "@mesh/kernel";
import { silentLogger } from "@mesh/observability";
import { Command } from "@mesh/proto";
import { expect, test } from "vitest";

import { Dispatcher } from "./dispatcher.ts";
import { createIngest } from "./ingest.ts";
import { requestCancel } from "./run-api-store.ts";
import type { OnLost } from "./run-state.ts";
import { type RunCore, type ScriptedNode, startRunCore } from "./testing/run-core.ts";
import { WorkPublisher } from "./work-publisher.ts";

const POLICIES: readonly OnLost[] = ["hold", "replace", "fail"];

const EVENTS = [
  { kind: "run.accepted", body: {} },
  { kind: "run.started", body: {} },
  ...Array.from({ length: 6 }, (_, i) => ({ kind: "message", body: { i } })),
  { kind: "run.finished", body: { state: "succeeded", output: "" } },
];

/** Starts, speaks and ends whatever arrives, each run in overlapping parts, the last one first; sends again what it is asked for. */
async function work(core: RunCore, node: ScriptedNode, signal: AbortSignal): Promise<void> {
  const commands = core.hub.connect().subscribe(subjects.command(node.digest), (data) => {
    const { command } = Command.decode(data);
    if (command?.$case !== "resend") return;
    const { from_n } = command.value;
    void node.send(command.value, from_n, EVENTS.slice(from_n - 1));
  });
  for (let next = 0; !signal.aborted;) {
    const item = node.work[next];
    if (item === undefined) {
      await systemClock.sleep(5, signal);
      continue;
    }
    next += 1;
    await node.send(item, 5, EVENTS.slice(4));
    await node.send(item, 1, EVENTS.slice(0, 6));
    await node.send(item, 3, EVENTS.slice(2));
  }
  commands.stop();
}

async function secondReplica(
  core: RunCore,
  signal: AbortSignal,
): Promise<{ dispatcher: Dispatcher; over: Promise<unknown> }> {
  const bus = core.hub.connect();
  const shared = { bus, store: core.store, log: silentLogger };
  const dispatcher = new Dispatcher({
    ...shared,
    work: new WorkPublisher(shared),
    clock: systemClock,
    penalized: () => false,
    committed: () => undefined,
  });
  const ingest = createIngest({
    ...shared,
    committed: () => undefined,
    slotsFreed: () => dispatcher.poke(),
    onMissing: async () => undefined,
    counted: () => undefined,
  });
  return { dispatcher, over: Promise.all([dispatcher.run(signal), ingest.run(signal)]) };
}

test("two replicas, cancels, beats, lost leases and doubled events at once: no deadlock, dense logs, one end for each run", async () => {
  const core = await startRunCore({ sweep: true });
  const { sql } = core.store;
  const stop = new AbortController();
  const nodes = [];
  for (const name of ["a", "b", "c"]) nodes.push(await core.addNode(name, { slots: 6 }));
  const working = nodes.map((node) => work(core, node, stop.signal));
  const other = await secondReplica(core, stop.signal);
  const beating = nodes.map(async (node) => {
    while (!stop.signal.aborted) {
      await node.beat(node.work.slice(-20).map((item) => ({ run_id: item.run_id, epoch: item.epoch, last_n: 1 })));
      await systemClock.sleep(20, stop.signal);
    }
  });
  const disturbing = (async () => {
    while (!stop.signal.aborted) {
      await sql`UPDATE runs SET lease_until = now() - interval '1 s' WHERE id IN (
        SELECT id FROM runs WHERE state IN ('accepted', 'running') ORDER BY random() LIMIT 3 FOR UPDATE SKIP LOCKED)`;
      await systemClock.sleep(30, stop.signal);
    }
  })();
  const ids = systemIds();
  const made = await Promise.all(
    Array.from({ length: 150 }, async (_, i) => {
      await systemClock.sleep(i * 15);
      const dispatcher = i % 2 === 0 ? core.dispatcher : other.dispatcher;
      const runId = await dispatcher.create(core.draft({ onLost: POLICIES[i % 3]! }));
      if (i % 4 === 0) {
        await systemClock.sleep(i % 40);
        await requestCancel(sql, runId, { auditId: ids.next("audit"), actor: "user:test" });
      }
      return runId;
    }),
  );
  await until(
    async () =>
      (await sql`SELECT 1 FROM runs WHERE state NOT IN ('succeeded', 'failed', 'cancelled', 'lost')`).length === 0,
    { timeoutMs: 40_000, what: "the end of all runs" },
  );
  stop.abort();
  await Promise.all([...working, ...beating, disturbing, other.over]);
  const odd = await sql`
    SELECT r.id FROM runs r LEFT JOIN run_events e ON e.run_id = r.id GROUP BY r.id
    HAVING count(e.seq) <> r.last_seq OR max(e.seq) <> r.last_seq OR count(*) FILTER (WHERE e.kind = 'run.finished') <> 1
      OR max(e.seq) FILTER (WHERE e.kind = 'run.finished') <> r.last_seq`;
  expect(odd).toEqual([]);
  expect(made).toHaveLength(150);
  const [database] = await sql<{ deadlocks: number }[]>`
    SELECT deadlocks::int AS deadlocks FROM pg_stat_database WHERE datname = current_database()`;
  expect(database?.deadlocks).toBe(0);
  await core[Symbol.asyncDispose]();
});
