/** What a run needs of the device itself. */

export { WorkspaceFiles, type WorkspaceFilesOptions } from "./workspace-files.ts";
export { Workbench, type WorkbenchOptions, type WorkbenchRun } from "./workbench.ts";
