/** `$L`: texts in the person's language. */

import { outside } from "./outside.ts";

/** See {@link $L}. */
export interface TranslateFunction {
  (text: string): string;
}

/**
 * The text of a key of the `locales/` files in the language of the run, or the key itself.
 *
 * @example
 * ctx.Send($L("messages.welcome"));
 */
export const $L: TranslateFunction = outside("$L");
