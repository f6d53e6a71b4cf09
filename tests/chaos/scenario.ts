/** What is done to the mesh: one function per kind of fault, called once a round while the load runs. */

import { rmSync } from "node:fs";
import { join } from "node:path";

import { until } from "@mesh/kernel";

import type { JournaledEvent } from "./history.ts";
import { readJournal } from "./journal-reader.ts";
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

const HEALED_MS = 60_000;
const LONG_DOWN_MS = 17_000;

/** All scenarios, in the order in which they are played. */
export const SCENARIOS = {
  agent: { what: "kill -9 of a node agent", outageMs: 30_000, round: killAgent },
  runner: { what: "kill -9 of a runner", outageMs: 0, round: killRunner },
  coordinator: { what: "kill -9 of one coordinator of two, or of both", outageMs: 20_000, round: killCoordinator },
  nats: { what: "kill -9 of nats-server", outageMs: 20_000, round: killNats },
  store: { what: "nats-server restarted without its JetStream store", outageMs: 20_000, round: loseStore },
  postgres: { what: "kill -9 of PostgreSQL", outageMs: 20_000, round: killPostgres },
  ambiguity: {
    what: "requests arrive, answers are dropped",
    outageMs: 20_000,
    overFront: true,
    round: dropAnswers,
  },
  cut: { what: "a device's line cut during a stream", outageMs: 90_000, share: 0.1, round: cutLine },
  revoke: { what: "a device removed while it works", outageMs: 0, share: 0.1, round: removeDevice },
  pause: { what: "SIGSTOP of a device past its lease", outageMs: 120_000, share: 0.1, round: pauseAgent },
} as const satisfies Record<string, Scenario>;

async function killAgent(play: Play): Promise<void> {
  const { stage, random, journals, round } = play;
  const node = stage.mesh.node(random.pick(["alpha", "beta", "gamma"]));
  await someTime(play);
  await node.process.kill();
  journals.push(...readJournal(node.name, node.dataDir));
  // Now and then long enough to be taken for offline.
  await clock.sleep(round % 10 === 9 ? LONG_DOWN_MS : random.between(0, 1000));
  await node.process.start();
  await works(play, node.name);
}

async function killRunner(play: Play): Promise<void> {
  const { stage, random } = play;
  const node = stage.mesh.node(random.pick(["alpha", "beta", "gamma"]));
  const runners = await until(() => nonEmpty(runnersOf(node.process.pid)), {
    timeoutMs: HEALED_MS,
    everyMs: 100,
    what: `${node.name} to have a runner`,
  });
  await someTime(play);
  for (const pid of runners) kill(pid);
  await works(play, node.name);
}

async function killCoordinator(play: Play): Promise<void> {
  const { stage, random, round } = play;
  const victims = round % 2 === 0 ? [random.between(0, 2)] : [0, 1];
  await someTime(play);
  await Promise.all(victims.map((index) => stage.mesh.coordinators[index]?.kill()));
  await clock.sleep(random.between(0, 1000));
  for (const index of victims) await stage.mesh.restartCoordinator(index);
  await works(play, "alpha");
}

async function killNats(play: Play): Promise<void> {
  const { mesh } = play.stage;
  await someTime(play);
  kill(mesh.nats.pid);
  await mesh.nats.exited;
  await clock.sleep(play.random.between(0, 1000));
  await mesh.startNats();
  await works(play, "alpha");
}

async function loseStore(play: Play): Promise<void> {
  const { mesh } = play.stage;
  await someTime(play);
  if (play.random.chance(0.5)) kill(mesh.nats.pid);
  else await mesh.nats.stop();
  await mesh.nats.exited;
  rmSync(join(mesh.dir, "nats", "store"), { recursive: true });
  await mesh.startNats();
  await works(play, "beta");
}

async function killPostgres(play: Play): Promise<void> {
  const { mesh } = play.stage;
  await someTime(play);
  kill(mesh.postgres.pid);
  await mesh.postgres.exited;
  await clock.sleep(play.random.between(0, 1000));
  await mesh.startPostgres();
  await works(play, "alpha");
}

async function dropAnswers(play: Play): Promise<void> {
  const { stage, random } = play;
  await someTime(play);
  const lines = random.pick([[stage.front], [stage.far], [stage.front, stage.far]]);
  for (const line of lines) line.set("mute");
  await clock.sleep(random.between(100, 2500));
  for (const line of lines) line.set("open");
  await works(play, "gamma");
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

async function someTime({ random }: Play): Promise<void> {
  await clock.sleep(random.between(200, 1500));
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
