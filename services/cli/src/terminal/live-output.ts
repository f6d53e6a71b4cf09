/**
 * Output of a command that writes many short texts, with a line of progress below it.
 *
 * L1  Texts are joined and written at least every `JOIN_MS`: a write to a pipe costs more than many a result.
 * L2  The line of progress is drawn on stderr where a person watches, and never mixes with the text.
 */

import type { CancelTimer, Clock } from "@mesh/kernel";

import type { Terminal } from "./terminal.ts";

const JOIN_MS = 50;
const MAX_CHARS = 32 * 1024;
const CLEAR_LINE = "\r\u001B[K";

/** See the file comment. */
export class LiveOutput {
  readonly #terminal: Pick<Terminal, "out" | "err" | "showsProgress">;
  readonly #clock: Pick<Clock, "after">;
  #text = "";
  #line = "";
  #isDrawn = false;
  #cancel: CancelTimer | undefined;

  constructor(terminal: Pick<Terminal, "out" | "err" | "showsProgress">, clock: Pick<Clock, "after">) {
    this.#terminal = terminal;
    this.#clock = clock;
  }

  write(text: string): void {
    this.#text += text;
    if (this.#text.length > MAX_CHARS) this.flush();
    else this.#arm();
  }

  /** Replaces the line of progress. */
  progress(line: string): void {
    if (!this.#terminal.showsProgress) return;
    this.#line = line;
    this.#arm();
  }

  flush(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    const { err, out } = this.#terminal;
    if (this.#isDrawn) err(CLEAR_LINE);
    if (this.#text !== "") out(this.#text);
    this.#text = "";
    this.#isDrawn = this.#line !== "";
    if (this.#isDrawn) err(this.#line);
  }

  /** Takes the line of progress away and writes what is left. */
  close(): void {
    this.#line = "";
    this.flush();
  }

  #arm(): void {
    this.#cancel ??= this.#clock.after(JOIN_MS, () => this.flush());
  }
}
