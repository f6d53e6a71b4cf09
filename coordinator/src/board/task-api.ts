/** TaskService. */

import type { ListTasksRequest, ListTasksResponse, ListTaskMessagesResponse } from "@mesh/proto";

import { feedSeq } from "../feed/feed-store.ts";
import type { Call, TaskApi } from "../gateway/operation.ts";
import { listRunsOfTask } from "../runs/run-row.ts";
import { toRun } from "../runs/run-view.ts";
import { findNode } from "../runs/run-api-store.ts";
import { unknownNode } from "../runs/requirements.ts";
import { listActivity } from "./activity-store.ts";
import { readBoards } from "./board-store.ts";
import { listMessages, liveRun } from "./conversation-store.ts";
import { createScheduleApi } from "./schedule-api.ts";
import { findTask, taskIdsOf, type TaskApiDeps, wholeTask } from "./task-access.ts";
import { updateTasks } from "./task-batch.ts";
import { createTask } from "./task-create.ts";
import { archiveTask, deleteTask, moveTask, updateTask } from "./task-edit.ts";
import { listTaskIds, type TaskFilter } from "./task-page.ts";
import { readTasks } from "./task-row.ts";
import { sendToTask, startTask, stopTask } from "./task-talk.ts";
import { toTask } from "./task-view.ts";
import { createTemplateApi } from "./template-api.ts";

const PAGE = 50;

/** Builds the handlers. */
export function createTaskApi(deps: TaskApiDeps): TaskApi {
  const { sql } = deps.store;
  return {
    createTask: async (request, call) => ({ task: await createTask(deps, request, call) }),
    listTasks: (request, call) => listTasks(deps, request, call),
    getTask: async ({ task }, call) => {
      const place = await findTask(deps, task, call, "read");
      const seq = await feedSeq(sql, place.workspaceId);
      return { task: await wholeTask(sql, place.id), feed_seq: seq };
    },
    updateTask: async (request, call) => ({ task: await updateTask(deps, request, call) }),
    moveTask: async (request, call) => ({ task: await moveTask(deps, request, call) }),
    sendToTask: (request, call) => sendToTask(deps, request, call),
    startTask: (request, call) => startTask(deps, request, call),
    stopTask: async ({ task }, call) => ({ task: await stopTask(deps, task, call) }),
    archiveTask: async (request, call) => ({ task: await archiveTask(deps, request, call) }),
    deleteTask: async (request, call) => {
      await deleteTask(deps, request, call);
      return {};
    },
    listTaskMessages: async ({ task, before_seq: before, limit }, call) => {
      const { id } = await findTask(deps, task, call, "read");
      return messagesOf(deps, id, before, limit === 0 ? PAGE : limit);
    },
    listTaskRuns: async ({ task, limit, cursor }, call) => {
      const { id } = await findTask(deps, task, call, "read");
      const size = limit === 0 ? PAGE : limit;
      const rows = await listRunsOfTask(sql, id, cursor, size);
      return { runs: rows.map(toRun), next_cursor: rows.length === size ? (rows.at(-1)?.id ?? "") : "" };
    },
    listActivity: async ({ task, limit, cursor }, call) => {
      const { id } = await findTask(deps, task, call, "read");
      const size = limit === 0 ? PAGE : limit;
      const rows = await listActivity(sql, id, cursor, size);
      return {
        entries: rows.map((row) => ({ ...row, at: row.at.toISOString() })),
        next_cursor: rows.length === size ? (rows.at(-1)?.id ?? "") : "",
      };
    },
    updateTasks: async (request, call) => ({ tasks: await updateTasks(deps, request, call) }),
    ...createScheduleApi(deps),
    ...createTemplateApi(deps),
  };
}

async function listTasks(deps: TaskApiDeps, request: ListTasksRequest, call: Call): Promise<ListTasksResponse> {
  const { sql } = deps.store;
  const workspace = await deps.access.workspace(call.caller, request.workspace, "read");
  // Read first: what changes after this is in the feed after it, whether the list has it or not.
  const seq = await feedSeq(sql, workspace.id);
  const filter = await filterOf(deps, workspace.id, request);
  if (filter === undefined) return { tasks: [], next_cursor: "", total: 0, feed_seq: seq };
  const page = await listTaskIds(sql, filter, request.limit === 0 ? PAGE : request.limit, request.cursor);
  const rows = new Map((await readTasks(sql, page.ids)).map((row) => [row.id, row]));
  const tasks = page.ids.flatMap((id) => {
    const row = rows.get(id);
    return row === undefined ? [] : [toTask(row)];
  });
  return { tasks, next_cursor: page.nextCursor, total: page.total, feed_seq: seq };
}

// Undefined: a name in the filter is unknown in a way that nothing can fit.
async function filterOf(
  deps: TaskApiDeps,
  workspaceId: string,
  request: ListTasksRequest,
): Promise<TaskFilter | undefined> {
  const { sql } = deps.store;
  const { board, column } = await placeOf(deps, workspaceId, request);
  if ((request.board !== "" && board === undefined) || (request.column !== "" && column === undefined))
    return undefined;
  const node = request.node === "" ? undefined : await findNode(sql, request.node);
  if (request.node !== "" && node === undefined) throw unknownNode(request.node);
  const [parentId = ""] = request.parent === "" ? [] : await taskIdsOf(sql, workspaceId, [request.parent]);
  return {
    workspaceId,
    board: board ?? "",
    columnId: column ?? "",
    category: request.category,
    runState: request.run_state,
    assignee: request.assignee,
    assistant: request.assistant,
    nodeId: node?.id ?? "",
    label: request.label,
    priority: request.priority,
    query: request.query,
    archived: request.archived,
    parentId,
  };
}

// The ids of the board and the column that a request names by id or name.
async function placeOf(
  deps: TaskApiDeps,
  workspaceId: string,
  request: ListTasksRequest,
): Promise<{ readonly board?: string | undefined; readonly column?: string | undefined }> {
  if (request.board === "" && request.column === "") return {};
  const boards = await readBoards(deps.store.sql, { workspaceId });
  const board = boards.find(({ id, name }) => id === request.board || name === request.board);
  const columns = (board === undefined ? boards : [board]).flatMap((each) => each.columns);
  const wanted = request.column.toLowerCase();
  const column =
    columns.find(({ id }) => id === request.column) ?? columns.find(({ name }) => name.toLowerCase() === wanted);
  return { board: board?.id, column: column?.id };
}

async function messagesOf(
  { store }: TaskApiDeps,
  taskId: string,
  beforeSeq: number,
  limit: number,
): Promise<ListTaskMessagesResponse> {
  // Of one moment: the run's events after the cursor hold all of every message that is not in the page.
  const { live, rows } = await store.sql.begin("isolation level repeatable read read only", async (tx) => ({
    live: beforeSeq === 0 ? await liveRun(tx, taskId) : undefined,
    rows: await listMessages(tx, taskId, beforeSeq, limit),
  }));
  return {
    messages: rows.map(({ seq, role, author, at, run_id: runId, body }) => ({
      seq,
      role,
      author,
      at: at.toISOString(),
      run_id: runId ?? undefined,
      message: JSON.parse(body) as Record<string, unknown>,
    })),
    has_more: (rows[0]?.seq ?? 1) > 1,
    run_id: live?.run_id,
    run_seq: live?.cursor ?? 0,
  };
}
