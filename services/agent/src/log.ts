/** Where the loop says what an operator may want to know; an application passes its logger. */

/** Severity of a log line. */
export type LogLevel = "debug" | "info" | "warn" | "error";

/** Takes one line: a stable phrase and its data. */
export type Log = (level: LogLevel, message: string, fields: Readonly<Record<string, unknown>>) => void;

/** Says nothing. */
export const silentLog: Log = () => undefined;
