/** How results end, and their counts. Pure. */

import type { EvalCounts, EvalNode } from "@mesh/proto";

/** How a result ended, in the order in which they are shown. */
export const STATUSES = ["passed", "failed", "error", "timeout", "skipped"] as const;

/** One of {@link STATUSES}. */
export type Status = (typeof STATUSES)[number];

/** Results by how they ended. */
export type Counts = Readonly<Record<Status, number>>;

/** None of any. */
export const NO_COUNTS: Counts = { passed: 0, failed: 0, error: 0, timeout: 0, skipped: 0 };

/** The status that a text names; what is not known could not be judged. */
export function statusOf(text: string): Status {
  return STATUSES.find((status) => status === text) ?? "error";
}

/** The counts of an eval or of a device in it. */
export function countsIn(counts: EvalCounts | EvalNode | undefined): Counts {
  if (counts === undefined) return NO_COUNTS;
  const { passed, failed, errors, timeouts, skipped } = counts;
  return { passed, failed, error: errors, timeout: timeouts, skipped };
}

/** Results that could be judged: an error says nothing about the assistant, a timeout does. */
export function scoredOf({ passed, failed, timeout }: Counts): number {
  return passed + failed + timeout;
}

/** Whether an eval in this state still changes. */
export function isLive(state: string): boolean {
  return state === "running" || state === "cancelling";
}

/** Number of results that count. */
export function settled(counts: Counts): number {
  return STATUSES.reduce((sum, status) => sum + counts[status], 0);
}
