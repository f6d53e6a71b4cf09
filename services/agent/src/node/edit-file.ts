/** The `edit_file` tool: replaces exact parts of a file. */

import { constants } from "node:fs";
import type { FileHandle } from "node:fs/promises";

import { isObject, type JsonObject } from "@mesh/kernel";

import { applyEdits, diffOf, type TextEdit } from "../text-edit.ts";
import { type AgentTool, invalidArguments, textOutput, toolFailed, type ToolOutput } from "../tool.ts";
import { writeAtomically } from "./atomic-write.ts";
import { fileError, type FileToolOptions, pathOf } from "./file-tool.ts";

const MAX_FILE_BYTES = 20_000_000;

const EDIT_FIELDS = {
  old_text: { type: "string", description: "Exact text, found once in the file." },
  new_text: { type: "string" },
  replace_all: { type: "boolean" },
};
const PARAMETERS: JsonObject = {
  type: "object",
  properties: {
    path: { type: "string" },
    ...EDIT_FIELDS,
    edits: {
      type: "array",
      description: "Several replacements, applied in order, all or none; instead of old_text and new_text.",
      items: { type: "object", properties: EDIT_FIELDS, required: ["old_text", "new_text"] },
      maxItems: 100,
    },
  },
  required: ["path"],
};

/** The tool that edits files. */
export function editFileTool(options: FileToolOptions): AgentTool {
  return {
    name: "edit_file",
    description: "Replace exact text in a file. The text must occur exactly once, unless replace_all is set.",
    parameters: PARAMETERS,
    execute: (args) => edit(options, args),
  };
}

async function edit(options: FileToolOptions, args: JsonObject): Promise<ToolOutput> {
  const shown = pathOf(args);
  const edits = editsOf(args);
  const path = await options.sandbox.resolve(shown);
  await options.ledger?.assertUnchanged(path, shown);
  try {
    const before = await readText(options, path, shown);
    const after = applyEdits(before, edits);
    await writeAtomically(path, after, (opened) => options.sandbox.assertStill(opened));
    await options.ledger?.note(path);
    return textOutput(`edited ${shown}\n${diffOf(before, after)}`, { edits: edits.length });
  } catch (error) {
    throw fileError(error, shown);
  }
}

async function readText(options: FileToolOptions, path: string, shown: string): Promise<string> {
  let handle: FileHandle | undefined;
  try {
    handle = await options.sandbox.open(path, constants.O_RDONLY);
    const stats = await handle.stat();
    if (!stats.isFile()) throw toolFailed(`${shown} is not a regular file`);
    if (stats.size > MAX_FILE_BYTES)
      throw toolFailed(`${shown} is larger than ${MAX_FILE_BYTES} bytes; edit it with bash`);
    const bytes = await handle.readFile();
    try {
      // Strict, and the byte order mark stays: a file that cannot be written back as it was is not edited.
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch (cause) {
      throw toolFailed(`${shown} is not UTF-8 text; edit it with bash`, cause);
    }
  } finally {
    await handle?.close();
  }
}

function editsOf(args: JsonObject): readonly TextEdit[] {
  const list: readonly unknown[] = Array.isArray(args["edits"]) ? args["edits"] : [args];
  if (list.length === 0) throw invalidArguments('"edits" is empty');
  return list.map((each) => {
    const oldText = isObject(each) ? each["old_text"] : undefined;
    const newText = isObject(each) ? each["new_text"] : undefined;
    if (typeof oldText !== "string" || typeof newText !== "string") {
      throw invalidArguments('"old_text" and "new_text" are needed, or a list of them in "edits"');
    }
    return { oldText, newText, replaceAll: isObject(each) && each["replace_all"] === true };
  });
}
