/** Starting tasks when their schedules say so; see K4 of the keeper. */

import type { Clock, Ids } from "@mesh/kernel";
import type { Store, Tx } from "@mesh/store";

import { nameOf } from "./actor.ts";
import { appendMessages, textMessage } from "./conversation-store.ts";
import { stepOf } from "./schedule.ts";
import { type DueSchedule, dueSchedules, lockDue, setNext, useUp } from "./schedule-store.ts";
import { nextKey } from "./steer.ts";
import { lockTask, type TaskFields } from "./task-row.ts";
import { newestRun } from "./task-run.ts";
import { isActive } from "./task-state.ts";
import { insertActivity } from "./task-store.ts";

/** What firing uses. */
export interface SchedulerDeps {
  readonly store: Pick<Store, "sql">;
  readonly ids: Ids;
  readonly clock: Clock;
}

const BATCH = 100;

/** What was made of a due time. */
type Outcome = "started" | "missed" | "skipped" | "queued";

/** Sees to all schedules that are due at `now`; how many. The start itself is the keeper's. */
export async function fireSchedules(deps: SchedulerDeps, now: Date): Promise<number> {
  const due = await dueSchedules(deps.store.sql, now, BATCH);
  for (const taskId of due) await deps.store.sql.begin((tx) => fire(deps, tx, taskId, now));
  return due.length;
}

async function fire(deps: SchedulerDeps, tx: Tx, taskId: string, now: Date): Promise<void> {
  const task = await lockTask(tx, taskId);
  const schedule = task === undefined ? undefined : await lockDue(tx, taskId, now);
  if (task === undefined || schedule === undefined) return;
  const timetable = { cron: schedule.cron, timeZone: schedule.time_zone, missed: schedule.missed };
  const { fires, next } = stepOf(timetable, schedule.next_at, now);
  const outcome = fires ? await outcomeOf(tx, task, schedule) : "missed";
  const isFirst = await useUp(tx, taskId, schedule.next_at, outcome);
  await setNext(tx, taskId, next, outcome === "missed" || outcome === "skipped" ? null : schedule.next_at);
  if (!isFirst) return;
  await insertActivity(tx, {
    id: deps.ids.next("act"),
    taskId,
    actor: schedule.set_by,
    action: "scheduled",
    detail: { due: schedule.next_at.toISOString(), outcome },
  });
  if (outcome === "missed" || outcome === "skipped") return;
  const text = [schedule.message, task.description, task.title].find((each) => each !== "") ?? "";
  const message = { role: "user", author: nameOf(schedule.set_by), body: textMessage(text) } as const;
  await appendMessages(tx, taskId, [{ ...message, key: nextKey(deps.ids.next("msg")) }]);
  await tx`UPDATE tasks SET wants_start = true, start_error = '' WHERE id = ${taskId}`;
}

async function outcomeOf(tx: Tx, task: TaskFields, schedule: DueSchedule): Promise<Outcome> {
  const run = await newestRun(tx, task.id);
  if (run === undefined || !isActive(run.state)) return "started";
  return schedule.overlap === "queue" ? "queued" : "skipped";
}
