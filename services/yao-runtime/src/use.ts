/** `Authorized` and `Use`. */

import type { AuthorizedInfo } from "./context.ts";
import { outside } from "./outside.ts";

/** See {@link Authorized}. */
export interface AuthorizedFunction {
  (): AuthorizedInfo;
}

/**
 * Who is asking; the same as `ctx.authorized`.
 *
 * @example
 * const { user_id } = Authorized();
 */
export const Authorized: AuthorizedFunction = outside("Authorized");

/** See {@link Use}. */
export interface UseFunction {
  <Made, Result>(make: (name: string) => Made, name: string, use: (made: Made) => Result): Result;
  <Made, Result>(make: () => Made, use: (made: Made) => Result): Result;
}

/**
 * Makes something, hands it to a function and releases it when that ends, however it ends.
 *
 * @example
 * const text = Use(FS, "data", (files) => files.ReadFile("/a.txt"));
 */
export const Use: UseFunction = outside("Use");
