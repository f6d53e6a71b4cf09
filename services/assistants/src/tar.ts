/**
 * The part of the tar format (POSIX ustar) that bundles use: regular files, sorted, without times or owners.
 *
 * The reader accepts what the writer makes and refuses every other kind of entry: a bundle has no links or devices.
 */

import { MeshError } from "@mesh/kernel";

/** Size of a header and unit of padding. */
export const TAR_BLOCK = 512;

const NAME_BYTES = 100;
const PREFIX_BYTES = 155;
const CHECKSUM = { offset: 148, length: 8 } as const;
const MAGIC = "ustar\u000000";

/** One file of an archive. */
export interface TarEntry {
  readonly path: string;
  readonly bytes: Uint8Array;
}

/** Writes an archive of these files in this order. */
export function writeTar(entries: readonly TarEntry[]): Uint8Array {
  const total = entries.reduce((sum, { bytes }) => sum + TAR_BLOCK + padded(bytes.length), 2 * TAR_BLOCK);
  const out = new Uint8Array(total);
  let at = 0;
  for (const { path, bytes } of entries) {
    out.set(header(path, bytes.length), at);
    out.set(bytes, at + TAR_BLOCK);
    at += TAR_BLOCK + padded(bytes.length);
  }
  return out;
}

/** Walks an archive; `admit` is asked before the content of a file is copied. */
export function readTar(archive: Uint8Array, admit: (path: string, sizeBytes: number) => void): TarEntry[] {
  const entries: TarEntry[] = [];
  let at = 0;
  for (;;) {
    const block = archive.subarray(at, at + TAR_BLOCK);
    if (block.length < TAR_BLOCK) throw broken("it ends in the middle of a file");
    if (block.every((byte) => byte === 0)) return entries;
    const { path, sizeBytes } = readHeader(block);
    admit(path, sizeBytes);
    at += TAR_BLOCK;
    if (at + sizeBytes > archive.length) throw broken(`${path} is cut off`);
    // A copy: a view would keep the whole archive in memory for one file.
    entries.push({ path, bytes: new Uint8Array(archive.subarray(at, at + sizeBytes)) });
    at += padded(sizeBytes);
  }
}

/** Whether a path fits into a header. */
export function fitsTar(path: string): boolean {
  return splitPath(path) !== undefined;
}

function header(path: string, sizeBytes: number): Uint8Array {
  const split = splitPath(path);
  if (split === undefined) {
    throw new MeshError("invalid_argument", `the path ${path} is too long: its last part may have ${NAME_BYTES} bytes`);
  }
  const block = Buffer.alloc(TAR_BLOCK);
  block.set(split.name, 0);
  block.write(octal(0o644, 7), 100, "latin1");
  block.write(octal(0, 7), 108, "latin1");
  block.write(octal(0, 7), 116, "latin1");
  block.write(octal(sizeBytes, 11), 124, "latin1");
  block.write(octal(0, 11), 136, "latin1");
  block.write("0", 156, "latin1");
  block.write(MAGIC, 257, "latin1");
  block.set(split.prefix, 345);
  block.write(`${octal(checksum(block), 6)}\u0000 `, CHECKSUM.offset, "latin1");
  return block;
}

function readHeader(block: Uint8Array): { path: string; sizeBytes: number } {
  const view = Buffer.from(block.buffer, block.byteOffset, block.length);
  const stated = parseOctal(view.toString("latin1", CHECKSUM.offset, CHECKSUM.offset + CHECKSUM.length));
  if (stated !== checksum(view)) throw broken("a header's checksum does not match");
  if (view.toString("latin1", 257, 257 + MAGIC.length) !== MAGIC) throw broken("it is not a ustar archive");
  if (view.toString("latin1", 156, 157) !== "0") throw broken("it holds something that is not a regular file");
  const name = fieldText(view, 0, NAME_BYTES);
  const prefix = fieldText(view, 345, PREFIX_BYTES);
  const sizeBytes = parseOctal(view.toString("latin1", 124, 136));
  if (sizeBytes === undefined) throw broken("a size is not a number");
  return { path: prefix === "" ? name : `${prefix}/${name}`, sizeBytes };
}

/** The shortest prefix that lets the rest fit, so that one path has one form. */
function splitPath(path: string): { prefix: Buffer; name: Buffer } | undefined {
  const whole = Buffer.from(path);
  if (whole.length <= NAME_BYTES) return { prefix: Buffer.alloc(0), name: whole };
  const slash = whole.indexOf("/", whole.length - NAME_BYTES - 1);
  if (slash <= 0 || slash > PREFIX_BYTES) return undefined;
  return { prefix: whole.subarray(0, slash), name: whole.subarray(slash + 1) };
}

function fieldText(view: Buffer, start: number, length: number): string {
  const field = view.subarray(start, start + length);
  const end = field.indexOf(0);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(end === -1 ? field : field.subarray(0, end));
  } catch {
    throw broken("a path is not UTF-8 text");
  }
}

/** Sum of all header bytes, with the checksum's own field taken as spaces. */
function checksum(block: Uint8Array): number {
  return block.reduce((sum, byte, index) => {
    const isOwn = index >= CHECKSUM.offset && index < CHECKSUM.offset + CHECKSUM.length;
    return sum + (isOwn ? 0x20 : byte);
  }, 0);
}

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, "0");
}

function parseOctal(field: string): number | undefined {
  const digits = field.replaceAll("\u0000", " ").trimEnd();
  return /^[0-7]+$/.test(digits) ? Number.parseInt(digits, 8) : undefined;
}

function padded(sizeBytes: number): number {
  return Math.ceil(sizeBytes / TAR_BLOCK) * TAR_BLOCK;
}

function broken(reason: string): MeshError {
  return new MeshError("invalid_argument", `this is not an app bundle: ${reason}; push the app again`);
}
