/** What a run hands to the runs its tools start. */

import type { Extension } from "./extension.ts";
import type { RunStats } from "./stats.ts";

/** Place of a run in the tree of delegated runs. */
export interface Delegation {
  /** 0 for a run nobody delegated. */
  readonly depth: number;
  readonly parentRunId: string;
  readonly callId: string;
  readonly label?: string;
  /** Extensions that apply to every delegated run below. */
  readonly treeExtensions: readonly Extension[];
  /** Reports what a child run spent; call it before the tool returns, also when the child failed. */
  report(stats: RunStats): void;
}

/** Where a child run stands, derived from the call that started it. */
export interface Ancestry {
  readonly depth: number;
  readonly parentRunId?: string;
  readonly callId?: string;
  readonly inherited: readonly Extension[];
}

/** The ancestry of a run nobody delegated. */
export const ROOT_ANCESTRY: Ancestry = { depth: 0, inherited: [] };

/** How a custom delegation tool makes its child run part of the tree. */
export function delegatedFrom(delegation: Delegation): Ancestry {
  return {
    depth: delegation.depth + 1,
    parentRunId: delegation.parentRunId,
    callId: delegation.callId,
    inherited: delegation.treeExtensions,
  };
}
