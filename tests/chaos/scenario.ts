/** What is done to the mesh: one function per kind of fault, called once a round while the load runs. */

import { rmSync } from "node:fs";
import { join } from "node:path";

import { until } from "@mesh/kernel";

import type { JournaledEvent } from "./history.ts";
import { readJournal, tearJournal } from "./journal-reader.ts";
import type { CountWish, Load } from "./load.ts";
import { runnersOf } from "./process-table.ts";
import type { Random } from "./random.ts";
import { clock, type Stage } from "./stage.ts";

/** What a fault works with. */
export interface Play {
  readonly stage: Stage;
  readonly load: Load;
  readonly random: Random;
  readonly journals: JournaledEvent[];
  readonly removals: { nodeId: string; atMs: number }[];
  /** The run is short of time: faults that take a minute take less. */
  readonly isShort: boolean;
  /** Number of the round, from 0. */
  readonly round: number;
}

/** A kind of fault. */
export interface Scenario {
  readonly what: string;
  /** Longest time for which it may delay a cancel. */
  readonly outageMs: number;
  /** Rounds are slow: this share of the rounds asked for is played, one at least. */
  readonly share?: number;
  /** Clients reach the gateway through the line in front of it. */
  readonly overFront?: boolean;
  readonly round: (play: Play) => Promise<void>;
}

/** Breaks something; what it returns mends it. */
export type Fault = (play: Broken) => Promise<() => Promise<void>>;

/** What a fault works with. */
export type Broken = Pick<Play, "stage" | "random" | "journals" | "round">;

const HEALED_MS = 60_000;
const LONG_DOWN_MS = 17_000;
const DEVICES = ["alpha", "beta", "gamma"] as const;

/** All scenarios, in the order in which they are played. */
export const SCENARIOS = {
  agent: { what: "kill -9 of a node agent, or a power cut", outageMs: 30_000, round: kills(killAgent) },
  runner: { what: "kill -9 of a device's runners", outageMs: 0, round: kills(killRunner) },
  coordinator: {
    what: "kill -9 of one coordinator of two, or of both",
    outageMs: 20_000,
    round: kills(killCoordinator),
  },
  nats: { what: "kill -9 of nats-server", outageMs: 20_000, round: kills(killNats) },
  store: { what: "nats-server restarted without its JetStream store", outageMs: 20_000, round: kills(loseStore) },
  postgres: { what: "kill -9 of PostgreSQL", outageMs: 20_000, round: kills(killPostgres) },
  ambiguity: {
    what: "requests arrive, answers are dropped",
    outageMs: 20_000,
    overFront: true,
    round: kills(muteLines),
  },
  storm: { what: "several of these at once", outageMs: 60_000, share: 0.4, round: storm },
  cut: { what: "a device's line cut during a stream", outageMs: 90_000, share: 0.1, round: cutLine },
  revoke: { what: "a device removed while it works", outageMs: 0, share: 0.1, round: removeDevice },
  pause: { what: "SIGSTOP of a device past its lease", outageMs: 120_000, share: 0.1, round: pauseAgent },
} as const satisfies Record<string, Scenario>;

// One fault at a random moment, mended after a moment.
function kills(fault: Fault): Scenario["round"] {
  return async (play) => {
    await clock.sleep(play.random.between(200, 1500));
    const mend = await fault(play);
    await clock.sleep(play.random.between(0, 1000));
    await mend();
    await works(play, play.random.pick(DEVICES));
  };
}

// What others need to start is mended first.
async function storm(play: Play): Promise<void> {
  const { random } = play;
  const all: readonly Fault[] = [killPostgres, random.chance(0.5) ? killNats : loseStore, killCoordinator, killAgent];
  const chosen = all.filter(() => random.chance(0.6));
  const broken: { readonly rank: number; readonly mend: () => Promise<void> }[] = [];
  for (const fault of chosen.toSorted(() => random.next() - 0.5)) {
    await clock.sleep(random.between(0, 800));
    broken.push({ rank: all.indexOf(fault), mend: await fault(play) });
  }
  await clock.sleep(random.between(0, 3000));
  for (const { mend } of broken.toSorted((a, b) => a.rank - b.rank)) await mend();
  await works(play, random.pick(DEVICES));
}

async function killAgent({ stage, random, journals, round }: Broken): ReturnType<Fault> {
  const node = stage.mesh.node(random.pick(DEVICES));
  await node.process.kill();
  // Sometimes the power went too.
  if (random.chance(0.4)) tearJournal(node.dataDir, random.between(1, 4));
  journals.push(...readJournal(node.name, node.dataDir));
  return async () => {
    // Now and then long enough to be taken for offline.
    if (round % 10 === 9) await clock.sleep(LONG_DOWN_MS);
    await node.process.start();
  };
}

async function killRunner({ stage, random }: Broken): ReturnType<Fault> {
  const node = stage.mesh.node(random.pick(DEVICES));
  const wait = { timeoutMs: HEALED_MS, everyMs: 50, what: `${node.name} to have a runner` };
  for (const pid of await until(() => nonEmpty(runnersOf(node.process.pid)), wait)) kill(pid);
  return nothing;
}

async function killCoordinator({ stage, random, round }: Broken): ReturnType<Fault> {
  const victims = round % 2 === 0 ? [random.between(0, 2)] : [0, 1];
  await Promise.all(victims.map((index) => stage.mesh.coordinators[index]?.kill()));
  return async () => {
    for (const index of victims) await stage.mesh.restartCoordinator(index);
  };
}

async function killNats({ stage: { mesh } }: Broken): ReturnType<Fault> {
  kill(mesh.nats.pid);
  await mesh.nats.exited;
  return () => mesh.startNats();
}

async function loseStore({ stage: { mesh }, random }: Broken): ReturnType<Fault> {
  if (random.chance(0.5)) kill(mesh.nats.pid);
  else await mesh.nats.stop();
  await mesh.nats.exited;
  rmSync(join(mesh.dir, "nats", "store"), { recursive: true });
  return () => mesh.startNats();
}

async function killPostgres({ stage: { mesh } }: Broken): ReturnType<Fault> {
  kill(mesh.postgres.pid);
  await mesh.postgres.exited;
  return () => mesh.startPostgres();
}

async function muteLines({ stage, random }: Broken): ReturnType<Fault> {
  const lines = random.pick([[stage.front], [stage.far], [stage.front, stage.far]]);
  for (const line of lines) line.set("mute");
  await clock.sleep(random.between(100, 2000));
  return async () => {
    for (const line of lines) line.set("open");
  };
}

/** The faults that leave no trace once they are mended, by what they hit. */
export const FAULTS = {
  agent: killAgent,
  runner: killRunner,
  coordinator: killCoordinator,
  nats: killNats,
  store: loseStore,
  postgres: killPostgres,
} as const satisfies Record<string, Fault>;

async function nothing(): Promise<void> {
  // It mends itself.
}

async function cutLine(play: Play): Promise<void> {
  const { stage, load, isShort } = play;
  const runId = await load.create({ count: 1500, everyMs: 5, node: "gamma", priority: 100 });
  const reading = load.follow(runId, play.random.fork());
  await stage.mesh.until(runId, (run) => run.state === "running" && run.last_seq > 10);
  stage.far.set("cut");
  await clock.sleep(isShort ? 20_000 : 60_000);
  stage.far.set("open");
  await works(play, "gamma");
  await reading;
}

async function removeDevice(play: Play): Promise<void> {
  const { stage, load, removals, round } = play;
  const name = `delta-${round}`;
  const node = await stage.mesh.addNode({ name, slots: 2 });
  const runs = [0, 1].map(() => load.create({ count: 2000, everyMs: 5, node: name, priority: 100 }));
  const runIds = await Promise.all(runs);
  const readings = runIds.map((runId) => load.follow(runId, play.random.fork()));
  for (const runId of runIds) await stage.mesh.until(runId, (run) => run.last_seq > 10);
  const nodeId = (await stage.nodes()).find((row) => row.name === name)?.id ?? "";
  await stage.mesh.api.call("DELETE", `/v1/nodes/${nodeId}`);
  removals.push({ nodeId, atMs: clock.now() });
  await node.process.ended(HEALED_MS);
  await Promise.all(readings);
}

/** One run is held for its device, others may be replaced; the lease ends, the device comes back and still knows them. */
async function pauseAgent(play: Play): Promise<void> {
  const { stage, load, random } = play;
  const { process: agent } = stage.mesh.node("alpha");
  const held = await load.create({ count: 2500, everyMs: 5, node: "alpha", priority: 100 });
  const moved = await landingOn(play, "alpha");
  const readings = [held, moved].map((runId) => load.follow(runId, random.fork()));
  for (const runId of [held, moved]) await stage.mesh.until(runId, (run) => run.last_seq > 10);
  const runners = random.chance(0.5) ? runnersOf(agent.pid) : [];
  for (const pid of [agent.pid, ...runners]) process.kill(pid, "SIGSTOP");
  try {
    await stage.mesh.until(moved, (run) => run.epoch > 1, 150_000);
    await stage.mesh.until(held, (run) => run.reason.startsWith("waiting for device"), HEALED_MS);
  } finally {
    for (const pid of [...runners, agent.pid]) process.kill(pid, "SIGCONT");
  }
  await works(play, "alpha");
  await Promise.all(readings);
}

/** Creates replaceable runs until one of them is on the device. */
async function landingOn({ stage, load }: Play, name: string): Promise<string> {
  const wish: CountWish = { count: 2500, everyMs: 5, labels: { zone: "near" }, onLost: "replace", priority: 100 };
  for (;;) {
    const runId = await load.create(wish);
    const run = await stage.mesh.until(runId, ({ state }) => state === "running");
    if (run.node === name) return runId;
    await load.cancel(runId);
  }
}

/** The mesh works again: a device runs something from end to end. */
async function works({ stage, load }: Play, name: string): Promise<void> {
  const runId = await load.create({ count: 1, everyMs: 0, node: name, priority: 100 });
  await stage.mesh.until(runId, (run) => run.state === "succeeded", HEALED_MS);
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It was faster.
  }
}

function nonEmpty<T>(items: readonly T[]): readonly T[] | undefined {
  return items.length === 0 ? undefined : items;
}
