/** Talking to a task: messages, answers, starting and stopping its work. */

import { canonicalJson, MeshError } from "@mesh/kernel";
import type {
  PendingItem,
  SendToTaskRequest,
  SendToTaskResponse,
  StartTaskRequest,
  StartTaskResponse,
  Task,
} from "@mesh/proto";
import { claimIdempotency, type Tx } from "@mesh/store";
import { createHash } from "node:crypto";

import { actorOf } from "../auth/caller.ts";
import type { Call } from "../gateway/operation.ts";
import { appendMessages, textMessage } from "./conversation-store.ts";
import { saidKey } from "./steer.ts";
import { findTask, type TaskApiDeps, wholeTask, type Write } from "./task-access.ts";
import { lockAt } from "./task-edit.ts";
import { requireUploads } from "./task-input.ts";
import type { TaskPlace } from "./task-row.ts";
import { newestRun, startRun } from "./task-run.ts";
import { isActive } from "./task-state.ts";

/** What a message did. */
type Effect = "answered" | "started" | "queued" | "kept";

/** SendToTask. */
export async function sendToTask(
  deps: TaskApiDeps,
  request: SendToTaskRequest,
  call: Call,
): Promise<SendToTaskResponse> {
  const place = await findTask(deps, request.task, call, "write");
  const task = await wholeTask(deps.store.sql, place.id);
  const item = request.hold ? undefined : itemFor(task, request);
  if (item !== undefined && task.run_id !== undefined) {
    requireNoUploads(task, request);
    await answer(deps, { run: task.run_id, item }, request, call);
    deps.recorded();
    return { task: await wholeTask(deps.store.sql, place.id), effect: "answered" };
  }
  if (request.text.trim() === "" && request.uploads.length === 0)
    throw new MeshError("invalid_argument", "there is nothing to send: give a text");
  const effect = await deps.store.sql.begin((tx) => keep({ deps, tx, call }, place, request));
  deps.recorded();
  if (effect === "started") deps.pokeQueue();
  if (effect === "queued") deps.offer(place.id);
  return { task: await wholeTask(deps.store.sql, place.id), effect };
}

/** An answer is a text: files would be lost without a word. */
function requireNoUploads({ key }: Task, { uploads }: SendToTaskRequest): void {
  if (uploads.length === 0) return;
  throw new MeshError(
    "failed_precondition",
    `${key} waits for an answer, and files cannot go with one; answer first, or keep the files for its next run with hold`,
  );
}

/** The open item that a message answers; undefined when it is a message for the next run. */
function itemFor(task: Task, { call_id: callId, decision }: SendToTaskRequest): PendingItem | undefined {
  const { key, pending } = task;
  if (callId !== "") {
    // The run judges whether it asks this; a repeated answer is harmless there.
    return pending.find(({ id }) => id === callId) ?? answered(callId);
  }
  if (pending.length === 0) {
    if (decision === "") return undefined;
    throw new MeshError("failed_precondition", `${key} does not ask anything; send the text without a decision`);
  }
  const fitting = decision === "" ? pending.filter(({ kind }) => kind === "question") : pending;
  const [only, more] = fitting;
  if (only !== undefined && more === undefined) return only;
  const asked = pending.map(({ id, text }) => `${id} (${text.slice(0, 80)})`).join("; ");
  throw new MeshError(
    "failed_precondition",
    fitting.length === 0
      ? `${key} waits for an approval: send the decision approve or deny. It asks: ${asked}`
      : `${key} asks several things: name the one you answer by its call_id: ${asked}`,
  );
}

function answered(id: string): PendingItem {
  return { id, kind: "", tool: "", arguments: undefined, text: "", choices: [], arguments_cut: false };
}

async function answer(
  deps: TaskApiDeps,
  { run, item }: { readonly run: string; readonly item: PendingItem },
  { decision, text, arguments: args }: SendToTaskRequest,
  call: Call,
): Promise<void> {
  await deps.runs.answerRun(
    { run, call_id: item.id, decision: decision === "" ? "answer" : decision, text, arguments: args },
    call,
  );
}

async function keep({ deps, tx, call }: Write, place: TaskPlace, request: SendToTaskRequest): Promise<Effect> {
  const task = await lockAt(tx, place.id, 0);
  const run = await newestRun(tx, task.id);
  const isBusy = run !== undefined && isActive(run.state);
  const planned: Effect = request.hold ? "kept" : isBusy ? "queued" : "started";
  const earlier = await claim(tx, place, request, { effect: planned, actor: actorOf(call.caller) });
  if (earlier !== undefined) return earlier;
  await requireUploads(tx, task.workspace_id, request.uploads);
  const body = textMessage(request.text, request.uploads);
  const key = planned === "kept" ? {} : { key: saidKey(deps.ids.next("msg")) };
  await appendMessages(tx, task.id, [{ role: "user", author: call.caller.userName, body, ...key }]);
  if (planned === "kept") return planned;
  if (planned === "queued") {
    await tx`UPDATE tasks SET wants_start = true WHERE id = ${task.id}`;
    return planned;
  }
  const started = await startRun(deps, tx, task, { actor: actorOf(call.caller) });
  return started.kind === "started" ? "started" : "queued";
}

async function claim(
  tx: Tx,
  place: TaskPlace,
  { task: _task, idempotency_key: key, ...content }: SendToTaskRequest,
  { effect, actor }: { readonly effect: Effect; readonly actor: string },
): Promise<Effect | undefined> {
  if (key === "") return undefined;
  const requestHash = createHash("sha256")
    .update(canonicalJson(JSON.parse(JSON.stringify(content))))
    .digest("hex");
  const earlier = await claimIdempotency(tx, {
    scope: `message:${place.id}:${actor}`,
    key,
    requestHash,
    resultId: effect,
  });
  return earlier === undefined ? undefined : toEffect(earlier);
}

function toEffect(text: string): Effect {
  return text === "started" || text === "queued" || text === "kept" ? text : "answered";
}

/** StartTask. */
export async function startTask(deps: TaskApiDeps, request: StartTaskRequest, call: Call): Promise<StartTaskResponse> {
  const place = await findTask(deps, request.task, call, "write");
  const outcome = await deps.store.sql.begin(async (tx) =>
    startRun(deps, tx, await lockAt(tx, place.id, 0), { actor: actorOf(call.caller), isFresh: request.fresh }),
  );
  deps.recorded();
  deps.pokeQueue();
  return { task: await wholeTask(deps.store.sql, place.id), started: outcome.kind === "started" };
}

/** StopTask. */
export async function stopTask(deps: TaskApiDeps, ref: string, call: Call): Promise<Task> {
  const place = await findTask(deps, ref, call, "write");
  const run = await deps.store.sql.begin(async (tx) => {
    await lockAt(tx, place.id, 0);
    // What was said meanwhile stays, and goes along when the task is started again.
    await tx`UPDATE tasks SET wants_start = false, retry_at = NULL WHERE id = ${place.id} AND (wants_start OR retry_at IS NOT NULL)`;
    return newestRun(tx, place.id);
  });
  if (run !== undefined && isActive(run.state)) await deps.runs.cancelRun({ run: run.id }, call);
  deps.recorded();
  return wholeTask(deps.store.sql, place.id);
}
