/** The log as this process needs it; a pino logger fits. */

/** One level of the log: fields first, then a stable lower-case phrase. */
export type LogLine = (fields: object, message: string) => void;

/** Structured log lines at four levels. */
export interface AgentLog {
  readonly debug: LogLine;
  readonly info: LogLine;
  readonly warn: LogLine;
  readonly error: LogLine;
}

/** A log that drops everything. */
export const silentLog: AgentLog = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
