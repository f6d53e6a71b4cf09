/** Events on their way from devices to people: 200 viewers of 200 runs, each run with 10 events a second. */

import { until } from "@mesh/kernel";

import type { Bench } from "./bench.ts";
import { BenchMesh, SIMULATED } from "./bench-mesh.ts";
import { cpuSeconds } from "./proc.ts";
import { atLeast, atMost } from "./report.ts";
import { closedLoop, median, nowMs, quantile } from "./sample.ts";

const VIEWERS = 200;
const PER_SECOND = 10;
const NODES = 4;
const SLOTS = 64;
const MAX_P50_MS = 40;
const MAX_P99_MS = 250;

/** From the publication on the wire to the arrival at the SSE client. */
export const eventStream: Bench = async (options) => {
  const { isShort, progress } = options;
  await using mesh = await BenchMesh.start(options);
  await mesh.fleet.call("takeWork", { digests: await mesh.join(NODES, SLOTS) });
  const { results: runIds } = await closedLoop(16, VIEWERS, () =>
    mesh.client.createRun({ input: "/hold", labels: SIMULATED }),
  );
  let latencies: number[] = [];
  let started = 0;
  for (const runId of runIds) {
    const onEvent = (kind: string, data: string): void => {
      if (kind === "run.started") started += 1;
      const sentMs = kind === "message" ? sentAt(data) : undefined;
      if (sentMs !== undefined) latencies.push(nowMs() - sentMs);
    };
    // The runs never end; their streams are cut with the coordinator.
    mesh.client.follow(runId, onEvent).catch(() => undefined);
  }
  await until(() => started === VIEWERS, { timeoutMs: 30_000, what: "all viewers to see their run start" });
  const seconds = isShort ? 3 : 8;
  const expected = VIEWERS * PER_SECOND * seconds;
  const rounds: { p50: number; p99: number; perSecond: number; share: number }[] = [];
  for (let round = 1; round <= (isShort ? 1 : 3); round += 1) {
    progress(`event stream: round ${round}, ${VIEWERS * PER_SECOND} events/s to ${VIEWERS} viewers`);
    latencies = [];
    const cpuBefore = cpuSeconds(mesh.coordinatorPid);
    const startMs = nowMs();
    await mesh.fleet.call("stream", { perSecond: PER_SECOND, seconds });
    await until(() => latencies.length >= expected, { timeoutMs: 30_000, what: "all events to arrive" });
    const elapsedMs = nowMs() - startMs;
    const share = ((cpuSeconds(mesh.coordinatorPid) - cpuBefore) / (elapsedMs / 1000)) * 100;
    const perSecond = (expected / elapsedMs) * 1000;
    rounds.push({ p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99), perSecond, share });
  }
  return [
    atMost("event to SSE client p50, 200 viewers", "ms", median(rounds.map((round) => round.p50)), MAX_P50_MS),
    atMost("event to SSE client p99, 200 viewers", "ms", median(rounds.map((round) => round.p99)), MAX_P99_MS),
    // The tail of the last events after the load ends counts, so the full rate is never quite reached.
    atLeast("events delivered", "/s", median(rounds.map((round) => round.perSecond)), VIEWERS * PER_SECOND * 0.97),
    {
      name: "  coordinator's share of a core meanwhile",
      unit: "%",
      ours: median(rounds.map((round) => round.share)),
    },
  ];
};

function sentAt(data: string): number | undefined {
  const event = JSON.parse(data) as { data?: { props?: { sent_ms?: number } } };
  return event.data?.props?.sent_ms;
}
