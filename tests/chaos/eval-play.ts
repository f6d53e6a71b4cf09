/**
 * The eval scenario: one eval over five devices while devices, coordinators, NATS and PostgreSQL are killed, paused and cut off.
 *
 * E1  Each unit has exactly one result that counts, none is lost; further ones are marked as observations.
 * E2  The log is dense: its rows are numbered from 1 without gaps.
 * E3  Verdicts and answers are those of a local run of the same suite.
 * E4  The counts that the eval shows are those of its log.
 */

import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { bundleApp, readAppDirectory } from "@mesh/assistants";
import { canonicalJson, errorText, until } from "@mesh/kernel";

import { ApiProblem } from "../harness/api-client.ts";
import { SUITE_AGENT, suiteCases, writeSuite } from "./eval-suite.ts";
import { Random } from "./random.ts";
import { type Broken, type Fault, FAULTS } from "./scenario.ts";
import { clock, type Stage } from "./stage.ts";

const YAO = resolve(import.meta.dirname, "../../services/cli/dist/main.js");
const MORE_NODES = ["delta", "epsilon"];
const SLOTS = 4;
const RUNS = 2;
const SHORT_ROUNDS = 5;
const ENDED_MS = 240_000;
const LOCAL_MS = 300_000;
const INSIST_MS = 90_000;

/** What came of it. */
export interface EvalOutcome {
  readonly problems: readonly string[];
  /** In words, for people. */
  readonly told: string;
}

/** A row of the log, as far as it is judged. */
interface LogRow {
  readonly seq: number;
  readonly case_id: string;
  readonly run: number;
  readonly node: string;
  readonly status: string;
  readonly observation: boolean;
  readonly result: Readonly<Record<string, unknown>>;
}

interface EvalView {
  readonly id: string;
  readonly state: string;
  readonly reason: string;
  readonly counts: Readonly<Record<string, number>>;
}

/** Plays it: as many faults as rounds, or until the eval has ended. */
export async function playEval(
  stage: Stage,
  options: { readonly rounds: number; readonly seed: number },
): Promise<EvalOutcome> {
  const isShort = options.rounds <= SHORT_ROUNDS;
  const random = new Random(options.seed);
  for (const name of MORE_NODES) if (!stage.mesh.nodes.has(name)) await stage.mesh.addNode({ name, slots: SLOTS });
  const cases = suiteCases(isShort ? 150 : 1_000, isShort ? 600 : 400);
  const { app, input } = writeSuite(mkdtempSync(join(stage.mesh.dir, "suite-")), cases);
  const expected = await localResults(app, input);
  const { bytes } = bundleApp(await readAppDirectory(app));
  const pushed = await insist<{ digest: string }>(stage, "POST", "/v1/workspaces/default/evals/bundles", bytes);
  const created = await insist<{ eval: EvalView }>(stage, "POST", "/v1/evals", {
    workspace: "default",
    assistant: SUITE_AGENT,
    name: `chaos ${options.seed}`,
    bundle_digest: pushed.digest,
    settings: { runs: RUNS, retries: 10 },
    cases,
    idempotency_key: `chaos-${process.pid}-${options.seed}`,
  });
  const { id } = created.eval;
  const startedMs = clock.monotonic();
  const faults = await breakThings(stage, { id, rounds: options.rounds, random });
  const problems = [...faults.problems];
  try {
    const ended = await until(() => readEval(stage, id).then((now) => (now?.state === "ended" ? now : undefined)), {
      timeoutMs: ENDED_MS,
      everyMs: 250,
      what: "the eval to end",
    });
    const rows = await readLog(stage, id);
    problems.push(...judge(rows, expected, ended));
    const seconds = ((clock.monotonic() - startedMs) / 1000).toFixed(1);
    const observed = rows.filter((row) => row.observation).length;
    return { problems, told: `${rows.length} rows (${observed} observations) in ${seconds} s; faults: ${faults.told}` };
  } catch (error) {
    const now = await readEval(stage, id);
    problems.push(`${errorText(error)}; it is ${JSON.stringify(now)}`);
    return { problems, told: `faults: ${faults.told}` };
  }
}

const { agent, runner, coordinator, nats, store, postgres } = FAULTS;
const KINDS: readonly [readonly [string, Fault], ...(readonly [string, Fault])[]] = [
  ["agent", agent],
  ["runner", runner],
  ["coordinator", coordinator],
  ["nats", nats],
  ["store", store],
  ["postgres", postgres],
  ["pause", pauseAgent],
  ["cut", cutLine],
];

/** Plays faults one after the other while the eval runs. */
async function breakThings(
  stage: Stage,
  { id, rounds, random }: { readonly id: string; readonly rounds: number; readonly random: Random },
): Promise<{ readonly told: string; readonly problems: readonly string[] }> {
  const played: string[] = [];
  try {
    for (let round = 0; round < rounds; round += 1) {
      await clock.sleep(random.between(200, 1500));
      const now = await readEval(stage, id);
      if (now !== undefined && now.state !== "running") break;
      const [kind, fault] = random.pick(KINDS);
      played.push(kind);
      const mend = await fault({ stage, random, journals: [], round });
      await clock.sleep(random.between(0, 1000));
      await mend();
    }
    return { told: played.join(" "), problems: [] };
  } catch (error) {
    return { told: played.join(" "), problems: [`did not heal after ${played.at(-1)}: ${errorText(error)}`] };
  }
}

async function pauseAgent({ stage, random }: Broken): Promise<() => Promise<void>> {
  const { pid } = stage.mesh.node(random.pick(["alpha", "beta", "delta"])).process;
  if (pid === undefined) throw new Error("the device does not run");
  process.kill(pid, "SIGSTOP");
  await clock.sleep(random.between(1_000, 18_000));
  return async () => void process.kill(pid, "SIGCONT");
}

async function cutLine({ stage, random }: Broken): Promise<() => Promise<void>> {
  stage.far.set("cut");
  await clock.sleep(random.between(1_000, 18_000));
  return async () => stage.far.set("open");
}

function judge(rows: readonly LogRow[], expected: ReadonlyMap<string, string>, ended: EvalView): readonly string[] {
  const problems: string[] = [];
  const counted = new Map<string, LogRow>();
  for (const [index, row] of rows.entries()) {
    if (row.seq !== index + 1) problems.push(`E2 row ${index + 1} of the log has the number ${row.seq}`);
    if (row.observation) continue;
    const key = `${row.case_id}#${row.run}`;
    if (counted.has(key)) problems.push(`E1 ${key} counts twice`);
    counted.set(key, row);
  }
  for (const [key, verdict] of expected) {
    const row = counted.get(key);
    if (row === undefined) problems.push(`E1 ${key} has no result`);
    else if (verdictOf(row.result) !== verdict)
      problems.push(`E3 ${key} on ${row.node}: ${verdictOf(row.result)} where a local run has ${verdict}`);
  }
  if (counted.size !== expected.size) problems.push(`E1 ${counted.size} results count, ${expected.size} are due`);
  for (const [name, status] of Object.entries({
    passed: "passed",
    failed: "failed",
    errors: "error",
    timeouts: "timeout",
  })) {
    const found = [...counted.values()].filter((row) => row.status === status).length;
    if ((ended.counts[name] ?? 0) !== found) problems.push(`E4 ${name} is ${ended.counts[name]}, the log has ${found}`);
  }
  return problems;
}

/** What must be equal wherever a case runs. */
function verdictOf({
  status,
  input,
  output,
  expected,
  assertions,
  usage,
  hash,
}: Readonly<Record<string, unknown>>): string {
  const judged = Array.isArray(assertions)
    ? assertions.map(({ duration_ms: _took, ...rest }: Record<string, unknown>) => rest)
    : [];
  return canonicalJson(JSON.parse(JSON.stringify({ status, input, output, expected, judged, usage, hash })));
}

async function localResults(app: string, input: string): Promise<ReadonlyMap<string, string>> {
  const log = join(app, "local.jsonl");
  const args = ["agent", "eval", "-i", input, "-n", SUITE_AGENT, "--runs", String(RUNS), "--parallel", "48", "-o", log];
  const child = spawn(process.execPath, [YAO, ...args], { cwd: app, stdio: "ignore", timeout: LOCAL_MS });
  const code = await new Promise<number | null>((done) => child.once("close", done));
  // Some cases are made to fail.
  if (code !== 1) throw new Error(`the local eval ended with ${code}`);
  const rows = readFileSync(log, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  const results = rows.filter((row) => row["type"] === "result");
  return new Map(results.map((row) => [`${String(row["id"])}#${String(row["run"])}`, verdictOf(row)]));
}

async function readEval(stage: Stage, id: string): Promise<EvalView | undefined> {
  try {
    return (await stage.mesh.api.call<{ eval: EvalView }>("GET", `/v1/evals/${id}`)).eval;
  } catch (error) {
    if (error instanceof ApiProblem && error.status < 500) throw error;
    return undefined;
  }
}

async function readLog(stage: Stage, id: string): Promise<readonly LogRow[]> {
  const rows: LogRow[] = [];
  for (;;) {
    const path = `/v1/evals/${id}/results?after_seq=${rows.at(-1)?.seq ?? 0}&page_size=500`;
    const page = await insist<{ results: LogRow[] }>(stage, "GET", path);
    if (page.results.length === 0) return rows;
    rows.push(...page.results);
  }
}

/** Asks until there is an answer; one that blames the client is thrown. */
async function insist<T>(stage: Stage, method: string, path: string, body?: unknown): Promise<T> {
  const endMs = clock.monotonic() + INSIST_MS;
  for (;;) {
    try {
      return await stage.mesh.api.call<T>(method, path, body, { accept: "application/json" });
    } catch (error) {
      const isAnswer = error instanceof ApiProblem && error.status < 500;
      if (isAnswer || clock.monotonic() > endMs) throw error;
      await clock.sleep(200);
    }
  }
}
