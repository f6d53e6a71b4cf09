/** Rows of TaskService. */

import * as proto from "@mesh/proto";
import { z } from "zod";

import { placement } from "./board-rows.ts";
import { optionalInt, optionalText, optionalWord, reference, required, struct, texts } from "./field.ts";
import type { TaskApi } from "./operation.ts";
import { type OperationRow, row } from "./operation-row.ts";

const MAX_MESSAGE = 65_536;
const MAX_TITLE = 300;
const MAX_REVISION = 2 ** 31 - 1;
const MAX_RETRIES = 10;
const CATEGORIES = ["backlog", "todo", "in_progress", "in_review", "done", "cancelled"] as const;
const RUN_STATES = [
  "idle",
  "blocked",
  "queued",
  "running",
  "waiting",
  "succeeded",
  "failed",
  "cancelled",
  "lost",
] as const;

const priority = optionalWord("none", "low", "medium", "high", "urgent");
const labels = texts(32, 64);
const uploads = texts(20, 100);
const list = (max: number, length: number): z.ZodOptional<z.ZodObject> =>
  z.strictObject({ items: texts(max, length) }).optional();
const byTask = z.strictObject({ task: reference });
const templateName = required(100);
const schedule = z.strictObject(
  {
    cron: required(100),
    time_zone: optionalText(64),
    missed: optionalWord("skip", "once"),
    paused: z.boolean().optional(),
    message: optionalText(MAX_MESSAGE),
    next_at: optionalText(64),
    last_at: optionalText(64),
    overlap: optionalWord("skip", "queue"),
  },
  "is required",
);

/** What TaskService accepts, and where. */
export const TASK_ROWS: { readonly [M in keyof TaskApi]: OperationRow<Parameters<TaskApi[M]>[0]> } = {
  createTask: row(
    "POST /v1/workspaces/{workspace}/tasks",
    {
      scope: "tasks",
      summary: "Makes a task, by fields or by what a person says, and starts it when asked to.",
      input: z.strictObject({
        workspace: reference,
        message: optionalText(MAX_MESSAGE),
        title: optionalText(MAX_TITLE),
        description: optionalText(MAX_MESSAGE),
        assistant: optionalText(200),
        board: optionalText(64),
        column: optionalText(100),
        priority,
        labels,
        assignee: optionalText(63),
        placement,
        blocked_by: texts(100, 64),
        parent: optionalText(64),
        start: z.boolean().optional(),
        template: optionalText(100),
        variables: z.record(z.string().max(64), required(4096)).optional(),
        max_retries: optionalInt(0, MAX_RETRIES),
        uploads,
        idempotency_key: optionalText(200),
        due_at: optionalText(40),
      }),
      message: proto.CreateTaskRequest,
    },
    { successStatus: 201, idempotencyField: "idempotency_key" },
  ),
  listTasks: row("GET /v1/workspaces/{workspace}/tasks", {
    scope: "read",
    summary: "Lists cards; of one column in the board's order, else the newest first.",
    input: z.strictObject({
      workspace: reference,
      board: optionalText(64),
      column: optionalText(100),
      category: optionalWord(...CATEGORIES),
      run_state: optionalWord(...RUN_STATES),
      assignee: optionalText(63),
      assistant: optionalText(200),
      node: optionalText(200),
      label: optionalText(64),
      priority,
      query: optionalText(200),
      archived: z.boolean().optional(),
      parent: optionalText(64),
      limit: optionalInt(0, 200),
      cursor: optionalText(300),
    }),
    message: proto.ListTasksRequest,
  }),
  getTask: row("GET /v1/tasks/{task}", {
    scope: "read",
    summary: "Reads one task by id or key, with its run and what it waits for.",
    input: byTask,
    message: proto.GetTaskRequest,
  }),
  updateTask: row("PATCH /v1/tasks/{task}", {
    scope: "tasks",
    summary: "Changes fields of a task; a stale revision is refused with the task as it is.",
    input: z.strictObject({
      task: reference,
      revision: optionalInt(0, MAX_REVISION),
      title: required(MAX_TITLE).optional(),
      description: optionalText(MAX_MESSAGE),
      priority,
      labels: list(32, 64),
      assistant: optionalText(200),
      assignee: optionalText(63),
      placement,
      blocked_by: list(100, 64),
      max_retries: optionalInt(0, MAX_RETRIES),
      due_at: optionalText(40),
      parent: optionalText(64),
    }),
    message: proto.UpdateTaskRequest,
  }),
  moveTask: row("POST /v1/tasks/{task}/move", {
    scope: "tasks",
    summary: "Puts a card into a column, between two others.",
    input: z.strictObject({
      task: reference,
      column: required(100),
      after: optionalText(64),
      before: optionalText(64),
      revision: optionalInt(0, MAX_REVISION),
    }),
    message: proto.MoveTaskRequest,
  }),
  sendToTask: row(
    "POST /v1/tasks/{task}/messages",
    {
      scope: "tasks",
      summary: "Adds a message to the conversation: it answers the open question, or the next run begins with it.",
      input: z.strictObject({
        task: reference,
        text: optionalText(MAX_MESSAGE),
        uploads,
        call_id: optionalText(1024),
        decision: optionalWord("approve", "deny", "edit", "answer"),
        arguments: struct,
        hold: z.boolean().optional(),
        idempotency_key: optionalText(200),
      }),
      message: proto.SendToTaskRequest,
    },
    { idempotencyField: "idempotency_key" },
  ),
  startTask: row("POST /v1/tasks/{task}/start", {
    scope: "tasks",
    summary: "Starts the task's next run, or tells the active one.",
    input: z.strictObject({ task: reference, fresh: z.boolean().optional() }),
    message: proto.StartTaskRequest,
  }),
  stopTask: row("POST /v1/tasks/{task}/stop", {
    scope: "tasks",
    summary: "Cancels the active run.",
    input: byTask,
    message: proto.StopTaskRequest,
  }),
  archiveTask: row("POST /v1/tasks/{task}/archive", {
    scope: "tasks",
    summary: "Takes a task off the board, or puts it back.",
    input: z.strictObject({ task: reference, restore: z.boolean().optional() }),
    message: proto.ArchiveTaskRequest,
  }),
  deleteTask: row("DELETE /v1/tasks/{task}", {
    scope: "tasks",
    summary: "Deletes an archived task with its conversation.",
    input: byTask,
    message: proto.DeleteTaskRequest,
  }),
  listTaskMessages: row("GET /v1/tasks/{task}/messages", {
    scope: "read",
    summary: "Reads a page of the conversation, whole messages.",
    input: z.strictObject({ task: reference, before_seq: optionalInt(0, MAX_REVISION), limit: optionalInt(0, 200) }),
    message: proto.ListTaskMessagesRequest,
  }),
  listTaskRuns: row("GET /v1/tasks/{task}/runs", {
    scope: "read",
    summary: "Lists the runs of a task, the newest first.",
    input: z.strictObject({ task: reference, limit: optionalInt(0, 200), cursor: optionalText(64) }),
    message: proto.ListTaskRunsRequest,
  }),
  listActivity: row("GET /v1/tasks/{task}/activity", {
    scope: "read",
    summary: "Lists what happened to a task, the newest first.",
    input: z.strictObject({ task: reference, limit: optionalInt(0, 200), cursor: optionalText(64) }),
    message: proto.ListActivityRequest,
  }),
  updateTasks: row("POST /v1/workspaces/{workspace}/tasks/batch", {
    scope: "tasks",
    summary: "Changes many tasks at once, all or none.",
    input: z.strictObject({
      workspace: reference,
      tasks: texts(200, 64),
      action: z.enum(
        ["move", "priority", "assignee", "add_label", "remove_label", "archive", "restore", "start", "stop"],
        "must be one of: move, priority, assignee, add_label, remove_label, archive, restore, start, stop",
      ),
      value: optionalText(100),
    }),
    message: proto.UpdateTasksRequest,
  }),
  putSchedule: row("PUT /v1/tasks/{task}/schedule", {
    scope: "tasks",
    summary: "Makes or replaces a task's schedule.",
    input: z.strictObject({ task: reference, schedule }),
    message: proto.PutScheduleRequest,
  }),
  removeSchedule: row("DELETE /v1/tasks/{task}/schedule", {
    scope: "tasks",
    summary: "Removes a task's schedule.",
    input: byTask,
    message: proto.RemoveScheduleRequest,
  }),
  previewSchedule: row("POST /v1/schedules/preview", {
    scope: "read",
    summary: "Tells the next times of a schedule, or what is wrong with it.",
    input: z.strictObject({ cron: required(100), time_zone: optionalText(64), count: optionalInt(0, 20) }),
    message: proto.PreviewScheduleRequest,
  }),
  putTemplate: row("PUT /v1/workspaces/{workspace}/templates/{template}", {
    scope: "tasks",
    summary: "Makes or replaces a task template.",
    input: z.strictObject({
      workspace: reference,
      template: templateName,
      title: optionalText(MAX_TITLE),
      message: optionalText(MAX_MESSAGE),
      description: optionalText(MAX_MESSAGE),
      assistant: optionalText(200),
      priority,
      labels,
      placement,
    }),
    message: proto.PutTemplateRequest,
  }),
  listTemplates: row("GET /v1/workspaces/{workspace}/templates", {
    scope: "read",
    summary: "Lists the task templates of a workspace.",
    input: z.strictObject({ workspace: reference }),
    message: proto.ListTemplatesRequest,
  }),
  removeTemplate: row("DELETE /v1/workspaces/{workspace}/templates/{template}", {
    scope: "tasks",
    summary: "Removes a task template.",
    input: z.strictObject({ workspace: reference, template: templateName }),
    message: proto.RemoveTemplateRequest,
  }),
};
