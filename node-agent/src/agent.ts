import type { AgentLog } from "./log.ts";

/** How to run the agent of a joined data directory. */
export interface NodeAgentOptions {
  readonly dataDir: string;
  readonly log: AgentLog;
  /** Stops the agent cleanly. Without it the agent listens to SIGINT and SIGTERM itself; a second signal stops at once. */
  readonly signal?: AbortSignal;
  /** Wanted parallel runs; wins over what was asked at the join. */
  readonly slots?: number;
  /** Names of further variables that apps may read. */
  readonly allowEnv?: readonly string[];
  /** Called once, when the coordinator knows this device is there. */
  readonly onReady?: (node: { readonly nodeId: string; readonly name: string }) => void;
}

/** Why the agent ended, with the exit code of the process. */
export interface AgentExit {
  /** 0 clean stop; 77 removed from the mesh; 78 must be updated; 130 stopped at once. */
  readonly code: number;
  /** One line for people. */
  readonly reason: string;
}

/** Runs until stopped or removed. */
export async function runAgent(_options: NodeAgentOptions): Promise<AgentExit> {
  throw new Error("not yet");
}
