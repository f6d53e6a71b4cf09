/** Forgets the deltas of messages that ended, in runs that ended some time ago; the whole messages stay. */

import { isObject } from "@mesh/kernel";
import type { Sql } from "@mesh/store";

/** How far back a new leader looks; older runs were seen to by those before it. */
const WINDOW_DAYS = 30;
const BATCH = 100;
/** Bounds one call, so that a long backlog does not hold up the deadlines. */
const MAX_BATCHES = 10;

/** The last run that was seen to, in order of their ends; made by {@link newRetention}. */
export interface Retention {
  finishedAt: string;
  runId: string;
}

/** Starts from the oldest run that may still hold deltas. */
export function newRetention(): Retention {
  return { finishedAt: "", runId: "" };
}

/**
 * Drops old deltas and moves `done` on, so that each run is looked at once, whether it had any or not.
 * Returns how many were dropped.
 */
export async function dropOldDeltas(sql: Sql, ageMs: number, done: Retention): Promise<number> {
  let dropped = 0;
  for (let i = 0; i < MAX_BATCHES; i += 1) {
    const runs = await endedAfter(sql, ageMs, done);
    for (const run of runs) dropped += await dropDeltasOf(sql, run.id);
    const last = runs.at(-1);
    if (last !== undefined) Object.assign(done, { finishedAt: last.finished_at, runId: last.id });
    if (runs.length < BATCH) break;
  }
  return dropped;
}

// The time travels as text: a Date would lose its microseconds, and the run would be found again.
async function endedAfter(
  sql: Sql,
  ageMs: number,
  done: Retention,
): Promise<readonly { readonly id: string; readonly finished_at: string }[]> {
  return sql<{ id: string; finished_at: string }[]>`
    SELECT id, finished_at::text AS finished_at FROM runs
    WHERE finished_at < now() - ${ageMs} * interval '1 ms'
      AND (finished_at, id) > (coalesce(nullif(${done.finishedAt}, '')::timestamptz, now() - ${WINDOW_DAYS} * interval '1 day'), ${done.runId})
    ORDER BY runs.finished_at, id LIMIT ${BATCH}`;
}

async function dropDeltasOf(sql: Sql, runId: string): Promise<number> {
  const ends = await sql<{ seq: number; epoch: number; body: string }[]>`
    SELECT seq, epoch, body FROM run_events
    WHERE run_id = ${runId} AND kind = 'message' AND delta_of IS NULL AND body LIKE '%"message_end"%'`;
  const ended = ends.flatMap((row) => {
    const message = endedMessage(row.body);
    return message === undefined ? [] : [{ ...row, message }];
  });
  if (ended.length === 0) return 0;
  const rows = await sql`
    DELETE FROM run_events e
    USING unnest(${ended.map((m) => m.message)}::text[], ${ended.map((m) => m.epoch)}::int[], ${ended.map((m) => m.seq)}::int[])
      AS m (message, epoch, seq)
    WHERE e.run_id = ${runId} AND e.delta_of = m.message AND e.epoch = m.epoch AND e.seq < m.seq`;
  return rows.count;
}

/** The id of the message that this event ends. */
function endedMessage(body: string): string | undefined {
  try {
    const parsed: unknown = JSON.parse(body);
    const props = isObject(parsed) && isObject(parsed["props"]) ? parsed["props"] : {};
    const data = isObject(props["data"]) ? props["data"] : {};
    const id = props["event"] === "message_end" ? data["message_id"] : undefined;
    return typeof id === "string" ? id : undefined;
  } catch {
    return undefined;
  }
}
