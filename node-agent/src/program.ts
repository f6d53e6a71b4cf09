/** How this package starts its own modules as processes and threads, from built code and from source alike. */

import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";

/** A module of this package, ready to be started. */
export interface Program {
  readonly url: URL;
  readonly path: string;
  /** Options for Node before the module. */
  readonly execArgv: readonly string[];
}

/** The program in `module` (without extension) beside the file `from`. */
export function programOf(module: string, from: string): Program {
  const isSource = from.endsWith(".ts");
  const url = new URL(`${module}.${isSource ? "ts" : "js"}`, from);
  return { url, path: fileURLToPath(url), execArgv: isSource ? sourceArgv(from) : [] };
}

// Only in development and tests: Node 20 does not read TypeScript.
function sourceArgv(from: string): string[] {
  const loader = pathToFileURL(createRequire(from).resolve("tsx")).href;
  return ["--conditions=@mesh/source", "--import", loader];
}
