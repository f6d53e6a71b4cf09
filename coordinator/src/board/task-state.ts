/** What a task's runs and the tasks before it say about it. Nothing of this is stored by hand. Pure. */

import type { RunFailure, RunState } from "../runs/run-state.ts";

/** A state of a task's work. */
export type TaskRunState =
  | "idle"
  | "blocked"
  | "queued"
  | "running"
  | "waiting"
  | "succeeded"
  | "failed"
  | "cancelled"
  | "lost";

/** A task that must be done first. */
export interface Blocker {
  readonly key: string;
  readonly title: string;
  readonly category: string;
  readonly archived: boolean;
  /** State of its newest run. */
  readonly state: RunState | null;
}

/** What is known about a task. */
export interface TaskFacts {
  readonly category: string;
  readonly wantsStart: boolean;
  readonly startError: string;
  readonly retryAt: Date | null;
  readonly blockers: readonly Blocker[];
  readonly run: { readonly state: RunState; readonly reason: string; readonly error: RunFailure | null } | undefined;
}

/** Whether the tasks after it may start: it is done, or its work has succeeded. */
export function isSatisfied({ category, state }: Blocker): boolean {
  return category === "done" || state === "succeeded";
}

/** The state and why, in words. */
export function stateOf(facts: TaskFacts): { readonly state: TaskRunState; readonly reason: string } {
  const { run, blockers, wantsStart, category } = facts;
  const active = run === undefined ? undefined : activeState(run.state);
  if (run !== undefined && active !== undefined) return { state: active, reason: run.reason };
  const open = blockers.filter((blocker) => !isSatisfied(blocker));
  const isOver = category === "done" || category === "cancelled" || (run !== undefined && !wantsStart);
  if (open.length > 0 && !isOver) return { state: "blocked", reason: blockedReason(open) };
  if (facts.startError !== "") return { state: "failed", reason: facts.startError };
  if (wantsStart) return { state: "queued", reason: "starts in a moment" };
  if (run === undefined) return { state: "idle", reason: "" };
  return { state: ended(run.state), reason: endReason(facts) };
}

/** Whether a run in this state keeps its task from starting another. */
export function isActive(state: RunState): boolean {
  return activeState(state) !== undefined;
}

function activeState(state: RunState): TaskRunState | undefined {
  switch (state) {
    case "queued":
    case "placed":
      return "queued";
    case "accepted":
    case "running":
      return "running";
    case "waiting":
      return "waiting";
    case "succeeded":
    case "failed":
    case "cancelled":
    case "lost":
      return undefined;
  }
}

function ended(state: RunState): TaskRunState {
  return state === "succeeded" || state === "failed" || state === "cancelled" || state === "lost" ? state : "idle";
}

function endReason({ run, retryAt }: TaskFacts): string {
  const text = run?.error?.message ?? run?.reason ?? "";
  return retryAt === null ? text : `${text === "" ? "it failed" : text}; tried again at ${retryAt.toISOString()}`;
}

function blockedReason(open: readonly Blocker[]): string {
  const failed = open.filter(hasFailed);
  const names = (list: readonly Blocker[]): string => list.map(({ key, title }) => `${key} (${title})`).join(", ");
  if (failed.length === 0) return `waits for ${names(open)}`;
  return `${names(failed)} did not succeed; start it again, or take it out of what this task waits for`;
}

function hasFailed({ category, archived, state }: Blocker): boolean {
  return category === "cancelled" || archived || state === "failed" || state === "lost" || state === "cancelled";
}
