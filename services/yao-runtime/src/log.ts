/** `log` and `time`. */

import { outside } from "./outside.ts";
import type { Value } from "./value.ts";

/** Lines for the log of the run; `%s`, `%d` and `%v` in the text stand for the values after it. */
export interface Log {
  Trace(message: Value, ...values: Value[]): void;
  Debug(message: Value, ...values: Value[]): void;
  Info(message: Value, ...values: Value[]): void;
  Warn(message: Value, ...values: Value[]): void;
  Error(message: Value, ...values: Value[]): void;
  Fatal(message: Value, ...values: Value[]): void;
  Panic(message: Value, ...values: Value[]): void;
}

/**
 * Lines for the log of the run.
 *
 * @example
 * log.Info("found %d pages for %s", 3, "tea");
 */
export const log: Log = outside("log");

/** Waiting, and starting something later. */
export interface Time {
  /**
   * Waits.
   * @example
   * time.Sleep(500);
   */
  Sleep(ms: number): void;
  /**
   * Calls a process later, as long as the run lives.
   * @example
   * time.After(2000, "scripts.shop.Remind", 7);
   */
  After(ms: number, process: string, ...args: Value[]): void;
}

/**
 * Waiting, and starting something later.
 *
 * @example
 * for (let tries = 0; tries < 3 && http.Get("https://example.com").status !== 200; tries += 1) time.Sleep(1000);
 */
export const time: Time = outside("time");
