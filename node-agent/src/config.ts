/** Options of the node agent's process, read once at start. */

import { homedir } from "node:os";
import { join } from "node:path";

import { type Clock, integer, oneOf, type OptionTable, parseOptions, systemClock, text } from "@mesh/kernel";

const OPTIONS = {
  dataDir: {
    env: "YAO_NODE_DATA",
    parse: text,
    default: join(homedir(), ".yao", "node"),
    doc: "Directory of the device's key, credentials, journal and bundle cache.",
  },
  url: { env: "YAO_NODE_URL", parse: text, doc: "Coordinator to join at the first start; needs YAO_NODE_TOKEN." },
  token: { env: "YAO_NODE_TOKEN", parse: text, secret: true, doc: "Join token for the first start; never stored." },
  name: { env: "YAO_NODE_NAME", parse: text, doc: "Wanted name; the host name when unset." },
  labels: { env: "YAO_NODE_LABELS", parse: labels, default: {}, doc: "Labels at the join, as k=v,k=v." },
  slots: {
    env: "YAO_NODE_SLOTS",
    parse: integer(1, 256),
    doc: "Wanted parallel runs; unset lets the coordinator decide.",
  },
  env: {
    env: "YAO_NODE_ENV",
    parse: names,
    default: [],
    doc: "Names of further environment variables that apps may read as $ENV.NAME, separated by commas.",
  },
  logLevel: {
    env: "YAO_NODE_LOG_LEVEL",
    parse: oneOf("trace", "debug", "info", "warn", "error", "silent"),
    default: "info",
    doc: "Least level that is logged.",
  },
} as const;

/** Every option, for the reference of options. */
export function nodeAgentOptions(): OptionTable {
  return OPTIONS;
}

/** Parsed options. */
export interface NodeConfig {
  readonly dataDir: string;
  readonly url: string | undefined;
  readonly token: string | undefined;
  readonly name: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
  readonly slots: number | undefined;
  readonly env: readonly string[];
  readonly logLevel: "trace" | "debug" | "info" | "warn" | "error" | "silent";
}

/** Reads the options of this process; variables of other programs (`YAO_…` without `NODE_`) are not its business. */
export function readConfig(env: Readonly<Record<string, string | undefined>> = process.env): NodeConfig {
  const own = Object.fromEntries(Object.entries(env).filter(([name]) => name.startsWith("YAO_NODE_")));
  return parseOptions(OPTIONS, { env: own });
}

/** The environment of this process, for the parts that pass pieces of it on. */
export function processEnv(): Readonly<Record<string, string | undefined>> {
  return process.env;
}

/** The clock of this process. */
export const processClock: Clock = systemClock;

/** Randomness in [0, 1) of this process, for jitter. */
export function processRandom(): number {
  return Math.random();
}

/** Parses `k=v,k=v`. */
export function labels(value: string): Readonly<Record<string, string>> {
  const pairs = value.split(",").map((pair) => pair.trim());
  const out: Record<string, string> = {};
  for (const pair of pairs.filter((item) => item !== "")) {
    const at = pair.indexOf("=");
    if (at < 1) throw new Error(`must be labels such as gpu=yes,site=home, not "${pair}"`);
    out[pair.slice(0, at)] = pair.slice(at + 1);
  }
  return out;
}

function names(value: string): readonly string[] {
  const list = value.split(",").map((name) => name.trim());
  const bad = list.find((name) => name !== "" && !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name));
  if (bad !== undefined) throw new Error(`must be names of variables separated by commas, not "${bad}"`);
  return list.filter((name) => name !== "");
}
