/** UpdateTasks: many tasks at once, all or none. */

import { MeshError } from "@mesh/kernel";
import type { Task, UpdateTasksRequest } from "@mesh/proto";
import type { Tx } from "@mesh/store";

import { actorOf } from "../auth/caller.ts";
import type { Call } from "../gateway/operation.ts";
import { noteChange, taskIdsOf, type TaskApiDeps, type Write } from "./task-access.ts";
import { requireAssignee } from "./task-create.ts";
import { archive, moveTo } from "./task-edit.ts";
import { lockTasks, readTasks, type TaskFields } from "./task-row.ts";
import { newestRun, startRun } from "./task-run.ts";
import { isActive } from "./task-state.ts";
import { editTask, type TaskEdit } from "./task-store.ts";
import { PRIORITIES, toTask } from "./task-view.ts";

const MAX_LABELS = 32;

/** The handler. */
export async function updateTasks(
  deps: TaskApiDeps,
  request: UpdateTasksRequest,
  call: Call,
): Promise<readonly Task[]> {
  const workspace = await deps.access.workspace(call.caller, request.workspace, "write");
  if (request.tasks.length === 0) throw new MeshError("invalid_argument", "name at least one task");
  const { ids, toCancel } = await deps.store.sql.begin(async (tx) => {
    const wanted = await taskIdsOf(tx, workspace.id, request.tasks);
    const tasks = await lockTasks(tx, wanted);
    const cancelled: string[] = [];
    // Each goes to the top: in this order the first named is the first on the board.
    for (const id of wanted.toReversed()) {
      const task = tasks.find((each) => each.id === id);
      if (task !== undefined) cancelled.push(...(await change({ deps, tx, call }, task, request)));
    }
    return { ids: wanted, toCancel: cancelled };
  });
  for (const run of toCancel) await deps.runs.cancelRun({ run }, call);
  deps.recorded();
  if (request.action === "start") deps.pokeQueue();
  const rows = new Map((await readTasks(deps.store.sql, ids)).map((row) => [row.id, row]));
  return ids.flatMap((id) => {
    const row = rows.get(id);
    return row === undefined ? [] : [toTask(row)];
  });
}

// Gives the runs that are to be cancelled once everything is committed.
async function change(
  write: Write,
  task: TaskFields,
  { action, value }: UpdateTasksRequest,
): Promise<readonly string[]> {
  const { deps, tx, call } = write;
  switch (action) {
    case "move":
      await moveTo(write, task, { column: needed(value, "a column"), after: "", before: "" });
      return [];
    case "archive":
    case "restore":
      await archive(write, task, action === "archive");
      return [];
    case "start":
      await startRun(deps, tx, task, { actor: actorOf(call.caller) });
      return [];
    case "stop": {
      await tx`UPDATE tasks SET wants_start = false, retry_at = NULL WHERE id = ${task.id}`;
      const run = await newestRun(tx, task.id);
      return run !== undefined && isActive(run.state) ? [run.id] : [];
    }
    default:
      await editTask(tx, task.id, await editOf(tx, task, action, value));
      await noteChange(write, {
        task: { id: task.id, workspaceId: task.workspace_id },
        action: "edited",
        detail: { [action]: value },
      });
      return [];
  }
}

async function editOf(tx: Tx, { labels }: TaskFields, action: string, value: string): Promise<TaskEdit> {
  switch (action) {
    case "priority": {
      const priority = PRIORITIES.findIndex((each) => each === value);
      if (priority >= 0) return { priority };
      throw new MeshError("invalid_argument", `value must be one of: ${PRIORITIES.join(", ")}`);
    }
    case "assignee":
      await requireAssignee(tx, value);
      return { assignee: value };
    case "add_label": {
      const label = needed(value, "a label");
      if (label.length > 64) throw new MeshError("invalid_argument", "a label has at most 64 characters");
      const next = [...new Set([...labels, label])];
      if (next.length <= MAX_LABELS) return { labels: next };
      throw new MeshError("resource_exhausted", `a task has at most ${MAX_LABELS} labels; remove some first`);
    }
    case "remove_label":
      return { labels: labels.filter((label) => label !== needed(value, "a label")) };
    default:
      throw new MeshError("invalid_argument", `there is no action ${action}`);
  }
}

function needed(value: string, what: string): string {
  if (value !== "") return value;
  throw new MeshError("invalid_argument", `this action needs ${what} as its value`);
}
