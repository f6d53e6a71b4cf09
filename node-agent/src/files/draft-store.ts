/**
 * Files on their way to this device, part by part, outside of every workspace: nobody sees half of one.
 *
 * F1  Parts come in order; a part that does not follow the one before ends the draft.
 * F2  Drafts that nobody finishes are removed after an hour; their number and size are bounded.
 */

import { mkdir, open, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";

import { type Clock, MeshError } from "@mesh/kernel";

import { hashFile } from "./scan.ts";

const MAX_DRAFTS = 32;
const MAX_BYTES = 1024 * 1024 * 1024;
const LIFE_MS = 3_600_000;

/** See the file comment. */
export class DraftStore {
  readonly #dir: string;
  readonly #clock: Pick<Clock, "now">;

  constructor(dir: string, clock: Pick<Clock, "now">) {
    this.#dir = dir;
    this.#clock = clock;
  }

  /** Adds a part and returns the draft's path. */
  async add(name: string, offset: number, bytes: Uint8Array): Promise<string> {
    if (!/^[\w-]{1,64}$/.test(name))
      throw new MeshError("invalid_argument", "a draft has a name of letters and digits");
    const path = join(this.#dir, name);
    if (offset === 0) await this.#makeRoom();
    if (offset + bytes.byteLength > MAX_BYTES) {
      await this.drop(path);
      throw new MeshError(
        "resource_exhausted",
        `a file of more than ${MAX_BYTES / 1024 / 1024} MB cannot be sent here`,
      );
    }
    const file = await open(path, offset === 0 ? "w" : "r+", 0o600).catch(() => {
      throw lost();
    });
    try {
      if ((await file.stat()).size !== offset) throw lost();
      await file.write(bytes, 0, bytes.byteLength, offset);
    } catch (error) {
      await this.drop(path);
      throw error;
    } finally {
      await file.close();
    }
    return path;
  }

  /** Throws, and removes the draft, when it is not what was sent. */
  async verify(path: string, hash: string): Promise<void> {
    if ((await hashFile(path)) === hash) return;
    await this.drop(path);
    throw new MeshError("data_loss", "the file was damaged on its way; nothing was written, send it again");
  }

  async drop(path: string): Promise<void> {
    await rm(path, { force: true });
  }

  async #makeRoom(): Promise<void> {
    await mkdir(this.#dir, { recursive: true, mode: 0o700 });
    const names = await readdir(this.#dir);
    let count = 0;
    for (const name of names) {
      const path = join(this.#dir, name);
      const facts = await stat(path).catch(() => undefined);
      if (facts === undefined) continue;
      if (this.#clock.now() - facts.mtimeMs > LIFE_MS) await this.drop(path);
      else count += 1;
    }
    if (count >= MAX_DRAFTS)
      throw new MeshError("resource_exhausted", "the device takes many files already; try again soon");
  }
}

function lost(): MeshError {
  return new MeshError("aborted", "a part of the file is missing; nothing was written, send it again");
}
