/** What is told about an eval while it runs, to whoever shows it. */

import type { EvalCase } from "../eval-case.ts";
import type { SessionObserver } from "../run/session.ts";
import type { CaseTally, Summary } from "../stat/tally.ts";

/** What is about to run. */
export interface EvalPlan {
  readonly agentId: string;
  readonly agentPath?: string;
  readonly connector?: string;
  /** The input as it was given. */
  readonly input: string;
  readonly cases: readonly EvalCase[];
  readonly runs: number;
  /** On how many devices each run is made; absent for one. */
  readonly copies?: number;
  readonly parallel: number;
  /** One message was asked, and its answer is all that is wanted. */
  readonly isDirect: boolean;
}

/** See the file comment. */
export interface EvalReporter extends SessionObserver {
  onPlan(plan: EvalPlan): void;
  onDryRun(cases: readonly EvalCase[]): void;
  /** All runs of a case are done; only where there are several. */
  onCase(tally: CaseTally): void;
  onEnd(summary: Summary, warnings: readonly string[]): void;
  /** A report was written. */
  onFile(path: string): void;
}
