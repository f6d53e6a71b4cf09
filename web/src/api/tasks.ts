/** Tasks with their conversations, schedules and templates: one constant per call of the API. */

import type {
  ArchiveTaskRequest,
  ArchiveTaskResponse,
  CreateTaskRequest,
  CreateTaskResponse,
  DeleteTaskRequest,
  DeleteTaskResponse,
  GetTaskRequest,
  GetTaskResponse,
  ListActivityRequest,
  ListActivityResponse,
  ListTaskMessagesRequest,
  ListTaskMessagesResponse,
  ListTaskRunsRequest,
  ListTaskRunsResponse,
  ListTasksRequest,
  ListTasksResponse,
  ListTemplatesRequest,
  ListTemplatesResponse,
  MoveTaskRequest,
  MoveTaskResponse,
  PreviewScheduleRequest,
  PreviewScheduleResponse,
  PutScheduleRequest,
  PutScheduleResponse,
  PutTemplateRequest,
  PutTemplateResponse,
  RemoveScheduleRequest,
  RemoveScheduleResponse,
  RemoveTemplateRequest,
  RemoveTemplateResponse,
  SendToTaskRequest,
  SendToTaskResponse,
  StartTaskRequest,
  StartTaskResponse,
  StopTaskRequest,
  StopTaskResponse,
  UpdateTaskRequest,
  UpdateTaskResponse,
  UpdateTasksRequest,
  UpdateTasksResponse,
} from "@mesh/proto";

import { endpoint } from "./client.ts";

/** Makes a task, by fields or by what a person says, and starts it when asked to. */
export const createTask = endpoint<CreateTaskRequest, CreateTaskResponse>()("POST", "/v1/workspaces/{workspace}/tasks");

/** Lists cards; by column in the board's order, else the newest first. */
export const listTasks = endpoint<ListTasksRequest, ListTasksResponse>()("GET", "/v1/workspaces/{workspace}/tasks");

/** Reads one task by id or by its key such as T-12, with its run and what it waits for. */
export const getTask = endpoint<GetTaskRequest, GetTaskResponse>()("GET", "/v1/tasks/{task}");

/** Changes fields; a stale revision is refused with both versions in details. */
export const updateTask = endpoint<UpdateTaskRequest, UpdateTaskResponse>()("PATCH", "/v1/tasks/{task}");

/** Puts a card between two others. */
export const moveTask = endpoint<MoveTaskRequest, MoveTaskResponse>()("POST", "/v1/tasks/{task}/move");

/** Adds a message to the conversation: it answers the open question, steers, or starts the next run. */
export const sendToTask = endpoint<SendToTaskRequest, SendToTaskResponse>()("POST", "/v1/tasks/{task}/messages");

/** Starts the task's next run, or tells the active one. */
export const startTask = endpoint<StartTaskRequest, StartTaskResponse>()("POST", "/v1/tasks/{task}/start");

/** Cancels the active run. */
export const stopTask = endpoint<StopTaskRequest, StopTaskResponse>()("POST", "/v1/tasks/{task}/stop");

/** Takes a task off the board, or puts it back. */
export const archiveTask = endpoint<ArchiveTaskRequest, ArchiveTaskResponse>()("POST", "/v1/tasks/{task}/archive");

/** Deletes an archived task with its conversation. */
export const deleteTask = endpoint<DeleteTaskRequest, DeleteTaskResponse>()("DELETE", "/v1/tasks/{task}");

/** Reads the conversation, a page of whole messages. */
export const listTaskMessages = endpoint<ListTaskMessagesRequest, ListTaskMessagesResponse>()(
  "GET",
  "/v1/tasks/{task}/messages",
);

/** Lists the runs of a task, newest first. */
export const listTaskRuns = endpoint<ListTaskRunsRequest, ListTaskRunsResponse>()("GET", "/v1/tasks/{task}/runs");

/** Lists what happened to a task, newest first. */
export const listActivity = endpoint<ListActivityRequest, ListActivityResponse>()("GET", "/v1/tasks/{task}/activity");

/** Changes many tasks at once, all or none. */
export const updateTasks = endpoint<UpdateTasksRequest, UpdateTasksResponse>()(
  "POST",
  "/v1/workspaces/{workspace}/tasks/batch",
);

/** Makes or replaces a task's schedule. */
export const putSchedule = endpoint<PutScheduleRequest, PutScheduleResponse>()("PUT", "/v1/tasks/{task}/schedule");

/** Remove schedule. */
export const removeSchedule = endpoint<RemoveScheduleRequest, RemoveScheduleResponse>()(
  "DELETE",
  "/v1/tasks/{task}/schedule",
);

/** Tells the next times of a schedule, or what is wrong with it. */
export const previewSchedule = endpoint<PreviewScheduleRequest, PreviewScheduleResponse>()(
  "POST",
  "/v1/schedules/preview",
);

/** Makes or replaces a task template. */
export const putTemplate = endpoint<PutTemplateRequest, PutTemplateResponse>()(
  "PUT",
  "/v1/workspaces/{workspace}/templates/{template}",
);

/** List templates. */
export const listTemplates = endpoint<ListTemplatesRequest, ListTemplatesResponse>()(
  "GET",
  "/v1/workspaces/{workspace}/templates",
);

/** Remove template. */
export const removeTemplate = endpoint<RemoveTemplateRequest, RemoveTemplateResponse>()(
  "DELETE",
  "/v1/workspaces/{workspace}/templates/{template}",
);
