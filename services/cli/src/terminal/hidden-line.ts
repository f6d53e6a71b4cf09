/** Reads one line from a terminal without showing it. The terminal's mode is restored on every path. */

import type { Readable, Writable } from "node:stream";

import { MeshError } from "@mesh/kernel";

/** A readable stream that may be a terminal. */
export type TtyInput = Readable & { readonly isTTY?: boolean; setRawMode?(mode: boolean): unknown };

const MAX_CHARS = 64 * 1024;
const ENTER = new Set(["\r", "\n", "\u0004"]);
const ERASE = new Set(["\u007F", "\b"]);
const INTERRUPT = "\u0003";
const KILL_LINE = "\u0015";

/** Writes `question`, reads a line, and returns it; Ctrl-C throws `cancelled`. */
export function readHiddenLine(input: TtyInput, output: Writable, question: string): Promise<string> {
  if (input.isTTY !== true || input.setRawMode === undefined) {
    return Promise.reject(
      new MeshError(
        "failed_precondition",
        "a secret cannot be asked for without a terminal — give it by file or by standard input",
      ),
    );
  }
  return new Promise((resolve, reject) => {
    let line = "";
    const finish = (settle: () => void): void => {
      input.off("data", read);
      input.off("end", ended);
      input.setRawMode?.(false);
      input.pause();
      output.write("\n");
      settle();
    };
    const ended = (): void => finish(() => resolve(line));
    // Raw mode hands over single keys, and whole lines when text is pasted.
    const read = (chunk: Buffer | string): void => {
      for (const char of chunk.toString()) {
        if (ENTER.has(char)) return finish(() => resolve(line));
        if (char === INTERRUPT) return finish(() => reject(new MeshError("cancelled", "interrupted")));
        line = edited(line, char);
      }
      if (line.length > MAX_CHARS) finish(() => reject(new MeshError("invalid_argument", "the answer is too long")));
    };
    // The echo must be off before anybody sees the question and types.
    input.setRawMode?.(true);
    output.write(question);
    input.on("data", read);
    input.once("end", ended);
    input.resume();
  });
}

function edited(line: string, char: string): string {
  if (ERASE.has(char)) return Array.from(line).slice(0, -1).join("");
  if (char === KILL_LINE) return "";
  return char < " " ? line : line + char;
}
