/**
 * App bundles on disk, by digest.
 *
 * U1  A file in the cache has the content its name says: it is verified before it gets the name.
 * U2  Concurrent wishes for one bundle share one download.
 * U3  The cache is bounded; the bundles used longest ago go first, a bundle just asked for never.
 */

import { createHash, randomBytes } from "node:crypto";
import { mkdir, readdir, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { type Clock, MeshError } from "@mesh/kernel";
import type { BundleChunk } from "@mesh/proto";

/** What a cache needs. */
export interface BundleCacheDeps {
  readonly dir: string;
  readonly clock: Clock;
  /** Reads a part of a bundle from the coordinator. */
  readonly fetch: (digest: string, offset: number, signal: AbortSignal) => Promise<BundleChunk>;
  readonly maxBytes?: number;
}

const DIGEST = /^[0-9a-f]{64}$/;
const MAX_BUNDLE_BYTES = 64 * 1024 * 1024;
const MAX_CACHE_BYTES = 1024 * 1024 * 1024;

/** The cache of one data directory. */
export class BundleCache {
  readonly #deps: BundleCacheDeps;
  readonly #loading = new Map<string, Promise<string>>();

  constructor(deps: BundleCacheDeps) {
    this.#deps = deps;
  }

  /** Path of the bundle's file, downloaded if need be. */
  async path(digest: string, signal: AbortSignal): Promise<string> {
    if (!DIGEST.test(digest)) throw new MeshError("invalid_argument", "the work item names no bundle");
    const running = this.#loading.get(digest);
    if (running !== undefined) return await this.#shared(running, digest, signal);
    const loading = this.#load(digest, signal).finally(() => this.#loading.delete(digest));
    this.#loading.set(digest, loading);
    return await loading;
  }

  // The one who downloads may be cancelled; the others then go on by themselves.
  async #shared(running: Promise<string>, digest: string, signal: AbortSignal): Promise<string> {
    try {
      return await running;
    } catch (error) {
      if (signal.aborted || MeshError.from(error).code !== "cancelled") throw error;
      return await this.path(digest, signal);
    }
  }

  async #load(digest: string, signal: AbortSignal): Promise<string> {
    const path = join(this.#deps.dir, `${digest}.bundle`);
    const now = this.#deps.clock.now() / 1000;
    const isHere = await utimes(path, now, now).then(
      () => true,
      () => false,
    );
    if (isHere) return path;
    await mkdir(this.#deps.dir, { recursive: true, mode: 0o700 });
    const bytes = await this.#download(digest, signal);
    const temporary = `${path}.${randomBytes(4).toString("hex")}.tmp`;
    await writeFile(temporary, bytes, { mode: 0o600, flag: "wx" });
    await rename(temporary, path);
    await this.#evict(path);
    return path;
  }

  async #download(digest: string, signal: AbortSignal): Promise<Buffer> {
    const chunks: Uint8Array[] = [];
    let size = 0;
    let total = 1;
    while (size < total) {
      const chunk = await this.#deps.fetch(digest, size, signal);
      total = chunk.total_bytes;
      if (total > MAX_BUNDLE_BYTES)
        throw new MeshError("resource_exhausted", "the app's bundle is too large for this device");
      if (chunk.bytes.length === 0) break;
      chunks.push(chunk.bytes);
      size += chunk.bytes.length;
    }
    const bytes = Buffer.concat(chunks);
    if (createHash("sha256").update(bytes).digest("hex") !== digest) {
      throw new MeshError("data_loss", "the app's bundle arrived damaged; run it again, or push the app again");
    }
    return bytes;
  }

  async #evict(keep: string): Promise<void> {
    const files: { readonly path: string; readonly size: number; readonly usedMs: number }[] = [];
    for (const name of await readdir(this.#deps.dir)) {
      const path = join(this.#deps.dir, name);
      const facts = await stat(path).catch(() => undefined);
      if (facts !== undefined) files.push({ path, size: facts.size, usedMs: facts.mtimeMs });
    }
    let total = files.reduce((sum, file) => sum + file.size, 0);
    for (const file of files.toSorted((a, b) => a.usedMs - b.usedMs)) {
      if (total <= (this.#deps.maxBytes ?? MAX_CACHE_BYTES)) return;
      if (file.path === keep) continue;
      await rm(file.path, { force: true });
      total -= file.size;
    }
  }
}
