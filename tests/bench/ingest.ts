/** The most events the coordinator takes in: devices flood batches of 50 until all are committed. */

import { until } from "@mesh/kernel";
import { openStore, type Sql } from "@mesh/store";

import type { Bench } from "./bench.ts";
import { BenchMesh, SIMULATED } from "./bench-mesh.ts";
import { cpuSeconds } from "./proc.ts";
import { atLeast } from "./report.ts";
import { closedLoop, median, nowMs } from "./sample.ts";

const NODES = 4;
const RUNS = 40;
const BATCH_SIZE = 50;
const MIN_PER_SECOND = 10_000;

/** From the first publication to the commit of the last event. */
export const ingest: Bench = async (options) => {
  const { isShort, progress } = options;
  await using mesh = await BenchMesh.start(options);
  await using store = openStore({ url: mesh.mesh.postgres.url, maxConnections: 1 });
  await mesh.fleet.call("takeWork", { digests: await mesh.join(NODES, RUNS) });
  await closedLoop(8, RUNS, () => mesh.client.createRun({ input: "/hold", labels: SIMULATED }));
  await until(async () => (await committedEvents(store.sql)) === RUNS * 3, {
    timeoutMs: 30_000,
    what: "all runs to start",
  });
  const batches = isShort ? 600 : 2_000;
  const rates: number[] = [];
  const shares: number[] = [];
  for (let round = 1; round <= (isShort ? 1 : 3); round += 1) {
    progress(`ingest: round ${round}, ${batches * BATCH_SIZE} events`);
    const target = (await committedEvents(store.sql)) + batches * BATCH_SIZE;
    const cpuBefore = cpuSeconds(mesh.coordinatorPid);
    const startMs = nowMs();
    await mesh.fleet.call("flood", { batches, batchSize: BATCH_SIZE });
    await until(async () => (await committedEvents(store.sql)) >= target, { timeoutMs: 120_000, what: "the events" });
    const seconds = (nowMs() - startMs) / 1000;
    rates.push((batches * BATCH_SIZE) / seconds);
    shares.push(((cpuSeconds(mesh.coordinatorPid) - cpuBefore) / seconds) * 100);
  }
  return [
    atLeast("ingest, events committed", "/s", median(rates), MIN_PER_SECOND),
    { name: "  coordinator's share of a core meanwhile", unit: "%", ours: median(shares) },
  ];
};

async function committedEvents(sql: Sql): Promise<number> {
  const rows = await sql<{ total: number }[]>`SELECT coalesce(sum(committed_n), 0)::int AS total FROM runs`;
  return rows[0]?.total ?? 0;
}
