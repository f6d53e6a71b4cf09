/**
 * Writes the coordinator's own entries into runs' event logs.
 *
 * Every change of a run's row that a user should see is one statement: the row changes, its `last_seq` grows, and the event
 * with that seq is inserted. So seqs stay dense and the log never tells less than the row.
 */

import { MeshError } from "@mesh/kernel";
import type { Sql, Tx } from "@mesh/store";

/** One coordinator event to append to a run that this transaction has locked or just changed. */
export interface LogEntry {
  readonly runId: string;
  readonly kind: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Appends entries in order; returns the ids touched. The rows of `runs` must exist. */
export async function appendToLogs(tx: Tx, entries: readonly LogEntry[]): Promise<void> {
  if (entries.length === 0) return;
  const counts = new Map<string, number>();
  for (const entry of entries) counts.set(entry.runId, (counts.get(entry.runId) ?? 0) + 1);
  const ids = [...counts.keys()].toSorted();
  const rows = await tx<{ id: string; last_seq: number; lease_epoch: number }[]>`
    UPDATE runs r SET last_seq = r.last_seq + c.k
    FROM unnest(${ids}::text[], ${ids.map((id) => counts.get(id) ?? 0)}::int[]) AS c (id, k)
    WHERE r.id = c.id RETURNING r.id, r.last_seq, r.lease_epoch`;
  const next = new Map(
    rows.map((row) => [row.id, { seq: row.last_seq - (counts.get(row.id) ?? 0), epoch: row.lease_epoch }]),
  );
  const numbered = entries.map((entry) => {
    const place = next.get(entry.runId);
    if (place === undefined) throw new MeshError("internal", `no run ${entry.runId} to log to`);
    place.seq += 1;
    return { ...entry, seq: place.seq, epoch: place.epoch };
  });
  await tx`
    INSERT INTO run_events (run_id, seq, epoch, n, at, kind, body)
    SELECT run_id, seq, epoch, NULL, clock_timestamp(), kind, body FROM unnest(
      ${numbered.map((e) => e.runId)}::text[], ${numbered.map((e) => e.seq)}::int[], ${numbered.map((e) => e.epoch)}::int[],
      ${numbered.map((e) => e.kind)}::text[], ${numbered.map((e) => JSON.stringify(e.body))}::text[]
    ) AS e (run_id, seq, epoch, kind, body)`;
}

/** What runs `r` may still take: the time before they waited for a person counts, the waiting does not. */
export function timeLeft(sql: Sql | Tx): ReturnType<Sql> {
  return sql`greatest(1000, r.timeout_ms - r.active_ms)`;
}

/** For runs `r` that go back to the queue: they may wait there as long as they might at first, at most a day. */
export function freshQueueUntil(sql: Sql | Tx): ReturnType<Sql> {
  return sql`greatest(r.queue_until, now() + least(r.queue_until - r.created_at, interval '1 day'))`;
}
