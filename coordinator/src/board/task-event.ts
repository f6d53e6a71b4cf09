/** What webhooks are told of tasks. */

import type { JsonObject } from "@mesh/kernel";
import type { Tx } from "@mesh/store";

import { noteEvent } from "../webhooks/note-event.ts";
import { keyOf } from "./task-view.ts";

/** The part of a task that is told. */
export interface ToldTask {
  readonly id: string;
  readonly workspaceId: string;
  readonly number: number;
  readonly title: string;
}

/** What happened to it. */
export type TaskEvent = "created" | "needs_input" | "succeeded" | "failed";

const MAX_TEXT_CHARS = 600;

/** Tells the workspace's webhooks, in the transaction of the change; `text` is the question, the summary or why it failed. */
export async function noteTaskEvent(
  tx: Tx,
  task: ToldTask,
  event: TaskEvent,
  detail: { readonly runId?: string; readonly text?: string } = {},
): Promise<void> {
  const data: JsonObject = {
    task: {
      id: task.id,
      key: keyOf(task.number),
      workspace_id: task.workspaceId,
      title: task.title.slice(0, MAX_TEXT_CHARS),
    },
    ...(detail.runId === undefined ? {} : { run: detail.runId }),
    ...(detail.text === undefined || detail.text === "" ? {} : { text: detail.text.slice(0, MAX_TEXT_CHARS) }),
  };
  await noteEvent(tx, task.workspaceId, `task.${event}`, data);
}
