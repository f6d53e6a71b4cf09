/** What a device notices: memory and start of the node agent, start of the command line. */

import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { promisify } from "node:util";

import { TestMesh } from "../harness/test-mesh.ts";
import type { Bench } from "./bench.ts";
import { residentMb } from "./proc.ts";
import { atMost, type Row } from "./report.ts";
import { median, nowMs, sleep } from "./sample.ts";

const CLI = resolve(import.meta.dirname, "../../services/cli/dist/main.js");
const MAX_HELP_MS = 200;
const MAX_RSS_MB = 80;
const MAX_READY_MS = 1_000;

const execute = promisify(execFile);

/** `yao --help` beside a Node that does nothing, in turns. */
export const cli: Bench = async ({ isShort, progress }) => {
  progress("cli: starting it again and again");
  const [help, bare]: [number[], number[]] = [[], []];
  for (let i = 0; i < (isShort ? 5 : 10); i += 1) {
    help.push(await durationOf([CLI, "--help"]));
    bare.push(await durationOf(["-e", "0"]));
  }
  return [
    atMost("yao --help, median", "ms", median(help), MAX_HELP_MS),
    { name: "  beside node -e 0", unit: "ms", ours: median(help), against: { what: "node", value: median(bare) } },
  ];
};

/** Start and idle memory of one agent. */
export const agent: Bench = async ({ isShort, progress }) => {
  progress("agent: starting");
  await using mesh = await TestMesh.start({ nodes: [{ name: "idle" }] });
  const { process: agentProcess } = mesh.node("idle");
  const readyMs: number[] = [];
  // The first start joins; those that count find their credentials in place.
  for (let i = 0; i < (isShort ? 1 : 3); i += 1) {
    await agentProcess.stop();
    const startMs = nowMs();
    await agentProcess.start();
    readyMs.push(nowMs() - startMs);
  }
  progress("agent: idle");
  await sleep(isShort ? 5_000 : 20_000);
  const rows: Row[] = [
    atMost("node agent, start to ready", "ms", median(readyMs), MAX_READY_MS),
    atMost("node agent, idle resident memory", "MB", residentMb(agentProcess.pid), MAX_RSS_MB),
  ];
  return rows;
};

async function durationOf(args: readonly string[]): Promise<number> {
  const startMs = nowMs();
  await execute(process.execPath, [...args]);
  return nowMs() - startMs;
}
