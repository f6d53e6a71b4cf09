/** Finds the entry points of our own processes, built or as source. */

import { createRequire } from "node:module";

import { SMALL_HEAP_FLAGS } from "@mesh/node-agent/heap-flags";

/** A Node.js program and the arguments its runtime needs. */
export interface NodeProgram {
  readonly script: string;
  readonly execArgv: readonly string[];
}

/** The `main` of a package of ours. */
export function mainOf(packageName: "@mesh/coordinator" | "@mesh/node-agent"): NodeProgram {
  return programOf(createRequire(import.meta.url).resolve(`${packageName}/main`));
}

/** The node agent, as small as it can be. */
export function nodeAgentProgram(): NodeProgram {
  const { script, execArgv } = mainOf("@mesh/node-agent");
  return { script, execArgv: [...SMALL_HEAP_FLAGS, ...execArgv] };
}

/** A script, with what Node.js needs to run it when it is TypeScript. */
export function programOf(script: string): NodeProgram {
  return {
    script,
    execArgv: script.endsWith(".ts") ? ["--import=tsx", "--conditions=@mesh/source"] : ["--enable-source-maps"],
  };
}
