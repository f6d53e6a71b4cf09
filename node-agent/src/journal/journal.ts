/**
 * What this node owes the coordinator, on disk.
 *
 * K1  A start is durable before `start` resolves; only then may its work message be acknowledged.
 * K2  An event is released to the sender only after it was written, and a durable one (terminal, tool) only after fdatasync.
 * K3  Everything written is durable within 50 ms; one fdatasync serves all runs.
 * K4  After a crash a prefix of what was written is found again, nothing else.
 * K5  A (run, epoch) that was started is never new again.
 * K6  Bounded: per run by collapsing deltas of ended messages, then by failing the run; in all by refusing work.
 */

import { mkdir } from "node:fs/promises";

import { type Clock, errorText, MeshError } from "@mesh/kernel";
import { NodeEvent, WorkItem } from "@mesh/proto/wire";

import type { AgentLog } from "../log.ts";
import { LogWriter } from "./log-writer.ts";
import { decodeRecords, type JournalRecord, type RunKey } from "./record.ts";
import { isTerminal, replay, type Replayed } from "./replay.ts";
import { type Entry, keyOf, RunLog } from "./run-log.ts";
import { type Place, Segment } from "./segment.ts";

/** Bounds of a journal. */
export interface JournalLimits {
  readonly segmentBytes: number;
  readonly runBytes: number;
  readonly totalBytes: number;
  readonly cachedBytes: number;
}

/** What a journal needs. */
export interface JournalDeps {
  readonly dir: string;
  readonly clock: Clock;
  readonly log: AgentLog;
  readonly limits?: Partial<JournalLimits>;
}

/** A new event; the journal gives it its number. */
export interface NewEvent {
  readonly kind: string;
  /** JSON object text. */
  readonly body: string;
  /** Message this is a delta of; empty otherwise. */
  readonly deltaOf: string;
  /** Message that is complete with this event; its deltas may be collapsed from then on. */
  readonly endsMessage?: string;
  /** Wait for the disk before it is released. */
  readonly durable: boolean;
}

const LIMITS: JournalLimits = {
  segmentBytes: 16 * 1024 * 1024,
  runBytes: 256 * 1024 * 1024,
  totalBytes: 1024 * 1024 * 1024,
  cachedBytes: 4 * 1024 * 1024,
};

const MAX_WAITING_BYTES = 16 * 1024 * 1024;

/** The journal of a data directory; one owner at a time (the caller holds the directory's lock). */
export class Journal {
  readonly #clock: Clock;
  readonly #limits: JournalLimits;
  readonly #runs: Map<string, RunLog>;
  readonly #tombstones: Replayed["tombstones"];
  readonly #writer: LogWriter;
  #cachedBytes = 0;
  #listener: (run: RunLog) => void = () => undefined;

  private constructor(clock: Clock, limits: JournalLimits, found: Replayed, writer: LogWriter) {
    this.#clock = clock;
    this.#writer = writer;
    this.#limits = limits;
    this.#runs = new Map(found.runs);
    this.#tombstones = found.tombstones;
  }

  /** Opens the journal of a directory and recovers what a crash left. */
  static async open(deps: JournalDeps): Promise<Journal> {
    await mkdir(deps.dir, { recursive: true, mode: 0o700 });
    const limits = { ...LIMITS, ...deps.limits };
    const segments = await Segment.list(deps.dir);
    const found = await replay(segments, limits.cachedBytes);
    if (found.tornBytes > 0) deps.log.warn({ tornBytes: found.tornBytes }, "journal tail cut after a crash");
    // The writer calls back into the journal it is made for.
    let journal: Journal | undefined;
    const preamble = (): readonly JournalRecord[] => [{ kind: "tombstones", runs: found.tombstones.list() }];
    const rolled = (): void => {
      // Harmless when it fails: the file stays.
      journal?.compact().catch((error: unknown) => {
        deps.log.warn({ reason: errorText(error) }, "journal not compacted");
      });
    };
    const writer = await LogWriter.open({ ...deps, segmentBytes: limits.segmentBytes, preamble, rolled }, segments);
    journal = new Journal(deps.clock, limits, found, writer);
    for (const run of journal.runs()) journal.#holdRecovered(run);
    for (const run of journal.runs()) if (run.isSettled) journal.forget(run);
    await writer.reclaim();
    return journal;
  }

  /** Called whenever events of a run became ready to send, or were committed. */
  onReleased(listener: (run: RunLog) => void): void {
    this.#listener = listener;
  }

  /** Runs that are still owed to the coordinator. */
  runs(): readonly RunLog[] {
    return [...this.#runs.values()];
  }

  run(key: RunKey): RunLog | undefined {
    return this.#runs.get(keyOf(key));
  }

  /** Whether a work item may start: `held` was started already, `stale` is older than what this node knows. */
  admission(key: RunKey): "new" | "held" | "stale" {
    if (this.#runs.has(keyOf(key))) return "held";
    const epochs = this.runs().flatMap((run) => (run.runId === key.runId ? [run.epoch] : []));
    const newest = Math.max(this.#tombstones.epochOf(key.runId), ...epochs);
    if (key.epoch > newest) return "new";
    return key.epoch === newest ? "held" : "stale";
  }

  /** Bytes of events that are not committed yet. */
  get unackedBytes(): number {
    return this.runs().reduce((sum, run) => sum + run.bytes, 0);
  }

  /** Records a start and its first event; resolves when both are durable. */
  async start(item: WorkItem, first: NewEvent): Promise<RunLog> {
    if (this.#writer.isFailing) throw full("the device's journal cannot be written; free some disk space");
    this.#checkTotal();
    const run = new RunLog({ runId: item.run_id, epoch: item.epoch }, item);
    this.#runs.set(run.key, run);
    return await new Promise((resolve) => {
      this.#writeStart(run, () => resolve(run));
      this.append(run, first);
    });
  }

  /** Appends an event and returns its number; throws `resource_exhausted` when there is no room for it. */
  append(run: RunLog, event: NewEvent): number {
    if (run.terminalN > 0) throw new MeshError("internal", `run ${run.runId} has ended`);
    const isLast = isTerminal(event);
    if (event.endsMessage !== undefined) run.endedMessages.add(event.endsMessage);
    const { kind, body, deltaOf: delta_of } = event;
    const numbered = { n: run.lastN + 1, at_ms: Math.round(this.#clock.now()), kind, body, delta_of };
    const encoded = NodeEvent.encode(numbered).finish();
    // The end of a run is always taken: it is what frees the space.
    if (!isLast) this.#makeRoom(run, encoded.length);
    else run.terminalN = numbered.n;
    this.#appendEvent(run, numbered, encoded, event.durable || isLast);
    return numbered.n;
  }

  /** The coordinator has stored events up to `n`; `hasEnded` is false when the end of the run is not among them. */
  committed(run: RunLog, n: number, hasEnded = true): void {
    const terminal = run.terminalN > 0 ? run.entry(run.terminalN)?.event : undefined;
    // Its number may belong to an event that a power cut took from this disk.
    const isTaken = n > run.lastN || (n >= run.terminalN && !hasEnded);
    if (isTaken && terminal !== undefined) {
      this.#renumberTerminal(run, terminal, n);
      return;
    }
    const gone = run.commit(n);
    if (gone.length === 0) return;
    for (const entry of gone) this.#dropEntry(run, entry);
    if (run.isSettled) this.forget(run);
    else this.#writeCommitted(run);
    this.#listener(run);
  }

  /** Nothing about this run is owed any more. */
  forget(run: RunLog): void {
    if (!this.#runs.delete(run.key)) return;
    for (const entry of run.entries) this.#dropEntry(run, entry);
    run.startPlace?.segment.release(run.key, run.startPlace);
    this.#tombstones.add(run);
    const { runId, epoch } = run;
    this.#writer.write(
      { kind: "forgotten", runId, epoch },
      { durable: false, done: () => void this.#writer.reclaim() },
    );
  }

  /** Released events from `fromN` on, as many as fit into `maxBytes`, at least one when there is any. */
  async read(run: RunLog, fromN: number, maxBytes: number): Promise<NodeEvent[]> {
    const events: NodeEvent[] = [];
    let bytes = 0;
    for (let n = fromN; n <= run.releasedN; n += 1) {
      const entry = run.entry(n);
      if (entry === undefined || (events.length > 0 && bytes + entry.bytes > maxBytes)) break;
      const event = entry.event ?? (await load(entry));
      if (event === undefined) break;
      events.push(event);
      bytes += entry.bytes;
    }
    return events;
  }

  /** Frees the oldest file: what a long run still needs of it is written again at the end. */
  async compact(): Promise<void> {
    const oldest = this.#writer.oldest;
    if (oldest === undefined || !oldest.isMostlyDead) return;
    for (const key of oldest.liveRuns) {
      const run = this.#runs.get(key);
      if (run !== undefined) await this.#moveRun(run, oldest);
    }
    await this.#writer.reclaim();
  }

  /** Writes what is pending and closes the files. */
  async close(): Promise<void> {
    await this.#writer.close();
  }

  #writeStart(run: RunLog, done?: () => void): void {
    const { runId, epoch } = run;
    this.#writer.write(
      { kind: "start", runId, epoch, item: WorkItem.encode(run.item).finish() },
      {
        durable: true,
        placed: (place) => {
          if (!this.#runs.has(run.key)) return;
          run.startPlace?.segment.release(run.key, run.startPlace);
          run.startPlace = place;
          place.segment.hold(run.key, place);
        },
        ...(done && { done }),
      },
    );
  }

  #writeCommitted(run: RunLog): void {
    const { runId, epoch, committedN: n } = run;
    this.#writer.write({ kind: "committed", runId, epoch, n }, { durable: false });
  }

  #appendEvent(run: RunLog, event: NodeEvent, encoded: Uint8Array, durable: boolean): void {
    const { runId, epoch } = run;
    const entry = run.add(event, encoded.length);
    this.#writer.write(
      { kind: "event", runId, epoch, event: encoded },
      {
        durable,
        placed: (place) => {
          if (this.#place(run, entry, place)) this.#cache(entry);
        },
        done: () => {
          run.releasedN = Math.max(run.releasedN, event.n);
          this.#listener(run);
        },
      },
    );
  }

  // After a power loss the coordinator may know events that this disk never got: the end must come behind them.
  #renumberTerminal(run: RunLog, terminal: NodeEvent, committedN: number): void {
    for (const entry of run.commit(run.lastN)) this.#dropEntry(run, entry);
    run.committedN = committedN;
    run.releasedN = committedN;
    run.terminalN = committedN + 1;
    this.#writeCommitted(run);
    const moved: NodeEvent = { ...terminal, n: run.terminalN };
    this.#appendEvent(run, moved, NodeEvent.encode(moved).finish(), true);
  }

  #makeRoom(run: RunLog, bytes: number): void {
    // While the disk fails, events wait in memory.
    const allowed = Math.min(this.#limits.runBytes, this.#writer.isFailing ? MAX_WAITING_BYTES : Infinity) - bytes;
    // Down to 90 %, so that a full journal does not collapse at every event.
    const emptied = run.bytes > allowed ? run.collapse(allowed * 0.9) : [];
    for (const entry of emptied) {
      this.#uncache(entry);
      entry.place?.segment.devalue(entry.place);
    }
    if (run.bytes > allowed)
      throw full("the run wrote more events than this device keeps while the coordinator takes none");
    this.#checkTotal();
  }

  #checkTotal(): void {
    if (this.#writer.totalBytes > this.#limits.totalBytes) {
      throw full("the device's journal is full; it empties when the coordinator can be reached");
    }
  }

  async #moveRun(run: RunLog, from: Segment): Promise<void> {
    if (run.startPlace?.segment === from) {
      this.#writeStart(run);
      this.#writeCommitted(run);
    }
    const { runId, epoch } = run;
    for (const entry of run.entries.filter((item) => item.place?.segment === from)) {
      const event = entry.event ?? (await load(entry));
      if (event === undefined || !this.#runs.has(run.key)) continue;
      const record = { kind: "event", runId, epoch, event: NodeEvent.encode(event).finish() } as const;
      this.#writer.write(record, { durable: true, placed: (place) => void this.#place(run, entry, place) });
    }
  }

  #place(run: RunLog, entry: Entry, place: Place): boolean {
    if (entry.n <= run.committedN || !this.#runs.has(run.key)) return false;
    entry.place?.segment.release(run.key, entry.place);
    entry.place = place;
    place.segment.hold(run.key, place);
    return true;
  }

  #holdRecovered(run: RunLog): void {
    run.startPlace?.segment.hold(run.key, run.startPlace);
    for (const entry of run.entries) {
      if (entry.place !== undefined) entry.place.segment.hold(run.key, entry.place);
      this.#cache(entry);
    }
  }

  // Keeps an event in memory while there is room; otherwise it is read from its place when it is sent. The end of a run
  // is always kept: it may have to be renumbered.
  #cache(entry: Entry): void {
    if (entry.isCollapsed || entry.event === undefined) return;
    entry.isCached = this.#cachedBytes + entry.bytes <= this.#limits.cachedBytes || isTerminal(entry.event);
    if (entry.isCached) this.#cachedBytes += entry.bytes;
    else entry.event = undefined;
  }

  #uncache(entry: Entry): void {
    if (entry.isCached) this.#cachedBytes -= entry.bytes;
    entry.isCached = false;
  }

  #dropEntry(run: RunLog, entry: Entry): void {
    this.#uncache(entry);
    if (entry.place === undefined) return;
    entry.place.segment.release(run.key, entry.place);
    entry.place = undefined;
  }
}

async function load(entry: Entry): Promise<NodeEvent | undefined> {
  if (entry.place === undefined) return undefined;
  const bytes = await entry.place.segment.read(entry.place);
  const record = decodeRecords(bytes).records[0]?.record;
  return record?.kind === "event" ? NodeEvent.decode(record.event) : undefined;
}

function full(message: string): MeshError {
  return new MeshError("resource_exhausted", message, { details: { code: "journal_full" } });
}
