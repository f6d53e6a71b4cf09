/** The operations of scripts, loaded when the first script is called: a run without scripts needs none. */

import type { HostOps } from "@mesh/scripts";

import type { OpCaller } from "./op-table.ts";

/** Kept, because asking for a module again crosses to the loader each time. */
let loading: Promise<{ readonly opsOf: (caller: OpCaller) => HostOps }> | undefined;

/** The operations as one caller's scripts have them. */
export async function lazyOps(caller: OpCaller): Promise<HostOps> {
  const { opsOf } = await (loading ??= import("./ops.ts"));
  return opsOf(caller);
}
