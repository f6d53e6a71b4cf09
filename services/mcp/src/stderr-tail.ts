/** The last words of a process: a bounded tail of what it printed, for error messages. */

const MAX_BYTES = 8192;
const MAX_LINES = 12;
const MAX_LINE = 300;

/** Keeps the end of what is written to it. */
export class StderrTail {
  #text = "";

  /** Takes a piece of output. */
  push(chunk: string): void {
    // A long piece is cut first: appending it whole would cost its size again and again.
    this.#text = (this.#text + chunk.slice(-MAX_BYTES)).slice(-MAX_BYTES);
  }

  /** The last lines, without control characters; empty when nothing was said. */
  lines(): readonly string[] {
    const lines = this.#text.split("\n").map((line) => clean(line).trim());
    return lines
      .filter((line) => line !== "")
      .slice(-MAX_LINES)
      .map((line) => (line.length > MAX_LINE ? `${line.slice(0, MAX_LINE)}…` : line));
  }
}

function clean(line: string): string {
  // oxlint-disable-next-line no-control-regex -- colours, then whatever else a terminal would act on, are what this removes
  return line.replaceAll(/\u001B\[[0-9;]*[A-Za-z]/g, "").replaceAll(/[\u0000-\u0008\u000B-\u001F\u007F]/g, "");
}
