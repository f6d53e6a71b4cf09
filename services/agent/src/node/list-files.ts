/** The `list_files` tool: files below a folder, bounded, sorted. */

import { type Clock, type JsonObject, MeshError } from "@mesh/kernel";

import { type AgentTool, invalidArguments, textOutput, type ToolOutput } from "../tool.ts";
import { fileError, type FileToolOptions, pathOf } from "./file-tool.ts";
import { globMatcher, walkFiles } from "./file-walk.ts";

/** How much is listed. */
export interface ListFilesOptions extends FileToolOptions {
  readonly clock: Clock;
  readonly maxFiles?: number;
  readonly timeoutMs?: number;
}

const DEFAULT_DEPTH = 3;
const DEFAULT_FILES = 200;
const DEFAULT_TIMEOUT_MS = 10_000;

const PARAMETERS: JsonObject = {
  type: "object",
  properties: {
    path: { type: "string", description: "Folder; the working folder when absent." },
    pattern: { type: "string", description: "Glob on the file name, such as *.ts." },
    max_depth: { type: "integer", minimum: 1, maximum: 100 },
  },
};

/** The tool that lists files. */
export function listFilesTool(options: ListFilesOptions): AgentTool {
  return {
    name: "list_files",
    description: "List files below a folder, without folders of dependencies and build results.",
    parameters: PARAMETERS,
    execute: (args, context) => list(options, args, context.signal),
  };
}

async function list(options: ListFilesOptions, args: JsonObject, signal: AbortSignal): Promise<ToolOutput> {
  const shown = pathOf(args);
  const { maxFiles = DEFAULT_FILES, timeoutMs = DEFAULT_TIMEOUT_MS, clock } = options;
  const matches = matcherOf(args["pattern"]);
  const maxDepth = typeof args["max_depth"] === "number" ? args["max_depth"] : DEFAULT_DEPTH;
  const warnings: string[] = [];
  const files: string[] = [];
  let total = 0;
  try {
    const { sandbox } = options;
    const root = await sandbox.resolve(shown);
    for await (const file of walkFiles({ sandbox, root, maxDepth, deadlineMs: timeoutMs, clock, signal, warnings })) {
      if (!matches(file)) continue;
      total += 1;
      if (files.length < maxFiles) files.push(file);
    }
  } catch (error) {
    throw fileError(error, shown);
  }
  const lines = files.length === 0 ? ["(no files)"] : files.toSorted();
  const more = total > files.length ? [`(${total} files; the first ${files.length} are shown)`] : [];
  const warned = warnings.length > 0 ? ["Warnings:", ...warnings] : [];
  return textOutput([...lines, ...more, ...warned].join("\n"), {
    total,
    truncated: total > files.length,
    warnings: warnings.length > 0 ? warnings.join("\n") : null,
  });
}

function matcherOf(pattern: unknown): (path: string) => boolean {
  if (typeof pattern !== "string" || pattern === "" || pattern === "*") return () => true;
  try {
    return globMatcher(pattern);
  } catch (error) {
    if (error instanceof MeshError) throw error;
    throw invalidArguments(`"pattern" is not a glob: ${pattern.slice(0, 100)}`);
  }
}
