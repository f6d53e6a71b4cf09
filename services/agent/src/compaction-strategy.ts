/** How a loop makes its history fit: a port, and the default that needs no model. */

import type { CompactionReport } from "./event.ts";
import { compactHistory, type ContextConfig } from "./compaction.ts";
import type { AgentMessage } from "./message.ts";
import type { CompactionSpend } from "./stats.ts";

/** Rewrites a history to fit; called before every request when a context is configured. */
export interface CompactionStrategy {
  /** Synchronous: a turn never waits for it. Returns the same array when nothing is to be done. */
  compact(history: readonly AgentMessage[], config: ContextConfig): readonly AgentMessage[];
  /** Name of what the last `compact` did, for events. */
  readonly method?: string;
  /** The summary that the last `compact` spliced in, once. */
  takeSummary?(): CompactionReport["summary"] | undefined;
  /** What summaries cost since the last time it was asked. */
  takeSpend?(): CompactionSpend | undefined;
}

/** Three levels, no model; see `compaction.ts`. */
export const tieredCompaction: CompactionStrategy = { compact: compactHistory, method: "tiered" };
