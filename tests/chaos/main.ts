/**
 * Fault tests: `npm run chaos -- [--rounds N] [--seed S] [SCENARIO…]`.
 *
 * Plays each scenario for N rounds on a real mesh under load, then waits for quiet and checks what was observed. Prints the
 * seed, a line per scenario and every broken promise with the file of its history; ends with 1 when there was any.
 * Up to five rounds are the short form, in which faults that take a minute take less.
 */

import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { errorText } from "@mesh/kernel";

import { playEval } from "./eval-play.ts";
import type { History } from "./history.ts";
import { type Outcome, play, type ScenarioName } from "./play.ts";
import { SCENARIOS } from "./scenario.ts";
import { Stage } from "./stage.ts";

const MAX_PRINTED = 20;
const EVAL = "eval" as const;
const ALL = Object.keys(SCENARIOS) as ScenarioName[];

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    options: { rounds: { type: "string", default: "30" }, seed: { type: "string" } },
    allowPositionals: true,
  });
  const rounds = wholeNumber("rounds", values.rounds);
  const seed = values.seed === undefined ? Date.now() % 1_000_000 : wholeNumber("seed", values.seed);
  const names = positionals.length === 0 ? [...ALL, EVAL] : positionals.map(toName);
  console.log(`chaos: seed ${seed}, ${rounds} rounds`);
  let broken = 0;
  let stage: Stage | undefined;
  try {
    for (const name of names) {
      stage ??= await Stage.open();
      const problems = await playOne(stage, name, { rounds, seed });
      if (problems.length === 0) continue;
      // A broken mesh would only repeat itself.
      broken += problems.length + (await close(stage));
      stage = undefined;
    }
  } finally {
    if (stage !== undefined) broken += await close(stage);
  }
  console.log(broken === 0 ? "chaos: every promise was kept" : `chaos: ${broken} promises were broken; seed ${seed}`);
  return broken === 0 ? 0 : 1;
}

async function playOne(
  stage: Stage,
  name: ScenarioName | typeof EVAL,
  options: { readonly rounds: number; readonly seed: number },
): Promise<readonly string[]> {
  if (name !== EVAL) {
    const outcome = await play(stage, name, options);
    report(name, outcome);
    return outcome.problems;
  }
  const { problems, told } = await playEval(stage, options);
  console.log(
    `${problems.length === 0 ? "ok  " : "FAIL"} eval: an eval over five devices while everything breaks\n     ${told}`,
  );
  for (const problem of problems.slice(0, MAX_PRINTED)) console.log(`     ${problem}`);
  return problems;
}

function report(name: ScenarioName, { problems, history, rounds, quiet }: Outcome): void {
  const total = rounds.reduce((sum, seconds) => sum + seconds, 0);
  const slowest = Math.max(0, ...rounds);
  const { runs, events, journals, readers } = history;
  console.log(
    `${problems.length === 0 ? "ok  " : "FAIL"} ${name}: ${SCENARIOS[name].what}\n` +
      `     ${rounds.length} rounds in ${total.toFixed(1)} s (slowest ${slowest.toFixed(1)} s), all ended after ${quiet.toFixed(1)} s; ` +
      `${runs.length} runs (${endsOf(runs)}), ${events.length} events, ` +
      `${journals.length} of them found in journals, ${readers.length} readers`,
  );
  for (const problem of problems.slice(0, MAX_PRINTED)) console.log(`     ${problem}`);
  if (problems.length === 0) return;
  if (problems.length > MAX_PRINTED) console.log(`     … and ${problems.length - MAX_PRINTED} more`);
  const file = join(mkdtempSync(join(tmpdir(), "yao-chaos-history-")), `${name}.json`);
  writeFileSync(file, JSON.stringify({ problems, ...history }, undefined, 1));
  console.log(`     history: ${file}`);
}

function endsOf(runs: History["runs"]): string {
  const counts = new Map<string, number>();
  for (const { state, error } of runs) {
    const end = error === undefined ? state : `${state}: ${error.code}`;
    counts.set(end, (counts.get(end) ?? 0) + 1);
  }
  return [...counts].map(([end, count]) => `${count} ${end}`).join(", ");
}

async function close(stage: Stage): Promise<number> {
  const left = await stage.close();
  for (const { pid, args } of left) console.log(`FAIL process ${pid} was left behind: ${args.slice(0, 120)}`);
  return left.length;
}

function toName(text: string): ScenarioName | typeof EVAL {
  if (text === EVAL) return EVAL;
  if (Object.hasOwn(SCENARIOS, text)) return text as ScenarioName;
  throw new Error(`no scenario "${text}"; there are ${[...Object.keys(SCENARIOS), EVAL].join(", ")}`);
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
// Sockets of broken connections must not keep it alive.
process.exit();
