/** The handlers of schedules. */

import { MeshError } from "@mesh/kernel";
import type { PutScheduleRequest, Task } from "@mesh/proto";

import { actorOf } from "../auth/caller.ts";
import type { Call, TaskApi } from "../gateway/operation.ts";
import { nextTimes } from "./schedule.ts";
import { deleteSchedule, putSchedule } from "./schedule-store.ts";
import { findTask, noteChange, type TaskApiDeps, wholeTask } from "./task-access.ts";
import { lockAt } from "./task-edit.ts";

const PREVIEW = 5;
const DEFAULT_ZONE = "UTC";

/** Builds them. */
export function createScheduleApi(
  deps: TaskApiDeps,
): Pick<TaskApi, "putSchedule" | "removeSchedule" | "previewSchedule"> {
  return {
    putSchedule: async (request, call) => ({ task: await put(deps, request, call) }),
    removeSchedule: async ({ task: ref }, call) => {
      const place = await findTask(deps, ref, call, "write");
      await deps.store.sql.begin(async (tx) => {
        await lockAt(tx, place.id, 0);
        if (!(await deleteSchedule(tx, place.id))) throw new MeshError("not_found", "this task has no schedule");
        await noteChange({ deps, tx, call }, { task: place, action: "scheduled", detail: { removed: true } });
      });
      deps.recorded();
      return { task: await wholeTask(deps.store.sql, place.id) };
    },
    previewSchedule: async ({ cron, time_zone: zone, count }) => {
      const table = { cron, timeZone: zone === "" ? DEFAULT_ZONE : zone };
      const times = nextTimes(table, new Date(deps.clock.now()), count === 0 ? PREVIEW : count);
      return { times: times.map((time) => time.toISOString()) };
    },
  };
}

async function put(deps: TaskApiDeps, { task: ref, schedule }: PutScheduleRequest, call: Call): Promise<Task> {
  if (schedule === undefined) throw new MeshError("invalid_argument", "schedule is required");
  const place = await findTask(deps, ref, call, "write");
  const timeZone = schedule.time_zone === "" ? DEFAULT_ZONE : schedule.time_zone;
  const [next = null] = nextTimes({ cron: schedule.cron, timeZone }, new Date(deps.clock.now()), 1);
  await deps.store.sql.begin(async (tx) => {
    await lockAt(tx, place.id, 0);
    await putSchedule(tx, {
      taskId: place.id,
      cron: schedule.cron,
      timeZone,
      missed: schedule.missed === "once" ? "once" : "skip",
      overlap: schedule.overlap === "queue" ? "queue" : "skip",
      paused: schedule.paused,
      message: schedule.message,
      setBy: actorOf(call.caller),
      nextAt: next,
    });
    const detail = { cron: schedule.cron, time_zone: timeZone, paused: schedule.paused };
    await noteChange({ deps, tx, call }, { task: place, action: "scheduled", detail });
  });
  deps.recorded();
  return wholeTask(deps.store.sql, place.id);
}
