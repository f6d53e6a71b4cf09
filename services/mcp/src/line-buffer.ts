/** Bytes into lines, without copying a long line once per piece, and without keeping more than a bound. */

import { MeshError } from "@mesh/kernel";

const NEWLINE = 0x0a;

/** Splits a stream into lines. */
export class LineBuffer {
  readonly #maxBytes: number;
  #parts: Buffer[] = [];
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Takes a piece and returns the lines it completes; throws `resource_exhausted` when a line has no end. */
  push(chunk: Buffer): readonly string[] {
    const lines: string[] = [];
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      this.#keep(chunk.subarray(from, end));
      lines.push(this.#take());
      from = end + 1;
    }
    this.#keep(chunk.subarray(from));
    return lines;
  }

  #keep(part: Buffer): void {
    if (part.length === 0) return;
    this.#bytes += part.length;
    if (this.#bytes > this.#maxBytes) {
      throw new MeshError("resource_exhausted", `a message is longer than ${this.#maxBytes} bytes`);
    }
    this.#parts.push(part);
  }

  #take(): string {
    const line = Buffer.concat(this.#parts).toString("utf8");
    this.#parts = [];
    this.#bytes = 0;
    return line;
  }
}
