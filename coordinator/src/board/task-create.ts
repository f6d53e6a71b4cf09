/** CreateTask: by fields, by what a person says, or from a template. */

import { canonicalJson, MeshError } from "@mesh/kernel";
import type { CreateTaskRequest, Task } from "@mesh/proto";
import { claimIdempotency, type Tx } from "@mesh/store";
import { createHash } from "node:crypto";

import { actorOf } from "../auth/caller.ts";
import { findUser } from "../auth/token-store.ts";
import type { Call } from "../gateway/operation.ts";
import { resolveRequirements } from "../runs/requirements.ts";
import { ensureBoard } from "./board-api.ts";
import { readBoards } from "./board-store.ts";
import { appendMessages, textMessage } from "./conversation-store.ts";
import { noteChange, taskIdsOf, type TaskApiDeps, wholeTask } from "./task-access.ts";
import { lockTask } from "./task-row.ts";
import { noteTaskEvent } from "./task-event.ts";
import { requireUploads } from "./task-input.ts";
import { startRun } from "./task-run.ts";
import { type ColumnPlace, columnsOf, insertTask, lockLinks, nextNumber, placeIn, putLinks } from "./task-store.ts";
import { titleOf } from "./task-text.ts";
import { PRIORITIES } from "./task-view.ts";
import { fillTemplate } from "./template.ts";
import { findTemplate } from "./template-store.ts";

const MAX_DEPTH = 3;

/** The handler. */
export async function createTask(deps: TaskApiDeps, given: CreateTaskRequest, call: Call): Promise<Task> {
  const workspace = await deps.access.workspace(call.caller, given.workspace, "write");
  const request = await withTemplate(deps, workspace.id, given);
  if (request.title === "" && request.message === "") {
    throw new MeshError("invalid_argument", "say what the task is: give a message or a title");
  }
  const firstBoard = await ensureBoard(deps, workspace.id);
  const id = deps.ids.next("task");
  const made = await deps.store.sql.begin(async (tx) => {
    const earlier = await claim(tx, given, { id, workspaceId: workspace.id, actor: actorOf(call.caller) });
    if (earlier !== undefined) return earlier;
    await insert(deps, tx, request, { id, workspaceId: workspace.id, firstBoard, call });
    return id;
  });
  deps.recorded();
  if (request.start) deps.pokeQueue();
  return wholeTask(deps.store.sql, made);
}

async function withTemplate(
  deps: TaskApiDeps,
  workspaceId: string,
  request: CreateTaskRequest,
): Promise<CreateTaskRequest> {
  if (request.template === "") {
    if (Object.keys(request.variables).length === 0) return request;
    throw new MeshError("invalid_argument", "variables belong to a template; name one");
  }
  const template = await findTemplate(deps.store.sql, workspaceId, request.template);
  if (template === undefined) {
    throw new MeshError("not_found", `there is no template ${request.template}; see: yao task template list`);
  }
  const filled = fillTemplate(template, request.variables);
  const pick = (own: string, of: string): string => (own === "" ? of : own);
  return {
    ...request,
    title: pick(request.title, filled.title),
    message: pick(request.message, filled.message),
    description: pick(request.description, filled.description),
    assistant: pick(request.assistant, filled.assistant),
    priority: pick(request.priority, filled.priority),
    labels: request.labels.length === 0 ? filled.labels : request.labels,
    placement: request.placement ?? filled.placement,
  };
}

async function claim(
  tx: Tx,
  request: CreateTaskRequest,
  made: { readonly id: string; readonly workspaceId: string; readonly actor: string },
): Promise<string | undefined> {
  const { idempotency_key: key, ...content } = request;
  if (key === "") return undefined;
  const requestHash = createHash("sha256")
    .update(canonicalJson(JSON.parse(JSON.stringify(content))))
    .digest("hex");
  return claimIdempotency(tx, { scope: `task:${made.workspaceId}:${made.actor}`, key, requestHash, resultId: made.id });
}

interface Place {
  readonly id: string;
  readonly workspaceId: string;
  readonly firstBoard: string;
  readonly call: Call;
}

async function insert(deps: TaskApiDeps, tx: Tx, request: CreateTaskRequest, at: Place): Promise<void> {
  const { id, workspaceId, call } = at;
  const actor = actorOf(call.caller);
  const { title, message, assignee } = request;
  // Refused now, not when it starts.
  await resolveRequirements(tx, request.placement, workspaceId);
  await requireAssignee(tx, assignee);
  const parentId = await parentOf(tx, workspaceId, request.parent);
  const blockedBy = await taskIdsOf(tx, workspaceId, request.blocked_by);
  const number = await nextNumber(tx, workspaceId);
  const column = await columnFor(tx, workspaceId, request, at.firstBoard);
  const rank = await placeIn(tx, column.id, id, { after: "", before: "" });
  await insertTask(tx, {
    id,
    workspaceId,
    number,
    boardId: column.boardId,
    columnId: column.id,
    rank: rank ?? "a0",
    title: title === "" ? titleOf(message) : title,
    titleBy: title === "" ? "rule" : "person",
    description: request.description,
    priority: Math.max(
      0,
      PRIORITIES.findIndex((each) => each === request.priority),
    ),
    labels: request.labels,
    assistant: request.assistant,
    assignee,
    placement: request.placement ?? {},
    parentId,
    maxRetries: request.max_retries,
    dueAt: readTime(request.due_at),
    createdBy: actor,
  });
  await lockLinks(tx, workspaceId);
  await putLinks(tx, id, blockedBy);
  await requireUploads(tx, workspaceId, request.uploads);
  if (message !== "" || request.uploads.length > 0) {
    await appendMessages(tx, id, [
      { role: "user", author: call.caller.userName, body: textMessage(message, request.uploads) },
    ]);
  }
  await noteChange({ deps, tx, call }, { task: { id, workspaceId }, action: "created" });
  await noteTaskEvent(tx, { id, workspaceId, number, title: title === "" ? titleOf(message) : title }, "created");
  if (!request.start) return;
  const task = await lockTask(tx, id);
  if (task !== undefined) await startRun(deps, tx, task, { actor });
}

/** Refuses a name that nobody has. */
export async function requireAssignee(tx: Tx, name: string): Promise<void> {
  if (name === "" || (await findUser(tx, name)) !== undefined) return;
  throw new MeshError(
    "not_found",
    `there is no user ${name}; leave the assignee out, or name a member of the workspace`,
  );
}

/** The parent by id or key; null for none. A tree is at most three tasks deep. */
export async function parentOf(tx: Tx, workspaceId: string, ref: string, child = ""): Promise<string | null> {
  if (ref === "") return null;
  const [parent = ""] = await taskIdsOf(tx, workspaceId, [ref]);
  const chain = await tx<{ id: string }[]>`
    WITH RECURSIVE up (id, parent_id, depth) AS (
      SELECT id, parent_id, 1 FROM tasks WHERE id = ${parent}
      UNION ALL SELECT t.id, t.parent_id, up.depth + 1 FROM tasks t JOIN up ON t.id = up.parent_id WHERE up.depth < 10
    ) SELECT id FROM up`;
  if (chain.some(({ id }) => id === child)) throw new MeshError("invalid_argument", "a task cannot be part of itself");
  if (chain.length >= MAX_DEPTH) {
    throw new MeshError("failed_precondition", `tasks are at most ${MAX_DEPTH} deep; choose a parent higher up`);
  }
  return parent;
}

/** A time in RFC 3339; null for none. */
export function readTime(text: string): string | null {
  if (text === "") return null;
  const ms = /^\d{4}-\d{2}-\d{2}T/.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(ms)) return new Date(ms).toISOString();
  throw new MeshError("invalid_argument", `"${text}" is not a time; use RFC 3339, such as 2026-12-24T18:00:00Z`);
}

async function columnFor(
  tx: Tx,
  workspaceId: string,
  request: Pick<CreateTaskRequest, "board" | "column">,
  firstBoard: string,
): Promise<ColumnPlace> {
  const columns = await columnsOf(tx, await boardFor(tx, workspaceId, request.board, firstBoard));
  if (request.column !== "") return findColumn(columns, request.column);
  const column = columns.find(({ category }) => category === "todo") ?? columns[0];
  if (column === undefined) throw new MeshError("failed_precondition", "this board has no columns; give it some first");
  return column;
}

async function boardFor(tx: Tx, workspaceId: string, ref: string, firstBoard: string): Promise<string> {
  if (ref === "") return firstBoard;
  const board = (await readBoards(tx, { workspaceId })).find(({ id, name }) => id === ref || name === ref);
  if (board === undefined)
    throw new MeshError("not_found", `this workspace has no board ${ref}; see: yao task list --boards`);
  return board.id;
}

/** A column by id, name or category. */
export function findColumn(columns: readonly ColumnPlace[], ref: string): ColumnPlace {
  const wanted = ref.toLowerCase();
  const found =
    columns.find(({ id }) => id === ref) ??
    columns.find(({ name }) => name.toLowerCase() === wanted) ??
    columns.find(({ category }) => category === wanted);
  if (found !== undefined) return found;
  throw new MeshError(
    "not_found",
    `there is no column ${ref}; this board has: ${columns.map(({ name }) => name).join(", ")}`,
  );
}
