/** A log file of bounded size: when it is full it becomes `<name>.1`, replacing the one before. */

import { closeSync, fstatSync, mkdirSync, openSync, renameSync, writeSync } from "node:fs";
import { join } from "node:path";

/** An open log file. */
export interface LogFile {
  readonly path: string;
  write(chunk: Uint8Array): void;
  close(): void;
}

const MAX_BYTES = 16 * 1024 * 1024;

/** Opens `<directory>/<name>` for appending. */
export function openLogFile(directory: string, name: string, maxBytes: number = MAX_BYTES): LogFile {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const path = join(directory, name);
  let fd: number | undefined = openSync(path, "a", 0o600);
  let size = fstatSync(fd).size;
  return {
    path,
    write(chunk) {
      if (fd === undefined) return;
      if (size > 0 && size + chunk.byteLength > maxBytes) {
        closeSync(fd);
        renameSync(path, `${path}.1`);
        fd = openSync(path, "a", 0o600);
        size = 0;
      }
      writeSync(fd, chunk);
      size += chunk.byteLength;
    },
    close() {
      if (fd !== undefined) closeSync(fd);
      fd = undefined;
    },
  };
}
