/** Changing what a task says and where its card is. */

import { MeshError } from "@mesh/kernel";
import type { ArchiveTaskRequest, DeleteTaskRequest, MoveTaskRequest, Task, UpdateTaskRequest } from "@mesh/proto";
import type { Tx } from "@mesh/store";

import type { Call } from "../gateway/operation.ts";
import { resolveRequirements } from "../runs/requirements.ts";
import { cycleThrough } from "./link-cycle.ts";
import { revisionConflict } from "./revision.ts";
import {
  findTask,
  mustRead,
  noteChange,
  notFound,
  taskIdsOf,
  type TaskApiDeps,
  wholeTask,
  type Write,
} from "./task-access.ts";
import { findColumn, parentOf, readTime, requireAssignee } from "./task-create.ts";
import { lockTask, readTasks, type TaskFields } from "./task-row.ts";
import { newestRun } from "./task-run.ts";
import { isActive } from "./task-state.ts";
import {
  columnsOf,
  deleteTask as deleteRow,
  editTask,
  lockLinks,
  placeIn,
  putLinks,
  setArchived,
  setPlace,
  type TaskEdit,
} from "./task-store.ts";
import { keyOf, PRIORITIES, toTask } from "./task-view.ts";

/** UpdateTask. */
export async function updateTask(deps: TaskApiDeps, request: UpdateTaskRequest, call: Call): Promise<Task> {
  const place = await findTask(deps, request.task, call, "write");
  await deps.store.sql.begin(async (tx) => {
    const task = await lockAt(tx, place.id, request.revision);
    await editTask(tx, task.id, await editOf(tx, task, request));
    if (request.blocked_by !== undefined) await relink(tx, task, request.blocked_by.items);
    await noteChange({ deps, tx, call }, { task: place, action: "edited", detail: { fields: changedFields(request) } });
  });
  deps.recorded();
  return wholeTask(deps.store.sql, place.id);
}

/** Locks a task that is to be changed from a revision; 0 changes whatever is there. */
export async function lockAt(tx: Tx, id: string, revision: number): Promise<TaskFields> {
  const task = await lockTask(tx, id);
  if (task === undefined) throw notFound(id);
  if (revision === 0 || revision === task.revision) return task;
  throw revisionConflict("task", revision, { task: toTask(await mustRead(tx, id)) });
}

async function editOf(tx: Tx, task: TaskFields, request: UpdateTaskRequest): Promise<TaskEdit> {
  const { title, description, priority, labels, assistant, assignee, placement, max_retries: maxRetries } = request;
  if (placement !== undefined) await resolveRequirements(tx, placement, task.workspace_id);
  if (assignee !== undefined) await requireAssignee(tx, assignee);
  return {
    ...(title === undefined ? {} : { title, titleBy: "person" }),
    ...(description === undefined ? {} : { description }),
    ...(priority === undefined
      ? {}
      : {
          priority: Math.max(
            0,
            PRIORITIES.findIndex((each) => each === priority),
          ),
        }),
    ...(labels === undefined ? {} : { labels: [...new Set(labels.items)] }),
    ...(assistant === undefined ? {} : { assistant }),
    ...(assignee === undefined ? {} : { assignee }),
    ...(placement === undefined ? {} : { placement }),
    ...(maxRetries === undefined ? {} : { maxRetries }),
    ...(request.due_at === undefined ? {} : { dueAt: readTime(request.due_at) }),
    ...(request.parent === undefined
      ? {}
      : { parentId: await parentOf(tx, task.workspace_id, request.parent, task.id) }),
  };
}

function changedFields({ task: _task, revision: _revision, ...fields }: UpdateTaskRequest): readonly string[] {
  return Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name]) => name);
}

async function relink(tx: Tx, task: TaskFields, refs: readonly string[]): Promise<void> {
  const blockedBy = await taskIdsOf(tx, task.workspace_id, refs);
  const cycle = cycleThrough(task.id, blockedBy, await lockLinks(tx, task.workspace_id));
  if (cycle !== undefined) {
    const rows = new Map((await readTasks(tx, cycle)).map((row) => [row.id, keyOf(row.number)]));
    const names = cycle.map((id) => rows.get(id) ?? id).join(" → ");
    throw new MeshError("failed_precondition", `these tasks would wait for each other: ${names}`, {
      details: { cycle: names },
    });
  }
  await putLinks(tx, task.id, blockedBy);
}

/** MoveTask. */
export async function moveTask(deps: TaskApiDeps, request: MoveTaskRequest, call: Call): Promise<Task> {
  const place = await findTask(deps, request.task, call, "write");
  await deps.store.sql.begin(async (tx) => {
    const task = await lockAt(tx, place.id, request.revision);
    const anchors = await anchorsOf(tx, task.workspace_id, request);
    await moveTo({ deps, tx, call }, task, { ...request, ...anchors });
  });
  deps.recorded();
  return wholeTask(deps.store.sql, place.id);
}

async function anchorsOf(
  tx: Tx,
  workspaceId: string,
  { after, before }: MoveTaskRequest,
): Promise<{ readonly after: string; readonly before: string }> {
  const idOf = async (ref: string): Promise<string> =>
    ref === "" ? "" : ((await taskIdsOf(tx, workspaceId, [ref]))[0] ?? "");
  return { after: await idOf(after), before: await idOf(before) };
}

/** Moves the card of a locked task. */
export async function moveTo(
  { deps, tx, call }: Write,
  task: TaskFields,
  to: { readonly column: string; readonly after: string; readonly before: string },
): Promise<void> {
  if (task.archived_at !== null) throw archived(task);
  const columns = await columnsOf(tx, task.board_id);
  const column = findColumn(columns, to.column);
  const rank = await placeIn(tx, column.id, task.id, to);
  if (rank === undefined) {
    throw new MeshError("failed_precondition", `that card is not in ${column.name} any more; read the column again`);
  }
  await setPlace(tx, task.id, { ...column, rank }, true);
  const from = columns.find(({ id }) => id === task.column_id)?.name ?? "";
  await noteChange(
    { deps, tx, call },
    {
      task: { id: task.id, workspaceId: task.workspace_id },
      action: "moved",
      detail: { from, to: column.name },
    },
  );
}

/** ArchiveTask. */
export async function archiveTask(deps: TaskApiDeps, request: ArchiveTaskRequest, call: Call): Promise<Task> {
  const place = await findTask(deps, request.task, call, "write");
  await deps.store.sql.begin(async (tx) =>
    archive({ deps, tx, call }, await lockAt(tx, place.id, 0), !request.restore),
  );
  deps.recorded();
  return wholeTask(deps.store.sql, place.id);
}

/** Archives or restores a locked task; doing it again changes nothing. */
export async function archive({ deps, tx, call }: Write, task: TaskFields, isArchived: boolean): Promise<void> {
  if ((task.archived_at !== null) === isArchived) return;
  const run = isArchived ? await newestRun(tx, task.id) : undefined;
  if (run !== undefined && isActive(run.state)) {
    throw new MeshError(
      "failed_precondition",
      `${keyOf(task.number)} is at work; stop it first with: yao task stop ${keyOf(task.number)}`,
    );
  }
  await setArchived(tx, task.id, isArchived);
  if (!isArchived) {
    const rank = await placeIn(tx, task.column_id, task.id, { after: "", before: "" });
    if (rank !== undefined) await setPlace(tx, task.id, { id: task.column_id, boardId: task.board_id, rank }, false);
  }
  await noteChange(
    { deps, tx, call },
    {
      task: { id: task.id, workspaceId: task.workspace_id },
      action: isArchived ? "archived" : "restored",
    },
  );
}

/** DeleteTask. */
export async function deleteTask(deps: TaskApiDeps, request: DeleteTaskRequest, call: Call): Promise<void> {
  const place = await findTask(deps, request.task, call, "write");
  await deps.store.sql.begin(async (tx) => {
    const task = await lockAt(tx, place.id, 0);
    if (task.archived_at === null) {
      throw new MeshError(
        "failed_precondition",
        `${keyOf(task.number)} is on the board; archive it first with: yao task archive ${keyOf(task.number)}`,
      );
    }
    await noteChange({ deps, tx, call }, { task: place, action: "deleted", detail: { key: keyOf(task.number) } });
    await deleteRow(tx, task.id);
  });
  deps.recorded();
}

function archived(task: TaskFields): MeshError {
  const key = keyOf(task.number);
  return new MeshError("failed_precondition", `${key} is archived; restore it first with: yao task restore ${key}`);
}
