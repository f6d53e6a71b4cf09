/** What fleet evals cost the coordinator: simulated devices take batches and answer every unit at once. */

import { until } from "@mesh/kernel";

import type { Bench } from "./bench.ts";
import { BenchMesh, SIMULATED } from "./bench-mesh.ts";
import { cpuSeconds } from "./proc.ts";
import { atLeast, atMost } from "./report.ts";
import { median, nowMs } from "./sample.ts";

const NODES = 8;
const SLOTS = 4;
const MAX_SECONDS_MS = 8_000;
const MIN_PER_SECOND = 2_000;

/** 1,000 cases over 8 devices with 4 slots each; then as many results as the coordinator takes in a second. */
export const evalFleet: Bench = async (options) => {
  const { isShort, progress } = options;
  await using mesh = await BenchMesh.start(options);
  await mesh.fleet.call("takeWork", { digests: await mesh.join(NODES, SLOTS) });
  progress("eval-fleet: 1,000 cases");
  const walls: number[] = [];
  for (let round = 0; round < (isShort ? 1 : 3); round += 1) walls.push((await runEval(mesh, 1_000, 1)).tookMs);
  const cases = isShort ? 4_000 : 20_000;
  progress(`eval-fleet: ${cases} cases`);
  const cpuBefore = cpuSeconds(mesh.coordinatorPid);
  const many = await runEval(mesh, cases, 1);
  const cpuMs = (cpuSeconds(mesh.coordinatorPid) - cpuBefore) * 1000;
  return [
    atMost("1,000 no-op cases over 8 devices with 4 slots", "ms", median(walls), MAX_SECONDS_MS),
    atLeast(`results taken in of an eval with ${cases} cases`, "/s", (cases / many.tookMs) * 1000, MIN_PER_SECOND),
    { name: "  coordinator's processor time a result", unit: "ms", ours: cpuMs / cases },
  ];
};

interface EvalView {
  readonly id: string;
  readonly state: string;
  readonly counts: { readonly passed: number };
}

/** From the start of the eval to the read that shows its end. */
async function runEval(mesh: BenchMesh, cases: number, runs: number): Promise<{ readonly tookMs: number }> {
  const { eval: draft } = await mesh.client.post<{ eval: EvalView }>("/v1/evals", {
    workspace: "default",
    assistant: "hello",
    placement: { labels: SIMULATED },
    settings: { runs },
    draft: true,
  });
  for (let at = 0; at < cases; at += 2_000) {
    const part = Array.from({ length: Math.min(2_000, cases - at) }, (_, n) => ({
      id: `case-${at + n}`,
      input: `/echo ${at + n}`,
    }));
    await mesh.client.post(`/v1/evals/${draft.id}/cases`, { at, cases: part });
  }
  const startMs = nowMs();
  await mesh.client.post(`/v1/evals/${draft.id}/start`, {});
  const read = async (): Promise<EvalView | undefined> => {
    const { eval: now } = await mesh.mesh.api.call<{ eval: EvalView }>("GET", `/v1/evals/${draft.id}`);
    return now.state === "running" ? undefined : now;
  };
  const ended = await until(read, { timeoutMs: 120_000, everyMs: 50, what: "the eval to end" });
  const tookMs = nowMs() - startMs;
  if (ended.counts.passed !== cases * runs) throw new Error(`the eval ended with ${JSON.stringify(ended)}`);
  return { tookMs };
}
