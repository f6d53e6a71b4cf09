/** Rivals that are installed, in tests/bench/loop or wherever somebody put them. */

import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** Where rivals are looked for unless another place is named. */
export const RIVAL_ROOT: string = join(import.meta.dirname, "../bench/loop");

/** What a package exports; undefined where it is not installed. */
export async function installed(root: string, name: string): Promise<Readonly<Record<string, unknown>> | undefined> {
  if (!existsSync(join(root, "node_modules", name))) return undefined;
  // By the path of an ES module where the package has one: `require` alone would find the other build.
  const path = createRequire(join(root, "package.json")).resolve(name);
  return (await import(pathToFileURL(path).href)) as Readonly<Record<string, unknown>>;
}
