/**
 * Wakes readers of run logs and reads for all of them at once.
 *
 * T1  The database is the only source: a hint says "look", never what is there. So there is no seam between catching up
 *     and following, and a lost hint only costs time.
 * T2  However many readers a replica has, one query per turn serves all that have something new.
 */

import { type Bus, runOfSubject, subjects } from "@mesh/bus";
import { Doorbell, type Clock, errorText, type Service, ulidOf } from "@mesh/kernel";
import type { Logger } from "@mesh/observability";
import type { Store } from "@mesh/store";

import { type EventRow, pageOf } from "./run-row.ts";

const PAGE = 500;
const LARGE_PAGE_CHARS = 1_000_000;
/** Readers look this often even without a hint. */
const POLL_MS = 1000;
/** Polls between two looks for runs that were deleted. */
const POLLS_PER_LOOK = 5;

/** One reader of one run. */
export interface TailReader {
  /** The next events after the cursor, oldest first; empty when the signal aborts or the run was deleted. */
  next(signal: AbortSignal): Promise<readonly EventRow[]>;
  close(): void;
}

interface Reader {
  readonly runId: string;
  cursor: number;
  deliver: ((rows: readonly EventRow[]) => void) | undefined;
  /** There may be events after the cursor. */
  isStale: boolean;
}

/** See the guarantees above. */
export class EventTail implements Service {
  readonly name = "event-tail";
  readonly #store: Store;
  readonly #bus: Bus;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #readers = new Map<string, Set<Reader>>();
  #dirty = new Set<string>();
  readonly #bell = new Doorbell();

  readonly #self: Uint8Array;

  constructor(deps: {
    readonly store: Store;
    readonly bus: Bus;
    readonly clock: Clock;
    readonly log: Logger;
    readonly replicaId: string;
  }) {
    this.#self = Buffer.from(deps.replicaId);
    this.#store = deps.store;
    this.#bus = deps.bus;
    this.#clock = deps.clock;
    this.#log = deps.log;
  }

  /** Tells this replica and the others that these runs' logs grew. */
  committed(runIds: readonly string[]): void {
    for (const id of runIds) {
      this.#hint(id);
      this.#bus.publish(subjects.tail(ulidOf(id)), this.#self);
    }
  }

  /** Follows a run from a cursor. */
  open(runId: string, afterSeq: number): TailReader {
    const reader: Reader = { runId, cursor: afterSeq, deliver: undefined, isStale: true };
    const set = this.#readers.get(runId) ?? new Set();
    this.#readers.set(runId, set.add(reader));
    return {
      next: (signal) => this.#next(reader, signal),
      close: () => {
        set.delete(reader);
        if (set.size === 0) this.#readers.delete(runId);
      },
    };
  }

  async run(signal: AbortSignal): Promise<void> {
    const hints = this.#bus.subscribe(subjects.anyTail, (data, subject) => {
      if (Buffer.compare(data, this.#self) !== 0) this.#hint(`run_${runOfSubject(subject)}`);
    });
    let polls = 0;
    const stopPoll = this.#clock.every(POLL_MS, () => {
      for (const id of this.#readers.keys()) this.#hint(id);
      polls += 1;
      if (polls % POLLS_PER_LOOK === 0) void this.#endDeleted();
    });
    try {
      while (!signal.aborted) {
        if (this.#dirty.size === 0) await this.#bell.wait(signal);
        else await this.#turn();
      }
    } finally {
      stopPoll();
      hints.stop();
    }
  }

  #hint(runId: string): void {
    const readers = this.#readers.get(runId);
    if (readers === undefined) return;
    for (const reader of readers) reader.isStale = true;
    this.#dirty.add(runId);
    this.#bell.ring();
  }

  #next(reader: Reader, signal: AbortSignal): Promise<readonly EventRow[]> {
    return new Promise((resolve) => {
      const abort = (): void => reader.deliver?.([]);
      reader.deliver = (rows) => {
        reader.deliver = undefined;
        signal.removeEventListener("abort", abort);
        resolve(rows);
      };
      if (signal.aborted) {
        abort();
        return;
      }
      signal.addEventListener("abort", abort, { once: true });
      if (!reader.isStale) return;
      this.#dirty.add(reader.runId);
      this.#bell.ring();
    });
  }

  async #turn(): Promise<void> {
    const waiting = [...this.#dirty]
      .flatMap((id) => [...(this.#readers.get(id) ?? [])])
      .filter((r) => r.deliver !== undefined);
    this.#dirty = new Set();
    if (waiting.length === 0) return;
    // A hint that comes while the pages are read makes its readers look again.
    for (const reader of waiting) reader.isStale = false;
    try {
      const wanted = [...new Map(waiting.map((r) => [`${r.runId}:${r.cursor}`, r])).values()];
      const pages = await this.#read(wanted);
      for (const reader of waiting) {
        const rows = pages.get(`${reader.runId}:${reader.cursor}`);
        if (rows === undefined || reader.deliver === undefined) continue;
        reader.cursor = rows.at(-1)?.seq ?? reader.cursor;
        if (mayBeCut(rows)) reader.isStale = true;
        reader.deliver(rows);
      }
    } catch (error) {
      // The poll looks again; readers just wait longer.
      this.#log.warn({ reason: errorText(error) }, "event logs cannot be read");
    }
  }

  // A deleted run never tells its end.
  async #endDeleted(): Promise<void> {
    const ids = [...this.#readers.keys()];
    if (ids.length === 0) return;
    try {
      const gone = await this.#store.sql<{ id: string }[]>`
        SELECT w.id FROM unnest(${ids}::text[]) AS w (id) WHERE NOT EXISTS (SELECT 1 FROM runs r WHERE r.id = w.id)`;
      for (const { id } of gone) for (const reader of this.#readers.get(id) ?? []) reader.deliver?.([]);
    } catch (error) {
      this.#log.warn({ reason: errorText(error) }, "deleted runs cannot be looked for");
    }
  }

  async #read(readers: readonly Reader[]): Promise<Map<string, EventRow[]>> {
    const rows = await this.#store.sql<(EventRow & { cursor: number })[]>`
      SELECT w.cursor, e.* FROM unnest(${readers.map((r) => r.runId)}::text[], ${readers.map((r) => r.cursor)}::int[]) AS w (run, cursor)
      CROSS JOIN LATERAL (${pageOf(this.#store.sql, this.#store.sql`w.run`, this.#store.sql`w.cursor`, PAGE)}) e ORDER BY w.run, e.seq`;
    const pages = new Map<string, EventRow[]>();
    for (const row of rows) {
      const key = `${row.run_id}:${row.cursor}`;
      const page = pages.get(key);
      if (page === undefined) pages.set(key, [row]);
      else page.push(row);
    }
    return pages;
  }
}

// A full page, in number or in size, may not have been the last one.
function mayBeCut(rows: readonly EventRow[]): boolean {
  return rows.length >= PAGE || rows.reduce((sum, row) => sum + row.body.length, 0) >= LARGE_PAGE_CHARS;
}
