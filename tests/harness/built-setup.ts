/**
 * Refuses to test built code that is half built: `tsc` alone does not renew the files that packages ship, and a test of old
 * code proves nothing.
 */

import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";

import { isObject } from "@mesh/kernel";

const ROOT = join(import.meta.dirname, "../..");

/** Vitest's global setup of the project `e2e`. */
export function setup(): void {
  const { workspaces } = manifestOf(".");
  const old = (Array.isArray(workspaces) ? workspaces.map(String) : []).filter(isOutdated);
  if (old.length > 0)
    throw new Error(`what ${old.join(", ")} ship is older than what tsc built; run \`npm run build\``);
}

function isOutdated(folder: string): boolean {
  const { exports } = manifestOf(folder);
  const entries = isObject(exports) ? Object.values(exports) : [];
  const files = entries.map((entry) => (isObject(entry) ? String(entry["default"]) : ""));
  const builtMs = modifiedMs(folder, "dist/.tsbuildinfo");
  return files.some((file) => file.startsWith("./dist/bundled/") && modifiedMs(folder, file) < builtMs);
}

function modifiedMs(folder: string, file: string): number {
  return statSync(join(ROOT, folder, file), { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

function manifestOf(folder: string): Record<string, unknown> {
  const manifest: unknown = JSON.parse(readFileSync(join(ROOT, folder, "package.json"), "utf8"));
  return isObject(manifest) ? manifest : {};
}
