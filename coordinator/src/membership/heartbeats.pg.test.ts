import { subjects } from "@mesh/bus";
import { until } from "@mesh/kernel";
import { Heartbeat, HeartbeatAnswer } from "@mesh/proto";
import { afterEach, beforeEach, expect, test } from "vitest";

import { type RunCore, startRunCore, workFor } from "../runs/testing/run-core.ts";

let core: RunCore;

beforeEach(async () => {
  core = await startRunCore();
});

afterEach(async () => {
  await core[Symbol.asyncDispose]();
});

test("H4: a device is alive only together with the leases it renews, so nobody sees it alive and its runs forgotten", async () => {
  const node = await core.addNode("a");
  const runId = await core.dispatcher.create(core.draft());
  await workFor(node, runId);
  await node.beat([], true);
  let beat: Promise<unknown> = Promise.resolve();
  await core.store.sql.begin(async (tx) => {
    await tx`SELECT 1 FROM runs WHERE id = ${runId} FOR UPDATE`;
    beat = node.beat([{ run_id: runId, epoch: 1, last_n: 1 }]);
    // The beat now waits for the row.
    await until(async () => {
      const rows = await core.store
        .sql`SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
      return rows.length > 0;
    });
    const rows = await core.store.sql`SELECT goodbye FROM node_liveness WHERE node_id = ${node.id}`;
    expect(rows[0]).toEqual({ goodbye: true });
  });
  await beat;
  expect((await core.store.sql`SELECT goodbye FROM node_liveness WHERE node_id = ${node.id}`)[0]).toEqual({
    goodbye: false,
  });
});

test("H3: what one device reports cannot spoil the beats of the others", async () => {
  const good = await core.addNode("good");
  const bad = await core.addNode("bad");
  const ask = (digest: string, beat: Parameters<typeof Heartbeat.fromPartial>[0]): Promise<HeartbeatAnswer> =>
    core.hub
      .connect()
      .request(subjects.heartbeat(digest), Heartbeat.encode(Heartbeat.fromPartial({ protocol: 1, ...beat })).finish(), {
        timeoutMs: 5_000,
      })
      .then((data) => HeartbeatAnswer.decode(data));
  const [, spoilt] = await Promise.all([
    ask(good.digest, { boot_id: "b", hb_seq: 2 }),
    ask(bad.digest, {
      boot_id: "b\u0000",
      hb_seq: 2,
      cpu: Number.NaN,
      runs: [
        { run_id: "run_\u0000", epoch: 1, last_n: 1 },
        { run_id: core.draft().id, epoch: 4_294_967_295, last_n: 1 },
      ],
    }),
  ]);
  expect(spoilt.runs.map((run) => run.desired)).toEqual(["drop", "drop"]);
});

test("an answer names the run as another's when another device holds it", async () => {
  const a = await core.addNode("a");
  const b = await core.addNode("b", { slots: 1 });
  const runId = await core.dispatcher.create(
    core.draft({ requirements: { node_id: a.id, node: "a", labels: {}, os: "", arch: "", tools: [] } }),
  );
  await workFor(a, runId);
  expect((await b.beat([{ run_id: runId, epoch: 1, last_n: 1 }])).runs[0]).toMatchObject({
    desired: "drop",
    lease_ms: 0,
  });
  expect((await a.beat([{ run_id: runId, epoch: 1, last_n: 1 }])).runs[0]).toMatchObject({ desired: "continue" });
});

test("a beat of an unknown device is answered as removed", async () => {
  const data = Heartbeat.encode(Heartbeat.fromPartial({ boot_id: "b", hb_seq: 1, protocol: 1 })).finish();
  const reply = await core.hub.connect().request(subjects.heartbeat("a".repeat(20)), data, { timeoutMs: 5_000 });
  expect(HeartbeatAnswer.decode(reply).refused).toBe("removed");
});
