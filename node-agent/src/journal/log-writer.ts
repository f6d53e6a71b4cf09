/**
 * Writes records to segments with one fdatasync for everybody who waits (group commit).
 *
 * W1  `placed` is called in the order of `write`, `done` in the same order; `done` of a durable record, and of whatever was
 *     written with it, only after fdatasync.
 * W2  Everything written is durable within 50 ms.
 * W3  A failing disk delays, it never drops or reorders.
 * W4  Segments are deleted oldest first, so that a record that cancels another never goes before it.
 */

import { type CancelTimer, type Clock, errorText } from "@mesh/kernel";

import type { AgentLog } from "../log.ts";
import { encodeRecord, type JournalRecord } from "./record.ts";
import { type Place, Segment } from "./segment.ts";

/** What a writer needs. */
export interface LogWriterDeps {
  readonly dir: string;
  readonly clock: Clock;
  readonly log: AgentLog;
  readonly segmentBytes: number;
  /** Records that every new segment begins with. */
  readonly preamble: () => readonly JournalRecord[];
  /** Called after a new segment was begun. */
  readonly rolled: () => void;
}

/** How a record is written. */
export interface WriteOptions {
  /** Wait for the disk. */
  readonly durable: boolean;
  readonly placed?: (place: Place) => void;
  readonly done?: () => void;
}

interface Write extends WriteOptions {
  readonly frame: Buffer;
}

const SYNC_MS = 50;
const RETRY_MS = 1_000;

/** The appending end of a journal. */
export class LogWriter {
  readonly #deps: LogWriterDeps;
  readonly #segments: Segment[];
  #active: Segment;
  #pending: Write[] = [];
  #draining: Promise<void> | undefined;
  #reclaiming: Promise<void> | undefined;
  #cancelSync: CancelTimer | undefined;
  #isFailing = false;
  #isClosed = false;

  private constructor(deps: LogWriterDeps, segments: Segment[], active: Segment) {
    this.#deps = deps;
    this.#segments = segments;
    this.#active = active;
  }

  /** Begins a new segment behind the given ones. */
  static async open(deps: LogWriterDeps, older: readonly Segment[]): Promise<LogWriter> {
    const active = await Segment.create(deps.dir, (older.at(-1)?.index ?? 0) + 1);
    const writer = new LogWriter(deps, [...older, active], active);
    await writer.#writePreamble();
    await active.sync();
    return writer;
  }

  /** Whether the last attempt to write failed. */
  get isFailing(): boolean {
    return this.#isFailing;
  }

  get totalBytes(): number {
    return this.#segments.reduce((sum, segment) => sum + segment.size, 0);
  }

  /** The oldest segment, unless it is the one being written. */
  get oldest(): Segment | undefined {
    return this.#segments.length > 1 ? this.#segments[0] : undefined;
  }

  /** Queues a record. */
  write(record: JournalRecord, options: WriteOptions): void {
    if (this.#isClosed) return;
    this.#pending.push({ frame: encodeRecord(record), ...options });
    this.#draining ??= this.#drain();
  }

  /** Deletes old segments that nobody needs. */
  async reclaim(): Promise<void> {
    this.#reclaiming ??= this.#removeDead()
      .catch((error: unknown) => this.#deps.log.warn({ reason: errorText(error) }, "old journal file not deleted"))
      .finally(() => {
        this.#reclaiming = undefined;
      });
    await this.#reclaiming;
  }

  /** Writes what is pending, makes it durable and closes the files. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#draining;
    await this.#reclaiming;
    this.#cancelSync?.();
    await this.#active.sync().catch(() => undefined);
    for (const segment of this.#segments) await segment.close();
  }

  async #drain(): Promise<void> {
    // One turn gathers what belongs together.
    await Promise.resolve();
    while (this.#pending.length > 0) {
      const batch = this.#pending;
      this.#pending = [];
      const isWritten = await this.#writeBatch(batch);
      if (!isWritten && this.#isClosed) break;
    }
    this.#draining = undefined;
  }

  async #writeBatch(batch: readonly Write[]): Promise<boolean> {
    try {
      if (this.#active.size > this.#deps.segmentBytes) await this.#roll();
      const segment = this.#active;
      let offset = segment.size;
      await segment.append(batch.map((write) => write.frame));
      for (const { frame, placed } of batch) {
        placed?.({ segment, offset, length: frame.length, liveBytes: frame.length });
        offset += frame.length;
      }
      if (batch.some((write) => write.durable)) await this.#sync();
      else this.#syncSoon();
      this.#isFailing = false;
    } catch (error) {
      await this.#failed(error, batch);
      return false;
    }
    for (const write of batch) write.done?.();
    return true;
  }

  // The batch stays first in line: nothing behind it may be released before it.
  async #failed(error: unknown, batch: readonly Write[]): Promise<void> {
    if (!this.#isFailing) this.#deps.log.error({ reason: errorText(error) }, "journal cannot be written");
    this.#isFailing = true;
    this.#pending = [...batch, ...this.#pending];
    if (!this.#isClosed) await this.#deps.clock.sleep(RETRY_MS);
  }

  async #sync(): Promise<void> {
    this.#cancelSync?.();
    this.#cancelSync = undefined;
    await this.#active.sync();
  }

  #syncSoon(): void {
    this.#cancelSync ??= this.#deps.clock.after(SYNC_MS, () => {
      this.#cancelSync = undefined;
      this.#active.sync().catch((error: unknown) => {
        this.#deps.log.error({ reason: errorText(error) }, "journal cannot be synced");
      });
    });
  }

  async #roll(): Promise<void> {
    await this.#sync();
    this.#active = await Segment.create(this.#deps.dir, this.#active.index + 1);
    this.#segments.push(this.#active);
    await this.#writePreamble();
    this.#deps.rolled();
  }

  async #writePreamble(): Promise<void> {
    await this.#active.append(this.#deps.preamble().map((record) => encodeRecord(record)));
  }

  async #removeDead(): Promise<void> {
    for (let oldest = this.oldest; oldest?.isDead === true; oldest = this.oldest) {
      this.#segments.shift();
      await oldest.remove();
    }
  }
}
