/**
 * Fault tests: `npm run chaos -- [--rounds N] [--seed S] [SCENARIO…]`.
 *
 * Plays each scenario for N rounds on a real mesh under load, then waits for quiet and checks what was observed. Prints the
 * seed, a line per scenario and every broken promise with the file of its history; ends with 1 when there was any.
 */

import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { errorText, until } from "@mesh/kernel";

import { checkHistory, type History } from "./history.ts";
import { Load } from "./load.ts";
import { Observer } from "./observer.ts";
import { Random } from "./random.ts";
import { type Play, type Scenario, SCENARIOS } from "./scenario.ts";
import { clock, NODES, Stage } from "./stage.ts";

const CLIENTS = 5;
const QUIET_MS = 75_000;
const SHORT_ROUNDS = 5;

type Name = keyof typeof SCENARIOS;

interface Outcome {
  readonly problems: readonly string[];
  readonly history: History;
  readonly rounds: number;
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    options: { rounds: { type: "string", default: "30" }, seed: { type: "string" } },
    allowPositionals: true,
  });
  const rounds = wholeNumber("rounds", values.rounds);
  const seed = values.seed === undefined ? Date.now() % 1_000_000 : wholeNumber("seed", values.seed);
  const names = positionals.length === 0 ? (Object.keys(SCENARIOS) as Name[]) : positionals.map(toName);
  console.log(`chaos: seed ${seed}, ${rounds} rounds`);
  let broken = 0;
  let stage: Stage | undefined;
  try {
    for (const name of names) {
      stage ??= await Stage.open();
      const startedMs = clock.monotonic();
      const outcome = await play(stage, name, { rounds, seed });
      broken += report(name, outcome, (clock.monotonic() - startedMs) / 1000);
      // A broken mesh would only repeat itself.
      if (outcome.problems.length > 0) {
        broken += await close(stage);
        stage = undefined;
      }
    }
  } finally {
    if (stage !== undefined) broken += await close(stage);
  }
  console.log(broken === 0 ? "chaos: every promise was kept" : `chaos: ${broken} promises were broken; seed ${seed}`);
  return broken === 0 ? 0 : 1;
}

async function play(stage: Stage, name: Name, options: { rounds: number; seed: number }): Promise<Outcome> {
  const scenario: Scenario = SCENARIOS[name];
  const tag = `${name}-${process.pid}-${options.seed}`;
  const random = new Random(options.seed + Object.keys(SCENARIOS).indexOf(name) * 7919);
  const load = new Load({
    urls: () => (scenario.overFront === true ? [stage.front.url] : stage.replicaUrls()),
    token: stage.mesh.api.token,
    scenario: tag,
    random: random.fork(),
    clock,
    nodes: NODES,
    outageMs: scenario.outageMs,
  });
  const observer = new Observer({ sql: () => stage.store.sql, clock, scenario: tag });
  const isShort = options.rounds <= SHORT_ROUNDS;
  const faults = { journals: [] as Play["journals"], removals: [] as Play["removals"] };
  const rounds = Math.max(1, Math.round(options.rounds * (scenario.share ?? 1)));
  const problems: string[] = [];
  observer.start();
  load.start(CLIENTS);
  try {
    for (let round = 0; round < rounds; round += 1) {
      await scenario.round({ stage, load, random, isShort, round, ...faults });
    }
  } catch (error) {
    problems.push(`did not heal: ${errorText(error)}`);
  }
  await load.stop(QUIET_MS);
  problems.push(...load.refusals.map((text) => `a client was refused: ${text}`));
  const nodes = await settledNodes(stage);
  await observer.stop();
  const { transitions, held } = observer;
  const { readers, creations, cancels } = load;
  const seen = await observer.read();
  const history: History = { ...seen, ...faults, transitions, held, readers, creations, cancels, nodes };
  problems.push(...checkHistory(history).map(({ invariant, text }) => `${invariant} ${text}`));
  return { problems, history, rounds };
}

// Devices are given a moment to show up again.
async function settledNodes(stage: Stage): Promise<History["nodes"]> {
  const deadline = clock.monotonic() + 20_000;
  const isReady = (nodes: History["nodes"]): boolean => nodes.every((node) => node.status === "online");
  return until(
    async () => {
      const nodes = await stage.nodes();
      return isReady(nodes) || clock.monotonic() > deadline ? nodes : undefined;
    },
    { timeoutMs: 25_000, everyMs: 200, what: "the list of devices" },
  );
}

function report(name: Name, { problems, history, rounds }: Outcome, seconds: number): number {
  const states = new Map<string, number>();
  for (const { state, errorCode } of history.runs) {
    const end = errorCode === undefined ? state : `${state} (${errorCode})`;
    states.set(end, (states.get(end) ?? 0) + 1);
  }
  const ends = [...states].map(([state, count]) => `${count} ${state}`).join(", ");
  console.log(
    `${problems.length === 0 ? "ok  " : "FAIL"} ${name}: ${SCENARIOS[name].what}; ${rounds} rounds in ${seconds.toFixed(1)} s; ` +
      `${history.runs.length} runs (${ends}), ${history.events.length} events, ${history.readers.length} readers`,
  );
  if (problems.length === 0) return 0;
  const file = join(mkdtempSync(join(tmpdir(), "yao-chaos-history-")), `${name}.json`);
  writeFileSync(file, JSON.stringify({ problems, ...history }, undefined, 1));
  for (const problem of problems.slice(0, 20)) console.log(`     ${problem}`);
  if (problems.length > 20) console.log(`     … and ${problems.length - 20} more`);
  console.log(`     history: ${file}`);
  return problems.length;
}

async function close(stage: Stage): Promise<number> {
  const left = await stage.close();
  for (const { pid, args } of left) console.log(`FAIL process ${pid} was left behind: ${args.slice(0, 120)}`);
  return left.length;
}

function toName(text: string): Name {
  if (Object.hasOwn(SCENARIOS, text)) return text as Name;
  throw new Error(`no scenario "${text}"; there are ${Object.keys(SCENARIOS).join(", ")}`);
}

function wholeNumber(name: string, text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 0) return value;
  throw new Error(`--${name} must be a whole number, not "${text}"`);
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(`chaos: ${errorText(error)}`);
  process.exitCode = 1;
}
process.exit();
