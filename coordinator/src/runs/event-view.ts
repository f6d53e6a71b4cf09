/** Stored events as clients see them, with dropped deltas replaced by the snapshot that stands for them. */

import { isObject, MeshError } from "@mesh/kernel";
import type { RunEvent } from "@mesh/proto";
import type { Sql } from "@mesh/store";

import { type EventRow, listMessageEdges } from "./run-row.ts";
import { RUN_EVENT } from "./run-state.ts";

const MAX_EDGES = 2000;

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
 * takes the place of the gap. It has the seq of the last missing event, so a cursor stays valid, and holds, as output messages,
 * what the messages that were open in the gap became.
 */
export async function withSnapshots(sql: Sql, afterSeq: number, rows: readonly EventRow[]): Promise<RunEvent[]> {
  const out: RunEvent[] = [];
  let edges: readonly Edge[] | undefined;
  let expected = afterSeq + 1;
  for (const row of rows) {
    if (row.seq > expected) {
      edges ??= (await listMessageEdges(sql, row.run_id, afterSeq, MAX_EDGES)).flatMap(toEdge);
      out.push(snapshotOf(row, expected, openAt(edges, expected)));
    }
    out.push(toRunEvent(row));
    expected = row.seq + 1;
  }
  return out;
}

/** The start or the end of a streamed message. */
interface Edge {
  readonly seq: number;
  readonly isEnd: boolean;
  /** Tells messages of different epochs apart. */
  readonly key: string;
  readonly data: Readonly<Record<string, unknown>>;
}

function toEdge(row: EventRow): Edge[] {
  const props = parseBody(row.body)["props"];
  const data = isObject(props) ? props["data"] : undefined;
  if (!isObject(props) || !isObject(data)) return [];
  const isEnd = props["event"] === "message_end";
  return isEnd || props["event"] === "message_start"
    ? [{ seq: row.seq, isEnd, key: `${row.epoch}:${String(data["message_id"])}`, data }]
    : [];
}

// What ends after the gap and does not begin after it was open in it.
function openAt(edges: readonly Edge[], seq: number): Edge[] {
  const begun = new Set<string>();
  return edges.filter((edge) => {
    if (edge.seq < seq) return false;
    if (!edge.isEnd) begun.add(edge.key);
    return edge.isEnd && !begun.has(edge.key);
  });
}

function snapshotOf(next: EventRow, from: number, ends: readonly Edge[]): RunEvent {
  return {
    run_id: next.run_id,
    seq: next.seq - 1,
    epoch: next.epoch,
    at: next.at.toISOString(),
    kind: "snapshot",
    data: { from_seq: from, to_seq: next.seq - 1, messages: ends.map(({ data }) => toMessage(data)) },
  };
}

/** The whole message that the end of a streamed one tells. */
export function toMessage(data: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { message_id, type, extra, tool_call: call } = data;
  const content = isObject(extra) ? { content: extra["content"] } : {};
  return { type, message_id, props: { ...(isObject(call) ? call : {}), ...content } };
}

/** The body of an event as an object. */
export function parseBody(body: string): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(body);
    return isObject(parsed) ? parsed : { value: parsed };
  } catch {
    return { text: body };
  }
}
