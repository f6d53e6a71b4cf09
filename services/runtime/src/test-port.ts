/** What a test function asks of the place where tests run. */

import type { Json, JsonObject } from "@mesh/kernel";

/** See the file comment. */
export interface TestPort {
  /** Notes what happened: the first claim that held (`held`), one that did not (`failed`), a line (`log`), a wish to be skipped. */
  record(what: string, details: Json): void;
  /** Whether the pattern, in RE2 syntax, is found in the text. */
  match(text: string, pattern: string): boolean;
  /** What a path finds in a value. */
  jsonPath(value: Json, path: string): readonly Json[];
  /** Asks an assistant whether an answer is what it should be. */
  agent(
    response: Json,
    agentId: string,
    options: JsonObject,
    signal: AbortSignal,
  ): Promise<{ readonly passed: boolean; readonly reason: string }>;
}
