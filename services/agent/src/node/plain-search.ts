/** Searches without ripgrep: slower, the same answers for ordinary patterns. */

import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { toolCancelled, toolFailed } from "../tool.ts";
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
    for await (const line of matchesIn(file, expression)) {
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

async function* filesOf(query: SearchQuery, warnings: string[]): AsyncGenerator<string, void> {
  const stats = await stat(query.path);
  if (!stats.isDirectory()) {
    yield query.path;
    return;
  }
  const matches = query.include === undefined ? () => true : globMatcher(query.include);
  const { path: root, timeoutMs: deadlineMs, clock, signal } = query;
  for await (const file of walkFiles({ root, maxDepth: MAX_DEPTH, deadlineMs, clock, signal, warnings })) {
    if (matches(file)) yield join(root, file);
  }
}

async function* matchesIn(file: string, expression: RegExp): AsyncGenerator<string, void> {
  const size = (await stat(file).catch(() => undefined))?.size ?? 0;
  if (size > MAX_FILE_BYTES) return;
  const input = createReadStream(file);
  // A file that vanished or may not be read has no matches.
  input.on("error", () => input.destroy());
  let number = 0;
  for await (const line of createInterface({ input, crlfDelay: Infinity })) {
    number += 1;
    if (line.includes("\0")) return;
    const text = line.slice(0, MAX_LINE_CHARS);
    if (expression.test(text)) yield `${file}:${number}:${text}`;
  }
}
