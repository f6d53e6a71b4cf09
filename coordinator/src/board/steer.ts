/**
 * What people say to a task whose run is at work reaches that run.
 *
 * M1  A message is stored open, then offered to the device. It belongs to the run once an event of the run says that it was read;
 *     what no event names starts the next run. So it is read by one run, whatever was offered however often.
 * M2  A message is offered when it comes and when its run begins to work. Offers may be lost: they only make it sooner.
 * M3  Files, and what was said after them, wait for the next run; what is held (`hold`) starts none and is not offered.
 */

import { type Bus, subjects } from "@mesh/bus";
import { Command } from "@mesh/proto";
import type { Sql, Tx } from "@mesh/store";

import { parseBody } from "../runs/event-view.ts";
import { RUN_EVENT } from "../runs/run-state.ts";
import { textOfBody, uploadsOf } from "./conversation-store.ts";

/** Keys of messages that no run has taken up: those that may be offered, and those that only start the next run. */
const OFFERED = "said:";
const NEXT = "next:";
/** Of messages that a run has read while it worked. */
const READ = "read:";
const MAX_OFFERED = 100;

/** The key of a message that starts a run or is read by the one at work; `id` is unique. */
export function saidKey(id: string): string {
  return `${OFFERED}${id}`;
}

/** The key of a message that starts the next run, whatever is at work; `id` is unique. */
export function nextKey(id: string): string {
  return `${NEXT}${id}`;
}

/** Offers the open messages of a task to the device where its run works; does nothing where none does. */
export async function offerMessages(
  { sql, bus }: { readonly sql: Sql; readonly bus: Pick<Bus, "publish"> },
  taskId: string,
): Promise<void> {
  const rows = await sql<{ run_id: string; epoch: number; digest: string; key: string; body: string }[]>`
    SELECT r.id AS run_id, r.lease_epoch AS epoch, n.digest, m.key, m.body
    FROM runs r JOIN nodes n ON n.id = r.node_id JOIN task_messages m ON m.task_id = r.task_id
    WHERE r.task_id = ${taskId} AND r.state IN ('accepted', 'running') AND r.cancel_requested_at IS NULL
      AND m.run_id IS NULL AND m.key LIKE ${`${OFFERED}%`} ORDER BY m.seq LIMIT ${MAX_OFFERED}`;
  for (const { run_id, epoch, digest, key, body } of rows) {
    const said: unknown = JSON.parse(body);
    const text = textOfBody(said);
    if (uploadsOf(said).length > 0 || text === "") return;
    const value = { run_id, epoch, message_id: key.slice(OFFERED.length), text };
    bus.publish(subjects.command(digest), Command.encode({ command: { $case: "steer", value } }).finish());
  }
}

/**
 * Gives a run the messages that its new events say it has read, and takes back the wish for a next run when nothing is left that
 * wants one; the caller's transaction holds the task's row.
 */
export async function settleRead(tx: Tx, taskId: string, runId: string): Promise<void> {
  const events = await tx<{ body: string }[]>`
    SELECT e.body FROM task_runs tr JOIN run_events e ON e.run_id = tr.run_id AND e.seq > tr.folded_seq
    WHERE tr.run_id = ${runId} AND e.kind = ${RUN_EVENT.steered}`;
  const keys = events.flatMap(({ body }) => {
    const id = parseBody(body)["message_id"];
    return typeof id === "string" ? [saidKey(id)] : [];
  });
  if (keys.length === 0) return;
  await tx`
    UPDATE task_messages SET run_id = ${runId}, key = ${READ}::text || key
    WHERE task_id = ${taskId} AND run_id IS NULL AND key = ANY(${keys})`;
  await tx`
    UPDATE tasks SET wants_start = false WHERE id = ${taskId} AND wants_start AND NOT EXISTS (
      SELECT 1 FROM task_messages m WHERE m.task_id = ${taskId} AND m.run_id IS NULL AND m.key IS NOT NULL)`;
}

/** What a run has read while it worked, oldest first: its input does not have it. */
export async function readMeanwhile(tx: Tx, runId: string): Promise<readonly string[]> {
  const rows = await tx<{ body: string }[]>`
    SELECT body FROM task_messages WHERE run_id = ${runId} AND key LIKE ${`${READ}%`} ORDER BY seq`;
  return rows.map(({ body }) => textOfBody(JSON.parse(body)));
}

/** Everything that is open starts the next run. */
export async function wantNext(tx: Tx, taskId: string): Promise<void> {
  await tx`
    UPDATE task_messages SET key = ${NEXT}::text || seq WHERE task_id = ${taskId} AND run_id IS NULL AND key IS NULL`;
}
