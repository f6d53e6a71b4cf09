/** Tools that are known only when a run starts. */

import { errorText } from "@mesh/kernel";

import type { Log } from "./log.ts";
import type { AgentTool } from "./tool.ts";

/** Gives tools for one run; asked once per run, before anything else happens. */
export interface ToolSource {
  readonly name?: string;
  tools(): Promise<readonly AgentTool[]> | readonly AgentTool[];
}

/** Asks every source; one that fails contributes nothing. Cancellation ends the wait with what is there. */
export async function collectTools(sources: readonly ToolSource[], log: Log): Promise<readonly AgentTool[]> {
  const lists: AgentTool[] = [];
  for (const [index, source] of sources.entries()) {
    try {
      lists.push(...(await source.tools()));
    } catch (thrown) {
      log("warn", "tool source failed", { source: source.name ?? `#${index + 1}`, err: errorText(thrown) });
    }
  }
  return lists;
}

/**
 * Static tools followed by sourced ones. A name that is taken is dropped: static before sourced, earlier before later.
 * Sourced tools are sorted by name, so that an equal set in another order leaves the cached prefix as it is.
 */
export function mergeTools(fixed: readonly AgentTool[], sourced: readonly AgentTool[], log: Log): readonly AgentTool[] {
  const taken = new Set<string>();
  const keep = (tool: AgentTool): boolean => {
    if (taken.has(tool.name)) {
      log("warn", "tool dropped: its name is taken", { toolName: tool.name });
      return false;
    }
    taken.add(tool.name);
    return true;
  };
  const kept = fixed.filter(keep);
  const added = sourced.filter(keep).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return [...kept, ...added];
}
