import { until } from "@mesh/kernel";
import { afterEach, beforeEach, expect, test } from "vitest";

import { newRetention, dropOldDeltas } from "./retention-store.ts";
import { withSnapshots } from "./event-view.ts";
import { listEvents } from "./run-row.ts";
import { ANYWHERE, type RunCore, type ScriptedNode, startRunCore, workFor } from "./testing/run-core.ts";

let core: RunCore;

beforeEach(async () => {
  core = await startRunCore();
});

afterEach(async () => {
  await core[Symbol.asyncDispose]();
});

const START = [
  { kind: "run.accepted", body: {} },
  { kind: "run.started", body: {} },
];
const FINISH = { kind: "run.finished", body: { state: "succeeded", output: "done" } };

async function started(node: ScriptedNode): Promise<string> {
  const runId = await core.dispatcher.create(core.draft());
  await node.send(await workFor(node, runId), 1, START);
  await until(async () => (await core.state(runId)) === "running");
  return runId;
}

test("N6: a run whose events the database refuses does not hold up the events of other runs", async () => {
  const node = await core.addNode("a");
  const [bad, good] = [await started(node), await started(node)];
  await core.store.sql.unsafe(`
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused by the test'; END $$;
    CREATE TRIGGER refuse BEFORE INSERT ON run_events FOR EACH ROW WHEN (NEW.body LIKE '%POISON%') EXECUTE FUNCTION refuse()`);
  await Promise.all([
    node.send({ run_id: bad, epoch: 1 }, 3, [{ kind: "message", body: { text: "POISON" } }]),
    node.send({ run_id: good, epoch: 1 }, 3, [FINISH]),
  ]);
  await until(async () => (await core.state(good)) === "succeeded");
  expect(await core.state(bad)).toBe("running");
  await core.store.sql.unsafe("DROP TRIGGER refuse ON run_events");
  await until(async () => (await listEvents(core.store.sql, bad, 0, 100)).length === 5, { timeoutMs: 40_000 });
});

test("N7: a backlog of large batches is stored in bounded transactions", async () => {
  const node = await core.addNode("a");
  const runId = await started(node);
  const text = "x".repeat(700_000);
  await Promise.all(
    Array.from({ length: 30 }, (_, i) =>
      node.send({ run_id: runId, epoch: 1 }, 3 + i, [{ kind: "message", body: { text } }]),
    ),
  );
  await until(async () => (await core.store.sql`SELECT 1 FROM run_events WHERE n = 32`).length === 1);
  const rows = await core.store.sql<{ most: number }[]>`
    SELECT max(bytes)::float8 AS most FROM (SELECT sum(octet_length(body)) AS bytes FROM run_events GROUP BY xmin::text) t`;
  expect(rows[0]?.most).toBeLessThan(9 * 1024 * 1024);
  const page = await listEvents(core.store.sql, runId, 0, 1000);
  expect(page.length).toBeLessThan(12);
  expect(page.map((row) => row.seq)).toEqual(page.map((_, i) => i + 1));
});

const edge = (event: string, id: string, content?: string): { kind: string; body: object } => ({
  kind: "message",
  body: {
    type: "event",
    props: { event, data: { message_id: id, type: "text", ...(content === undefined ? {} : { extra: { content } }) } },
  },
});
const delta = (id: string, content: string): { kind: string; body: object; delta_of: string } => ({
  kind: "message",
  body: { type: "text", delta: true, message_id: id, props: { content } },
  delta_of: id,
});

test("a snapshot stands for every message whose deltas were dropped, as the message clients know", async () => {
  const node = await core.addNode("a");
  const runId = await started(node);
  await node.send({ run_id: runId, epoch: 1 }, 3, [
    edge("message_start", "M1"),
    edge("message_start", "M2"),
    delta("M1", "one "),
    delta("M2", "eins "),
    delta("M1", "two"),
    edge("message_end", "M2", "eins "),
    edge("message_end", "M1", "one two"),
    edge("message_start", "M3"),
    delta("M3", "three"),
    edge("message_end", "M3", "three"),
    FINISH,
  ]);
  await until(async () => (await core.state(runId)) === "succeeded");
  expect(await dropOldDeltas(core.store.sql, 0, newRetention())).toBe(4);
  const events = await withSnapshots(core.store.sql, 0, await listEvents(core.store.sql, runId, 0, 100));
  const snapshots = events.filter((event) => event.kind === "snapshot").map((event) => event.data);
  expect(snapshots).toEqual([
    {
      from_seq: 7,
      to_seq: 9,
      messages: [
        { type: "text", message_id: "M2", props: { content: "eins " } },
        { type: "text", message_id: "M1", props: { content: "one two" } },
      ],
    },
    { from_seq: 13, to_seq: 13, messages: [{ type: "text", message_id: "M3", props: { content: "three" } }] },
  ]);
  // From the middle of the gap, what is left of it has its snapshot, too.
  const rest = await withSnapshots(core.store.sql, 8, await listEvents(core.store.sql, runId, 8, 2));
  expect(rest[0]).toMatchObject({ kind: "snapshot", seq: 9, data: { from_seq: 9, to_seq: 9 } });
});

test("runs that were cut off in the middle of a message do not keep the deltas of later runs for ever", async () => {
  const node = await core.addNode("a", { slots: 200 });
  const open = await started(node);
  await node.send({ run_id: open, epoch: 1 }, 3, [edge("message_start", "M1"), delta("M1", "one"), FINISH]);
  await until(async () => (await core.state(open)) === "succeeded");
  await core.store.sql`
    INSERT INTO runs (id, workspace_id, assistant_id, app_id, app_name, app_version, bundle_digest, input, queue_key, state,
      timeout_ms, queue_until, last_seq, created_by, finished_at)
    SELECT 'run_z' || lpad(i::text, 25, '0'), workspace_id, assistant_id, app_id, app_name, app_version, bundle_digest, input,
      queue_key, state, timeout_ms, queue_until, last_seq, created_by, finished_at - interval '1 hour'
    FROM runs, generate_series(1, 60) AS i WHERE id = ${open}`;
  await core.store.sql`
    INSERT INTO run_events (run_id, seq, epoch, n, at, kind, delta_of, body)
    SELECT r.id, e.seq, e.epoch, e.n, e.at, e.kind, e.delta_of, e.body FROM runs r, run_events e WHERE e.run_id = ${open} AND r.id <> ${open}`;
  const whole = await started(node);
  await node.send({ run_id: whole, epoch: 1 }, 3, [
    edge("message_start", "M1"),
    delta("M1", "one"),
    edge("message_end", "M1", "one"),
    FINISH,
  ]);
  await until(async () => (await core.state(whole)) === "succeeded");
  const retention = newRetention();
  expect(await dropOldDeltas(core.store.sql, 0, retention)).toBe(1);
  // Each run is looked at once.
  expect(retention.runId).toBe(whole);
});

test("the deltas of a very long message are dropped quickly", async () => {
  const node = await core.addNode("a");
  const runId = await started(node);
  await node.send({ run_id: runId, epoch: 1 }, 3, [
    edge("message_start", "M1"),
    edge("message_end", "M1", "long"),
    FINISH,
  ]);
  await until(async () => (await core.state(runId)) === "succeeded");
  await core.store.sql`UPDATE run_events SET seq = seq + 20000 WHERE run_id = ${runId} AND seq > 5`;
  await core.store.sql`
    INSERT INTO run_events (run_id, seq, epoch, n, at, kind, delta_of, body)
    SELECT ${runId}, 5 + i, 1, 100 + i, now(), 'message', 'M1', '{"type":"text","delta":true,"message_id":"M1","props":{"content":"x"}}'
    FROM generate_series(1, 20000) AS i`;
  const startedMs = performance.now();
  expect(await dropOldDeltas(core.store.sql, 0, newRetention())).toBe(20_000);
  expect(performance.now() - startedMs).toBeLessThan(5_000);
});

test("a follower of a run that is deleted with its workspace comes to an end", async () => {
  const runId = await core.dispatcher.create(core.draft({ requirements: ANYWHERE }));
  const reader = core.tail.open(runId, 2);
  const next = reader.next(AbortSignal.timeout(30_000));
  await core.store.sql`DELETE FROM runs WHERE id = ${runId}`;
  const startedMs = performance.now();
  expect(await next).toEqual([]);
  expect(performance.now() - startedMs).toBeLessThan(20_000);
  reader.close();
});
