/** The operations of scripts, loaded when the first script is called: a run without scripts needs none. */

import type { HostOps } from "@mesh/scripts";

import type { OpCaller } from "./op-table.ts";

/** The operations as one caller's scripts have them. */
export async function lazyOps(caller: OpCaller): Promise<HostOps> {
  const { opsOf } = await import("./ops.ts");
  return opsOf(caller);
}
