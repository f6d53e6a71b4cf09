/**
 * The root logger of a process. A line is a stable lower-case phrase plus fields; fields shared by many lines are
 * named `component`, `nodeId`, `runId`, `leaseEpoch`, `traceId` and `err`.
 *
 * O1  No secret reaches the destination: see `redact.ts`; the whole finished line is scrubbed as a last step.
 */

import { pino } from "pino";

import { prettyLine } from "./pretty.ts";
import { CENSORED, redactFields, scrubText } from "./redact.ts";

/** A structured logger. */
export type Logger = pino.Logger;

/** Lowest severity that is written. */
export type LogLevel = "trace" | "debug" | "info" | "warn" | "error" | "silent";

/** Every log level, for option tables. */
export const LOG_LEVELS: readonly LogLevel[] = ["trace", "debug", "info", "warn", "error", "silent"];

/** Anything that takes finished lines. */
export interface LogDestination {
  write(line: string): void;
}

/** What a root logger needs. */
export interface LoggerOptions {
  /** The process, such as `coordinator`. */
  readonly name: string;
  readonly level: LogLevel;
  /** Lines for people instead of JSON. */
  readonly pretty?: boolean;
  /** Default: standard error, so that standard output stays a command's result. */
  readonly destination?: LogDestination;
}

const STDERR = 2;

const SECRET_BINDINGS = [
  "apiKey",
  "authorization",
  "cookie",
  "creds",
  "headers",
  "jwt",
  "key",
  "password",
  "secret",
  "seed",
  "token",
] as const;

/** Makes the root logger; parts of the process get `logger.child({ component })`. */
export function createLogger(options: LoggerOptions): Logger {
  const target: LogDestination = options.destination ?? pino.destination({ dest: STDERR, sync: true });
  const destination = options.pretty === true ? { write: (line: string) => target.write(prettyLine(line)) } : target;
  return pino(
    {
      level: options.level,
      base: { name: options.name },
      timestamp: pino.stdTimeFunctions.isoTime,
      // Errors are plain, redacted fields by now; pino's own serializer would print everything they carry.
      serializers: { err: (fields: unknown) => fields },
      formatters: {
        level: (label) => ({ level: label }),
        log: redactFields,
      },
      // pino passes the fields of children by the formatter above.
      redact: { paths: [...SECRET_BINDINGS], censor: CENSORED },
      hooks: { streamWrite: scrubText },
    },
    destination,
  );
}

/** A logger that writes nothing. */
export const silentLogger: Logger = pino({ level: "silent" });
