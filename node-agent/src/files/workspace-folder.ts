/**
 * The directory of a workspace, as the coordinator's commands see it.
 *
 * W1  Every path goes through the path sandbox, and what was opened is judged again: no link leads out.
 * W2  A file is replaced whole or not at all, and is on the disk when this says so.
 * W3  Sizes of parts and of files are bounded.
 */

import { createHash } from "node:crypto";
import { constants, type Stats } from "node:fs";
import { type FileHandle, lstat, mkdir, rename, rmdir, stat, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

import { PathSandbox, writeAtomically } from "@mesh/agent/files";
import { filePath, MeshError } from "@mesh/kernel";
import type { FileFacts } from "@mesh/proto/wire";

import { fileFailure } from "./file-failure.ts";
import { MAX_HASHED_BYTES } from "./scan.ts";

/** The largest part of a file in one message. */
export const MAX_PART_BYTES: number = 512 * 1024;

const HASH_BYTES = 256 * 1024;

/** See the file comment. */
export class WorkspaceFolder {
  readonly #dir: string;
  readonly #sandbox: PathSandbox;

  constructor(dir: string) {
    this.#dir = dir;
    this.#sandbox = new PathSandbox({ cwd: dir, roots: [dir] });
  }

  /** What is known of a file, its hash included; throws `not_found`. */
  async stat(path: string): Promise<FileFacts> {
    return this.#told(path, async (real) => {
      const facts = await stat(real);
      if (facts.isDirectory()) return factsOf(path, facts, "");
      return this.#opened(path, real, async (file, of) =>
        factsOf(path, of, of.size > MAX_HASHED_BYTES ? "" : await hashOf(file)),
      );
    });
  }

  /** A part of a file; empty behind its end. */
  async read(
    path: string,
    offset: number,
    limit: number,
  ): Promise<{ readonly file: FileFacts; readonly bytes: Buffer }> {
    if (limit < 1 || limit > MAX_PART_BYTES) {
      throw new MeshError("invalid_argument", `a part has 1 to ${MAX_PART_BYTES} bytes`);
    }
    return this.#told(path, (real) =>
      this.#opened(path, real, async (file, facts) => {
        const buffer = Buffer.alloc(Math.max(0, Math.min(limit, facts.size - offset)));
        const { bytesRead } =
          buffer.length === 0 ? { bytesRead: 0 } : await file.read(buffer, 0, buffer.length, offset);
        return { file: factsOf(path, facts, ""), bytes: buffer.subarray(0, bytesRead) };
      }),
    );
  }

  /** The whole content, for the text of documents. */
  async readAll(path: string, maxBytes: number): Promise<Buffer> {
    return this.#told(path, (real) =>
      this.#opened(path, real, async (file, { size }) => {
        if (size > maxBytes) throw new MeshError("resource_exhausted", `it has more than ${maxBytes / 1024 / 1024} MB`);
        return file.readFile();
      }),
    );
  }

  /** Puts a draft in the place of a file; `ifHash` is what the file must have now, "none" for no file, "" for any. */
  async put(path: string, draft: string, { hash, ifHash }: { hash: string; ifHash: string }): Promise<FileFacts> {
    await mkdir(this.#dir, { recursive: true, mode: 0o700 });
    return this.#told(path, async (real) => {
      if (ifHash !== "") await this.#requireHash(path, ifHash);
      await writeAtomically(real, { copyOf: draft }, (opened) => this.#sandbox.assertStill(opened));
      return factsOf(path, await stat(real), hash);
    });
  }

  /** Renames; what is at the new path stays. */
  async move(path: string, to: string): Promise<FileFacts> {
    if (to === path || to.startsWith(`${path}/`)) {
      throw new MeshError("invalid_argument", `${path} cannot be moved to ${to}: that is where it is`);
    }
    await this.#inFolder(path, async (source) => {
      await lstat(source);
      await this.#told(to, async (target) => {
        await mkdir(dirname(target), { recursive: true });
        await this.#sandbox.assertStill(target);
        await this.#sandbox.withFolder(dirname(target), async (held) => {
          const place = join(held, basename(target));
          const there = await lstat(place).catch(() => undefined);
          if (there !== undefined) {
            throw new MeshError("already_exists", `there is a ${to} already; delete it first, or choose another name`);
          }
          await rename(source, place);
        });
      });
    });
    return this.stat(to);
  }

  /** Deletes a file, a link (never what it leads to) or an empty directory. */
  async delete(path: string): Promise<void> {
    await this.#inFolder(path, async (place) => {
      if ((await lstat(place)).isDirectory()) await rmdir(place);
      else await unlink(place);
    });
  }

  async #requireHash(path: string, wanted: string): Promise<void> {
    const now = await this.stat(path).catch((error: unknown) => {
      if (MeshError.from(error).code === "not_found") return undefined;
      throw error;
    });
    if (wanted === "none" && now === undefined) return;
    if (wanted === "none") throw new MeshError("aborted", `there is a ${path} already; nothing was written`);
    if (now === undefined) throw new MeshError("aborted", `${path} is gone; nothing was written`);
    if (now.hash !== wanted) {
      throw new MeshError("aborted", `${path} was changed since; nothing was written: read it again and compare`);
    }
  }

  async #opened<Result>(
    path: string,
    real: string,
    work: (file: FileHandle, facts: Stats) => Promise<Result>,
  ): Promise<Result> {
    const handle = await this.#sandbox.open(real, constants.O_RDONLY);
    try {
      const facts = await handle.stat();
      if (facts.isDirectory()) throw new MeshError("failed_precondition", `${path} is a directory; list it instead`);
      if (!facts.isFile()) throw new MeshError("failed_precondition", `${path} is not a regular file`);
      return await work(handle, facts);
    } finally {
      await handle.close();
    }
  }

  async #told<Result>(path: string, work: (real: string) => Promise<Result>): Promise<Result> {
    // Judged here too, whatever the other side has let pass.
    if (filePath(path) !== path) throw new MeshError("invalid_argument", `${path} is not a path in its plain form`);
    try {
      return await work(await this.#sandbox.resolve(path));
    } catch (error) {
      throw fileFailure(path, error);
    }
  }

  /** Works on an entry of a folder that is held open, not on what it links to. */
  async #inFolder(path: string, work: (place: string) => Promise<void>): Promise<void> {
    if (filePath(path) !== path) throw new MeshError("invalid_argument", `${path} is not a path in its plain form`);
    try {
      const folder = await this.#sandbox.resolve(dirname(path));
      await this.#sandbox.withFolder(folder, (held) => work(join(held, basename(path))));
    } catch (error) {
      throw fileFailure(path, error);
    }
  }
}

async function hashOf(file: FileHandle): Promise<string> {
  const hash = createHash("sha256");
  const buffer = Buffer.alloc(HASH_BYTES);
  for (let at = 0; ;) {
    const { bytesRead } = await file.read(buffer, 0, buffer.length, at);
    if (bytesRead === 0) return hash.digest("hex");
    hash.update(buffer.subarray(0, bytesRead));
    at += bytesRead;
  }
}

function factsOf(path: string, facts: Stats, hash: string): FileFacts {
  const isDirectory = facts.isDirectory();
  return {
    path,
    is_directory: isDirectory,
    size_bytes: isDirectory ? 0 : facts.size,
    hash,
    modified_ms: facts.mtimeMs,
    revision: `${facts.ino}-${facts.size}-${facts.mtimeMs}-${facts.ctimeMs}`,
  };
}
