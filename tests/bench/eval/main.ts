/**
 * Evals beside their peers: start, echo work, hooks, a provider over HTTP, logs and reports.
 *
 * Usage: main.ts [--peers all|NAME,…] [--short] [--only echo,work,many,long] [--json]. `--peers` installs vitest-evals and promptfoo
 * into a folder of the system's temporary directory when they are not there. Built code is measured, so build first. A missed aim is
 * shown, not punished, because a busy machine misses aims; the exit code is 1 when something could not be measured.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { type Bench, measureEcho, measureLong, measureMany, measureWork, type Row, startProvider } from "./ours.ts";
import { install, measurePeer, PEERS } from "./peer.ts";
import { writeApp } from "./suite.ts";

const PARTS = { echo: measureEcho, work: measureWork, many: measureMany, long: measureLong } as const;
const PEER_CASES = 10_000;

const { values } = parseArgs({
  options: {
    peers: { type: "string" },
    short: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    only: { type: "string" },
  },
});
const progress = (text: string): void => console.error(`# ${text} (load ${loadavg()[0]?.toFixed(1) ?? "?"})`);
const dir = mkdtempSync(join(tmpdir(), "yao-bench-eval-app-"));
const provider = await startProvider();
let isWhole = true;
try {
  progress(`${cpus().length} × ${cpus()[0]?.model ?? "?"}, Node ${process.versions.node}`);
  writeApp(dir, provider.url);
  const bench: Bench = { dir, providerUrl: provider.url, rounds: values.short ? 1 : 3, progress };
  const rows: Row[] = [];
  for (const [name, measure] of Object.entries(PARTS)) {
    const wanted = values.only?.split(",") ?? (values.short ? ["echo", "work"] : Object.keys(PARTS));
    if (wanted.includes(name)) rows.push(...(await told(name, () => measure(bench))));
  }
  if (values.json) console.log(JSON.stringify(rows));
  else console.log(tableOf(rows));
  if (values.peers !== undefined) console.log(await peerTable(values.peers));
} finally {
  provider.stop();
  rmSync(dir, { recursive: true, force: true });
}
process.exitCode = isWhole ? 0 : 1;

async function told(name: string, measure: () => Promise<readonly Row[]>): Promise<readonly Row[]> {
  try {
    return await measure();
  } catch (error) {
    isWhole = false;
    progress(`${name} could not be measured: ${error instanceof Error ? error.message : String(error)}`);
    return [];
  }
}

function tableOf(rows: readonly Row[]): string {
  const cells = rows.map(({ what, unit, value, aim, isMet }) => [
    what,
    `${digits(value)} ${unit}`,
    aim,
    isMet ? "ok" : "MISS",
  ]);
  return table(["measured", "ours", "aim", "verdict"], cells);
}

async function peerTable(names: string): Promise<string> {
  const root = join(tmpdir(), "yao-bench-eval");
  const cells: string[][] = [];
  for (const peer of PEERS.filter(
    ({ name }) => names === "all" || names.split(",").includes(name.split(" ")[0] ?? ""),
  )) {
    await told(peer.name, async () => {
      progress(`${peer.name}: ${PEER_CASES} cases`);
      install(root, peer);
      const { wallS, cpuS, rssMb } = await measurePeer(root, peer, PEER_CASES);
      cells.push([peer.name, `${digits(wallS)} s`, `${digits(cpuS)} s`, `${digits(rssMb)} MB`]);
      return [];
    });
  }
  return table([`${PEER_CASES} echo cases`, "wall", "processor", "memory"], cells);
}

function table(header: readonly string[], body: readonly (readonly string[])[]): string {
  const widths = header.map((_none, at) => Math.max(...[header, ...body].map((cells) => cells[at]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(" | ")} |`;
  return [line(header), line(widths.map((width) => "-".repeat(width))), ...body.map(line)].join("\n");
}

function digits(value: number): string {
  return value.toFixed(Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2);
}
