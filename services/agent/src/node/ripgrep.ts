/** Runs the bundled ripgrep over real files; its binary comes with the package for this platform. */

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

import type { Clock } from "@mesh/kernel";

import { toolCancelled, toolFailed } from "../tool.ts";
import { Capture } from "./capture.ts";

/** What to look for and how far. */
export interface SearchQuery {
  readonly pattern: string;
  /** Real path of a file or folder. */
  readonly path: string;
  readonly include?: string;
  readonly isCaseSensitive: boolean;
  readonly maxResults: number;
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Matching lines, `file:line:text`, and what stood in the way. */
export interface SearchResult {
  readonly lines: readonly string[];
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

/** Searches with ripgrep; stops it at the first match too many. */
export async function searchWithRipgrep(binary: string, query: SearchQuery): Promise<SearchResult> {
  const child = spawn(binary, argumentsOf(query), { stdio: ["ignore", "pipe", "pipe"] });
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
  const lines: string[] = [];
  let isTruncated = false;
  try {
    // Awaited only at the end; until then a failed start must not be an unhandled rejection.
    ended.catch(() => undefined);
    for await (const line of createInterface({ input: child.stdout, crlfDelay: Infinity })) {
      if (lines.length >= query.maxResults) {
        isTruncated = true;
        kill();
        break;
      }
      lines.push(line.length > MAX_LINE_CHARS ? `${line.slice(0, MAX_LINE_CHARS)}...` : line);
    }
    const code = await ended;
    if (query.signal.aborted) throw toolCancelled();
    const warnings = errors.text().trim();
    if (isLate)
      return { lines, isTruncated: true, warnings: `stopped after ${query.timeoutMs} ms\n${warnings}`.trim() };
    const isFailure = !isTruncated && code !== 0 && code !== EXIT_NO_MATCH;
    if (isFailure && lines.length === 0) throw toolFailed(`The search failed: ${warnings || `exit code ${code}`}`);
    return { lines, isTruncated, warnings };
  } finally {
    cancelTimer();
    query.signal.removeEventListener("abort", kill);
    kill();
  }
}

/** Every text from outside is bound to its option or follows `--`: none of them can become an option. */
function argumentsOf(query: SearchQuery): string[] {
  return [
    "--no-config",
    "--color=never",
    "--no-heading",
    "--with-filename",
    "--line-number",
    "--sort=path",
    `--max-columns=${MAX_LINE_CHARS}`,
    "--max-columns-preview",
    query.isCaseSensitive ? "--case-sensitive" : "--ignore-case",
    ...(query.include === undefined ? [] : [`--glob=${query.include}`]),
    `--regexp=${query.pattern}`,
    "--",
    query.path,
  ];
}
