/**
 * `make bench`: measures the system beside its peers and its limits.
 *
 * Usage: main.ts [--short] [--json] [NAME…]. Exit code 1 when a benchmark could not be measured; a missed aim is shown, not
 * punished, because a busy machine misses aims.
 */

import { cpus, loadavg } from "node:os";

import type { Bench } from "./bench.ts";
import { agentDispatch, dispatch } from "./dispatch.ts";
import { eventStream } from "./event-stream.ts";
import { agent, cli } from "./footprint.ts";
import { heartbeat } from "./heartbeat.ts";
import { ingest } from "./ingest.ts";
import { jsonOf, lineOf, type Row } from "./report.ts";

const BENCHES: Readonly<Record<string, Bench>> = {
  cli,
  agent,
  dispatch,
  "agent-dispatch": agentDispatch,
  "event-stream": eventStream,
  ingest,
  heartbeat,
};

const args = process.argv.slice(2);
const isJson = args.includes("--json");
const isShort = args.includes("--short");
const unknownFlag = args.find((arg) => arg.startsWith("-") && arg !== "--json" && arg !== "--short");
const wanted = args.filter((arg) => !arg.startsWith("-"));
const unknownName = wanted.find((name) => BENCHES[name] === undefined);

if (unknownFlag !== undefined || unknownName !== undefined) {
  console.error(
    `unknown: ${unknownFlag ?? unknownName}. Usage: main.ts [--short] [--json] [${Object.keys(BENCHES).join("|")}]…`,
  );
  process.exit(2);
}

const rows: Row[] = [];
const failures: string[] = [];
const progress = (text: string): void => console.error(`# ${text}`);
progress(
  `${cpus().length} × ${cpus()[0]?.model ?? "?"}, Node ${process.versions.node}, load ${loadavg()[0]?.toFixed(2)}`,
);

for (const [name, bench] of Object.entries(BENCHES)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  try {
    const measured = await bench({ isShort, progress });
    rows.push(...measured);
    if (!isJson) for (const row of measured) console.log(lineOf(row));
  } catch (error) {
    failures.push(name);
    console.error(`${name} could not be measured: ${error instanceof Error ? error.message : String(error)}`);
  }
}

if (isJson)
  console.log(
    JSON.stringify({ short: isShort, node: process.versions.node, rows: rows.map(jsonOf), failures }, undefined, 2),
  );
process.exitCode = failures.length === 0 ? 0 : 1;
