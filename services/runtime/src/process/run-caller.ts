/** Who calls a process of a run. */

import { MeshError } from "@mesh/kernel";
import type { ProcessCaller } from "@mesh/scripts";

import type { OpCaller } from "../op/op-table.ts";

/** The agent behind a call, as the runtime put it there. */
export function callerOf({ ctx }: ProcessCaller): OpCaller {
  if (ctx === undefined) throw new MeshError("internal", "a process was called outside of a run");
  return ctx as OpCaller;
}
