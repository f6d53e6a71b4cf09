/** Parts of the work that a caller may ask an agent to leave out. */

import { isObject, type JsonObject } from "@mesh/kernel";

/** Whether the options of a call ask to skip `history`, `trace`, `output` or another part. */
export function skips(options: JsonObject, part: string): boolean {
  const { skip } = options;
  return isObject(skip) && skip[part] === true;
}
