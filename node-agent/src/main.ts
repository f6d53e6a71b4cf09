/** Entry of the node agent: the functions the `yao` command calls, and the process itself. */

import { realpathSync } from "node:fs";

import { type AgentExit, type NodeAgentOptions, runAgent } from "./agent.ts";
import { processClock, processEnv, readConfig } from "./config.ts";
import { type InstalledUnit, writeUnit } from "./install/install.ts";
import { joinDevice, type JoinOptions, type JoinResult } from "./join/join.ts";

export type { AgentExit, NodeAgentOptions } from "./agent.ts";
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

/** Writes the service description of this device (or only returns it), for the user to enable. */
export function installUnit(options: {
  readonly dataDir: string;
  readonly dryRun: boolean;
  /** Program and arguments; this entry under the running Node when absent. */
  readonly command?: readonly string[];
}): InstalledUnit {
  const command = options.command ?? [process.execPath, "--enable-source-maps", import.meta.filename];
  return writeUnit({ ...options, command, path: processEnv()["PATH"] ?? "/usr/local/bin:/usr/bin:/bin" });
}

async function main(): Promise<void> {
  const config = readConfig();
  void config;
  void joinNode;
}

function isEntry(): boolean {
  try {
    return process.argv[1] !== undefined && realpathSync(process.argv[1]) === import.meta.filename;
  } catch {
    return false;
  }
}

if (isEntry()) await main();
