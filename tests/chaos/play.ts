/** One scenario from the first fault to the verdict. */

import { errorText, until } from "@mesh/kernel";

import { checkHistory, type History } from "./history.ts";
import { Load } from "./load.ts";
import { Observer } from "./observer.ts";
import { Random } from "./random.ts";
import { type Play, type Scenario, SCENARIOS } from "./scenario.ts";
import { clock, NODES, type Stage } from "./stage.ts";

const CLIENTS = 5;
/** Everything has ended this long after the last fault was mended. */
const QUIET_MS = 75_000;
const READY_MS = 20_000;
const SHORT_ROUNDS = 5;

/** A scenario's name. */
export type ScenarioName = keyof typeof SCENARIOS;

/** What came of it. */
export interface Outcome {
  readonly problems: readonly string[];
  readonly history: History;
  /** Seconds of each round. */
  readonly rounds: readonly number[];
  /** Seconds until everything had ended. */
  readonly quiet: number;
}

/** Plays the rounds under load, waits for quiet, and checks what was observed. */
export async function play(
  stage: Stage,
  name: ScenarioName,
  options: { readonly rounds: number; readonly seed: number },
): Promise<Outcome> {
  const scenario: Scenario = SCENARIOS[name];
  const tag = `${name}-${process.pid}-${options.seed}`;
  const random = new Random(options.seed + Object.keys(SCENARIOS).indexOf(name) * 7919);
  const urls = (): readonly string[] => (scenario.overFront === true ? [stage.front.url] : stage.replicaUrls());
  const { token } = stage.mesh.api;
  const { outageMs } = scenario;
  const load = new Load({ urls, token, scenario: tag, random: random.fork(), clock, nodes: NODES, outageMs });
  const observer = new Observer({ sql: () => stage.store.sql, clock, scenario: tag });
  const isShort = options.rounds <= SHORT_ROUNDS;
  const cast: Omit<Play, "round"> = { stage, load, random, isShort, journals: [], removals: [] };
  observer.start();
  load.start(CLIENTS);
  const { rounds, problems } = await playRounds(
    scenario,
    cast,
    Math.max(1, Math.round(options.rounds * (scenario.share ?? 1))),
  );
  const quiet = await secondsOf(load.stop(QUIET_MS));
  const nodes = await settledNodes(stage);
  if (nodes.length === 0) problems.push("the coordinators do not answer after the quiet time");
  problems.push(...load.refusals.map((text) => `a client was refused: ${text}`));
  await observer.stop();
  const history = await collect(cast, observer, nodes);
  problems.push(...checkHistory(history).map(({ invariant, text }) => `${invariant} ${text}`));
  return { problems, history, rounds, quiet };
}

async function playRounds(
  scenario: Scenario,
  cast: Omit<Play, "round">,
  count: number,
): Promise<{ readonly rounds: number[]; readonly problems: string[] }> {
  const rounds: number[] = [];
  try {
    for (let round = 0; round < count; round += 1) rounds.push(await secondsOf(scenario.round({ ...cast, round })));
    return { rounds, problems: [] };
  } catch (error) {
    return { rounds, problems: [`did not heal in round ${rounds.length + 1}: ${errorText(error)}`] };
  }
}

async function collect(
  { load, journals, removals }: Omit<Play, "round">,
  observer: Observer,
  nodes: History["nodes"],
): Promise<History> {
  const { transitions, held } = observer;
  const { readers, creations, cancels } = load;
  return { ...(await observer.read()), journals, removals, transitions, held, readers, creations, cancels, nodes };
}

// Devices are given a moment to show up again; without an answer there is none.
async function settledNodes(stage: Stage): Promise<History["nodes"]> {
  let nodes: History["nodes"] = [];
  const isReady = async (): Promise<boolean> => {
    nodes = await stage.nodes().catch(() => []);
    return nodes.length > 0 && nodes.every((node) => node.status === "online");
  };
  await until(isReady, { timeoutMs: READY_MS, everyMs: 200 }).catch(() => undefined);
  return nodes;
}

async function secondsOf(work: Promise<void>): Promise<number> {
  const startedMs = clock.monotonic();
  await work;
  return (clock.monotonic() - startedMs) / 1000;
}
