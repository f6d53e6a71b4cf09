/** A session tree in a file that only grows; what a crash tore is cut off when it is opened. */

import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, truncateSync, writeSync } from "node:fs";
import { dirname } from "node:path";

import { MeshError } from "@mesh/kernel";

import { Session } from "../session.ts";

/** An open session file. */
export interface SessionFile extends Disposable {
  readonly session: Session;
  /** Forces what was appended to the disk. */
  sync(): void;
}

/** Opens or creates a session file; every change of the session is appended to it at once. */
export function openSession(path: string): SessionFile {
  mkdirSync(dirname(path), { recursive: true });
  const text = readExisting(path);
  const whole = text.slice(0, text.lastIndexOf("\n") + 1);
  let descriptor: number | undefined;
  const session = Session.fromJsonl(whole + completeTail(text.slice(whole.length)), (line) => {
    if (descriptor === undefined) throw new MeshError("failed_precondition", "the session file is closed");
    writeSync(descriptor, line);
  });
  if (text !== whole) repairTail(path, whole, completeTail(text.slice(whole.length)));
  descriptor = openSync(path, "a");
  return {
    session,
    sync: () => {
      if (descriptor !== undefined) fsyncSync(descriptor);
    },
    [Symbol.dispose]: () => {
      if (descriptor !== undefined) closeSync(descriptor);
      descriptor = undefined;
    },
  };
}

/** A last line that only lacks its line end is whole; any other was torn. */
function completeTail(tail: string): string {
  try {
    JSON.parse(tail);
    return `${tail}\n`;
  } catch {
    return "";
  }
}

function repairTail(path: string, whole: string, tail: string): void {
  truncateSync(path, Buffer.byteLength(whole));
  if (tail === "") return;
  const descriptor = openSync(path, "a");
  writeSync(descriptor, tail);
  closeSync(descriptor);
}

function readExisting(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw MeshError.from(error);
  }
}
