/** The six tools of an agent that works on files: bash, read_file, write_file, edit_file, list_files, search. */

import type { AgentTool } from "../tool.ts";
import { type BashOptions, bashTool } from "./bash.ts";
import { editFileTool } from "./edit-file.ts";
import { FileLedger } from "./file-ledger.ts";
import { listFilesTool } from "./list-files.ts";
import { readFileTool } from "./read-file.ts";
import { PathSandbox } from "./sandbox.ts";
import { searchTool } from "./search.ts";
import { writeFileTool } from "./write-file.ts";

/** Where the tools work. */
export interface CodingToolOptions extends BashOptions {
  /** Folders the file tools may use; absent: the working folder. An empty list means everywhere. */
  readonly roots?: readonly string[];
}

/**
 * The six tools, sharing one view of which files the model has read.
 *
 * The sandbox binds the file tools; `bash` runs as the user and is bound by nothing but what that user may do.
 */
export function codingTools(options: CodingToolOptions): readonly AgentTool[] {
  const { clock, cwd, roots = [cwd] } = options;
  const files = { sandbox: new PathSandbox({ cwd, roots }), ledger: new FileLedger() };
  return [
    bashTool(options),
    readFileTool(files),
    writeFileTool(files),
    editFileTool(files),
    listFilesTool({ ...files, clock }),
    searchTool({ ...files, clock }),
  ];
}
