/** Walks a folder in a fixed order, bounded in depth, count and time; what cannot be read becomes a warning. */

import type { Dirent } from "node:fs";
import { join, relative } from "node:path";

import type { Clock } from "@mesh/kernel";

import { invalidArguments } from "../tool.ts";
import type { PathSandbox } from "./sandbox.ts";

/** How far to walk. */
export interface WalkOptions {
  readonly sandbox: PathSandbox;
  /** A real path. */
  readonly root: string;
  readonly maxDepth: number;
  readonly deadlineMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly warnings: string[];
}

const SKIPPED: ReadonlySet<string> = new Set([".git", "node_modules", "target"]);
const MAX_WARNINGS = 20;

/** Every regular file below the root, as paths relative to it. Links are not followed. */
export async function* walkFiles(options: WalkOptions): AsyncGenerator<string, void> {
  const endMs = options.clock.monotonic() + options.deadlineMs;
  const todo: { readonly path: string; readonly depth: number }[] = [{ path: options.root, depth: 1 }];
  for (let folder = todo.pop(); folder !== undefined; folder = todo.pop()) {
    if (options.signal.aborted) return;
    if (options.clock.monotonic() > endMs) {
      warn(options, `stopped after ${options.deadlineMs} ms; the list is not complete`);
      return;
    }
    const entries = await entriesOf(folder.path, options);
    const folders: typeof todo = [];
    for (const entry of entries) {
      const path = join(folder.path, entry.name);
      if (entry.isFile()) yield relative(options.root, path);
      else if (entry.isDirectory() && !SKIPPED.has(entry.name) && folder.depth < options.maxDepth) {
        folders.push({ path, depth: folder.depth + 1 });
      }
    }
    todo.push(...folders.toReversed());
  }
}

async function entriesOf(path: string, options: WalkOptions): Promise<readonly Dirent[]> {
  try {
    const entries = await options.sandbox.readFolder(path);
    return entries.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  } catch (error) {
    if (path === options.root) throw error;
    const { code } = error as NodeJS.ErrnoException;
    warn(options, `${relative(options.root, path)} could not be read (${code ?? "error"})`);
    return [];
  }
}

function warn(options: WalkOptions, text: string): void {
  if (options.warnings.length < MAX_WARNINGS) options.warnings.push(text);
}

/** Each star multiplies what a failed match costs; with five, one long name would hold the process for minutes. */
const MAX_STARS = 4;
const MAX_GLOB_CHARS = 1000;

/**
 * A test for file names by a glob with `*`, `?`, `[...]` and `{a,b}`; with a slash in it, for whole paths with `**`.
 * Throws `invalid_argument` for one with more than four stars.
 */
export function globMatcher(glob: string): (path: string) => boolean {
  const stars = glob.match(/\*+/gu)?.length ?? 0;
  if (stars > MAX_STARS || glob.length > MAX_GLOB_CHARS) {
    throw invalidArguments(
      `the glob ${glob.slice(0, 100)} has too many stars or is too long; use at most ${MAX_STARS}`,
    );
  }
  const expression = new RegExp(`^${translate(glob)}$`, "u");
  if (glob.includes("/")) return (path) => expression.test(path);
  return (path) => expression.test(path.slice(path.lastIndexOf("/") + 1));
}

function translate(glob: string): string {
  let depth = 0;
  return glob.replaceAll(/\*\*\/|\*\*|\*|\?|\[!?[^\]]+\]|\{|\}|,|[.+^$()|\\[\]]/gu, (token) => {
    switch (token) {
      case "**/":
        return "(?:.*/)?";
      case "**":
        return ".*";
      case "*":
        return "[^/]*";
      case "?":
        return "[^/]";
      case "{":
        depth += 1;
        return "(?:";
      case "}":
        if (depth === 0) return "\\}";
        depth -= 1;
        return ")";
      case ",":
        return depth > 0 ? "|" : ",";
      default:
        if (token.length > 1) return token.replace(/^\[!/u, "[^").replaceAll("\\", "\\\\");
        return `\\${token}`;
    }
  });
}
