/**
 * What the journal knows about one (run, epoch): its work item and the events the coordinator has not committed. No I/O.
 *
 * Event numbers are dense: `entries[i].n === committedN + 1 + i`.
 */

import { MeshError } from "@mesh/kernel";
import type { NodeEvent, WorkItem } from "@mesh/proto";

import type { RunKey } from "./record.ts";
import type { Place } from "./segment.ts";

/** One uncommitted event. */
export interface Entry {
  readonly n: number;
  readonly bytes: number;
  /** Message this event is a delta of; empty otherwise. */
  readonly deltaOf: string;
  /** Absent while it waits to be written. */
  place: Place | undefined;
  /** Absent when it must be read from its place. */
  event: NodeEvent | undefined;
  /** Its place holds more than is to be sent. */
  isCollapsed: boolean;
  /** The event counts in the journal's memory budget. */
  isCached: boolean;
}

/** Key of a run in maps. */
export function keyOf(run: RunKey): string {
  return `${run.runId}:${run.epoch}`;
}

/** One run in the journal; see above. */
export class RunLog implements RunKey {
  readonly runId: string;
  readonly epoch: number;
  readonly key: string;
  readonly item: WorkItem;
  readonly entries: Entry[] = [];
  readonly endedMessages: Set<string> = new Set();
  startPlace: Place | undefined;
  committedN = 0;
  /** Newest event that may be sent. */
  releasedN = 0;
  /** Bytes of uncommitted events. */
  bytes = 0;
  /** Number of the terminal event; 0 while there is none. */
  terminalN = 0;

  constructor(run: RunKey, item: WorkItem) {
    this.runId = run.runId;
    this.epoch = run.epoch;
    this.key = keyOf(run);
    this.item = item;
  }

  /** Newest event. */
  get lastN(): number {
    return this.committedN + this.entries.length;
  }

  /** Whether nothing is owed to the coordinator any more. */
  get isSettled(): boolean {
    return this.terminalN > 0 && this.committedN >= this.terminalN;
  }

  /** Adds the next event. */
  add(event: NodeEvent, bytes: number): Entry {
    if (event.n !== this.lastN + 1) throw new MeshError("internal", `event ${event.n} follows ${this.lastN}`);
    const { n, delta_of: deltaOf } = event;
    const entry: Entry = { n, bytes, deltaOf, place: undefined, event, isCollapsed: false, isCached: false };
    this.entries.push(entry);
    this.bytes += bytes;
    return entry;
  }

  /** Forgets events up to `n`; returns what was forgotten. */
  commit(n: number): readonly Entry[] {
    const count = Math.min(n, this.lastN) - this.committedN;
    if (count <= 0) return [];
    const gone = this.entries.splice(0, count);
    this.committedN += gone.length;
    this.releasedN = Math.max(this.releasedN, this.committedN);
    for (const entry of gone) this.bytes -= entry.isCollapsed ? 0 : entry.bytes;
    return gone;
  }

  /** Uncommitted event number `n`. */
  entry(n: number): Entry | undefined {
    return this.entries[n - this.committedN - 1];
  }

  /**
   * Empties the oldest deltas of ended messages until `maxBytes` is met; the message's end carries the whole text. Never
   * touches anything else. Returns the entries it emptied.
   */
  collapse(maxBytes: number): readonly Entry[] {
    const emptied: Entry[] = [];
    for (const entry of this.entries) {
      if (this.bytes <= maxBytes) break;
      if (entry.isCollapsed || !this.endedMessages.has(entry.deltaOf) || entry.place === undefined) continue;
      this.bytes -= entry.bytes;
      entry.event = emptyDelta(entry);
      entry.isCollapsed = true;
      emptied.push(entry);
    }
    return emptied;
  }
}

function emptyDelta(entry: Entry): NodeEvent {
  const body = { type: "event", props: { event: "delta_dropped", data: { message_id: entry.deltaOf } } };
  return { n: entry.n, at_ms: 0, kind: "message", body: JSON.stringify(body), delta_of: entry.deltaOf };
}
