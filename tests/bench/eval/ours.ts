/** What ours is measured at, each beside its aim. */

import { spawn } from "node:child_process";
import { rmSync, statSync } from "node:fs";
import { join, resolve } from "node:path";

import { bestOf, grownBeyond, measured, type Usage } from "./measure.ts";

/** One number. */
export interface Row {
  readonly what: string;
  readonly unit: string;
  readonly value: number;
  readonly aim: string;
  readonly isMet: boolean;
}

/** What a measurement needs. */
export interface Bench {
  /** The app of `suite.ts`. */
  readonly dir: string;
  readonly providerUrl: string;
  readonly rounds: number;
  readonly progress: (text: string) => void;
}

const MAIN = resolve(import.meta.dirname, "../../../services/cli/dist/main.js");
const LATENCY_MS = 50;

const atMost = (what: string, unit: string, value: number, aim: number): Row => ({
  what,
  unit,
  value,
  aim: `≤ ${aim}`,
  isMet: value <= aim,
});
const atLeast = (what: string, unit: string, value: number, aim: number): Row => ({
  what,
  unit,
  value,
  aim: `≥ ${aim}`,
  isMet: value >= aim,
});

interface Asked {
  readonly agent: string;
  readonly cases: string;
  readonly more?: readonly string[];
  readonly log?: string;
}

/** Runs an eval of the app. */
function evalOf({ dir, rounds }: Bench, { agent, cases, more = [], log = "out.jsonl" }: Asked): Promise<Usage> {
  const path = join(dir, log);
  const isResumed = more.includes("--resume");
  return bestOf(rounds, async () => {
    if (!isResumed) rmSync(path, { force: true });
    const before = isResumed ? statSync(path).size : 0;
    const args = [MAIN, "agent", "eval", agent, `@${cases}`, ...(isResumed ? [] : ["-o", log]), ...more];
    return measured({ args, cwd: dir, isUnderWay: grownBeyond(path, before) });
  });
}

/** Start, and echo work. */
export async function measureEcho(bench: Bench): Promise<readonly Row[]> {
  bench.progress("ours: start, 10,000 cases");
  const one = await evalOf({ ...bench, rounds: bench.rounds * 2 }, { agent: "echo", cases: "one.jsonl" });
  const many = await evalOf(bench, { agent: "echo", cases: "echo-10k.jsonl" });
  return [
    atMost("start to first case", "s", one.underWayS ?? Number.NaN, 0.25),
    atMost("10,000 echo cases", "s", many.wallS, 1.5),
    atMost("10,000 echo cases, processor time", "s", many.cpuS, 1.5),
    atMost("10,000 echo cases, memory", "MB", many.rssMb, 130),
  ];
}

/** Many cases, and going on with their log. */
export async function measureMany(bench: Bench): Promise<readonly Row[]> {
  bench.progress("ours: 100,000 cases, going on, reports");
  const small = await evalOf({ ...bench, rounds: 1 }, { agent: "echo", cases: "echo-10k.jsonl", log: "small.jsonl" });
  const once = { ...bench, rounds: 1 };
  const many = await evalOf(once, {
    agent: "echo",
    cases: "echo-100k.jsonl",
    more: ["--parallel", "2"],
    log: "many.jsonl",
  });
  const resume = ["--resume", "many.jsonl"];
  const goesOn = await evalOf(bench, { agent: "echo", cases: "echo-100k.jsonl", more: resume, log: "many.jsonl" });
  const again = ["--resume", "small.jsonl"];
  const bare = await evalOf(bench, { agent: "echo", cases: "echo-10k.jsonl", more: again, log: "small.jsonl" });
  const page = await evalOf(bench, {
    agent: "echo",
    cases: "echo-10k.jsonl",
    more: [...again, "-o", "page.html"],
    log: "small.jsonl",
  });
  return [
    atMost("100,000 echo cases", "s", many.wallS, 10),
    atMost("100,000 echo cases, memory over 10,000", "MB", many.rssMb - small.rssMb, 30),
    atMost("going on with a log of 100,000 rows: until it runs", "s", goesOn.underWayS ?? Number.NaN, 0.5),
    atMost("HTML of 10,000 cases, over writing none", "s", page.wallS - bare.wallS, 2),
  ];
}

/** A report of 1 GB. */
export async function measureLong(bench: Bench): Promise<readonly Row[]> {
  bench.progress("ours: a JSON report of 1 GB");
  const once = { ...bench, rounds: 1 };
  await evalOf(once, { agent: "echo", cases: "long-7k.jsonl", more: ["--parallel", "2"], log: "long.jsonl" });
  const again = ["--resume", "long.jsonl"];
  const bare = await evalOf(once, { agent: "echo", cases: "long-7k.jsonl", more: again, log: "long.jsonl" });
  const report = await evalOf(once, {
    agent: "echo",
    cases: "long-7k.jsonl",
    more: [...again, "-o", "long.json"],
    log: "long.jsonl",
  });
  const gigabytes = statSync(join(bench.dir, "long.json")).size / 1e9;
  for (const name of ["long.json", "long.jsonl"]) rmSync(join(bench.dir, name));
  return [atMost(`JSON of ${gigabytes.toFixed(2)} GB, memory over writing none`, "MB", report.rssMb - bare.rssMb, 20)];
}

/** Hooks, and a provider over HTTP. */
export async function measureWork(bench: Bench): Promise<readonly Row[]> {
  bench.progress("ours: hooks, a provider of 50 ms");
  const hooked = await evalOf(bench, { agent: "hooked", cases: "plain-2k.jsonl", more: ["--parallel", "4"] });
  const rows = [
    atLeast("cases through Create and Next", "/s", 2_000 / (hooked.wallS - (hooked.underWayS ?? 0)), 1_000),
  ];
  for (const [inFlight, share] of [
    [16, 85],
    [64, 45],
  ] as const) {
    const { usage, windowMs } = await overHttp(bench, inFlight);
    const ideal = (1_000 / inFlight) * LATENCY_MS;
    rows.push(
      atLeast(`provider of 50 ms, ${inFlight} in flight`, "% of ideal", (100 * ideal) / windowMs, share),
      atMost(`provider of 50 ms, ${inFlight} in flight, processor time a case`, "ms", usage.cpuS, 2),
    );
  }
  return rows;
}

async function overHttp(bench: Bench, inFlight: number): Promise<{ readonly usage: Usage; readonly windowMs: number }> {
  let best: { readonly usage: Usage; readonly windowMs: number } | undefined;
  for (let round = 0; round < bench.rounds; round += 1) {
    await (await fetch(`${bench.providerUrl}/stats`)).json();
    const usage = await evalOf(
      { ...bench, rounds: 1 },
      { agent: "http", cases: "plain-1k.jsonl", more: ["--parallel", String(inFlight)] },
    );
    const { windowMs } = (await (await fetch(`${bench.providerUrl}/stats`)).json()) as { readonly windowMs: number };
    if (best === undefined || windowMs < best.windowMs) best = { usage, windowMs };
  }
  if (best === undefined) throw new Error("no round was run");
  return best;
}

/** Starts the provider; `stop` ends it. */
export async function startProvider(): Promise<{ readonly url: string; readonly stop: () => void }> {
  const child = spawn(process.execPath, [resolve(import.meta.dirname, "provider-process.mjs")], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const url = await new Promise<string>((done, failed) => {
    child.once("error", failed);
    child.stdout.once("data", (text: Buffer) => done(text.toString().trim()));
  });
  return { url, stop: () => void child.kill() };
}
