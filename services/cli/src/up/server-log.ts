/** Structured log lines (JSON, one per line) of the private servers' owners, into a log file. */

import { type Clock, errorText, rfc3339 } from "@mesh/kernel";

import type { ServerLog } from "./embedded.ts";
import type { LogFile } from "./log-file.ts";

type Level = "debug" | "info" | "warn" | "error";

/** A log that writes to `file`. */
export function serverLog(file: LogFile, clock: Clock): ServerLog {
  const write =
    (level: Level) =>
    (fields: object, phrase: string): void => {
      const line = JSON.stringify({ level, time: rfc3339(clock.now()), msg: phrase, ...fields }, errorsAsText);
      file.write(Buffer.from(`${line}\n`));
    };
  return { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
}

function errorsAsText(_key: string, value: unknown): unknown {
  return value instanceof Error ? { message: errorText(value) } : value;
}
