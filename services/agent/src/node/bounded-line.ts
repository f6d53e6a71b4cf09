/** Reads an open file line by line; no line, however long, is ever held whole. */

import type { FileHandle } from "node:fs/promises";
import { TextDecoder } from "node:util";

/** The lines of a file, each with its first `maxChars` characters and without its line end; by its byte order mark, UTF-16 as well. */
export async function* boundedLines(handle: FileHandle, maxChars: number): AsyncGenerator<string, void> {
  let decoder: TextDecoder | undefined;
  let line = "";
  let isOpen = false;
  for await (const chunk of handle.createReadStream({ autoClose: false, start: 0 })) {
    decoder ??= decoderFor(chunk as Buffer);
    const [first = "", ...rest] = decoder.decode(chunk as Buffer, { stream: true }).split("\n");
    line = joined(line, first, maxChars);
    isOpen ||= first !== "";
    for (const piece of rest) {
      yield withoutReturn(line);
      line = piece.slice(0, maxChars);
      isOpen = piece !== "";
    }
  }
  if (isOpen) yield withoutReturn(line);
}

function joined(line: string, piece: string, maxChars: number): string {
  return line.length >= maxChars ? line : line + piece.slice(0, maxChars - line.length);
}

function withoutReturn(line: string): string {
  return line.endsWith("\r") ? line.slice(0, -1) : line;
}

/** The decoder that the first bytes of a file ask for; it skips a byte order mark by itself. */
export function decoderFor(start: Buffer): TextDecoder {
  if (start[0] === 0xff && start[1] === 0xfe) return new TextDecoder("utf-16le");
  if (start[0] === 0xfe && start[1] === 0xff) return new TextDecoder("utf-16be");
  return new TextDecoder();
}
