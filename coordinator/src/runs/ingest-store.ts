/** The statements of event ingest. */

import type { Tx } from "@mesh/store";

import { noteRunEvents, runEventOf } from "../webhooks/note-event.ts";
import type { FoldRow, RunChange } from "./run-fold.ts";
import { appendToLogs, freshQueueUntil } from "./run-log.ts";
import { keepQuestions, keepStateParts } from "./waiting-store.ts";
import { isTerminal, RUN_EVENT } from "./run-state.ts";

/** A locked run. */
export interface IngestRow extends FoldRow {
  readonly last_seq: number;
}

/** What to store for a locked run. */
export interface IngestChange extends RunChange {
  /** The newest seq before this change. */
  readonly lastSeq: number;
}

/** Locks the runs of a delivery, in id order so that replicas cannot deadlock. Runs without a node are left out. */
export async function lockRuns(tx: Tx, runIds: readonly string[]): Promise<readonly IngestRow[]> {
  return tx<IngestRow[]>`
    SELECT r.id, r.state, r.lease_epoch, r.committed_n, r.last_seq, n.digest AS node, r.on_lost, r.attempt,
      r.cancel_requested_at IS NOT NULL AS cancel_requested
    FROM runs r JOIN nodes n ON n.id = r.node_id
    WHERE r.id = ANY (${[...runIds]}) ORDER BY r.id FOR UPDATE OF r`;
}

/** Stores events and the state they stand for. A held run stays held: only a heartbeat shows that its device can be reached. */
export async function appendNodeEvents(tx: Tx, changes: readonly IngestChange[]): Promise<void> {
  const grown = changes.filter((change) => change.hasGrown);
  if (grown.length === 0) return;
  const rows = grown.flatMap((change) =>
    change.events.map((event, i) => ({ change, event, seq: change.lastSeq + 1 + i })),
  );
  const updated = updateRuns(tx, grown);
  const inserted = tx`
    INSERT INTO run_events (run_id, seq, epoch, n, at, kind, delta_of, body)
    SELECT run_id, seq, epoch, n, to_timestamp(at_ms / 1000), kind, nullif(delta_of, ''), body FROM unnest(
      ${rows.map((r) => r.change.runId)}::text[], ${rows.map((r) => r.seq)}::int[], ${rows.map((r) => r.change.epoch)}::int[],
      ${rows.map((r) => r.event.n)}::int[], ${rows.map((r) => r.event.at_ms)}::float8[], ${rows.map((r) => r.event.kind)}::text[],
      ${rows.map((r) => r.event.delta_of)}::text[], ${rows.map((r) => r.event.body)}::text[]
    ) AS e (run_id, seq, epoch, n, at_ms, kind, delta_of, body)`;
  await Promise.all([updated, inserted, keepStateParts(tx, grown), keepQuestions(tx, grown)]);
  await noteRunEvents(
    tx,
    grown.flatMap(({ runId, state, result, asked }) => {
      const type = result === undefined && asked === undefined ? undefined : runEventOf(state);
      return type === undefined ? [] : [{ runId, type }];
    }),
  );
  const requeued = grown.filter((change) => change.requeueReason !== undefined);
  await appendToLogs(
    tx,
    requeued.map((change) => ({
      runId: change.runId,
      kind: RUN_EVENT.requeued,
      body: { reason: change.requeueReason },
    })),
  );
}

async function updateRuns(tx: Tx, grown: readonly RunChange[]): Promise<void> {
  // Flags travel as numbers: the driver takes an array of booleans for one boolean.
  await tx`
    UPDATE runs r SET
      last_seq = r.last_seq + c.events, committed_n = c.committed_n, state = c.state,
      reason = CASE WHEN c.requeued = 1 THEN 'starting again: the device handed it back'
        WHEN c.asked = 1 THEN c.reason
        WHEN c.ended = 0 AND r.hold_until IS NOT NULL THEN r.reason ELSE '' END,
      hold_until = CASE WHEN 1 IN (c.ended, c.requeued, c.asked) THEN NULL ELSE r.hold_until END,
      queue_until = CASE WHEN c.requeued = 1 THEN ${freshQueueUntil(tx)} ELSE r.queue_until END,
      started_at = CASE WHEN c.requeued = 1 THEN NULL WHEN c.started = 1 THEN coalesce(r.started_at, clock_timestamp())
        ELSE r.started_at END,
      finished_at = CASE WHEN c.ended = 1 THEN clock_timestamp() ELSE NULL END,
      lease_until = CASE WHEN 1 IN (c.ended, c.requeued, c.asked) THEN NULL ELSE r.lease_until END,
      node_id = CASE WHEN 1 IN (c.requeued, c.asked) THEN NULL ELSE r.node_id END,
      saved_epoch = CASE WHEN c.asked = 1 THEN r.lease_epoch ELSE r.saved_epoch END,
      active_ms = r.active_ms + c.active_ms,
      requirements = CASE WHEN c.asked = 1 THEN r.requirements || jsonb_build_object('home', jsonb_build_object(
          'node_id', r.node_id, 'node', (SELECT n.name FROM nodes n WHERE n.id = r.node_id), 'is_only', r.on_lost <> 'replace'
        )) ELSE r.requirements END,
      error = CASE WHEN c.ended = 1 THEN c.error::jsonb END,
      output = CASE WHEN c.ended = 1 THEN c.output ELSE '' END,
      usage = CASE WHEN c.ended = 1 THEN c.usage::jsonb END
    FROM unnest(
      ${grown.map((c) => c.runId)}::text[], ${grown.map((c) => c.events.length)}::int[], ${grown.map((c) => c.committedN)}::int[],
      ${grown.map((c) => c.state)}::text[], ${grown.map((c) => Number(c.started))}::int[], ${grown.map((c) => Number(isTerminal(c.state)))}::int[],
      ${grown.map((c) => Number(c.requeueReason !== undefined))}::int[], ${grown.map((c) => Number(c.asked !== undefined))}::int[],
      ${grown.map((c) => c.asked?.reason ?? "")}::text[], ${grown.map((c) => c.asked?.activeMs ?? 0)}::int8[],
      ${grown.map((c) => (c.result?.error === undefined ? null : JSON.stringify(c.result.error)))}::text[],
      ${grown.map((c) => c.result?.output ?? "")}::text[],
      ${grown.map((c) => (c.result?.usage === undefined ? null : JSON.stringify(c.result.usage)))}::text[]
    ) AS c (id, events, committed_n, state, started, ended, requeued, asked, reason, active_ms, error, output, usage)
    WHERE r.id = c.id`;
}
