/** The conversation of a task: what people said and what its runs said, numbered together from 1. */

import { isObject } from "@mesh/kernel";
import type { Sql, Tx } from "@mesh/store";

import { type FoldEvent, messageKey } from "./run-fold.ts";
import { addSaid } from "./task-store.ts";

/** One message as stored. */
export interface MessageRow {
  readonly seq: number;
  readonly role: string;
  readonly author: string;
  readonly at: Date;
  readonly run_id: string | null;
  readonly body: string;
}

/** A message to append. */
export interface NewMessage {
  readonly role: "user" | "assistant";
  readonly author: string;
  /** The run it belongs to; undefined: no run has taken it up. */
  readonly runId?: string;
  /** Tells the messages of a run apart; an open message without one is held: it starts no run. */
  readonly key?: string;
  readonly at?: Date;
  readonly body: Readonly<Record<string, unknown>>;
}

/** The output message of a person's text. */
export function textMessage(text: string, uploads: readonly string[] = []): Readonly<Record<string, unknown>> {
  return { type: "text", props: { content: text, ...(uploads.length === 0 ? {} : { uploads }) } };
}

/** The text in a message; empty when it has none. */
export function textOfBody(body: unknown): string {
  const props = isObject(body) ? body["props"] : undefined;
  const content = isObject(props) ? props["content"] : undefined;
  return typeof content === "string" ? content : "";
}

/** The files that go with a message. */
export function uploadsOf(body: unknown): readonly string[] {
  const props = isObject(body) ? body["props"] : undefined;
  const uploads = isObject(props) ? props["uploads"] : undefined;
  return Array.isArray(uploads) ? uploads.filter((id) => typeof id === "string") : [];
}

/** Appends messages; the caller's transaction holds the task's row. One whose key is there takes the place of the earlier. */
export async function appendMessages(tx: Tx, taskId: string, messages: readonly NewMessage[]): Promise<void> {
  for (const { role, author, runId, key, at, body } of messages) {
    const text = JSON.stringify(body);
    const [replaced] =
      key === undefined || runId === undefined
        ? []
        : await tx`UPDATE task_messages SET body = ${text} WHERE run_id = ${runId} AND key = ${key} RETURNING 1`;
    if (replaced !== undefined) continue;
    await tx`
      WITH next AS (UPDATE tasks SET last_message = last_message + 1 WHERE id = ${taskId} RETURNING last_message)
      INSERT INTO task_messages (task_id, seq, role, author, at, run_id, key, body)
      SELECT ${taskId}, last_message, ${role}, ${author}, coalesce(${at ?? null}::timestamptz, now()), ${runId ?? null},
        ${key ?? null}, ${text} FROM next`;
  }
  const said = messages.map(({ body }) => (body["type"] === "text" ? textOfBody(body) : "")).join(" ");
  await addSaid(tx, taskId, said);
}

/** The message of a run by its key. */
export async function findMessage(tx: Tx, runId: string, key: string): Promise<string | undefined> {
  const [row] = await tx<{ body: string }[]>`SELECT body FROM task_messages WHERE run_id = ${runId} AND key = ${key}`;
  return row?.body;
}

/** What people said that no run has taken up. */
export async function openMessages(tx: Tx, taskId: string): Promise<readonly MessageRow[]> {
  return tx<MessageRow[]>`
    SELECT seq, role, author, at, run_id, body FROM task_messages WHERE task_id = ${taskId} AND run_id IS NULL ORDER BY seq`;
}

/** A run takes up what is open, as far as `lastSeq`. */
export async function takeMessages(tx: Tx, taskId: string, runId: string, lastSeq: number): Promise<void> {
  await tx`
    UPDATE task_messages SET run_id = ${runId} WHERE task_id = ${taskId} AND run_id IS NULL AND seq <= ${lastSeq}`;
}

/** A page of messages before `beforeSeq` (0: the newest), oldest first. */
export async function listMessages(
  sql: Sql | Tx,
  taskId: string,
  beforeSeq: number,
  limit: number,
): Promise<readonly MessageRow[]> {
  const rows = await sql<MessageRow[]>`
    SELECT seq, role, author, at, run_id, body FROM task_messages
    WHERE task_id = ${taskId} ${beforeSeq === 0 ? sql`` : sql`AND seq < ${beforeSeq}`} ORDER BY seq DESC LIMIT ${limit}`;
  return rows.toReversed();
}

const MAX_STARTS = 200;

/**
 * The run whose events go on where the stored messages end, and the cursor to follow it from; undefined when everything is
 * stored. The cursor stands before the first message that still streams: its pieces are in no stored message yet.
 */
export async function liveRun(
  sql: Sql | Tx,
  taskId: string,
): Promise<{ readonly run_id: string; readonly cursor: number } | undefined> {
  const [row] = await sql<{ run_id: string; folded_seq: number; epoch: number }[]>`
    SELECT tr.run_id, tr.folded_seq, r.lease_epoch AS epoch FROM task_runs tr JOIN runs r ON r.id = tr.run_id
    WHERE tr.task_id = ${taskId} AND NOT tr.settled ORDER BY tr.run_id DESC LIMIT 1`;
  if (row === undefined) return undefined;
  const { run_id: runId, folded_seq: foldedSeq, epoch } = row;
  // What an epoch left open that is over never ends.
  const starts = await sql<FoldEvent[]>`
    SELECT seq, epoch, at, kind, body FROM run_events
    WHERE run_id = ${runId} AND seq <= ${foldedSeq} AND epoch = ${epoch} AND kind = 'message' AND delta_of IS NULL
      AND body LIKE '%"message_start"%' ORDER BY seq DESC LIMIT ${MAX_STARTS}`;
  const keys = starts.map((start) => messageKey(start) ?? "");
  const stored = await sql<{ key: string }[]>`
    SELECT key FROM task_messages WHERE run_id = ${runId} AND key = ANY(${keys})`;
  const whole = new Set(stored.map(({ key }) => key));
  const open = starts.filter((_start, at) => !whole.has(keys[at] ?? ""));
  return { run_id: runId, cursor: Math.min(foldedSeq, ...open.map(({ seq }) => seq - 1)) };
}
