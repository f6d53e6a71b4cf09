/** The `search` tool: lines that match a regular expression, through the bundled ripgrep or without it. */

import { stat } from "node:fs/promises";
import { basename, dirname } from "node:path";

import type { Clock, JsonObject } from "@mesh/kernel";

import { type AgentTool, invalidArguments, textArgument, textOutput, type ToolOutput } from "../tool.ts";
import { fileError, type FileToolOptions, pathOf } from "./file-tool.ts";
import { searchPlainly } from "./plain-search.ts";
import { ripgrepPath, type SearchQuery, type SearchResult, searchWithRipgrep } from "./ripgrep.ts";

/** How far one search goes. */
export interface SearchOptions extends FileToolOptions {
  readonly clock: Clock;
  readonly maxResults?: number;
  readonly timeoutMs?: number;
  /** False: without ripgrep, wherever it would be found. */
  readonly useRipgrep?: boolean;
}

const DEFAULT_RESULTS = 50;
const DEFAULT_TIMEOUT_MS = 30_000;
const MAX_PATTERN_CHARS = 10_000;

const PARAMETERS: JsonObject = {
  type: "object",
  properties: {
    pattern: { type: "string", description: "Regular expression." },
    path: { type: "string", description: "File or folder; the working folder when absent." },
    include: { type: "string", description: "Glob of files, such as *.ts." },
    case_sensitive: { type: "boolean" },
  },
  required: ["pattern"],
};

/** The tool that searches files. */
export function searchTool(options: SearchOptions): AgentTool {
  return {
    name: "search",
    description: "Find lines that match a regular expression, in a file or below a folder.",
    parameters: PARAMETERS,
    execute: (args, context) => search(options, args, context.signal),
  };
}

async function search(options: SearchOptions, args: JsonObject, signal: AbortSignal): Promise<ToolOutput> {
  const shown = pathOf(args);
  const pattern = textArgument(args, "pattern");
  if (pattern === "") throw invalidArguments('"pattern" is empty');
  if (pattern.length > MAX_PATTERN_CHARS) throw invalidArguments('"pattern" is too long');
  const { include } = args;
  try {
    const path = await options.sandbox.resolve(shown);
    const isFolder = (await stat(path)).isDirectory();
    const query: SearchQuery = {
      sandbox: options.sandbox,
      pattern,
      folder: isFolder ? path : dirname(path),
      ...(isFolder ? {} : { file: basename(path) }),
      ...(typeof include === "string" && include !== "" ? { include } : {}),
      isCaseSensitive: args["case_sensitive"] === true,
      maxResults: options.maxResults ?? DEFAULT_RESULTS,
      timeoutMs: options.timeoutMs ?? DEFAULT_TIMEOUT_MS,
      clock: options.clock,
      signal,
    };
    const binary = options.useRipgrep === false ? undefined : await ripgrepPath();
    const result = await (binary === undefined ? searchPlainly(query) : searchWithRipgrep(binary, query));
    return report(result);
  } catch (error) {
    throw fileError(error, shown);
  }
}

function report(result: SearchResult): ToolOutput {
  const { lines } = result;
  const body = lines.length === 0 ? ["no matches"] : lines;
  const more = result.isTruncated ? [`(the first ${lines.length} matches; narrow the search to see others)`] : [];
  const warned = result.warnings === "" ? [] : ["Warnings:", result.warnings];
  return textOutput([...body, ...more, ...warned].join("\n"), {
    matches: lines.length,
    truncated: result.isTruncated,
    warnings: result.warnings === "" ? null : result.warnings,
  });
}
