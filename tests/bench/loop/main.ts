/**
 * The agent loop beside a raw loop and its rivals: processor time per turn, import, heap, abort.
 *
 * Usage: main.ts [--rivals] [--short] [--json] [--only NAME,…] [--profile DIR]. `--rivals` installs them in this directory when they
 * are missing. Built code is measured, so build first. Exit code 1 when ours could not be measured; a missed aim is shown, not
 * punished, because a busy machine misses aims.
 */

import { spawnSync } from "node:child_process";
import { cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";

import { Contender, CONTENDERS, isInstalled, LOOP_DIR, startModelServer } from "./contender.ts";
import { measureAll, measureImport } from "./measure.ts";
import { tableOf } from "./table.ts";

const FULL = { rounds: 9, warmUps: 16 };
const SHORT = { rounds: 3, warmUps: 8 };

const values = readArguments();
const progress = (text: string): void => console.error(`# ${text}`);

if (values.rivals && !CONTENDERS.every(isInstalled)) install();
const names = CONTENDERS.filter(isWanted).map(({ name }) => name);
const effort = { ...(values.short ? SHORT : FULL), progress };
progress(`${cpus().length} × ${cpus()[0]?.model ?? "?"}, Node ${process.versions.node}, load ${load()}`);
progress(`contenders: ${names.join(", ")}`);

const rows = [...(await measureImport(names, effort)), ...(await measureRuns())];
progress(`load ${load()}`);
if (values.json) console.log(JSON.stringify(rows.map((row) => ({ ...row, values: Object.fromEntries(row.values) }))));
else console.log(tableOf(rows, names));
process.exitCode = rows.every((row) => row.values.get("ours")?.kind !== "failed") ? 0 : 1;

async function measureRuns(): ReturnType<typeof measureAll> {
  const server = await startModelServer();
  const contenders: Contender[] = [];
  try {
    for (const name of names) {
      contenders.push(await Contender.start(name, server.origin, name === "ours" ? values.profile : undefined));
    }
    return await measureAll(contenders, effort);
  } finally {
    await Promise.all(contenders.map((contender) => contender.stop()));
    await server.stop();
  }
}

function isWanted(contender: (typeof CONTENDERS)[number]): boolean {
  const { name, packages } = contender;
  if (name === "raw") return true;
  if (values.only !== undefined) return values.only.split(",").includes(name) && isInstalled(contender);
  return packages.length === 0 || (values.rivals && isInstalled(contender));
}

function install(): void {
  progress("installing rivals");
  const flags = ["--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund"];
  const { status } = spawnSync("npm", ["install", ...flags], { cwd: LOOP_DIR, stdio: ["ignore", 2, 2] });
  if (status !== 0) progress("some rivals could not be installed; the others are measured");
}

function load(): string {
  return loadavg()[0]?.toFixed(1) ?? "?";
}

interface Arguments {
  readonly rivals: boolean;
  readonly short: boolean;
  readonly json: boolean;
  readonly only?: string;
  readonly profile?: string;
}

function readArguments(): Arguments {
  try {
    return parseArgs({
      options: {
        rivals: { type: "boolean", default: false },
        short: { type: "boolean", default: false },
        json: { type: "boolean", default: false },
        only: { type: "string" },
        profile: { type: "string" },
      },
    }).values;
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error));
    console.error("use: [--rivals] [--short] [--json] [--only NAME,…] [--profile DIR]");
    return process.exit(2);
  }
}
