/** Entry of the node agent: the functions the `yao` command calls, and the process itself. */

// First, so that the heap is small before anything fills it.
import "./small-heap.ts";

import { errorText, isEntry } from "@mesh/kernel";
import { createLogger } from "@mesh/observability/logger";

import { type AgentExit, type NodeAgentOptions, runAgent } from "./agent.ts";
import { processClock, processEnv, readConfig } from "./config.ts";
import { SMALL_HEAP_FLAGS } from "./heap-flags.ts";
import { type InstalledUnit, writeUnit } from "./install/install.ts";
import { joinDevice, type JoinOptions, type JoinResult } from "./join/join.ts";

export type { AgentExit, NodeAgentOptions } from "./agent.ts";
export { nodeAgentOptions } from "./config.ts";
export type { InstalledUnit } from "./install/install.ts";
export { type JoinResult, leaveMesh } from "./join/join.ts";
export { type AgentLog } from "./log.ts";

/** Joins this device to a mesh; see JoinOptions. */
export async function joinNode(options: Omit<JoinOptions, "clock" | "path">): Promise<JoinResult> {
  return await joinDevice({ ...options, clock: processClock, path: processEnv()["PATH"] ?? "" });
}

/** Runs the agent of a joined data directory until it is stopped or removed. */
export async function runNodeAgent(options: NodeAgentOptions): Promise<AgentExit> {
  return await runAgent(options);
}

/** The command that runs an agent of its own in the foreground, in the smallest form; set YAO_NODE_DATA for it. */
export function agentCommand(): readonly string[] {
  return [process.execPath, ...SMALL_HEAP_FLAGS, "--enable-source-maps", import.meta.filename];
}

/** Writes the service description of this device (or only returns it), for the user to enable. */
export function installUnit(options: {
  readonly dataDir: string;
  readonly dryRun: boolean;
  /** Program and arguments; this entry under the running Node when absent. */
  readonly command?: readonly string[];
}): InstalledUnit {
  const command = options.command ?? agentCommand();
  return writeUnit({ ...options, command, path: processEnv()["PATH"] ?? "/usr/local/bin:/usr/bin:/bin" });
}

async function main(): Promise<number> {
  const config = readConfig();
  const log = createLogger({ name: "node-agent", level: config.logLevel });
  if (config.url !== undefined && config.token !== undefined) {
    const { url, token, labels, dataDir } = config;
    const name = config.name === undefined ? {} : { name: config.name };
    const slots = config.slots === undefined ? {} : { slots: config.slots };
    await joinNode({ url, token, labels, dataDir, log, ...name, ...slots });
  }
  // A supervisor's channel: it is told when the node is ready, and the node does not outlive it.
  const supervisor = new AbortController();
  process.once("disconnect", () => supervisor.abort());
  const exit = await runNodeAgent({
    dataDir: config.dataDir,
    log,
    allowEnv: config.env,
    ...(config.slots !== undefined && { slots: config.slots }),
    ...(process.send !== undefined && { signal: AbortSignal.any([supervisor.signal, onceSignalled()]) }),
    onReady: (node) => process.send?.({ kind: "ready", ...node }),
  });
  log[exit.code === 0 ? "info" : "error"]({ code: exit.code }, exit.reason);
  return exit.code;
}

function onceSignalled(): AbortSignal {
  const stop = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) {
    process.on(name, () => {
      // The second one does not wait.
      if (stop.signal.aborted) process.exit(130);
      stop.abort();
    });
  }
  return stop.signal;
}

if (isEntry(import.meta.filename)) {
  try {
    process.exitCode = await main();
  } catch (error) {
    process.stderr.write(`yao node: ${errorText(error)}\n`);
    process.exitCode = 1;
  }
  // Its supervisor's channel would keep the process alive.
  if (process.connected) process.disconnect();
}
