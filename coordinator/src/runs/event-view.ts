/** Stored events as clients see them, with dropped deltas replaced by the snapshot that stands for them. */

import { isObject, MeshError } from "@mesh/kernel";
import type { RunEvent } from "@mesh/proto";
import type { Sql } from "@mesh/store";

import { type EventRow, listSnapshots } from "./run-row.ts";
import { RUN_EVENT } from "./run-state.ts";

const MAX_SNAPSHOTS = 20;

/** One stored event for clients. */
export function toRunEvent(row: EventRow): RunEvent {
  return {
    run_id: row.run_id,
    seq: row.seq,
    epoch: row.epoch,
    at: row.at.toISOString(),
    kind: row.kind,
    data: parseBody(row.body),
  };
}

/** Whether nothing can follow this event. */
export function endsRun(row: { readonly kind: string }): boolean {
  return row.kind === RUN_EVENT.finished;
}

/** Refuses a cursor that the run has not reached: it belongs to another run, or to another system. */
export function requireReached(run: { readonly id: string; readonly last_seq: number }, afterSeq: number): void {
  if (afterSeq <= run.last_seq) return;
  throw new MeshError("out_of_range", `run ${run.id} has ${run.last_seq} events; there is none after ${afterSeq} yet`);
}

/**
 * A page for clients: where seqs are missing (their deltas were dropped after the message had ended), one `snapshot` event
 * takes the place of the gap. It has the seq of the last missing event, so a cursor stays valid.
 */
export async function withSnapshots(sql: Sql, afterSeq: number, rows: readonly EventRow[]): Promise<RunEvent[]> {
  const out: RunEvent[] = [];
  let expected = afterSeq + 1;
  for (const row of rows) {
    if (row.seq > expected) out.push(await snapshotFor(sql, row, expected));
    out.push(toRunEvent(row));
    expected = row.seq + 1;
  }
  return out;
}

async function snapshotFor(sql: Sql, next: EventRow, from: number): Promise<RunEvent> {
  const ends = await listSnapshots(sql, next.run_id, from - 1, MAX_SNAPSHOTS);
  const messages = ends.flatMap((row) => {
    const props = parseBody(row.body)["props"];
    const data = isObject(props) ? props["data"] : undefined;
    return isObject(data) ? [{ message_id: data["message_id"], type: data["type"], extra: data["extra"] }] : [];
  });
  return {
    run_id: next.run_id,
    seq: next.seq - 1,
    epoch: next.epoch,
    at: next.at.toISOString(),
    kind: "snapshot",
    data: { from_seq: from, to_seq: next.seq - 1, messages: messages.slice(0, 1) },
  };
}

function parseBody(body: string): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(body);
    return isObject(parsed) ? parsed : { value: parsed };
  } catch {
    return { text: body };
  }
}
