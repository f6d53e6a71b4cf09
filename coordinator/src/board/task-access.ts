/** Finding the task that a request names, for a caller that may use it. */

import { type Clock, type Ids, isId, MeshError } from "@mesh/kernel";
import type { PendingItem, Task } from "@mesh/proto";
import { insertAudit, type Sql, type Store, type Tx } from "@mesh/store";

import type { Access, Need } from "../auth/access.ts";
import { actorOf } from "../auth/caller.ts";
import type { Call, RunApi } from "../gateway/operation.ts";
import { findRuns } from "../runs/run-row.ts";
import { findTaskPlace, findTasksByNumber, readTasks, type TaskPlace, type TaskRow, tasksAfter } from "./task-row.ts";
import { insertActivity } from "./task-store.ts";
import { keyOf, toTask } from "./task-view.ts";

/** What the handlers of tasks use. */
export interface TaskApiDeps {
  readonly store: Store;
  readonly access: Access;
  readonly ids: Ids;
  readonly clock: Clock;
  /** Cancelling and answering runs. */
  readonly runs: Pick<RunApi, "cancelRun" | "answerRun">;
  /** To be called after a commit that changed tasks: the feed is told at once. */
  readonly recorded: () => void;
  /** To be called after a commit that made runs. */
  readonly pokeQueue: () => void;
  /** To be called after a commit that kept a message for a task whose run may be at work. */
  readonly offer: (taskId: string) => void;
}

/** A change under way: what it uses, its transaction and who makes it. */
export interface Write {
  readonly deps: TaskApiDeps;
  readonly tx: Tx;
  readonly call: Call;
}

/** What finding a task takes. */
export type FindTaskDeps = Pick<TaskApiDeps, "store" | "access">;

const KEY = /^T-([1-9]\d{0,8})$/i;
/** A key with its workspace, such as `default:T-12`. */
const FULL_KEY = /^([^:]+):T-([1-9]\d{0,8})$/i;

/** The task of this id, key or key with workspace (`default:T-12`); throws `not_found` for one that the caller may not see. */
export async function findTask(deps: FindTaskDeps, ref: string, call: Call, need: Need): Promise<TaskPlace> {
  const place = await placeOf(deps, ref, call);
  await deps.access.object(call.caller, place?.workspaceId, need, { kind: "task", id: ref, list: "yao task list" });
  if (place === undefined) throw notFound(ref);
  return place;
}

async function placeOf(deps: FindTaskDeps, ref: string, call: Call): Promise<TaskPlace | undefined> {
  const [, workspace, inWorkspace] = FULL_KEY.exec(ref) ?? [];
  if (workspace !== undefined) {
    const { id } = await deps.access.workspace(call.caller, workspace, "read");
    return (await findTasksByNumber(deps.store.sql, Number(inWorkspace), [id]))[0];
  }
  const number = KEY.exec(ref)?.[1];
  return number === undefined ? byId(deps, ref) : byNumber(deps, Number(number), call);
}

async function byId({ store }: FindTaskDeps, ref: string): Promise<TaskPlace | undefined> {
  return isId("task", ref) ? findTaskPlace(store.sql, ref) : undefined;
}

async function byNumber(deps: FindTaskDeps, number: number, { caller }: Call): Promise<TaskPlace | undefined> {
  const [first, second] = await findTasksByNumber(deps.store.sql, number, await deps.access.readable(caller));
  if (second === undefined) return first;
  throw new MeshError(
    "invalid_argument",
    `several of your workspaces have a ${keyOf(number)}; name the workspace too, such as default:${keyOf(number)}, or the task's id`,
  );
}

/** Ids of tasks of one workspace, from ids or keys; throws for one that is not there. */
export async function taskIdsOf(
  sql: Sql | Tx,
  workspaceId: string,
  refs: readonly string[],
): Promise<readonly string[]> {
  const ids: string[] = [];
  for (const ref of refs) {
    const number = KEY.exec(ref)?.[1];
    const [place] =
      number === undefined
        ? [await findTaskPlace(sql, ref)]
        : await findTasksByNumber(sql, Number(number), [workspaceId]);
    if (place?.workspaceId !== workspaceId) throw notFound(ref);
    if (!ids.includes(place.id)) ids.push(place.id);
  }
  return ids;
}

/** The row of a task that was there a moment ago. */
export async function mustRead(sql: Sql | Tx, id: string): Promise<TaskRow> {
  const [row] = await readTasks(sql, [id]);
  if (row === undefined) throw notFound(id);
  return row;
}

/** A task with all that reading one gives. */
export async function wholeTask(sql: Sql | Tx, id: string): Promise<Task> {
  const row = await mustRead(sql, id);
  const run = row.run_id !== null && row.run_state === "waiting" ? (await findRuns(sql, [row.run_id]))[0] : undefined;
  // Written by this program, in the shape that clients see.
  const pending = JSON.parse(`[${run?.pending ?? ""}]`) as PendingItem[];
  return toTask(row, { pending, blocks: await tasksAfter(sql, id) });
}

/** What a person did with a task. */
export interface TaskChange {
  readonly task: TaskPlace;
  /** Word of the activity. */
  readonly action: string;
  readonly detail?: Readonly<Record<string, string | number | boolean | readonly string[]>>;
}

/** Writes the rows of audit and activity, in the transaction of the change. */
export async function noteChange({ deps, tx, call: { caller } }: Write, change: TaskChange): Promise<void> {
  const { task, action, detail = {} } = change;
  const actor = actorOf(caller);
  await insertActivity(tx, { id: deps.ids.next("act"), taskId: task.id, actor, action, detail });
  await insertAudit(tx, {
    id: deps.ids.next("audit"),
    actor,
    action: `task.${action}`,
    object: task.id,
    workspaceId: task.workspaceId,
    detail: JSON.parse(JSON.stringify(detail)) as Record<string, string>,
  });
}

/** The error of a task that is not there. */
export function notFound(ref: string): MeshError {
  return new MeshError(
    "not_found",
    `task ${ref.slice(0, 100)} was not found, or this token may not use it; see: yao task list`,
  );
}
