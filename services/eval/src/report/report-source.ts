/** What reports are made from, and the file they are written into. */

import { closeSync, openSync, renameSync, rmSync, writeSync } from "node:fs";

import { errorText, MeshError } from "@mesh/kernel";

import type { CaseResult } from "../result.ts";
import type { Summary } from "../stat/tally.ts";
import { Tally } from "../stat/tally.ts";
import { logRows } from "./log-file.ts";
import type { StartRow } from "./log-row.ts";

/** The log of a finished eval. */
export interface ReportSource {
  readonly log: string;
  readonly start: StartRow;
  readonly summary: Summary;
}

/** A form of report: writes it piece by piece, so that its size does not matter. */
export type ReportForm = (source: ReportSource, write: WriteReport) => Promise<void>;

/** Takes the next piece of a report: text, or UTF-8 that may be used again afterwards. */
export type WriteReport = (piece: string | Uint8Array) => void;

const BUFFER_CHARS = 64 * 1024;

/** The results of a log, in order. */
export async function* resultsOf({ log }: Pick<ReportSource, "log">): AsyncGenerator<CaseResult> {
  for await (const row of logRows(log)) {
    if (row.type !== "result") continue;
    const { type: _type, ...result } = row;
    yield result;
  }
}

/** How often each case was run, over all devices. */
export function runsOf({ start }: Pick<ReportSource, "start">): number {
  return start.runs * (start.copies ?? 1);
}

/** Totals per case. */
export async function tallyOf(source: Pick<ReportSource, "log">): Promise<Tally> {
  const tally = new Tally();
  for await (const result of resultsOf(source)) tally.add(result);
  return tally;
}

/** Writes a file whole or not at all. */
export async function writeWhole(path: string, form: (write: WriteReport) => Promise<void>): Promise<void> {
  const part = `${path}.part`;
  let fd: number;
  try {
    fd = openSync(part, "w", 0o644);
  } catch (error) {
    throw new MeshError("failed_precondition", `cannot write ${path}: ${errorText(error)}`, { cause: error });
  }
  let isOpen = true;
  try {
    let buffer = "";
    const flush = (): void => {
      writeSync(fd, buffer);
      buffer = "";
    };
    await form((piece) => {
      if (typeof piece !== "string" && piece.length >= BUFFER_CHARS) {
        flush();
        for (let from = 0; from < piece.length;) from += writeSync(fd, piece, from);
        return;
      }
      buffer +=
        typeof piece === "string" ? piece : Buffer.from(piece.buffer, piece.byteOffset, piece.length).toString();
      if (buffer.length >= BUFFER_CHARS) flush();
    });
    flush();
    closeSync(fd);
    isOpen = false;
    renameSync(part, path);
  } catch (error) {
    if (isOpen) closeSync(fd);
    rmSync(part, { force: true });
    throw MeshError.from(error);
  }
}
