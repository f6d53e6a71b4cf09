/**
 * The content of files, in parts, from and to devices.
 *
 * T1  A content is that of one file at one time: one that changes while it is read ends with an error, not with a mixture.
 * T2  One part is on its way at a time, and the next is asked for when the reader wants it: a slow reader holds up nothing.
 * T3  What is written is verified by its hash on the device, and in its place whole or not at all.
 */

import { createHash, randomUUID } from "node:crypto";

import { MeshError } from "@mesh/kernel";
import type { FileFacts } from "@mesh/proto";

import type { Device, Devices } from "./devices.ts";

/** The largest part in one message. */
export const PART_BYTES: number = 512 * 1024;

/** The largest file that is downloaded or copied. */
export const MAX_TRANSFER_BYTES: number = 1024 * 1024 * 1024;

/** A file of a workspace on a device. */
export interface Place {
  readonly workspaceId: string;
  readonly path: string;
  readonly device: Device;
}

/** What is known of a file; throws what its device refuses, and for what is no file that can be transferred. */
export async function statFile(devices: Devices, place: Place, signal: AbortSignal): Promise<FileFacts> {
  const answer = await devices.command(place.device, commandOf(place, { $case: "stat", value: {} }), signal);
  const facts = factsOf(answer.file);
  if (facts.is_directory) {
    throw new MeshError(
      "failed_precondition",
      `${place.path} is a directory; list it with: yao files ls ${place.path}`,
    );
  }
  if (facts.size_bytes <= MAX_TRANSFER_BYTES) return facts;
  throw new MeshError(
    "resource_exhausted",
    `${place.path} has ${Math.ceil(facts.size_bytes / 1024 / 1024)} MB; files of at most ${MAX_TRANSFER_BYTES / 1024 / 1024} MB are transferred`,
  );
}

/** The bytes from `from` up to, not including, `to`, of the file that `facts` are of. */
export async function* readContent(
  devices: Devices,
  place: Place,
  { facts, from, to }: { readonly facts: FileFacts; readonly from: number; readonly to: number },
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  for (let offset = from; offset < to;) {
    signal.throwIfAborted();
    const { file, bytes } = await readPart(
      devices,
      place,
      { offset, limit: Math.min(PART_BYTES, to - offset) },
      signal,
    );
    if (file.revision !== facts.revision || bytes.length === 0) {
      throw new MeshError("aborted", `${place.path} was changed while it was read; read it again`);
    }
    offset += bytes.length;
    yield bytes;
  }
}

/** One part. */
export async function readPart(
  devices: Devices,
  place: Place,
  part: { readonly offset: number; readonly limit: number },
  signal: AbortSignal,
): Promise<{ readonly file: FileFacts; readonly bytes: Buffer }> {
  const answer = await devices.command(place.device, commandOf(place, { $case: "read", value: part }), signal);
  return { file: factsOf(answer.file), bytes: Buffer.from(answer.bytes) };
}

/** Writes a file from parts of any size; `ifHash` as in the API. */
export async function writeContent(
  devices: Devices,
  place: Place,
  {
    parts,
    ifHash,
    hash: expected,
  }: { readonly parts: AsyncIterable<Buffer>; readonly ifHash: string; readonly hash?: string },
  signal: AbortSignal,
): Promise<FileFacts> {
  const draft = randomUUID();
  const hash = createHash("sha256");
  let offset = 0;
  // The last part says so: each is sent when the next is there.
  let held: Buffer = Buffer.alloc(0);
  const send = async (
    bytes: Buffer,
    end: { readonly last: boolean; readonly hash: string },
  ): Promise<FileFacts | undefined> => {
    const value = { draft, offset, bytes, ...end, if_hash: end.last ? ifHash : "" };
    const answer = await devices.command(place.device, commandOf(place, { $case: "write", value }), signal);
    offset += bytes.length;
    return answer.file;
  };
  for await (const part of parts) {
    hash.update(part);
    for (let at = 0; at < part.length; at += PART_BYTES) {
      if (held.length > 0) await send(held, { last: false, hash: "" });
      held = part.subarray(at, at + PART_BYTES);
    }
  }
  const whole = hash.digest("hex");
  if (expected !== undefined && expected !== "" && whole !== expected) {
    throw new MeshError("aborted", `${place.path} was changed while it was copied; nothing was written, try again`);
  }
  return factsOf(await send(held, { last: true, hash: whole }));
}

/** A command on a place. */
export function commandOf(
  { workspaceId, path }: Pick<Place, "workspaceId" | "path">,
  action: NonNullable<Parameters<Devices["command"]>[1]["action"]>,
): Parameters<Devices["command"]>[1] {
  return { workspace_id: workspaceId, path, action };
}

/** The facts of an answer that must have some. */
export function factsOf(facts: FileFacts | undefined): FileFacts {
  if (facts !== undefined) return facts;
  throw new MeshError("unimplemented", "the device does not say what it knows of the file; update yao on it");
}
