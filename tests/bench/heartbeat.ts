/** What a thousand devices that only say they are alive cost the coordinator. */

import type { Bench } from "./bench.ts";
import { BenchMesh } from "./bench-mesh.ts";
import type { BeatResult } from "./fleet.ts";
import { cpuSeconds } from "./proc.ts";
import { atLeast, atMost } from "./report.ts";
import { nowMs, quantile, sleep } from "./sample.ts";

const NODES = 1_000;
const MAX_SHARE = 50;

/** Processor time of the coordinator while each device beats every five seconds. */
export const heartbeat: Bench = async (options) => {
  const { isShort, progress } = options;
  await using mesh = await BenchMesh.start(options);
  progress(`heartbeats: ${NODES} devices join`);
  const joinStartMs = nowMs();
  const digests = await mesh.join(NODES, 4);
  const joinsPerSecond = (NODES / (nowMs() - joinStartMs)) * 1000;
  const idle = await shareOfCore(mesh.coordinatorPid, () => sleep(isShort ? 3_000 : 10_000));
  progress("heartbeats: measuring");
  // All devices appear with their first beat, which is dearer than the following ones.
  await mesh.fleet.call("beat", { digests, seconds: 5 });
  let beats: BeatResult = { sent: 0, answered: 0, tripsMs: [] };
  const share = await shareOfCore(mesh.coordinatorPid, async () => {
    beats = await mesh.fleet.call<BeatResult>("beat", { digests, seconds: isShort ? 10 : 30 });
  });
  return [
    atMost("1,000 devices beating: coordinator's share of a core", "%", share, MAX_SHARE),
    { name: "  the same without a beat", unit: "%", ours: idle },
    atLeast("  beats answered", "%", (beats.answered / beats.sent) * 100, 100),
    { name: "  round trip of a beat p99", unit: "ms", ours: quantile(beats.tripsMs, 0.99) },
    { name: "  devices joined, 8 at once", unit: "/s", ours: joinsPerSecond },
  ];
};

async function shareOfCore(pid: number, during: () => Promise<void>): Promise<number> {
  const before = cpuSeconds(pid);
  const startMs = nowMs();
  await during();
  return ((cpuSeconds(pid) - before) / ((nowMs() - startMs) / 1000)) * 100;
}
