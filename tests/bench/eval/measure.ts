/** Runs one contender to its end, in processes of its own, and reads what they used. */

import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

/** What a run took. */
export interface Usage {
  readonly wallS: number;
  /** Of all its processes, in user and kernel mode. */
  readonly cpuS: number;
  /** Of the largest of them. */
  readonly rssMb: number;
  /** From the start until `isUnderWay`; undefined when it was not asked. */
  readonly underWayS?: number;
}

/** How a contender is started. */
export interface Command {
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Looked at every 2 ms. */
  readonly isUnderWay?: () => boolean;
}

const LOOK_MS = 2;
const LIMIT_MS = 600_000;

/** Runs Node with these arguments; rejects when it does not end with 0. */
export async function measured({ args, cwd, env = {}, isUnderWay }: Command): Promise<Usage> {
  const dir = mkdtempSync(join(tmpdir(), "yao-bench-probe-"));
  const probe = join(dir, "usage.jsonl");
  const preload = `--require=${resolve(import.meta.dirname, "probe.cjs")}`;
  const started = performance.now();
  let underWayS: number | undefined;
  const child = spawn(process.execPath, args, {
    cwd,
    env: { ...process.env, NODE_OPTIONS: preload, YAO_BENCH_PROBE: probe, CI: "1", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const said: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (part: Buffer) => said.push(part.toString().slice(-2000)));
  const look = setInterval(() => {
    if (underWayS === undefined && isUnderWay?.() === true) underWayS = (performance.now() - started) / 1000;
  }, LOOK_MS);
  const limit = setTimeout(() => child.kill("SIGKILL"), LIMIT_MS);
  try {
    const code = await new Promise<number | null>((done, failed) => {
      child.once("error", failed);
      child.once("close", done);
    });
    const wallS = (performance.now() - started) / 1000;
    if (code !== 0)
      throw new Error(`${args.slice(0, 4).join(" ")} ended with ${code}: ${said.slice(-5).join("").slice(-1500)}`);
    const rows = readFileSync(probe, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Usage);
    return {
      wallS,
      cpuS: rows.reduce((sum, row) => sum + row.cpuS, 0),
      rssMb: Math.max(...rows.map(({ rssMb }) => rssMb)),
      ...(underWayS === undefined ? {} : { underWayS }),
    };
  } finally {
    clearInterval(look);
    clearTimeout(limit);
    rmSync(dir, { recursive: true, force: true });
  }
}

/** Whether a file has grown beyond a size. */
export function grownBeyond(path: string, bytes: number): () => boolean {
  return () => existsSync(path) && statSync(path).size > bytes;
}

/** The run with the least wall time of several: other work on the machine only ever adds. */
export async function bestOf(rounds: number, run: () => Promise<Usage>): Promise<Usage> {
  let best: Usage | undefined;
  for (let round = 0; round < rounds; round += 1) {
    const usage = await run();
    if (best === undefined || usage.wallS < best.wallS) best = usage;
  }
  if (best === undefined) throw new Error("no round was run");
  return best;
}
