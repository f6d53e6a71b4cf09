/**
 * The log of an eval on disk.
 *
 * G1  A row is one write, whole, at once; rows are on the disk within `SYNC_MS`, and all of them when the log is closed.
 * G2  Rows are only ever appended. A last line that was torn by a crash is cut off before the next row.
 */

import {
  closeSync,
  createReadStream,
  fdatasync,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  writeSync,
} from "node:fs";

import { type CancelTimer, type Clock, errorText, MeshError } from "@mesh/kernel";

import { type LogRow, readRow, type ResultHead, resultHead, rowLine, type StartRow } from "./log-row.ts";

const CHUNK_BYTES = 256 * 1024;
const SYNC_MS = 200;
const TAIL_BYTES = 64 * 1024;

/** See the file comment. */
export class LogFile {
  readonly path: string;
  readonly #fd: number;
  readonly #clock: Clock;
  #sync: CancelTimer | undefined;
  #isSyncing = false;

  private constructor(path: string, fd: number, clock: Clock) {
    this.path = path;
    this.#fd = fd;
    this.#clock = clock;
  }

  /** A new log; a file of that name is replaced. */
  static create(path: string, clock: Clock): LogFile {
    return new LogFile(path, open(path, "w"), clock);
  }

  /** Goes on with a log. */
  static append(path: string, clock: Clock): LogFile {
    const fd = open(path, "a+");
    ftruncateSync(fd, wholeBytes(fd));
    return new LogFile(path, fd, clock);
  }

  write(row: LogRow): void {
    const bytes = Buffer.from(rowLine(row));
    for (let from = 0; from < bytes.length;) from += writeSync(this.#fd, bytes, from, bytes.length - from, null);
    this.#sync ??= this.#clock.after(SYNC_MS, () => this.#flush());
  }

  close(): void {
    this.#sync?.();
    this.#sync = undefined;
    fdatasyncSync(this.#fd);
    closeSync(this.#fd);
  }

  #flush(): void {
    this.#sync = undefined;
    if (this.#isSyncing) return;
    this.#isSyncing = true;
    fdatasync(this.#fd, () => {
      // A disk that fails says so at the next write, or when the log is closed.
      this.#isSyncing = false;
    });
  }
}

/** The rows of a log, in order; lines that are none are left out. */
export async function* logRows(path: string): AsyncGenerator<LogRow> {
  for await (const lines of logLines(path)) {
    for (const line of lines) {
      const row = line === "" ? undefined : readRow(line);
      if (row !== undefined) yield row;
    }
  }
}

/** The lines of a log, as many at a time as were read at once. */
async function* logLines(path: string): AsyncGenerator<readonly string[]> {
  const stream = createReadStream(path, { encoding: "utf8", highWaterMark: CHUNK_BYTES });
  let rest: string[] = [];
  try {
    // By hand: the line reader of the platform holds a thousand lines, however long they are.
    for await (const chunk of stream as AsyncIterable<string>) {
      const [head = "", ...lines] = chunk.split("\n");
      const last = lines.pop();
      rest.push(head);
      if (last === undefined) continue;
      yield [rest.join(""), ...lines];
      rest = [last];
    }
    yield [rest.join("")];
  } catch (error) {
    throw new MeshError("not_found", `cannot read ${path}: ${errorText(error)}`, { cause: error });
  } finally {
    stream.destroy();
  }
}

/** A log as far as going on needs it. */
export interface LogState {
  readonly start: StartRow;
  /** Digest of the case by `id\u0000run`. */
  readonly done: ReadonlyMap<string, string>;
  readonly durationMs: number;
}

/** Key of one run of one case. */
export function runKey(id: string, run: number): string {
  return `${id}\u0000${run}`;
}

/** Reads a log to go on with it; `onResult` sees every result. */
export async function readLogState(path: string, onResult: (row: ResultHead) => void): Promise<LogState> {
  let start: StartRow | undefined;
  let durationMs = 0;
  const done = new Map<string, string>();
  const take = (head: ResultHead): void => {
    done.set(runKey(head.id, head.run), head.hash);
    onResult(head);
  };
  for await (const lines of logLines(path)) {
    for (const line of lines) {
      const head = resultHead(line);
      if (head !== undefined) {
        take(head);
        continue;
      }
      const row = line === "" ? undefined : readRow(line);
      if (row?.type === "start") start ??= row;
      else if (row?.type === "summary") durationMs = row.duration_ms;
      else if (row?.type === "result") take(row);
    }
  }
  if (start === undefined) {
    throw new MeshError("failed_precondition", `${path} is not the log of an eval: it has no start row`);
  }
  return { start, done, durationMs };
}

function open(path: string, mode: string): number {
  try {
    return openSync(path, mode, 0o644);
  } catch (error) {
    throw new MeshError("failed_precondition", `cannot write ${path}: ${errorText(error)}`, { cause: error });
  }
}

/** Size of the file up to its last line end. */
function wholeBytes(fd: number): number {
  const { size } = fstatSync(fd);
  for (let end = size; end > 0;) {
    const from = Math.max(0, end - TAIL_BYTES);
    const buffer = Buffer.alloc(end - from);
    readSync(fd, buffer, 0, buffer.length, from);
    const at = buffer.lastIndexOf("\n");
    if (at !== -1) return from + at + 1;
    end = from;
  }
  return 0;
}
