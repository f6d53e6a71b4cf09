/**
 * Shared state in a folder of its own: one file per key, named by the key in percent encoding.
 *
 * The folder belongs to this store alone; hidden files in it are ignored. It is created when something is stored.
 */

import { readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";

import { MeshError } from "@mesh/kernel";

import type { Log } from "../log.ts";
import { evictionsFor, SHARED_STATE_BYTES, type SharedStateBackend, storeFull } from "../shared-state.ts";
import { writeAtomically } from "./atomic-write.ts";

const MAX_NAME_BYTES = 240;

/** How a store in a folder is set up. */
export interface FileBackendOptions {
  readonly folder: string;
  readonly capacity?: number;
  readonly log?: Log;
}

interface StoredKey {
  readonly key: string;
  readonly bytes: number;
  readonly modifiedMs: number;
}

/** Values in files; see the file comment. */
export class FileBackend implements SharedStateBackend {
  readonly #options: FileBackendOptions;
  /** Writes happen one after the other: each must see what the one before it left room for. */
  #writing: Promise<unknown> = Promise.resolve();

  constructor(options: FileBackendOptions) {
    this.#options = options;
  }

  async get(key: string): Promise<string | undefined> {
    try {
      return await readFile(this.#path(key), "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw MeshError.from(error);
    }
  }

  set(key: string, value: string): Promise<void> {
    const written = this.#writing.then(() => this.#write(key, value));
    this.#writing = written.catch(() => undefined);
    return written;
  }

  async remove(key: string): Promise<boolean> {
    const path = this.#path(key);
    if ((await stat(path).catch(() => undefined)) === undefined) return false;
    await rm(path, { force: true });
    return true;
  }

  async keys(): Promise<readonly string[]> {
    return (await this.#stored()).map((each) => each.key);
  }

  async sizeOf(key: string): Promise<number> {
    const stats = await stat(this.#path(key)).catch(() => undefined);
    return stats === undefined ? 0 : stats.size + Buffer.byteLength(key);
  }

  async #write(key: string, value: string): Promise<void> {
    const { capacity = SHARED_STATE_BYTES, log } = this.#options;
    const sizes = (await this.#stored()).map((each) => [each.key, each.bytes] as const);
    const bytes = Buffer.byteLength(key) + Buffer.byteLength(value);
    const evicted = evictionsFor(sizes, key, bytes, capacity);
    if (evicted === undefined) throw storeFull(capacity);
    for (const old of evicted) {
      await rm(this.#path(old), { force: true });
      log?.("warn", "stashed output evicted", { key: old });
    }
    await writeAtomically(this.#path(key), value);
  }

  async #stored(): Promise<readonly StoredKey[]> {
    const names = await readdir(this.#options.folder).catch(() => []);
    const stored: StoredKey[] = [];
    for (const name of names) {
      const key = keyOf(name);
      if (key === undefined) continue;
      const stats = await stat(join(this.#options.folder, name)).catch(() => undefined);
      if (stats?.isFile() !== true) continue;
      stored.push({ key, bytes: stats.size + Buffer.byteLength(key), modifiedMs: stats.mtimeMs });
    }
    return stored.toSorted((a, b) => a.modifiedMs - b.modifiedMs || (a.key < b.key ? -1 : 1));
  }

  #path(key: string): string {
    return join(this.#options.folder, nameOf(key));
  }
}

/** A file name for a key: no separators, not hidden, and short enough for every file system. */
function nameOf(key: string): string {
  const name = encodeURIComponent(key).replaceAll(/[.*'()!~]/gu, (character) => {
    return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
  });
  if (name === "") throw new MeshError("invalid_argument", "a key of the shared state cannot be empty");
  if (name.length <= MAX_NAME_BYTES) return name;
  throw new MeshError("invalid_argument", "the key is too long for a file name; use a shorter one");
}

function keyOf(name: string): string | undefined {
  if (name.startsWith(".")) return undefined;
  try {
    return decodeURIComponent(name);
  } catch {
    return undefined;
  }
}
