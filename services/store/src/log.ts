/** The part of a logger this package uses; a pino logger fits. */

/** Structured log lines: fields first, then a stable lower-case phrase. */
export interface StoreLog {
  debug(fields: object, phrase: string): void;
  info(fields: object, phrase: string): void;
  warn(fields: object, phrase: string): void;
  error(fields: object, phrase: string): void;
}
