/** What a device says about itself: facts only, found without executing anything. */

import { accessSync, constants, statSync } from "node:fs";
import { arch, cpus, hostname, platform, totalmem } from "node:os";
import { delimiter, join } from "node:path";

import type { NodeFacts } from "@mesh/proto";

/** Command line tools worth knowing for placement. */
export const KNOWN_TOOLS = [
  "bash",
  "bun",
  "cargo",
  "claude",
  "codex",
  "curl",
  "deno",
  "docker",
  "ffmpeg",
  "gcc",
  "gemini",
  "gh",
  "git",
  "go",
  "java",
  "make",
  "node",
  "npm",
  "ollama",
  "opencode",
  "php",
  "pip",
  "pnpm",
  "podman",
  "python3",
  "rg",
  "ruby",
  "uv",
  "yarn",
] as const;

/** Finds tools on a PATH: the first executable file of each name. */
export function findTools(path: string, names: readonly string[] = KNOWN_TOOLS): Record<string, string> {
  const found: Record<string, string> = {};
  const folders = path.split(delimiter).filter((folder) => folder !== "");
  const suffixes = platform() === "win32" ? [".exe", ".cmd", ".bat"] : [""];
  for (const name of names) {
    const candidates = folders.flatMap((folder) => suffixes.map((suffix) => join(folder, name + suffix)));
    const hit = candidates.find(isExecutable);
    if (hit !== undefined) found[name] = hit;
  }
  return found;
}

/** The facts of this device. */
export function deviceFacts(path: string): NodeFacts {
  return {
    os: platform(),
    arch: arch(),
    cpus: cpus().length,
    memory_bytes: totalmem(),
    hostname: hostname(),
    node_version: process.versions.node,
    tools: findTools(path),
  };
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
