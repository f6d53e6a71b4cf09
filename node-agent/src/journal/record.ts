/**
 * The journal's records as bytes: `u32 length, u32 crc32, payload`, little endian. Pure.
 *
 * F1  Decoding stops at the first frame that is short, too long or fails its checksum: what is returned is a prefix of
 *     what was written, and never anything else.
 */

import { crc32 } from "node:zlib";

/** A run on this node, under one lease. */
export interface RunKey {
  readonly runId: string;
  readonly epoch: number;
}

/** One fact in the journal. */
export type JournalRecord =
  /** A WorkItem was accepted. */
  | (RunKey & { readonly kind: "start"; readonly item: Uint8Array })
  /** A NodeEvent happened. */
  | (RunKey & { readonly kind: "event"; readonly event: Uint8Array })
  /** The coordinator has stored events up to `n`. */
  | (RunKey & { readonly kind: "committed"; readonly n: number })
  /** Nothing about this run is owed to anybody any more. */
  | (RunKey & { readonly kind: "forgotten" })
  /** Runs that must not start again, newest last. */
  | { readonly kind: "tombstones"; readonly runs: readonly RunKey[] };

/** A record and where its frame lies. */
export interface PlacedRecord {
  readonly record: JournalRecord;
  readonly offset: number;
  readonly length: number;
}

/** Records of a file, and how many of its bytes are whole frames. */
export interface DecodedRecords {
  readonly records: readonly PlacedRecord[];
  readonly validBytes: number;
}

/** Bytes in front of each payload. */
export const FRAME_BYTES = 8;

const MAX_PAYLOAD = 4 * 1024 * 1024;
const ID_BYTES = 30;
const HEAD_BYTES = 1 + 4 + ID_BYTES;
const TAG = { start: 1, event: 2, committed: 3, forgotten: 4, tombstones: 5 } as const;

/** Frames one record. */
export function encodeRecord(record: JournalRecord): Buffer {
  const payload = encodePayload(record);
  const frame = Buffer.allocUnsafe(FRAME_BYTES + payload.length);
  frame.writeUInt32LE(payload.length, 0);
  frame.writeUInt32LE(crc32(payload), 4);
  payload.copy(frame, FRAME_BYTES);
  return frame;
}

/** Reads the whole frames at the start of `bytes`, from `offset` on. */
export function decodeRecords(bytes: Buffer, offset = 0): DecodedRecords {
  const records: PlacedRecord[] = [];
  let at = offset;
  while (at + FRAME_BYTES <= bytes.length) {
    const length = bytes.readUInt32LE(at);
    const end = at + FRAME_BYTES + length;
    if (length < HEAD_BYTES || length > MAX_PAYLOAD || end > bytes.length) break;
    const payload = bytes.subarray(at + FRAME_BYTES, end);
    if (crc32(payload) !== bytes.readUInt32LE(at + 4)) break;
    const record = decodePayload(payload);
    if (record === undefined) break;
    records.push({ record, offset: at, length: end - at });
    at = end;
  }
  return { records, validBytes: at };
}

function encodePayload(record: JournalRecord): Buffer {
  const key = record.kind === "tombstones" ? { runId: "", epoch: 0 } : record;
  return Buffer.concat([encodeKey(TAG[record.kind], key), encodeBody(record)]);
}

function encodeKey(tag: number, key: RunKey): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt8(tag, 0);
  head.writeUInt32LE(key.epoch, 1);
  head.write(key.runId, 5, ID_BYTES, "latin1");
  return head;
}

function encodeBody(record: JournalRecord): Uint8Array {
  if (record.kind === "start") return record.item;
  if (record.kind === "event") return record.event;
  if (record.kind === "tombstones") return Buffer.concat(record.runs.map((run) => encodeKey(0, run)));
  if (record.kind === "forgotten") return new Uint8Array();
  const n = Buffer.allocUnsafe(4);
  n.writeUInt32LE(record.n, 0);
  return n;
}

function decodePayload(payload: Buffer): JournalRecord | undefined {
  const key = decodeKey(payload, 0);
  const body = payload.subarray(HEAD_BYTES);
  switch (payload.readUInt8(0)) {
    case TAG.start:
      return { kind: "start", ...key, item: body };
    case TAG.event:
      return { kind: "event", ...key, event: body };
    case TAG.committed:
      return body.length === 4 ? { kind: "committed", ...key, n: body.readUInt32LE(0) } : undefined;
    case TAG.forgotten:
      return { kind: "forgotten", ...key };
    case TAG.tombstones:
      return { kind: "tombstones", runs: decodeKeys(body) };
    default:
      return undefined;
  }
}

function decodeKeys(body: Buffer): RunKey[] {
  const runs: RunKey[] = [];
  for (let at = 0; at + HEAD_BYTES <= body.length; at += HEAD_BYTES) runs.push(decodeKey(body, at));
  return runs;
}

function decodeKey(bytes: Buffer, at: number): RunKey {
  const id = bytes.toString("latin1", at + 5, at + HEAD_BYTES);
  return { epoch: bytes.readUInt32LE(at + 1), runId: id.replace(/\0+$/, "") };
}
