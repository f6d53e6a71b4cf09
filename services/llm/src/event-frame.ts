/**
 * Frames of `application/vnd.amazon.eventstream`: pure, incremental, every checksum verified.
 *
 * Layout: total length (4), headers length (4), CRC-32 of those eight bytes (4), headers, payload, CRC-32 of all before (4).
 */

import { ProviderError } from "./provider-error.ts";

/** A header's value; kinds that carry bytes or ids keep them raw. */
export type FrameHeader = boolean | number | bigint | string | Uint8Array | Date;

/** One frame. */
export interface EventFrame {
  readonly headers: Readonly<Record<string, FrameHeader>>;
  readonly payload: Uint8Array;
}

const PRELUDE = 12;
const OVERHEAD = 16;
const MAX_FRAME = 24 * 1024 * 1024;

/** Cuts bytes into frames, whatever way they arrive. */
export class EventFrameDecoder {
  #buffer: Uint8Array = new Uint8Array(0);
  #used = 0;

  /** Bytes of a frame that has begun and not ended. */
  get pending(): number {
    return this.#used;
  }

  /** Adds bytes and gives the frames that they complete. */
  feed(chunk: Uint8Array): readonly EventFrame[] {
    this.#append(chunk);
    const frames: EventFrame[] = [];
    let at = 0;
    for (;;) {
      const length = this.#frameLength(at);
      if (length === undefined || this.#used - at < length) break;
      frames.push(decodeFrame(this.#buffer.slice(at, at + length)));
      at += length;
    }
    this.#buffer.copyWithin(0, at, this.#used);
    this.#used -= at;
    return frames;
  }

  // The prelude is checked as soon as it is there: a corrupt length must not make us wait for bytes that never come.
  #frameLength(at: number): number | undefined {
    if (this.#used - at < PRELUDE) return undefined;
    const view = new DataView(this.#buffer.buffer, this.#buffer.byteOffset + at, PRELUDE);
    if (view.getUint32(8) !== crc32(this.#buffer.subarray(at, at + 8))) throw corrupt("its prelude checksum is wrong");
    const length = view.getUint32(0);
    if (length < OVERHEAD || length > MAX_FRAME || view.getUint32(4) > length - OVERHEAD) {
      throw corrupt("its length is impossible");
    }
    return length;
  }

  #append(chunk: Uint8Array): void {
    if (this.#used + chunk.length > this.#buffer.length) {
      const grown = new Uint8Array(Math.max(4096, 2 * this.#buffer.length, this.#used + chunk.length));
      grown.set(this.#buffer.subarray(0, this.#used));
      this.#buffer = grown;
    }
    this.#buffer.set(chunk, this.#used);
    this.#used += chunk.length;
  }
}

/** Reads one whole frame. */
export function decodeFrame(bytes: Uint8Array): EventFrame {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < OVERHEAD || view.getUint32(0) !== bytes.length) throw corrupt("its length is impossible");
  if (view.getUint32(8) !== crc32(bytes.subarray(0, 8))) throw corrupt("its prelude checksum is wrong");
  const end = bytes.length - 4;
  if (view.getUint32(end) !== crc32(bytes.subarray(0, end))) throw corrupt("its checksum is wrong");
  const headersEnd = PRELUDE + view.getUint32(4);
  if (headersEnd > end) throw corrupt("its headers are longer than the frame");
  return { headers: decodeHeaders(bytes.subarray(PRELUDE, headersEnd)), payload: bytes.subarray(headersEnd, end) };
}

function decodeHeaders(bytes: Uint8Array): Record<string, FrameHeader> {
  const headers: Record<string, FrameHeader> = {};
  const cursor = new Cursor(bytes);
  while (!cursor.isAtEnd) {
    const name = cursor.text(cursor.uint(1));
    headers[name] = headerValue(cursor);
  }
  return headers;
}

function headerValue(cursor: Cursor): FrameHeader {
  const type = cursor.uint(1);
  switch (type) {
    case 0:
      return true;
    case 1:
      return false;
    case 2:
      return cursor.int8();
    case 3:
      return cursor.int16();
    case 4:
      return cursor.int32();
    case 5:
      return cursor.int64();
    case 6:
      return cursor.take(cursor.uint(2)).slice();
    case 7:
      return cursor.text(cursor.uint(2));
    case 8:
      return new Date(Number(cursor.int64()));
    case 9:
      return uuid(cursor.take(16));
    default:
      throw corrupt(`it has a header of an unknown type (${type})`);
  }
}

function uuid(bytes: Uint8Array): string {
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

class Cursor {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  take(length: number): Uint8Array {
    if (this.#at + length > this.#bytes.length) throw corrupt("a header is longer than the headers");
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  uint(size: 1 | 2): number {
    const at = this.#skip(size);
    return size === 1 ? this.#view.getUint8(at) : this.#view.getUint16(at);
  }

  int8(): number {
    return this.#view.getInt8(this.#skip(1));
  }

  int16(): number {
    return this.#view.getInt16(this.#skip(2));
  }

  int32(): number {
    return this.#view.getInt32(this.#skip(4));
  }

  int64(): bigint {
    return this.#view.getBigInt64(this.#skip(8));
  }

  text(length: number): string {
    return new TextDecoder().decode(this.take(length));
  }

  #skip(size: number): number {
    this.take(size);
    return this.#at - size;
  }
}

const TABLE: Uint32Array = Uint32Array.from({ length: 256 }, (_unused, index) => {
  let value = index;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
  return value;
});

/** CRC-32 (IEEE) of bytes. */
export function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = (TABLE[(crc ^ byte) & 0xff] ?? 0) ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

function corrupt(why: string): ProviderError {
  return new ProviderError({ errorClass: "protocol", message: `the server sent a corrupt frame: ${why}` });
}
