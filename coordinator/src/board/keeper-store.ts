/** Statements of the keeper. */

import type { Sql, Tx } from "@mesh/store";

import type { RunFailure, RunState } from "../runs/run-state.ts";
import type { FoldEvent } from "./run-fold.ts";

/** A run of a task that has moved on since it was last looked at. */
export interface OpenRun {
  readonly run_id: string;
  readonly task_id: string;
}

/** Runs whose log or state is ahead of what was made of it. */
export async function movedRuns(sql: Sql, limit: number): Promise<readonly OpenRun[]> {
  return sql<OpenRun[]>`
    SELECT tr.run_id, tr.task_id FROM task_runs tr JOIN runs r ON r.id = tr.run_id
    WHERE NOT tr.settled AND (r.state <> tr.seen_state OR r.last_seq > tr.folded_seq OR r.finished_at IS NOT NULL)
    ORDER BY tr.run_id LIMIT ${limit}`;
}

/** A run as the keeper needs it. */
export interface KeptRun {
  readonly id: string;
  readonly state: RunState;
  readonly reason: string;
  readonly error: RunFailure | null;
  readonly output: string;
  readonly assistant_id: string;
  readonly lease_epoch: number;
  readonly saved_epoch: number | null;
  readonly last_seq: number;
  readonly node: string | null;
  readonly seen_state: string;
  readonly seen_epoch: number;
  readonly folded_seq: number;
}

/** The run and how far it was seen; the caller's transaction holds its task. */
export async function readKept(tx: Tx, runId: string): Promise<KeptRun | undefined> {
  const [row] = await tx<KeptRun[]>`
    SELECT r.id, r.state, r.reason, r.error, r.output, r.assistant_id, r.lease_epoch, r.saved_epoch, r.last_seq, n.name AS node,
      tr.seen_state, tr.seen_epoch, tr.folded_seq
    FROM task_runs tr JOIN runs r ON r.id = tr.run_id LEFT JOIN nodes n ON n.id = r.node_id
    WHERE tr.run_id = ${runId} AND NOT tr.settled`;
  return row;
}

/** The next events that a conversation is made of, without deltas. */
export async function foldableEvents(
  tx: Tx,
  run: Pick<KeptRun, "id" | "folded_seq" | "last_seq">,
  limit: number,
): Promise<readonly FoldEvent[]> {
  return tx<FoldEvent[]>`
    SELECT seq, epoch, at, kind, body FROM run_events
    WHERE run_id = ${run.id} AND seq > ${run.folded_seq} AND seq <= ${run.last_seq} AND delta_of IS NULL
      AND kind IN ('message', 'run.asked', 'run.answered', 'run.steered')
    ORDER BY seq LIMIT ${limit}`;
}

/** Notes how far a run was seen. */
export async function setSeen(
  tx: Tx,
  runId: string,
  seen: { readonly state: string; readonly epoch: number; readonly foldedSeq: number; readonly settled: boolean },
): Promise<void> {
  await tx`
    UPDATE task_runs SET seen_state = ${seen.state}, seen_epoch = ${seen.epoch}, folded_seq = ${seen.foldedSeq},
      settled = ${seen.settled} WHERE run_id = ${runId}`;
}

/** Sets the newest line of a task's work. */
export async function setLastLine(tx: Tx, taskId: string, line: string): Promise<void> {
  await tx`UPDATE tasks SET last_line = ${line} WHERE id = ${taskId} AND last_line <> ${line}`;
}

/** Sets what came of a task by rule, until somebody knows better. */
export async function setSummary(tx: Tx, taskId: string, summary: string): Promise<void> {
  await tx`UPDATE tasks SET summary = ${summary} WHERE id = ${taskId}`;
}

/** Tasks that are to start by themselves: nothing blocks them, nothing runs, and somebody asked or a retry is due. */
export async function startableTasks(sql: Sql, now: Date, limit: number): Promise<readonly string[]> {
  const rows = await sql<{ id: string }[]>`
    SELECT t.id FROM tasks t WHERE t.archived_at IS NULL AND t.start_error = '' AND (t.wants_start OR t.retry_at <= ${now})
      AND NOT EXISTS (
        SELECT 1 FROM task_run_states s WHERE s.task_id = t.id AND s.state IN ('queued', 'placed', 'accepted', 'running', 'waiting')
      ) AND NOT EXISTS (
        SELECT 1 FROM task_runs tr WHERE tr.task_id = t.id AND NOT tr.settled
      ) AND NOT EXISTS (
        SELECT 1 FROM task_links l JOIN tasks p ON p.id = l.blocked_by JOIN board_columns c ON c.id = p.column_id
        LEFT JOIN task_run_states ps ON ps.task_id = p.id
        WHERE l.task_id = t.id AND c.category <> 'done' AND ps.state IS DISTINCT FROM 'succeeded'
      ) ORDER BY t.id LIMIT ${limit}`;
  return rows.map((row) => row.id);
}

/** Says why a task could not be started; it is tried again when it is edited or somebody starts it. */
export async function setStartError(tx: Tx, taskId: string, message: string): Promise<void> {
  await tx`
    UPDATE tasks SET start_error = ${message}, wants_start = false, retry_at = NULL, updated_at = now() WHERE id = ${taskId}`;
}

/** Sets when a failed task is tried again. */
export async function setRetry(tx: Tx, taskId: string, at: Date): Promise<void> {
  await tx`UPDATE tasks SET retry_at = ${at} WHERE id = ${taskId}`;
}

/** What a note is about: an epoch of a run, or a start that made none. */
export type NoteSubject =
  | { readonly kind: "run"; readonly runId: string; readonly epoch: number }
  | { readonly kind: "start" };

/** One thing for the inboxes of the people of a task. */
export interface InboxNote {
  readonly taskId: string;
  readonly workspaceId: string;
  readonly of: NoteSubject;
  readonly kind: "needs_input" | "failed" | "done";
  readonly text: string;
}

/** The people of a task who are members of its workspace, or administrators: who made it and who looks after it. */
export async function peopleOf(tx: Tx, taskId: string): Promise<readonly string[]> {
  const rows = await tx<{ id: string }[]>`
    SELECT u.id FROM tasks t JOIN users u ON u.name = t.assignee OR 'user:' || u.name = t.created_by
    WHERE t.id = ${taskId} AND (u.is_admin OR EXISTS (
      SELECT 1 FROM workspace_members m WHERE m.workspace_id = t.workspace_id AND m.user_id = u.id
    )) ORDER BY u.id`;
  return rows.map((row) => row.id);
}

/**
 * Writes it, once per person, run and question; the ids of what is new. Starts without a run are numbered in the place of epochs,
 * under the task's id.
 */
export async function insertInbox(
  tx: Tx,
  note: InboxNote,
  entries: readonly { readonly id: string; readonly userId: string }[],
): Promise<readonly string[]> {
  const { of, taskId } = note;
  const runId = of.kind === "run" ? of.runId : taskId;
  const epoch =
    of.kind === "run"
      ? tx`${of.epoch}::integer`
      : tx`(SELECT coalesce(max(epoch), 0) + 1 FROM inbox_entries WHERE task_id = ${taskId} AND run_id = ${taskId})`;
  const rows = await tx<{ id: string }[]>`
    INSERT INTO inbox_entries (id, user_id, workspace_id, task_id, run_id, epoch, kind, text)
    SELECT e.id, e.user_id, ${note.workspaceId}, ${taskId}, ${runId}, ${epoch}, ${note.kind}, ${note.text}
    FROM unnest(${entries.map((e) => e.id)}::text[], ${entries.map((e) => e.userId)}::text[]) AS e (id, user_id)
    ON CONFLICT (user_id, run_id, kind, epoch) DO NOTHING RETURNING id`;
  return rows.map(({ id }) => id);
}

/** What a run asked needs nobody any more. */
export async function closeInbox(tx: Tx, runId: string): Promise<void> {
  await tx`
    UPDATE inbox_entries SET read_at = coalesce(read_at, now()), archived_at = coalesce(archived_at, now())
    WHERE run_id = ${runId} AND kind = 'needs_input' AND archived_at IS NULL`;
}
