/**
 * Dispatch: from POST run to the device's first event at the SSE client, and to the terminal event; beside a raw NATS
 * request and graphile-worker on the same PostgreSQL, in alternating rounds.
 */

import { join } from "node:path";

import { type Bus, connectBus, loadTrust } from "@mesh/bus";
import { systemClock } from "@mesh/kernel";

import type { Bench } from "./bench.ts";
import { AGENTS, BenchMesh, SIMULATED } from "./bench-mesh.ts";
import { GraphilePeer, type JobTimes } from "./graphile-peer.ts";
import { cpuSeconds } from "./proc.ts";
import { atLeast, atMost, type Row } from "./report.ts";
import type { RunTimes } from "./run-client.ts";
import { closedLoop, median, nowMs, openLoop, quantile } from "./sample.ts";

const IN_FLIGHT = 64;
const SLOTS = 256;
const OFFERED_PER_SECOND = 300;
const MAX_P50_MS = 25;
const MAX_OF_PEER = 1.5;

interface Round {
  readonly nats: readonly number[];
  readonly jobs: readonly JobTimes[];
  readonly runs: readonly RunTimes[];
  readonly jobsPerSecond: number;
  readonly runsPerSecond: number;
  readonly cpuMsPerRun: number;
}

interface Field {
  readonly mesh: BenchMesh;
  readonly bus: Bus;
  readonly peer: GraphilePeer;
}

/** With simulated devices: what the coordinator, PostgreSQL, NATS and the gateway cost. */
export const dispatch: Bench = async (options) => {
  const { isShort, progress } = options;
  await using mesh = await BenchMesh.start(options);
  await mesh.fleet.call("takeWork", { digests: await mesh.join(4, SLOTS) });
  const rows = await compare(mesh, { label: "dispatch", labels: SIMULATED, isShort, progress });
  progress(`dispatch: ${OFFERED_PER_SECOND} runs/s offered`);
  const total = OFFERED_PER_SECOND * (isShort ? 3 : 15);
  const offered = await openLoop(OFFERED_PER_SECOND, total, (dueMs) => mesh.client.measureRun(dueMs, SIMULATED));
  const firsts = offered.results.map((run) => run.firstMs);
  return [
    ...rows,
    atLeast("starts sustained (300/s offered)", "/s", offered.perSecond, OFFERED_PER_SECOND * 0.97),
    { name: "  first event p50 at that rate", unit: "ms", ours: quantile(firsts, 0.5) },
    { name: "  first event p99 at that rate", unit: "ms", ours: quantile(firsts, 0.99) },
  ];
};

/** With real node agents and runners that execute the demo app's `hello` on `/noop`. */
export const agentDispatch: Bench = async (options) => {
  const { isShort, progress } = options;
  await using mesh = await BenchMesh.start(options);
  for (const name of ["agent-1", "agent-2"]) await mesh.mesh.addNode({ name, labels: AGENTS, slots: IN_FLIGHT });
  // Awaited here: the mesh is stopped when this function returns.
  return await compare(mesh, { label: "agent dispatch", labels: AGENTS, isShort, progress });
};

interface Comparison {
  readonly label: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly isShort: boolean;
  readonly progress: (text: string) => void;
}

async function compare(mesh: BenchMesh, how: Comparison): Promise<readonly Row[]> {
  const credentials = await loadTrust(join(mesh.mesh.dir, "trust"), systemClock).issueCoordinator();
  const bus = await connectBus({ servers: [mesh.mesh.nats.url], credentials, name: "bench", clock: systemClock });
  await using peer = await GraphilePeer.start(mesh.mesh.postgres.url, IN_FLIGHT);
  try {
    const field: Field = { mesh, bus, peer };
    // The first runs load the app, start runners and warm the compilers.
    await playRound(field, how, { inFlight: 8, count: 64 });
    const [one, many]: [Round[], Round[]] = [[], []];
    for (let round = 1; round <= (how.isShort ? 1 : 3); round += 1) {
      how.progress(`${how.label}: round ${round}, one at a time`);
      one.push(await playRound(field, how, { inFlight: 1, count: how.isShort ? 50 : 200 }));
      how.progress(`${how.label}: round ${round}, ${IN_FLIGHT} in flight`);
      many.push(await playRound(field, how, { inFlight: IN_FLIGHT, count: how.isShort ? 500 : 2000 }));
    }
    return [...sequentialRows(how.label, one), ...parallelRows(how.label, many)];
  } finally {
    await bus.close();
  }
}

async function playRound(
  { mesh, bus, peer }: Field,
  { labels }: Comparison,
  load: { readonly inFlight: number; readonly count: number },
): Promise<Round> {
  const payload = new Uint8Array(128);
  const nats = await closedLoop(load.inFlight, load.count, async () => {
    const startMs = nowMs();
    await bus.request("bench.echo", payload, { timeoutMs: 10_000 });
    return nowMs() - startMs;
  });
  const jobs = await closedLoop(load.inFlight, load.count, () => peer.measureJob());
  const cpuBefore = cpuSeconds(mesh.coordinatorPid);
  const runs = await closedLoop(load.inFlight, load.count, () => mesh.client.measureRun(nowMs(), labels));
  const cpuMsPerRun = ((cpuSeconds(mesh.coordinatorPid) - cpuBefore) * 1000) / load.count;
  return {
    nats: nats.results,
    jobs: jobs.results,
    runs: runs.results,
    jobsPerSecond: jobs.perSecond,
    runsPerSecond: runs.perSecond,
    cpuMsPerRun,
  };
}

function sequentialRows(label: string, rounds: readonly Round[]): readonly Row[] {
  const first50 = ofRounds(rounds, (round) => round.runs.map((run) => run.firstMs), 0.5);
  return [
    atMost(`${label}: first event p50, one at a time`, "ms", first50, MAX_P50_MS),
    ...versusPeer(`${label}, one at a time`, rounds),
  ];
}

function parallelRows(label: string, rounds: readonly Round[]): readonly Row[] {
  const first50 = ofRounds(rounds, (round) => round.runs.map((run) => run.firstMs), 0.5);
  return [
    atMost(`${label}: first event p50, ${IN_FLIGHT} in flight`, "ms", first50, MAX_P50_MS),
    ...versusPeer(`${label}, ${IN_FLIGHT} in flight`, rounds),
    {
      name: `${label}, ${IN_FLIGHT} in flight: runs ended`,
      unit: "/s",
      ours: median(rounds.map((round) => round.runsPerSecond)),
      against: { what: "graphile", value: median(rounds.map((round) => round.jobsPerSecond)) },
    },
    // Falls on a busy machine, where more runs share one transaction: compare it only under equal load.
    {
      name: "  coordinator's processor time per run",
      unit: "ms",
      ours: median(rounds.map((round) => round.cpuMsPerRun)),
    },
  ];
}

function versusPeer(label: string, rounds: readonly Round[]): readonly Row[] {
  const first = (q: number): number => ofRounds(rounds, (round) => round.runs.map((run) => run.firstMs), q);
  const end = (q: number): number => ofRounds(rounds, (round) => round.runs.map((run) => run.endMs), q);
  const pickup = (q: number): number => ofRounds(rounds, (round) => round.jobs.map((job) => job.pickupMs), q);
  const committed = (q: number): number => ofRounds(rounds, (round) => round.jobs.map((job) => job.committedMs), q);
  const nats = (q: number): number => ofRounds(rounds, (round) => round.nats, q);
  const graphile = (value: number): { what: string; value: number } => ({ what: "graphile", value });
  return [
    {
      name: `${label}: first event p50 / pickup`,
      unit: "ms",
      ours: first(0.5),
      against: graphile(pickup(0.5)),
      aim: { atMost: MAX_OF_PEER },
    },
    { name: `${label}: first event p99 / pickup`, unit: "ms", ours: first(0.99), against: graphile(pickup(0.99)) },
    { name: `${label}: terminal p50 / committed`, unit: "ms", ours: end(0.5), against: graphile(committed(0.5)) },
    { name: `${label}: terminal p99 / committed`, unit: "ms", ours: end(0.99), against: graphile(committed(0.99)) },
    {
      name: `${label}: first event p50 / raw NATS request`,
      unit: "ms",
      ours: first(0.5),
      against: { what: "nats", value: nats(0.5) },
    },
  ];
}

// Rounds alternate between ours and the peers; the middle round is what a noisy neighbour disturbs least.
function ofRounds(rounds: readonly Round[], values: (round: Round) => readonly number[], q: number): number {
  return median(rounds.map((round) => quantile(values(round), q)));
}
