/**
 * The statements about runs that wait for a person: their saved states, what they ask and what they are answered.
 *
 * Q1  An answer is judged and stored under the lock of the run's row: of two at once, one is the first.
 * Q2  The last open answer sends the run back to the queue in the same transaction.
 * Q3  What a state takes is bounded; the state of a run that has ended, or goes on from a later one, is deleted.
 */

import { insertAudit, type Sql, type Tx } from "@mesh/store";

import { type AskedRun, type ItemAnswer, judgeAnswer, type Question } from "./answer-rule.ts";
import type { PendingItem } from "./pending-item.ts";
import { queueKeyOf } from "./run-draft.ts";
import type { RunChange } from "./run-fold.ts";
import { appendToLogs, freshQueueUntil } from "./run-log.ts";
import type { StoredRequirements } from "./run-row.ts";
import { RUN_EVENT, type RunState } from "./run-state.ts";

/** What devices keep to, and a little more: a state that was cut cannot be read, and its run then fails with that reason. */
const MAX_STATE_BYTES = 17 * 1024 * 1024;

/** Keeps the pieces of saved states; the caller's transaction holds the runs' rows. */
export async function keepStateParts(tx: Tx, changes: readonly RunChange[]): Promise<void> {
  const parts = changes.flatMap(({ runId, epoch, stateParts }) =>
    stateParts.map(({ n, body }) => ({ runId, epoch, n, body, bytes: Buffer.byteLength(body) })),
  );
  if (parts.length === 0) return;
  await tx`
    INSERT INTO run_state_parts (run_id, epoch, n, bytes, body)
    SELECT p.run_id, p.epoch, p.n, p.bytes, p.body FROM unnest(
      ${parts.map((p) => p.runId)}::text[], ${parts.map((p) => p.epoch)}::int[], ${parts.map((p) => p.n)}::int[],
      ${parts.map((p) => p.bytes)}::int[], ${parts.map((p) => p.body)}::text[]
    ) AS p (run_id, epoch, n, bytes, body)
    WHERE (SELECT coalesce(sum(s.bytes), 0) FROM run_state_parts s WHERE s.run_id = p.run_id AND s.epoch = p.epoch)
      <= ${MAX_STATE_BYTES}`;
}

/** Keeps what runs ask; the caller's transaction holds their rows. */
export async function keepQuestions(tx: Tx, changes: readonly RunChange[]): Promise<void> {
  const rows = changes.flatMap(({ runId, epoch, asked }) =>
    (asked?.items ?? []).map((item, position) => ({ runId, epoch, position, item })),
  );
  if (rows.length === 0) return;
  await tx`
    INSERT INTO run_questions (run_id, epoch, call_id, position, item)
    SELECT * FROM unnest(
      ${rows.map((r) => r.runId)}::text[], ${rows.map((r) => r.epoch)}::int[], ${rows.map((r) => r.item.id)}::text[],
      ${rows.map((r) => r.position)}::int[], ${rows.map((r) => JSON.stringify(r.item))}::text[]
    )`;
}

interface AskedRow {
  readonly id: string;
  readonly workspace_id: string;
  readonly state: RunState;
  readonly saved_epoch: number | null;
  readonly requirements: StoredRequirements;
}

/** Takes an answer and returns whether the run goes on with it; throws when it cannot be taken. */
export async function recordAnswer(
  sql: Sql,
  runId: string,
  answer: ItemAnswer,
  by: { readonly auditId: string; readonly actor: string },
): Promise<{ readonly goesOn: boolean }> {
  return sql.begin(async (tx) => {
    const [row] = await tx<AskedRow[]>`
      SELECT id, workspace_id, state, saved_epoch, requirements FROM runs WHERE id = ${runId} FOR UPDATE`;
    if (row === undefined) return { goesOn: false };
    const verdict = judgeAnswer(await askedRun(tx, row), answer);
    if (verdict.kind === "repeated") return { goesOn: false };
    const { actor } = by;
    await tx`
      UPDATE run_questions SET answer = ${JSON.stringify(answer)}, answered_by = ${actor}, answered_at = clock_timestamp()
      WHERE run_id = ${runId} AND epoch = ${row.saved_epoch} AND call_id = ${answer.call_id}`;
    const { call_id, decision } = answer;
    await insertAudit(tx, {
      id: by.auditId,
      actor,
      action: "run.answer",
      object: runId,
      workspaceId: row.workspace_id,
      detail: { call_id, decision },
    });
    const told = { runId, kind: RUN_EVENT.answered, body: { ...answer, by: actor } };
    const goingOn = { runId, kind: RUN_EVENT.requeued, body: { reason: "it was answered and goes on" } };
    await appendToLogs(tx, verdict.isLast ? [told, goingOn] : [told]);
    if (verdict.isLast) await requeue(tx, row);
    return { goesOn: verdict.isLast };
  });
}

// It got somewhere, so attempts are counted anew.
async function requeue(tx: Tx, row: AskedRow): Promise<void> {
  await tx`
    UPDATE runs r SET state = 'queued', reason = '', attempt = 0, committed_n = 0,
      queue_key = ${queueKeyOf(row.workspace_id, row.requirements)}, queue_until = ${freshQueueUntil(tx)}
    WHERE r.id = ${row.id}`;
}

async function askedRun(tx: Tx, { id, state, saved_epoch }: AskedRow): Promise<AskedRun> {
  const rows = await tx<
    { epoch: number; item: string; answer: string | null; answered_by: string | null; answered_at: Date | null }[]
  >`
    SELECT epoch, item, answer, answered_by, answered_at FROM run_questions WHERE run_id = ${id}
    ORDER BY epoch DESC, position`;
  const questions = rows.map(({ epoch, item, answer, answered_by, answered_at }): Question => ({
    item: JSON.parse(item) as PendingItem,
    isCurrent: epoch === saved_epoch,
    answered:
      answer === null
        ? undefined
        : {
            answer: JSON.parse(answer) as ItemAnswer,
            by: answered_by ?? "",
            at: answered_at?.toISOString() ?? "",
          },
  }));
  return { id, state, questions };
}

/** One part of what a run goes on from: the pieces of its state, then its answers. */
export interface SavedPart {
  readonly state_parts: number;
  readonly answers: number;
  readonly body: string;
}

/** Reads a part for the node that holds the lease of a run that goes on; undefined for any other. */
export async function readSavedPart(
  sql: Sql,
  held: { readonly runId: string; readonly epoch: number; readonly digest: string },
  part: number,
): Promise<SavedPart | undefined> {
  const rows = await sql<SavedPart[]>`
    WITH run AS (
      SELECT r.id, r.saved_epoch FROM runs r JOIN nodes n ON n.id = r.node_id
      WHERE r.id = ${held.runId} AND r.lease_epoch = ${held.epoch} AND n.digest = ${held.digest} AND n.removed_at IS NULL
        AND r.state IN ('placed', 'accepted', 'running')
    ), counts AS (
      SELECT run.*, (SELECT count(*)::int FROM run_state_parts s WHERE s.run_id = run.id AND s.epoch = run.saved_epoch) AS states,
        (SELECT count(*)::int FROM run_questions q WHERE q.run_id = run.id AND q.epoch = run.saved_epoch AND q.answer IS NOT NULL) AS answers
      FROM run
    )
    SELECT states AS state_parts, answers, coalesce(CASE WHEN ${part}::int < states THEN (
        SELECT s.body FROM run_state_parts s WHERE s.run_id = counts.id AND s.epoch = counts.saved_epoch
        ORDER BY s.n OFFSET ${part}::int LIMIT 1
      ) ELSE (
        SELECT q.answer FROM run_questions q WHERE q.run_id = counts.id AND q.epoch = counts.saved_epoch AND q.answer IS NOT NULL
        ORDER BY q.position OFFSET greatest(0, ${part}::int - states) LIMIT 1
      ) END, '') AS body
    FROM counts`;
  return rows[0];
}

/** Deletes the states that no run goes on from any more. */
export async function dropOldStates(sql: Sql): Promise<void> {
  await sql`
    DELETE FROM run_state_parts p USING runs r
    WHERE r.id = p.run_id
      AND (r.finished_at IS NOT NULL OR (p.epoch < r.lease_epoch AND p.epoch IS DISTINCT FROM r.saved_epoch))`;
}
