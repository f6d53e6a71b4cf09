/** `ctx.memory.user`, `.team` and `.chat`: kept by the mesh; `.context` never leaves the script. */

import type { Json } from "@mesh/kernel";
import type { OpName } from "@mesh/scripts";

import { stateOf } from "./state.ts";
import type { OpCaller, OpHandlers } from "./op-table.ts";

const METHODS = [
  "Get",
  "Set",
  "Del",
  "Has",
  "GetDel",
  "Keys",
  "Len",
  "Clear",
  "Incr",
  "Decr",
  "Push",
  "Pop",
  "Pull",
  "PullAll",
  "AddToSet",
  "ArrayLen",
  "ArrayGet",
  "ArraySet",
  "ArraySlice",
  "ArrayPage",
  "ArrayAll",
] as const;

/** Handlers of the memory that outlives a run. */
export const MEMORY_OPS: OpHandlers = Object.fromEntries(
  METHODS.map((method): [OpName, (caller: OpCaller, args: readonly Json[]) => Promise<Json | undefined>] => [
    `memory.${method}`,
    ({ context }, args) => stateOf(context).call("memory", method, args, context.signal),
  ]),
) as OpHandlers;
