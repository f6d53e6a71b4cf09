/** Where the tools of a workspace's runs work on this device. Pure. */

import { join } from "node:path";

import { MeshError } from "@mesh/kernel";

/** Where the directories of all workspaces are. */
export function workspacesPath(dataDir: string): string {
  return join(dataDir, "workspaces");
}

/** The workspace's directory; it exists once a run has used a tool. */
export function workspacePath(dataDir: string, workspaceId: string): string {
  // The id comes over the bus and becomes part of a path.
  if (!/^[a-z0-9_]{1,64}$/.test(workspaceId)) {
    throw new MeshError("invalid_argument", "the work item's workspace id is not one");
  }
  return join(workspacesPath(dataDir), workspaceId);
}
