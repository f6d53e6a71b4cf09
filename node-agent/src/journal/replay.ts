/** Rebuilds the journal's memory from the records on disk. */

import { NodeEvent, WorkItem } from "@mesh/proto/wire";

import type { JournalRecord, PlacedRecord } from "./record.ts";
import { keyOf, RunLog } from "./run-log.ts";
import type { Place, Segment } from "./segment.ts";
import { Tombstones } from "./tombstone.ts";

/** What was found. */
export interface Replayed {
  readonly runs: ReadonlyMap<string, RunLog>;
  readonly tombstones: Tombstones;
  /** Bytes that were cut off the ends of files. */
  readonly tornBytes: number;
}

interface Found {
  readonly log: RunLog;
  readonly events: Map<number, { readonly place: Place; readonly deltaOf: string; event: NodeEvent | undefined }>;
  committedN: number;
}

/** Kind of the event that ends a run. */
export const TERMINAL_KIND = "run.finished";

/** Kind of the event that ends an epoch whose run waits for a person. */
export const ASKED_KIND = "run.asked";

/** Kind of the events before it, which carry the state of the run. */
export const STATE_KIND = "run.state";

/** Kind of the event that tells which message of a person the run has read. */
export const STEERED_KIND = "run.steered";

/** Whether an event is the last of its (run, epoch); there is exactly one. */
export function isTerminal(event: { readonly kind: string }): boolean {
  return event.kind === TERMINAL_KIND || event.kind === ASKED_KIND;
}

/**
 * Reads the segments twice: first which runs are still owed, then their events. Compaction may have moved a start behind
 * its events, so the order inside a run is by number. Events beyond `cachedBytes` are left on disk.
 */
export async function replay(segments: readonly Segment[], cachedBytes: number): Promise<Replayed> {
  const found = new Map<string, Found>();
  const tombstones = new Tombstones();
  let tornBytes = 0;
  for (const segment of segments) {
    const read = await segment.readAll();
    tornBytes += read.tornBytes;
    for (const at of read.records) findRuns(found, tombstones, placeOf(segment, at), at.record);
  }
  let budget = cachedBytes;
  for (const segment of found.size === 0 ? [] : segments) {
    for (const at of (await segment.readAll()).records)
      budget -= findEvents(found, placeOf(segment, at), at.record, budget);
  }
  const runs = new Map([...found].map(([key, run]) => [key, rebuild(run)]));
  return { runs, tombstones, tornBytes };
}

function placeOf(segment: Segment, at: PlacedRecord): Place {
  return { segment, offset: at.offset, length: at.length, liveBytes: at.length };
}

function findRuns(found: Map<string, Found>, tombstones: Tombstones, place: Place, record: JournalRecord): void {
  if (record.kind === "tombstones") for (const run of record.runs) tombstones.add(run);
  else if (record.kind === "forgotten") {
    found.delete(keyOf(record));
    tombstones.add(record);
  } else if (record.kind === "start") {
    const key = keyOf(record);
    const run = found.get(key) ?? {
      log: new RunLog(record, WorkItem.decode(record.item)),
      events: new Map(),
      committedN: 0,
    };
    run.log.startPlace = place;
    found.set(key, run);
  }
}

// Returns how many bytes it kept in memory.
function findEvents(found: Map<string, Found>, place: Place, record: JournalRecord, budget: number): number {
  if (record.kind !== "event" && record.kind !== "committed") return 0;
  const run = found.get(keyOf(record));
  if (run === undefined) return 0;
  if (record.kind === "committed") {
    run.committedN = Math.max(run.committedN, record.n);
    return 0;
  }
  const event = NodeEvent.decode(record.event);
  if (isTerminal(event)) run.log.terminalN = event.n;
  const isKept = place.length <= budget || isTerminal(event);
  run.events.set(event.n, { place, deltaOf: event.delta_of, event: isKept ? event : undefined });
  return isKept ? place.length : 0;
}

function rebuild(run: Found): RunLog {
  const { log, events } = run;
  log.committedN = run.committedN;
  const lastN = [...events.keys()].reduce((max, n) => Math.max(max, n), run.committedN);
  for (let n = run.committedN + 1; n <= lastN; n += 1) {
    const stored = events.get(n);
    const lost = lostEvent(n, stored?.deltaOf ?? "");
    const entry = log.add(stored?.event ?? lost, stored?.place.length ?? 0);
    entry.place = stored?.place;
    if (stored === undefined) entry.isCollapsed = true;
    else entry.event = stored.event;
  }
  log.releasedN = log.lastN;
  return log;
}

// Only a damaged disk leaves a hole; numbers must stay dense for the coordinator, and the reader must be told.
function lostEvent(n: number, deltaOf: string): NodeEvent {
  const body = JSON.stringify({ level: "error", message: "this event was lost: the device's journal is damaged" });
  return { n, at_ms: 0, kind: "log", body, delta_of: deltaOf };
}
