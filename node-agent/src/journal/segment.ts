/** One append-only file of the journal, and how much of it is still needed. */

import { constants } from "node:fs";
import { type FileHandle, open, readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";

import { MeshError } from "@mesh/kernel";

import { syncDirectory } from "../join/durable-file.ts";
import { decodeRecords, type PlacedRecord } from "./record.ts";

const MAGIC = Buffer.from("YAOJRNL1", "latin1");
const NAME = /^(\d{10})\.journal$/;

/** Where a record lies; `liveBytes` is what of it is still needed. */
export interface Place {
  readonly segment: Segment;
  readonly offset: number;
  readonly length: number;
  liveBytes: number;
}

/** A file of the journal. */
export class Segment {
  readonly index: number;
  readonly path: string;
  #size: number;
  #liveBytes = 0;
  readonly #liveRuns = new Map<string, number>();
  #file: FileHandle | undefined;

  private constructor(dir: string, index: number, size: number) {
    this.index = index;
    this.path = join(dir, `${String(index).padStart(10, "0")}.journal`);
    this.#size = size;
  }

  /** Makes a new, empty segment whose name survives a crash. */
  static async create(dir: string, index: number): Promise<Segment> {
    const segment = new Segment(dir, index, MAGIC.length);
    segment.#file = await open(segment.path, constants.O_CREAT | constants.O_EXCL | constants.O_RDWR, 0o600);
    await segment.#file.write(MAGIC, 0, MAGIC.length, 0);
    syncDirectory(dir);
    return segment;
  }

  /** The segments of a directory, oldest first. */
  static async list(dir: string): Promise<Segment[]> {
    const names = (await readdir(dir)).filter((name) => NAME.test(name)).toSorted();
    const out: Segment[] = [];
    for (const name of names) {
      const { size } = await stat(join(dir, name));
      out.push(new Segment(dir, Number(NAME.exec(name)?.[1]), size));
    }
    return out;
  }

  get size(): number {
    return this.#size;
  }

  /** Whether no run needs a record of this file. */
  get isDead(): boolean {
    return this.#liveRuns.size === 0;
  }

  /** Whether most of the file is not needed any more. */
  get isMostlyDead(): boolean {
    return this.#liveBytes < this.#size / 2;
  }

  /** Keys of the runs that need records of this file. */
  get liveRuns(): readonly string[] {
    return [...this.#liveRuns.keys()];
  }

  /** Writes frames at the end; `size` grows only when all of them were written. */
  async append(frames: readonly Buffer[]): Promise<void> {
    const file = await this.#open();
    const total = frames.reduce((sum, frame) => sum + frame.length, 0);
    let written = 0;
    let rest: readonly Buffer[] = frames;
    while (written < total) {
      const { bytesWritten } = await file.writev(rest, this.#size + written);
      if (bytesWritten === 0) throw new Error("the disk takes no more bytes");
      written += bytesWritten;
      rest = written < total ? [Buffer.concat(frames).subarray(written)] : [];
    }
    this.#size += total;
  }

  /** Makes everything appended durable. */
  async sync(): Promise<void> {
    await (await this.#open()).datasync();
  }

  /** Reads the frame at a place. */
  async read(place: Place): Promise<Buffer> {
    const bytes = Buffer.allocUnsafe(place.length);
    const { bytesRead } = await (await this.#open()).read(bytes, 0, place.length, place.offset);
    return bytes.subarray(0, bytesRead);
  }

  /** Reads all whole frames; what lies behind the last of them is cut off. Returns how many bytes that were. */
  async readAll(): Promise<{ readonly records: readonly PlacedRecord[]; readonly tornBytes: number }> {
    const bytes = await readFile(this.path);
    const magic = bytes.subarray(0, MAGIC.length);
    const isOurs = magic.equals(MAGIC);
    // A crash at its creation leaves a short or empty beginning; anything else was written by somebody else.
    if (!isOurs && magic.length === MAGIC.length && magic.some((byte) => byte !== 0)) {
      throw new MeshError(
        "failed_precondition",
        `${this.path} was not written by this version; update yao on this device, or move the file away`,
      );
    }
    const { records, validBytes } = isOurs ? decodeRecords(bytes, MAGIC.length) : { records: [], validBytes: 0 };
    const tornBytes = bytes.length - validBytes;
    if (tornBytes > 0) {
      const file = await this.#open();
      await file.truncate(validBytes);
      await file.sync();
      this.#size = validBytes;
    }
    return { records, tornBytes };
  }

  /** Counts a needed record. */
  hold(key: string, place: Place): void {
    this.#liveBytes += place.liveBytes;
    this.#liveRuns.set(key, (this.#liveRuns.get(key) ?? 0) + 1);
  }

  /** Counts it out again. */
  release(key: string, place: Place): void {
    this.#liveBytes -= place.liveBytes;
    const left = (this.#liveRuns.get(key) ?? 0) - 1;
    if (left > 0) this.#liveRuns.set(key, left);
    else this.#liveRuns.delete(key);
  }

  /** The record is still needed, its bytes on disk are not. */
  devalue(place: Place): void {
    this.#liveBytes -= place.liveBytes;
    place.liveBytes = 0;
  }

  async close(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    await file?.close();
  }

  /** Closes and deletes the file. */
  async remove(): Promise<void> {
    await this.close();
    await rm(this.path, { force: true });
  }

  async #open(): Promise<FileHandle> {
    this.#file ??= await open(this.path, constants.O_RDWR);
    return this.#file;
  }
}
