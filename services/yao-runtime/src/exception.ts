/** `Exception`: an error with a number. */

import { outside } from "./outside.ts";

/** An error with a number, as HTTP has them. */
export interface Exception extends Error {
  readonly code: number;
}

/** See {@link Exception}. */
export interface ExceptionConstructor {
  new (message: string, code?: number): Exception;
  (message: string, code?: number): Exception;
}

/**
 * Ends a hook with an error that has a number.
 *
 * @example
 * throw new Exception("This order is closed", 409);
 */
export const Exception: ExceptionConstructor = outside("Exception");
