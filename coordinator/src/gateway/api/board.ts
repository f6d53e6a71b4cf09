/** Handlers of the services of the board: BoardService, TaskService, InboxService. */

import type * as proto from "@mesh/proto";

import type { Unary } from "../operation.ts";

/** Handlers of BoardService. */
export interface BoardApi {
  readonly createBoard: Unary<proto.CreateBoardRequest, proto.CreateBoardResponse>;
  readonly listBoards: Unary<proto.ListBoardsRequest, proto.ListBoardsResponse>;
  readonly getBoard: Unary<proto.GetBoardRequest, proto.GetBoardResponse>;
  readonly updateBoard: Unary<proto.UpdateBoardRequest, proto.UpdateBoardResponse>;
  readonly deleteBoard: Unary<proto.DeleteBoardRequest, proto.DeleteBoardResponse>;
}

/** Handlers of TaskService. */
export interface TaskApi {
  readonly createTask: Unary<proto.CreateTaskRequest, proto.CreateTaskResponse>;
  readonly listTasks: Unary<proto.ListTasksRequest, proto.ListTasksResponse>;
  readonly getTask: Unary<proto.GetTaskRequest, proto.GetTaskResponse>;
  readonly updateTask: Unary<proto.UpdateTaskRequest, proto.UpdateTaskResponse>;
  readonly moveTask: Unary<proto.MoveTaskRequest, proto.MoveTaskResponse>;
  readonly sendToTask: Unary<proto.SendToTaskRequest, proto.SendToTaskResponse>;
  readonly startTask: Unary<proto.StartTaskRequest, proto.StartTaskResponse>;
  readonly stopTask: Unary<proto.StopTaskRequest, proto.StopTaskResponse>;
  readonly archiveTask: Unary<proto.ArchiveTaskRequest, proto.ArchiveTaskResponse>;
  readonly deleteTask: Unary<proto.DeleteTaskRequest, proto.DeleteTaskResponse>;
  readonly listTaskMessages: Unary<proto.ListTaskMessagesRequest, proto.ListTaskMessagesResponse>;
  readonly listTaskRuns: Unary<proto.ListTaskRunsRequest, proto.ListTaskRunsResponse>;
  readonly listActivity: Unary<proto.ListActivityRequest, proto.ListActivityResponse>;
  readonly updateTasks: Unary<proto.UpdateTasksRequest, proto.UpdateTasksResponse>;
  readonly putSchedule: Unary<proto.PutScheduleRequest, proto.PutScheduleResponse>;
  readonly removeSchedule: Unary<proto.RemoveScheduleRequest, proto.RemoveScheduleResponse>;
  readonly previewSchedule: Unary<proto.PreviewScheduleRequest, proto.PreviewScheduleResponse>;
  readonly putTemplate: Unary<proto.PutTemplateRequest, proto.PutTemplateResponse>;
  readonly listTemplates: Unary<proto.ListTemplatesRequest, proto.ListTemplatesResponse>;
  readonly removeTemplate: Unary<proto.RemoveTemplateRequest, proto.RemoveTemplateResponse>;
}

/** Handlers of InboxService. */
export interface InboxApi {
  readonly listInbox: Unary<proto.ListInboxRequest, proto.ListInboxResponse>;
  readonly markInbox: Unary<proto.MarkInboxRequest, proto.MarkInboxResponse>;
}
