/**
 * The results of a log as bytes, for reports that hold them as they are: no text is made of them, so that their size does not matter.
 */

import { open } from "node:fs/promises";

import { errorText, MeshError } from "@mesh/kernel";

import { readRow } from "./log-row.ts";

const CHUNK_BYTES = 256 * 1024;
const LINE_END = 0x0a;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
/** How rows of results begin; what follows is the result. */
const PREFIX = Buffer.from('{"type":"result",');

/** Each result as one JSON object; its bytes are good until the next one is asked for. */
export async function* resultBytes(path: string): AsyncGenerator<Uint8Array> {
  for await (const { bytes, isWhole } of lineBytes(path)) {
    const result = isWhole ? resultIn(bytes) : parsedIn(bytes);
    if (result !== undefined) yield result;
  }
}

/** The lines of a file; a last one without an end is not whole. */
async function* lineBytes(path: string): AsyncGenerator<{ readonly bytes: Buffer; readonly isWhole: boolean }> {
  const handle = await open(path, "r").catch((error: unknown) => {
    throw new MeshError("not_found", `cannot read ${path}: ${errorText(error)}`, { cause: error });
  });
  try {
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    const held = new HeldBytes();
    for (;;) {
      const { bytesRead } = await handle.read(chunk, 0, chunk.length);
      if (bytesRead === 0) break;
      const read = chunk.subarray(0, bytesRead);
      let from = 0;
      for (let at = read.indexOf(LINE_END); at !== -1; at = read.indexOf(LINE_END, from)) {
        const part = read.subarray(from, at);
        yield { bytes: held.isEmpty ? part : held.with(part), isWhole: true };
        held.clear();
        from = at + 1;
      }
      held.with(read.subarray(from));
    }
    if (!held.isEmpty) yield { bytes: held.with(Buffer.alloc(0)), isWhole: false };
  } finally {
    await handle.close();
  }
}

/** What of a line was read before; its memory is used again for the next one. */
class HeldBytes {
  #buffer: Buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  #length = 0;

  get isEmpty(): boolean {
    return this.#length === 0;
  }

  /** Adds a part; gives all there is. */
  with(part: Buffer): Buffer {
    const length = this.#length + part.length;
    if (length > this.#buffer.length) {
      const larger = Buffer.allocUnsafe(length * 2);
      this.#buffer.copy(larger, 0, 0, this.#length);
      this.#buffer = larger;
    }
    part.copy(this.#buffer, this.#length);
    this.#length = length;
    return this.#buffer.subarray(0, length);
  }

  clear(): void {
    this.#length = 0;
  }
}

function resultIn(line: Buffer): Uint8Array | undefined {
  const isPlain = line.length > PREFIX.length && line.subarray(0, PREFIX.length).equals(PREFIX);
  if (!isPlain || line.at(-1) !== CLOSE_BRACE) return parsedIn(line);
  const result = line.subarray(PREFIX.length - 1);
  result[0] = OPEN_BRACE;
  return result;
}

function parsedIn(line: Buffer): Uint8Array | undefined {
  const row = line.length === 0 ? undefined : readRow(line.toString());
  if (row?.type !== "result") return undefined;
  const { type: _type, ...result } = row;
  return Buffer.from(JSON.stringify(result));
}
