/**
 * Starting a task's run.
 *
 * S1  A task has at most one active run: starts of one task happen one after the other under the lock of its row, and an index of
 *     the database refuses a second one whatever happens here.
 * S2  A run is made in one transaction with all that belongs to it: the messages it takes up, the move of the card, the activity.
 * S3  A task that is blocked is not started; the wish is kept, and the leader starts it when nothing blocks it any more.
 */

import { type Clock, type Ids, MeshError, rfc3339 } from "@mesh/kernel";
import type { Sql, Tx } from "@mesh/store";

import { insertQueued } from "../runs/dispatch-store.ts";
import { defaultAssistant } from "../runs/default-assistant.ts";
import { resolveRequirements } from "../runs/requirements.ts";
import { type AssistantSource, findAssistants, sourceOf } from "../runs/run-api-store.ts";
import { DEFAULT_QUEUE_TTL_S, DEFAULT_TIMEOUT_S } from "../runs/run-draft.ts";
import type { RunState } from "../runs/run-state.ts";
import { SYSTEM } from "./actor.ts";
import { type NewestRun, takeInput } from "./task-input.ts";
import type { TaskFields } from "./task-row.ts";
import { isActive } from "./task-state.ts";
import { columnsOf, insertActivity, placeIn, setPlace } from "./task-store.ts";

/** What a start uses. */
export interface TaskRunDeps {
  readonly ids: Ids;
  readonly clock: Clock;
}

/** Who starts it and how. */
export interface StartWish {
  /** As audit rows name them. */
  readonly actor: string;
  /** A session that does not know what was said before. */
  readonly isFresh?: boolean;
  /** It is the same work again, after a failure. */
  readonly isRetry?: boolean;
}

/** What came of a start. */
export type StartOutcome =
  | { readonly kind: "started"; readonly runId: string }
  | { readonly kind: "active"; readonly runId: string; readonly state: RunState }
  | { readonly kind: "blocked" };

const RUN_PRIORITY: readonly number[] = [0, -10, 5, 10, 20];

/** The newest run of a task. */
export async function newestRun(sql: Sql | Tx, taskId: string): Promise<NewestRun | undefined> {
  const [row] = await sql<NewestRun[]>`
    SELECT id, state, input, options FROM runs WHERE task_id = ${taskId} ORDER BY id DESC LIMIT 1`;
  return row;
}

/** Whether a task that must be done first is not done. */
export async function isBlocked(sql: Sql | Tx, taskId: string): Promise<boolean> {
  const [row] = await sql`
    SELECT 1 FROM task_links l JOIN tasks p ON p.id = l.blocked_by JOIN board_columns c ON c.id = p.column_id
    LEFT JOIN task_run_states s ON s.task_id = p.id
    WHERE l.task_id = ${taskId} AND c.category <> 'done' AND s.state IS DISTINCT FROM 'succeeded' LIMIT 1`;
  return row !== undefined;
}

/** Starts the next run of a locked task. */
export async function startRun(deps: TaskRunDeps, tx: Tx, task: TaskFields, wish: StartWish): Promise<StartOutcome> {
  if (task.archived_at !== null) {
    throw new MeshError(
      "failed_precondition",
      `T-${task.number} is archived; restore it first with: yao task restore T-${task.number}`,
    );
  }
  const last = await newestRun(tx, task.id);
  if (last !== undefined && isActive(last.state)) return { kind: "active", runId: last.id, state: last.state };
  if (await isBlocked(tx, task.id)) {
    await tx`UPDATE tasks SET wants_start = true WHERE id = ${task.id}`;
    return { kind: "blocked" };
  }
  const runId = deps.ids.next("run");
  const session = wish.isFresh === true ? task.session + 1 : task.session;
  const asked = await takeInput(tx, task, { last, runId, actor: wish.actor });
  const assistant = await findAssistant(tx, task);
  const draft = {
    id: runId,
    workspaceId: task.workspace_id,
    assistantId: assistant.id,
    ...sourceOf(assistant),
    input: asked.input,
    options: asked.options,
    metadata: { chat_id: session === 1 ? task.id : `${task.id}.${session}`, task_id: task.id },
    requirements: await resolveRequirements(tx, task.placement, task.workspace_id),
    onLost: "hold" as const,
    priority: RUN_PRIORITY[task.priority] ?? 0,
    timeoutMs: DEFAULT_TIMEOUT_S * 1000,
    queueTtlMs: DEFAULT_QUEUE_TTL_S * 1000,
    retryOf: wish.isRetry === true ? last?.id : undefined,
    createdBy: wish.actor === SYSTEM ? task.created_by : wish.actor,
    idempotencyKey: "",
    taskId: task.id,
  };
  await insertQueued(tx, draft, "starts in a moment", rfc3339(deps.clock.now()));
  await tx`INSERT INTO task_runs (run_id, task_id) VALUES (${runId}, ${task.id})`;
  await tx`
    UPDATE tasks SET wants_start = ${asked.hasMore}, start_error = '', retry_at = NULL, session = ${session},
      retries = CASE WHEN ${wish.isRetry === true} THEN retries + 1 ELSE 0 END, updated_at = now() WHERE id = ${task.id}`;
  await insertActivity(tx, {
    id: deps.ids.next("act"),
    taskId: task.id,
    actor: wish.actor,
    action: "started",
    detail: { run: runId },
  });
  await autoMove(deps, tx, task, "in_progress");
  return { kind: "started", runId };
}

async function findAssistant(tx: Tx, task: TaskFields): Promise<AssistantSource> {
  const id = task.assistant === "" ? await defaultAssistant(tx, task.workspace_id) : task.assistant;
  const [found] = await findAssistants(tx, [{ workspaceId: task.workspace_id, id }]);
  if (found !== undefined) return found;
  throw new MeshError(
    "failed_precondition",
    `assistant "${id}" of T-${task.number} is not in this workspace; push its app with: yao app push DIR, or name another one with: yao task edit T-${task.number} --assistant ID`,
  );
}

const LEAVES_FOR: Readonly<Record<string, readonly string[]>> = {
  in_progress: ["backlog", "todo", "in_review", "done"],
  in_review: ["backlog", "todo", "in_progress"],
};

/** Moves the card of a locked task by itself, where its board wants that and has such a column. */
export async function autoMove(
  deps: TaskRunDeps,
  tx: Tx,
  task: Pick<TaskFields, "id" | "board_id">,
  category: "in_progress" | "in_review",
): Promise<void> {
  const columns = await columnsOf(tx, task.board_id);
  const [now] = await tx<
    { column_id: string }[]
  >`SELECT column_id FROM tasks WHERE id = ${task.id} AND archived_at IS NULL`;
  const from = columns.find(({ id }) => id === now?.column_id);
  const to = columns.find((column) => column.category === category);
  if (
    from === undefined ||
    to === undefined ||
    !from.autoMove ||
    LEAVES_FOR[category]?.includes(from.category) !== true
  )
    return;
  const rank = await placeIn(tx, to.id, task.id, { after: "", before: "" });
  if (rank === undefined) return;
  await setPlace(tx, task.id, { ...to, rank }, false);
  await insertActivity(tx, {
    id: deps.ids.next("act"),
    taskId: task.id,
    actor: SYSTEM,
    action: "moved",
    detail: { from: from.name, to: to.name },
  });
}
