/** An extension that stops a run before it spends more than a sum of money. */

import { isObject, MeshError } from "@mesh/kernel";

import type { Extension, RunContext, RunHooks, TurnDecision } from "./extension.ts";
import { isUnpriced, totalSpend } from "./stats.ts";
import { SUB_AGENT_STATS_KEY } from "./sub-agent-stats.ts";

/** What a budget is and how it counts. */
export interface BudgetOptions {
  readonly limitUsd: number;
  readonly name?: string;
  /** One sum for all runs instead of one each. */
  readonly isAcrossRuns?: boolean;
  /** Dollars to count for a run whose usage has no known price; the default stops it, for it cannot be bounded. */
  readonly unpricedUsd?: number;
}

interface LiveSpend {
  readonly context: RunContext;
  readonly root: string;
  /** Spend of children that never reported it themselves. */
  unreportedUsd: number;
}

/**
 * Counts what runs spend: own answers, delegated runs and summaries, each once.
 *
 * A finished child is part of its parent's stats. A child that runs now is not yet, so while this budget serves it (as a
 * tree extension) it is counted by itself, until its parent has the result of the call that delegated it.
 */
export class Budget implements Extension {
  readonly name: string;
  readonly mode = "required";
  readonly #options: BudgetOptions;
  readonly #live = new Map<string, LiveSpend>();
  #finishedUsd = 0;

  constructor(options: BudgetOptions) {
    if (!(options.limitUsd >= 0)) {
      throw new MeshError("invalid_argument", `a budget of ${options.limitUsd} dollars makes no sense; give 0 or more`);
    }
    this.#options = options;
    this.name = options.name ?? "budget";
  }

  /** Dollars spent so far by all runs it served; NaN when a price is not known. */
  spentUsd(): number {
    return this.#sum(() => true) + this.#finishedUsd;
  }

  startRun(context: RunContext): RunHooks {
    const parent = context.parentRunId === undefined ? undefined : this.#live.get(context.parentRunId);
    const run: LiveSpend = { context, root: parent?.root ?? context.runId, unreportedUsd: 0 };
    this.#live.set(context.runId, run);
    return {
      beforeModel: () => this.#decide(run),
      onEvent: (event) => {
        if (event.type !== "toolExecutionEnd") return;
        const { details } = event.result;
        this.#folded(run, event.toolCallId, isObject(details) && SUB_AGENT_STATS_KEY in details);
      },
      finish: (end) => {
        // A waiting run goes on later; a child is counted until its parent has its result.
        if (end.kind === "waiting" || parent !== undefined) return;
        this.#finishedUsd += this.#sum((each) => each.root === run.root);
        for (const [id, each] of this.#live) if (each.root === run.root) this.#live.delete(id);
      },
    };
  }

  #decide(run: LiveSpend): TurnDecision {
    const { limitUsd, isAcrossRuns = false } = this.#options;
    const spent = isAcrossRuns ? this.spentUsd() : this.#sum((each) => each.root === run.root);
    if (Number.isNaN(spent)) {
      return { kind: "stop", reason: "the price of what was used is not known, so the budget cannot be kept" };
    }
    if (spent < limitUsd) return { kind: "pass" };
    return { kind: "stop", reason: `spent $${spent.toFixed(4)} of a budget of $${limitUsd}` };
  }

  /** The parent has the result of a call: the child it delegated is part of the parent's stats now. */
  #folded(parent: LiveSpend, callId: string, isReported: boolean): void {
    for (const [id, child] of this.#live) {
      if (child.context.parentRunId !== parent.context.runId || child.context.delegatedBy !== callId) continue;
      this.#live.delete(id);
      parent.unreportedUsd += child.unreportedUsd + (isReported ? 0 : this.#usd(child.context));
    }
  }

  #sum(isCounted: (run: LiveSpend) => boolean): number {
    let sum = 0;
    for (const run of this.#live.values()) if (isCounted(run)) sum += this.#usd(run.context) + run.unreportedUsd;
    return sum;
  }

  #usd(context: RunContext): number {
    const spend = totalSpend(context.stats());
    if (spend.costUsd !== null) return spend.costUsd;
    return isUnpriced(spend) ? (this.#options.unpricedUsd ?? Number.NaN) : 0;
  }
}
