/** The key that seals secrets at rest: given, or made once in the data directory. */

import { randomBytes } from "node:crypto";
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { MeshError } from "@mesh/kernel";

const KEY_BYTES = 32;

/** The master key of this system. Replicas on several machines must be given the same one. */
export function loadMasterKey(given: Uint8Array | undefined, dataDir: string): Buffer {
  if (given !== undefined) return Buffer.from(given);
  const path = join(dataDir, "master.key");
  const found = read(path);
  if (found !== undefined) return found;
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const aside = `${path}.${process.pid}`;
  writeFileSync(aside, randomBytes(KEY_BYTES).toString("base64"), { mode: 0o600, flush: true });
  try {
    linkSync(aside, path);
  } catch (error) {
    // Another replica on this machine was first: its key is the one.
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw MeshError.from(error);
  } finally {
    rmSync(aside, { force: true });
  }
  return read(path) ?? Buffer.alloc(0);
}

function read(path: string): Buffer | undefined {
  try {
    const key = Buffer.from(readFileSync(path, "utf8").trim(), "base64");
    if (key.length !== KEY_BYTES) {
      throw new MeshError("data_loss", `${path} is damaged; restore it from a backup, or set YAO_MASTER_KEY`);
    }
    return key;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}
