/** `ctx.memory.user`, `.team` and `.chat`: kept by the mesh; `.context` never leaves the script. */

import type { Json } from "@mesh/kernel";
import { MEMORY_METHODS } from "@mesh/memory";

import { stateOf } from "./state.ts";
import type { OpCaller, OpHandlers } from "./op-table.ts";

/** Handlers of the memory that outlives a run. */
export const MEMORY_OPS: OpHandlers = Object.fromEntries(
  MEMORY_METHODS.map((method): [string, (caller: OpCaller, args: readonly Json[]) => Promise<Json | undefined>] => [
    `memory.${method}`,
    ({ context }, args) => stateOf(context).call("memory", method, args, context.signal),
  ]),
) as OpHandlers;
