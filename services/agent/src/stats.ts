/**
 * What a run cost: usage, turns and money, in buckets that are never merged into one another.
 *
 * J2  Usage without a price makes the sum unpriced (null), and it stays so; no usage and no price is "nothing spent".
 * J3  `input` excludes cached tokens. `totalTokens` is not summed: providers disagree on what it counts.
 */

import { addUsage, NO_USAGE, type Usage } from "@mesh/llm";

/** Usage with its price; `costUsd` null means unknown, never free. */
export interface Spend {
  readonly usage: Usage;
  readonly costUsd: number | null;
}

/** Spend of delegated runs, of the whole tree below this run. */
export interface SubAgentSpend extends Spend {
  readonly runs: number;
}

/** Spend of the requests that summarize a history. */
export interface CompactionSpend extends Spend {
  readonly requests: number;
}

/** The totals of one run, reported with its end. */
export interface RunStats extends Spend {
  /** Model responses, errored ones included, repeated attempts not; what those cost is in `usage`. */
  readonly turns: number;
  /** How often the history was rewritten to fit. */
  readonly compactions: number;
  readonly subAgents: SubAgentSpend;
  readonly compaction: CompactionSpend;
}

/** The stats of a run that did nothing. */
export const NO_STATS: RunStats = {
  usage: NO_USAGE,
  costUsd: null,
  turns: 0,
  compactions: 0,
  subAgents: { usage: NO_USAGE, costUsd: null, runs: 0 },
  compaction: { usage: NO_USAGE, costUsd: null, requests: 0 },
};

/** All four parts together. */
export function countedTokens(usage: Usage): number {
  return usage.input + usage.output + usage.cacheRead + usage.cacheWrite;
}

/** Whether tokens were used at an unknown price. */
export function isUnpriced(spend: Spend): boolean {
  return spend.costUsd === null && countedTokens(spend.usage) > 0;
}

/** The sum of two spends; unpriced as soon as one of them is. */
export function addSpend(a: Spend, b: Spend): Spend {
  const usage = addUsage(a.usage, b.usage);
  if (isUnpriced(a) || isUnpriced(b)) return { usage, costUsd: null };
  if (a.costUsd === null && b.costUsd === null) return { usage, costUsd: null };
  return { usage, costUsd: (a.costUsd ?? 0) + (b.costUsd ?? 0) };
}

/** A run's own spend plus every bucket. */
export function totalSpend(stats: RunStats): Spend {
  return addSpend(addSpend(stats, stats.subAgents), stats.compaction);
}

/** The sum of two runs' stats, bucket by bucket. */
export function addStats(a: RunStats, b: RunStats): RunStats {
  return {
    ...addSpend(a, b),
    turns: a.turns + b.turns,
    compactions: a.compactions + b.compactions,
    subAgents: addSubAgents(a.subAgents, b.subAgents),
    compaction: addCompaction(a.compaction, b.compaction),
  };
}

/** The sum of two delegated spends. */
export function addSubAgents(a: SubAgentSpend, b: SubAgentSpend): SubAgentSpend {
  return { ...addSpend(a, b), runs: a.runs + b.runs };
}

/** The sum of two summary spends. */
export function addCompaction(a: CompactionSpend, b: CompactionSpend): CompactionSpend {
  return { ...addSpend(a, b), requests: a.requests + b.requests };
}

/** Folds a child's stats into its parent: own and delegated spend into `subAgents`, summaries into `compaction`. */
export function foldChild(parent: RunStats, child: RunStats): RunStats {
  const delegated = addSubAgents({ usage: child.usage, costUsd: child.costUsd, runs: 1 }, child.subAgents);
  return {
    ...parent,
    subAgents: addSubAgents(parent.subAgents, delegated),
    compaction: addCompaction(parent.compaction, child.compaction),
  };
}

/** Share of the prompt that came from a cache, 0 without any prompt. */
export function cacheHitRate(usage: Usage): number {
  const prompt = usage.input + usage.cacheRead + usage.cacheWrite;
  return prompt === 0 ? 0 : usage.cacheRead / prompt;
}
