/** Where the tools of a workspace's runs work on this device. Pure. */

import { join } from "node:path";

import { MeshError } from "@mesh/kernel";

/** Where the directories of all workspaces are. */
export function workspacesPath(dataDir: string): string {
  return join(dataDir, "workspaces");
}

/** Where evals of all workspaces keep files while they run. */
export function evalsPath(dataDir: string): string {
  return join(dataDir, "evals");
}

/** Where evals of a workspace do. */
export function evalScratchPath(dataDir: string, workspaceId: string): string {
  return join(evalsPath(dataDir), requireId(workspaceId));
}

/** The workspace's directory; it exists once a run has used a tool. */
export function workspacePath(dataDir: string, workspaceId: string): string {
  return join(workspacesPath(dataDir), requireId(workspaceId));
}

// The id comes over the bus and becomes part of a path.
function requireId(workspaceId: string): string {
  if (/^[a-z0-9_]{1,64}$/.test(workspaceId)) return workspaceId;
  throw new MeshError("invalid_argument", "the work item's workspace id is not one");
}
