/**
 * `make bench`: measures the system beside its peers and its limits.
 *
 * Usage: main.ts [--short] [--json] [--profile DIR] [NAME…]. Exit code 1 when a benchmark could not be measured; a missed aim is shown, not
 * punished, because a busy machine misses aims.
 */

import { cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";

import type { Bench } from "./bench.ts";
import { board } from "./board.ts";
import { agentDispatch, dispatch } from "./dispatch.ts";
import { evalFleet } from "./eval-fleet.ts";
import { eventStream } from "./event-stream.ts";
import { agent, cli } from "./footprint.ts";
import { heartbeat } from "./heartbeat.ts";
import { hook, hookMesh } from "./hook.ts";
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
  "eval-fleet": evalFleet,
  board,
  hook,
  "hook-mesh": hookMesh,
};

const { values, positionals: wanted } = readArguments();

const rows: Row[] = [];
const failures: string[] = [];
const options = { isShort: values.short, ...(values.profile === undefined ? {} : { profileDir: values.profile }) };
const progress = (text: string): void => console.error(`# ${text}`);
progress(
  `${cpus().length} × ${cpus()[0]?.model ?? "?"}, Node ${process.versions.node}, load ${loadavg()[0]?.toFixed(2)}`,
);

for (const [name, bench] of Object.entries(BENCHES)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  try {
    const measured = await bench({ ...options, progress });
    rows.push(...measured);
    if (!values.json) for (const row of measured) console.log(lineOf(row));
  } catch (error) {
    failures.push(name);
    console.error(`${name} could not be measured: ${error instanceof Error ? error.message : String(error)}`);
  }
}

if (values.json)
  console.log(
    JSON.stringify(
      { short: values.short, node: process.versions.node, rows: rows.map(jsonOf), failures },
      undefined,
      2,
    ),
  );
process.exitCode = failures.length === 0 ? 0 : 1;

interface Arguments {
  readonly values: { readonly short: boolean; readonly json: boolean; readonly profile?: string };
  readonly positionals: readonly string[];
}

function readArguments(): Arguments {
  try {
    const parsed = parseArgs({
      allowPositionals: true,
      options: {
        short: { type: "boolean", default: false },
        json: { type: "boolean", default: false },
        profile: { type: "string" },
      },
    });
    const unknown = parsed.positionals.find((name) => BENCHES[name] === undefined);
    if (unknown !== undefined) throw new Error(`there is no benchmark "${unknown}"`);
    return parsed;
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error));
  }
}

function refuse(why: string): never {
  console.error(`${why}; use: [--short] [--json] [--profile DIR] [${Object.keys(BENCHES).join("|")}]…`);
  process.exit(2);
}
