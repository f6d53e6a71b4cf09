/**
 * Moves released events from the journal to the stream.
 *
 * S1  Events of a run are sent in order; a batch that failed is sent again before anything behind it.
 * S2  The first event goes at once; while a batch is under way the next ones gather, up to `MAX_BATCH_BYTES`.
 * S3  Sent is not committed: what stays uncommitted for `QUIET_MS` (longer each time), and everything after a reconnection,
 *     is sent again.
 */

import { type Bus, subjects } from "@mesh/bus";
import { Backoff, type CancelTimer, type Clock, errorText, ulidOf } from "@mesh/kernel";
import { EventBatch } from "@mesh/proto/wire";

import type { Journal } from "../journal/journal.ts";
import type { RunKey } from "../journal/record.ts";
import type { RunLog } from "../journal/run-log.ts";
import type { AgentLog } from "../log.ts";

/** What a sender needs. */
export interface SenderDeps {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly log: AgentLog;
  /** Subject token of this node. */
  readonly digest: string;
  readonly random?: () => number;
}

interface Lane {
  readonly run: RunLog;
  /** Newest event handed to the stream. */
  sentN: number;
  inFlight: number;
  /** Grows when everything is to be sent again, which makes answers to older batches meaningless. */
  generation: number;
  /** Distinguishes repeated batches, so that the stream's duplicate window does not swallow what the coordinator asked for again. */
  attempt: number;
  isReading: boolean;
  committedN: number;
  progressAtMs: number;
  /** Patience before the next repetition. */
  quietMs: number;
  cancelRetry: CancelTimer | undefined;
  readonly backoff: Backoff;
}

const MAX_BATCH_BYTES = 256 * 1024;
const MAX_IN_FLIGHT = 4;
const QUIET_MS = 10_000;
const MAX_QUIET_MS = 5 * 60_000;
const CHECK_MS = 2_500;
const PUBLISH_MS = 5_000;

/** Sends what the journal holds, for as long as it is held. */
export class Sender {
  readonly #deps: SenderDeps;
  readonly #lanes = new Map<string, Lane>();
  readonly #cancelCheck: CancelTimer;
  #bus: Bus | undefined;
  #isClosed = false;

  constructor(deps: SenderDeps) {
    this.#deps = deps;
    deps.journal.onReleased((run) => this.#released(run));
    this.#cancelCheck = deps.clock.every(CHECK_MS, () => this.#resendQuiet());
  }

  /** A connection is there (again): everything uncommitted is sent over it. Undefined while there is none. */
  connected(bus: Bus | undefined): void {
    this.#bus = bus;
    if (bus === undefined) return;
    for (const run of this.#deps.journal.runs()) this.#restart(this.#lane(run), run.committedN);
  }

  /** Sends a run's events from `fromN` on again; false when the run is not held here. */
  resend(key: RunKey, fromN: number): boolean {
    const run = this.#deps.journal.run(key);
    if (run === undefined) return false;
    const lane = this.#lane(run);
    lane.attempt += 1;
    this.#restart(lane, Math.max(run.committedN, fromN - 1));
    return true;
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelCheck();
    for (const lane of this.#lanes.values()) lane.cancelRetry?.();
    this.#lanes.clear();
  }

  #released(run: RunLog): void {
    if (this.#isClosed) return;
    if (this.#deps.journal.run(run) === undefined) {
      this.#lanes.get(run.key)?.cancelRetry?.();
      this.#lanes.delete(run.key);
      return;
    }
    this.#pump(this.#lane(run));
  }

  #lane(run: RunLog): Lane {
    const existing = this.#lanes.get(run.key);
    if (existing !== undefined) return existing;
    const { clock, random } = this.#deps;
    const lane: Lane = {
      run,
      sentN: run.committedN,
      inFlight: 0,
      generation: 0,
      attempt: 0,
      isReading: false,
      committedN: run.committedN,
      progressAtMs: clock.monotonic(),
      quietMs: QUIET_MS,
      cancelRetry: undefined,
      backoff: new Backoff(clock, { firstMs: 100, maxMs: 5_000, ...(random && { random }) }),
    };
    this.#lanes.set(run.key, lane);
    return lane;
  }

  #restart(lane: Lane, fromCommittedN: number): void {
    lane.cancelRetry?.();
    lane.cancelRetry = undefined;
    lane.generation += 1;
    lane.inFlight = 0;
    lane.sentN = fromCommittedN;
    lane.progressAtMs = this.#deps.clock.monotonic();
    this.#pump(lane);
  }

  #pump(lane: Lane): void {
    if (this.#bus === undefined || lane.isReading || lane.cancelRetry !== undefined || this.#isClosed) return;
    lane.sentN = Math.max(lane.sentN, lane.run.committedN);
    const waiting = lane.run.releasedN - lane.sentN;
    if (waiting <= 0 || lane.inFlight >= MAX_IN_FLIGHT) return;
    if (lane.inFlight > 0 && !isFullBatch(lane)) return;
    lane.isReading = true;
    void this.#sendNext(lane, this.#bus).finally(() => {
      lane.isReading = false;
      this.#pump(lane);
    });
  }

  // Resolves when the batch is on its way; its answer is handled on its own.
  async #sendNext(lane: Lane, bus: Bus): Promise<void> {
    const { generation, run } = lane;
    const fromN = lane.sentN + 1;
    try {
      const events = await this.#deps.journal.read(run, fromN, MAX_BATCH_BYTES);
      const last = events.at(-1);
      if (last === undefined || generation !== lane.generation) return;
      const batch = EventBatch.encode({ run_id: run.runId, epoch: run.epoch, events }).finish();
      const ulid = ulidOf(run.runId);
      const again = lane.attempt === 0 ? "" : `:r${lane.attempt}`;
      const msgId = `${ulid}:${run.epoch}:${fromN}-${last.n}${again}`;
      lane.sentN = last.n;
      lane.inFlight += 1;
      const subject = subjects.events(this.#deps.digest, ulid);
      void bus.publishStream(subject, batch, { msgId, timeoutMs: PUBLISH_MS }).then(
        () => this.#stored(lane, generation),
        (error: unknown) => this.#failed(lane, generation, fromN, error),
      );
    } catch (error) {
      this.#failed(lane, generation, fromN, error);
    }
  }

  #stored(lane: Lane, generation: number): void {
    if (generation !== lane.generation) return;
    lane.inFlight -= 1;
    lane.backoff.succeeded();
    this.#pump(lane);
  }

  #failed(lane: Lane, generation: number, fromN: number, error: unknown): void {
    if (generation !== lane.generation || this.#isClosed) return;
    lane.generation += 1;
    lane.inFlight = 0;
    lane.sentN = fromN - 1;
    const delayMs = lane.backoff.nextDelayMs();
    const level = lane.backoff.failures > 3 ? "warn" : "debug";
    const { runId, epoch } = lane.run;
    this.#deps.log[level]({ runId, leaseEpoch: epoch, reason: errorText(error), delayMs }, "events not stored yet");
    lane.cancelRetry = this.#deps.clock.after(delayMs, () => {
      lane.cancelRetry = undefined;
      this.#pump(lane);
    });
  }

  #resendQuiet(): void {
    const now = this.#deps.clock.monotonic();
    for (const lane of this.#lanes.values()) {
      const { run } = lane;
      if (run.committedN > lane.committedN || lane.sentN <= run.committedN) {
        lane.committedN = run.committedN;
        lane.progressAtMs = now;
        lane.quietMs = QUIET_MS;
      } else if (now - lane.progressAtMs >= lane.quietMs && this.#bus?.status.kind === "connected") {
        lane.attempt += 1;
        // A coordinator that is only slow must not drown in copies.
        lane.quietMs = Math.min(lane.quietMs * 2, MAX_QUIET_MS);
        this.#restart(lane, run.committedN);
      }
    }
  }
}

function isFullBatch(lane: Lane): boolean {
  let bytes = 0;
  for (let n = lane.sentN + 1; n <= lane.run.releasedN; n += 1) {
    bytes += lane.run.entry(n)?.bytes ?? 0;
    if (bytes >= MAX_BATCH_BYTES) return true;
  }
  return false;
}
