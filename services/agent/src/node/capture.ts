/** Keeps a bounded part of a stream: its beginning and its end; the rest is drained and forgotten. */

/** Bytes of one stream, at most `maxBytes` of them. */
export class Capture {
  readonly #maxHead: number;
  readonly #maxTail: number;
  readonly #head: Buffer[] = [];
  #headBytes = 0;
  #tail: Buffer[] = [];
  #tailBytes = 0;
  #dropped = 0;

  constructor(maxBytes: number) {
    this.#maxHead = Math.ceil(maxBytes / 2);
    this.#maxTail = Math.floor(maxBytes / 2);
  }

  /** Whether something was left out. */
  get isCut(): boolean {
    return this.#dropped > 0;
  }

  push(chunk: Buffer): void {
    const room = Math.max(0, this.#maxHead - this.#headBytes);
    if (room > 0) {
      this.#head.push(chunk.subarray(0, room));
      this.#headBytes += Math.min(room, chunk.length);
    }
    if (chunk.length <= room) return;
    this.#tail.push(chunk.subarray(room));
    this.#tailBytes += chunk.length - room;
    this.#trim();
  }

  /** The text, decoded after cutting, so that no character is split into two errors. */
  text(): string {
    const head = decode(Buffer.concat(this.#head));
    const tail = decode(Buffer.concat(this.#tail));
    if (!this.isCut) return decode(Buffer.concat([...this.#head, ...this.#tail]));
    return `${head.replace(/\uFFFD+$/u, "")}\n[... ${this.#dropped} bytes left out ...]\n${tail.replace(/^\uFFFD+/u, "")}`;
  }

  #trim(): void {
    while (this.#tailBytes > this.#maxTail) {
      const first = this.#tail[0];
      if (first === undefined) return;
      const excess = Math.min(this.#tailBytes - this.#maxTail, first.length);
      if (excess === first.length) this.#tail.shift();
      // A copy: a slice would keep the whole chunk alive.
      else this.#tail[0] = Buffer.from(first.subarray(excess));
      this.#tailBytes -= excess;
      this.#dropped += excess;
    }
  }
}

function decode(bytes: Buffer): string {
  return new TextDecoder().decode(bytes);
}
