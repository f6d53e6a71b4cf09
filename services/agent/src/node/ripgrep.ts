/**
 * Searches with the bundled ripgrep; its binary comes with the package for this platform.
 *
 * G1  It runs inside the folder that was judged, and only says where matches are. The lines themselves are read from files
 *     that were opened and judged here, so a folder that is swapped for a link while it looks shows nothing from outside.
 */

import { spawn } from "node:child_process";
import { constants } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

import type { Clock } from "@mesh/kernel";

import { toolCancelled, toolFailed } from "../tool.ts";
import { boundedLines } from "./bounded-line.ts";
import { Capture } from "./capture.ts";
import type { PathSandbox } from "./sandbox.ts";

/** What to look for and how far. */
export interface SearchQuery {
  readonly sandbox: PathSandbox;
  readonly pattern: string;
  /** Real path of the folder to look into. */
  readonly folder: string;
  /** The one file in it to look into; absent: all files below it. */
  readonly file?: string;
  readonly include?: string;
  readonly isCaseSensitive: boolean;
  readonly maxResults: number;
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Matching lines, `file:line:text` with files relative to the folder, and what stood in the way. */
export interface SearchResult {
  readonly lines: readonly string[];
  readonly isTruncated: boolean;
  readonly warnings: string;
}

/** Where a match is. */
export interface SearchPlace {
  /** Relative to the folder. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
}

interface Found {
  readonly places: readonly SearchPlace[];
  readonly isTruncated: boolean;
  readonly warnings: string;
}

const MAX_LINE_CHARS = 500;
const MAX_WARNING_BYTES = 4000;
const EXIT_NO_MATCH = 1;

/** Path of the ripgrep binary, or undefined where the package for this platform is not installed. */
export async function ripgrepPath(): Promise<string | undefined> {
  try {
    const { rgPath } = await import("@vscode/ripgrep");
    return rgPath;
  } catch {
    return undefined;
  }
}

/** Searches with ripgrep; see the file comment. */
export async function searchWithRipgrep(binary: string, query: SearchQuery): Promise<SearchResult> {
  const found = await query.sandbox.withFolder(query.folder, (cwd) => findPlaces(binary, query, cwd));
  const lines = await linesAt(query, found.places);
  const lost = found.places.length - lines.length;
  const warning = lost === 0 ? "" : `${lost} matches were left out: their files changed while they were searched`;
  return {
    lines,
    isTruncated: found.isTruncated,
    warnings: [found.warnings, warning].filter((text) => text !== "").join("\n"),
  };
}

/** The lines at these places, from files that are inside of the sandbox now; what cannot be read is left out. */
export async function linesAt(query: SearchQuery, places: readonly SearchPlace[]): Promise<readonly string[]> {
  const wanted = new Map<string, Set<number>>();
  for (const { file, line } of places) {
    const numbers = wanted.get(file) ?? new Set();
    wanted.set(file, numbers.add(line));
  }
  const lines: string[] = [];
  for (const [file, numbers] of wanted) {
    if (query.signal.aborted) throw toolCancelled();
    lines.push(...(await linesIn(query, file, numbers)));
  }
  return lines;
}

async function linesIn(query: SearchQuery, file: string, numbers: ReadonlySet<number>): Promise<readonly string[]> {
  const handle = await query.sandbox.open(join(query.folder, file), constants.O_RDONLY).catch(() => undefined);
  if (handle === undefined) return [];
  const lines: string[] = [];
  try {
    let number = 0;
    for await (const text of boundedLines(handle, MAX_LINE_CHARS + 1)) {
      number += 1;
      if (query.signal.aborted) throw toolCancelled();
      if (!numbers.has(number)) continue;
      const shown = text.length > MAX_LINE_CHARS ? `${text.slice(0, MAX_LINE_CHARS)}...` : text;
      lines.push(`${file}:${number}:${shown}`);
      if (lines.length === numbers.size) break;
    }
  } finally {
    await handle.close();
  }
  return lines;
}

/** Runs ripgrep; stops it at the first match too many. */
async function findPlaces(binary: string, query: SearchQuery, cwd: string): Promise<Found> {
  const child = spawn(binary, argumentsOf(query), { cwd, stdio: ["ignore", "pipe", "pipe"] });
  const errors = new Capture(MAX_WARNING_BYTES);
  child.stderr.on("data", (chunk: Buffer) => errors.push(chunk));
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once("error", (cause) => reject(toolFailed(`the search could not be started: ${cause.message}`, cause)));
    child.once("close", (code) => resolve(code));
  });
  const kill = (): void => void child.kill("SIGKILL");
  let isLate = false;
  const cancelTimer = query.clock.after(query.timeoutMs, () => {
    isLate = true;
    kill();
  });
  query.signal.addEventListener("abort", kill, { once: true });
  const places: SearchPlace[] = [];
  let isTruncated = false;
  try {
    // Awaited only at the end; until then a failed start must not be an unhandled rejection.
    ended.catch(() => undefined);
    for await (const line of createInterface({ input: child.stdout, crlfDelay: Infinity })) {
      if (places.length >= query.maxResults) {
        isTruncated = true;
        kill();
        break;
      }
      const place = placeOf(line);
      if (place !== undefined) places.push(place);
    }
    const code = await ended;
    if (query.signal.aborted) throw toolCancelled();
    const warnings = errors.text().trim();
    if (isLate)
      return { places, isTruncated: true, warnings: `stopped after ${query.timeoutMs} ms\n${warnings}`.trim() };
    const isFailure = !isTruncated && code !== 0 && code !== EXIT_NO_MATCH;
    if (isFailure && places.length === 0) throw toolFailed(`The search failed: ${warnings || `exit code ${code}`}`);
    return { places, isTruncated, warnings };
  } finally {
    cancelTimer();
    query.signal.removeEventListener("abort", kill);
    kill();
  }
}

/** `file`, a zero byte, the number of the line, and its text, which is not used. */
function placeOf(output: string): SearchPlace | undefined {
  const [, file, line] = /^(?:\.\/)?([^\0]+)\0(\d+):/.exec(output) ?? [];
  return file === undefined || line === undefined ? undefined : { file, line: Number(line) };
}

/** Every text from outside is bound to its option or follows `--`: none of them can become an option. */
function argumentsOf(query: SearchQuery): string[] {
  return [
    "--no-config",
    "--color=never",
    "--no-heading",
    "--with-filename",
    "--null",
    "--line-number",
    "--sort=path",
    `--max-columns=${MAX_LINE_CHARS}`,
    "--max-columns-preview",
    query.isCaseSensitive ? "--case-sensitive" : "--ignore-case",
    ...(query.include === undefined ? [] : [`--glob=${query.include}`]),
    `--regexp=${query.pattern}`,
    "--",
    query.file ?? "./",
  ];
}
