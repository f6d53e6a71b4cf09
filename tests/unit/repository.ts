/** Files of this repository and tools that may be installed, for tests of what is deployed. */

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

/** The root of the repository. */
export const ROOT: string = resolve(import.meta.dirname, "../..");
/** Where the files of deployments are. */
export const DEPLOY: string = join(ROOT, "deploy");

/** The text of a file, by its path from the root. */
export function read(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

/** Whether a program can be started. */
export function isInstalled(command: string, ...args: string[]): boolean {
  return spawnSync(command, args, { stdio: "ignore" }).error === undefined;
}

/** Prints why a test does not run; silence would look like success. */
export function skipReason(reason: string | undefined, what: string): boolean {
  if (reason !== undefined) console.info(`skipped: ${what}: ${reason}`);
  return reason !== undefined;
}

/** The environment names of an option table, read as text. */
export function optionsOf(config: string): Set<string | undefined> {
  return new Set([...read(config).matchAll(/\benv: "(YAO_[A-Z0-9_]+)"/g)].map((match) => match[1]));
}
