/** `Exception`: an error with a code. */

import { outside } from "./outside.ts";
import type { Value } from "./value.ts";

/** An error with a code. */
export interface Exception extends Error {
  /** The number given, as HTTP has them; of an error of the system its word, such as `not_found`. */
  readonly code: number | string;
  readonly data?: Value;
}

/** See {@link Exception}. */
export interface ExceptionConstructor {
  new (message: string, code?: number | string, data?: Value): Exception;
  (message: string, code?: number | string, data?: Value): Exception;
}

/**
 * Ends a hook with an error that has a number.
 *
 * @example
 * throw new Exception("This order is closed", 409);
 */
export const Exception: ExceptionConstructor = outside("Exception");
