/** Reads one line from a terminal as it is typed. The terminal edits and echoes, and Ctrl-C stays a signal. */

import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";

/** Writes `question` and reads a line; undefined at the end of the input, and when `signal` aborts. */
export function readVisibleLine(
  input: Readable,
  output: Writable,
  question: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve(undefined);
    const reader = createInterface({ input, output, terminal: false });
    let line: string | undefined;
    const stop = (): void => {
      output.write("\n");
      reader.close();
    };
    signal.addEventListener("abort", stop, { once: true });
    reader.once("close", () => {
      signal.removeEventListener("abort", stop);
      resolve(line);
    });
    reader.question(question, (typed) => {
      line = typed;
      reader.close();
    });
  });
}
