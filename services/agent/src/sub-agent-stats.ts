/** Where the stats of delegated runs stand in the details of a tool's result. */

import { isObject } from "@mesh/kernel";

import type { ToolResultView } from "./event.ts";
import type { RunStats } from "./stats.ts";

/** The key in `details`. */
export const SUB_AGENT_STATS_KEY = "subAgentStats";

/** The stats of the runs a call delegated, from its end event. */
export function subAgentStats(result: ToolResultView): RunStats | undefined {
  const { details } = result;
  const stats = isObject(details) ? details[SUB_AGENT_STATS_KEY] : undefined;
  return isObject(stats) ? (stats as unknown as RunStats) : undefined;
}
