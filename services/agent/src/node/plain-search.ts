/** Searches without ripgrep: slower, the same answers for ordinary patterns. */

import { constants } from "node:fs";
import { join } from "node:path";

import { toolCancelled, toolFailed } from "../tool.ts";
import { boundedLines } from "./bounded-line.ts";
import { globMatcher, walkFiles } from "./file-walk.ts";
import type { SearchQuery, SearchResult } from "./ripgrep.ts";

const MAX_LINE_CHARS = 500;
const MAX_DEPTH = 50;
const MAX_FILE_BYTES = 20_000_000;

/** Searches line by line; the same bounds as with ripgrep. */
export async function searchPlainly(query: SearchQuery): Promise<SearchResult> {
  const expression = compile(query);
  const endMs = query.clock.monotonic() + query.timeoutMs;
  const warnings: string[] = [];
  const lines: string[] = [];
  for await (const file of filesOf(query, warnings)) {
    for await (const line of matchesIn(query, file, expression)) {
      if (query.signal.aborted) throw toolCancelled();
      if (lines.length >= query.maxResults) return { lines, isTruncated: true, warnings: warnings.join("\n") };
      lines.push(line);
    }
    if (query.clock.monotonic() > endMs) {
      warnings.push(`stopped after ${query.timeoutMs} ms`);
      return { lines, isTruncated: true, warnings: warnings.join("\n") };
    }
  }
  return { lines, isTruncated: false, warnings: warnings.join("\n") };
}

function compile(query: SearchQuery): RegExp {
  try {
    return new RegExp(query.pattern, query.isCaseSensitive ? "u" : "iu");
  } catch (cause) {
    throw toolFailed(`"pattern" is not a regular expression: ${query.pattern.slice(0, 200)}`, cause);
  }
}

/** Files to look into, as paths relative to the query's folder. */
async function* filesOf(query: SearchQuery, warnings: string[]): AsyncGenerator<string, void> {
  if (query.file !== undefined) {
    yield query.file;
    return;
  }
  const matches = query.include === undefined ? () => true : globMatcher(query.include);
  const { sandbox, folder: root, timeoutMs: deadlineMs, clock, signal } = query;
  for await (const file of walkFiles({ sandbox, root, maxDepth: MAX_DEPTH, deadlineMs, clock, signal, warnings })) {
    if (matches(file)) yield file;
  }
}

async function* matchesIn(query: SearchQuery, file: string, expression: RegExp): AsyncGenerator<string, void> {
  // A file that vanished, may not be read or leads outside has no matches.
  const handle = await query.sandbox.open(join(query.folder, file), constants.O_RDONLY).catch(() => undefined);
  if (handle === undefined) return;
  try {
    const stats = await handle.stat();
    if (!stats.isFile() || stats.size > MAX_FILE_BYTES) return;
    let number = 0;
    for await (const line of boundedLines(handle, MAX_LINE_CHARS)) {
      number += 1;
      if (line.includes("\0")) return;
      if (expression.test(line)) yield `${file}:${number}:${line}`;
    }
  } finally {
    await handle.close();
  }
}
