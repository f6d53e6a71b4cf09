/** How this package starts its own modules as processes and threads, from built code and from source alike. */

import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";

/** A module of this package, ready to be started. */
export interface Program {
  readonly path: string;
  /** Options for Node before the module. */
  readonly execArgv: readonly string[];
}

/** The program in `module` (without extension) beside the file `from`, as a process. */
export function programOf(module: string, from: string): Program {
  const path = fileURLToPath(moduleUrl(module, from));
  if (!isSource(from)) return { path, execArgv: [] };
  return { path, execArgv: ["--conditions=@mesh/source", "--import", loaderUrl(from).href] };
}

/** The same as a thread; the arguments of `new Worker`. */
export function threadOf(module: string, from: string): { readonly entry: string | URL; readonly isCode: boolean } {
  const url = moduleUrl(module, from);
  if (!isSource(from)) return { entry: url, isCode: false };
  // A thread does not take the loader from its options; it has to be registered from inside.
  const loader = new URL("esm/api/index.mjs", loaderUrl(from)).href;
  const code = `import(${JSON.stringify(loader)}).then(({ register }) => (register(), import(${JSON.stringify(url.href)})))`;
  return { entry: code, isCode: true };
}

function moduleUrl(module: string, from: string): URL {
  return new URL(`${module}.${isSource(from) ? "ts" : "js"}`, from);
}

function loaderUrl(from: string): URL {
  return pathToFileURL(createRequire(from).resolve("tsx"));
}

// Only in development and tests: Node 20 does not read TypeScript.
function isSource(from: string): boolean {
  return from.endsWith(".ts");
}
