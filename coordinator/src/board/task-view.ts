/** A stored task as clients see it. */

import type { PendingItem, Task, TaskRef } from "@mesh/proto";

import type { LinkedTask, StoredPlacementWish, StoredSchedule, TaskRow } from "./task-row.ts";
import { stateOf, type TaskFacts } from "./task-state.ts";

/** Priorities by their number. */
export const PRIORITIES = ["none", "low", "medium", "high", "urgent"] as const;

/** What only reading one task gives. */
export interface TaskExtras {
  readonly pending: readonly PendingItem[];
  readonly blocks: readonly LinkedTask[];
}

const NO_EXTRAS: TaskExtras = { pending: [], blocks: [] };

/** Short name of a task in its workspace. */
export function keyOf(number: number): string {
  return `T-${number}`;
}

/** Converts a row to the message of the public interface. */
export function toTask(row: TaskRow, extras: TaskExtras = NO_EXTRAS): Task {
  const { state, reason } = stateOf(factsOf(row));
  return {
    id: row.id,
    key: keyOf(row.number),
    workspace_id: row.workspace_id,
    board_id: row.board_id,
    column_id: row.column_id,
    category: row.category,
    title: row.title,
    description: row.description,
    summary: row.summary,
    outputs: row.outputs.map((output) => ({ ...output })),
    priority: PRIORITIES[row.priority] ?? "none",
    labels: row.labels,
    assistant: row.assistant,
    assignee: row.assignee,
    placement: toPlacement(row.placement),
    blocked_by: row.blocked_by.map(toRef),
    blocks: extras.blocks.map(toRef),
    parent_id: row.parent_id ?? undefined,
    revision: row.revision,
    rank: row.rank,
    run_state: state,
    run_reason: reason,
    run_id: row.run_id ?? undefined,
    node: row.node ?? undefined,
    attempts: row.attempts,
    pending: extras.pending,
    last_line: row.last_line,
    schedule: row.schedule === null ? undefined : toSchedule(row.schedule),
    max_retries: row.max_retries,
    usage: row.run_usage ?? undefined,
    created_by: row.created_by,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    agent: row.agent ?? undefined,
    ...timesOf(row),
  };
}

function timesOf(row: TaskRow): Pick<Task, "retry_at" | "started_at" | "finished_at" | "archived_at" | "due_at"> {
  return {
    retry_at: row.retry_at?.toISOString(),
    started_at: row.run_started_at?.toISOString(),
    finished_at: row.run_finished_at?.toISOString(),
    archived_at: row.archived_at?.toISOString(),
    due_at: row.due_at?.toISOString(),
  };
}

function toPlacement(wish: StoredPlacementWish): NonNullable<Task["placement"]> {
  const { node = "", labels = {}, os = "", arch = "", tools = [] } = wish;
  return { node, labels, os, arch, tools };
}

function factsOf(row: TaskRow): TaskFacts {
  const { run_state: state, run_reason: reason, run_error: error } = row;
  return {
    category: row.category,
    wantsStart: row.wants_start,
    startError: row.start_error,
    retryAt: row.retry_at,
    blockers: row.blocked_by,
    run: state === null ? undefined : { state, reason: reason ?? "", error },
  };
}

function toRef({ id, key, title, category }: LinkedTask): TaskRef {
  return { id, key, title, category };
}

function toSchedule({ next_at: next, last_at: last, ...schedule }: StoredSchedule): NonNullable<Task["schedule"]> {
  return {
    ...schedule,
    ...(next === null ? {} : { next_at: new Date(next).toISOString() }),
    ...(last === null ? {} : { last_at: new Date(last).toISOString() }),
  };
}
