/** The files of the workspaces on this device: what the rest of the agent needs of them. */

import { join } from "node:path";

import type { Clock } from "@mesh/kernel";

import type { AgentLog } from "../log.ts";
import { workspacePath, workspacesPath } from "../workspace/workspace-path.ts";
import { FileCommands } from "./file-command.ts";
import { FileIndexer } from "./indexer.ts";
import type { Ask } from "./report.ts";

/** See the file comment. */
export interface NodeFiles {
  readonly execute: FileCommands["execute"];
  readonly runBegan: FileIndexer["runBegan"];
  readonly runEnded: FileIndexer["runEnded"];
  readonly connected: FileIndexer["connected"];
  readonly run: FileIndexer["run"];
}

/** Builds them; nothing is looked at before `run`. */
export function createFiles(deps: {
  readonly clock: Clock;
  readonly log: AgentLog;
  readonly dataDir: string;
  readonly ask: Ask;
}): NodeFiles {
  const { dataDir } = deps;
  const workspaceDir = (id: string): string => workspacePath(dataDir, id);
  const indexer = new FileIndexer({
    ...deps,
    workspaceDir,
    workspacesDir: workspacesPath(dataDir),
    indexDir: join(dataDir, "files"),
  });
  const commands = new FileCommands({
    clock: deps.clock,
    workspaceDir,
    draftDir: join(dataDir, "drafts"),
    touched: (id, paths) => indexer.touched(id, paths),
  });
  return {
    execute: (command) => commands.execute(command),
    runBegan: (workspaceId, runId) => indexer.runBegan(workspaceId, runId),
    runEnded: (workspaceId, runId) => indexer.runEnded(workspaceId, runId),
    connected: (isConnected) => indexer.connected(isConnected),
    run: (signal) => indexer.run(signal),
  };
}
