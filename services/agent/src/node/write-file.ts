/** The `write_file` tool: creates or replaces a whole file. */

import type { JsonObject } from "@mesh/kernel";

import { type AgentTool, textArgument, textOutput, type ToolOutput } from "../tool.ts";
import { writeAtomically } from "./atomic-write.ts";
import { fileError, type FileToolOptions, pathOf } from "./file-tool.ts";

const PARAMETERS: JsonObject = {
  type: "object",
  properties: { path: { type: "string" }, content: { type: "string" } },
  required: ["path", "content"],
};

/** The tool that writes files. */
export function writeFileTool(options: FileToolOptions): AgentTool {
  return {
    name: "write_file",
    description: "Create a file, with its folders, or replace it whole. Use edit_file to change a part.",
    parameters: PARAMETERS,
    execute: (args) => write(options, args),
  };
}

async function write(options: FileToolOptions, args: JsonObject): Promise<ToolOutput> {
  const shown = pathOf(args);
  const content = textArgument(args, "content");
  const path = await options.sandbox.resolve(shown);
  await options.ledger?.assertUnchanged(path, shown);
  try {
    await writeAtomically(path, content, (opened) => options.sandbox.assertStill(opened));
  } catch (error) {
    throw fileError(error, shown);
  }
  await options.ledger?.note(path);
  const bytes = Buffer.byteLength(content);
  return textOutput(`wrote ${bytes} bytes to ${shown}`, { bytes });
}
