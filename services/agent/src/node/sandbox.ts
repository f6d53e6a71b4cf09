/**
 * Decides which file a path really means, and whether a tool may touch it.
 *
 * X1  Every symbolic link on the way is followed before the path is judged; `..` means the parent of where a link led.
 * X2  A path that does not exist yet is judged by where it would be created.
 * X3  Tools do their work on the path that was judged, and what was opened is judged again: swapping a directory for a
 *     link in between gains nothing.
 * X4  A refusal does not tell which folders are allowed.
 */

import { constants, type Dirent } from "node:fs";
import { type FileHandle, lstat, open, readdir, readlink, realpath } from "node:fs/promises";
import { platform } from "node:os";
import { dirname, join, parse, resolve, sep } from "node:path";

import { MeshError } from "@mesh/kernel";

import { descriptorPath } from "./held-folder.ts";

const MAX_LINKS = 40;
const MAX_PATH_CHARS = 4096;

/** Where tools may work. */
export interface SandboxOptions {
  /** Absolute; relative paths are meant from here. */
  readonly cwd: string;
  /** Folders and all below them; empty means everywhere. */
  readonly roots?: readonly string[];
}

/** See the file comment. */
export class PathSandbox {
  readonly cwd: string;
  readonly #roots: readonly string[];

  constructor(options: SandboxOptions) {
    this.cwd = resolve(options.cwd);
    this.#roots = (options.roots ?? []).map((root) => resolve(this.cwd, root));
  }

  /** The real path to work on; throws `permission_denied` when it is outside. */
  async resolve(path: string): Promise<string> {
    if (path.includes("\0")) throw new MeshError("invalid_argument", "a path cannot contain a zero byte");
    if (path.length > MAX_PATH_CHARS) throw new MeshError("invalid_argument", "the path is too long");
    const target = await follow(this.cwd, path === "" ? "." : path);
    if (!(await this.#contains(target))) throw outside(path);
    return target;
  }

  /** Throws when a real path has come to mean another one since it was judged. */
  async assertStill(path: string): Promise<void> {
    if ((await this.resolve(path)) !== path) throw outside(path);
  }

  /** Opens the real path without following a link that appeared meanwhile, and judges what was opened. */
  async open(path: string, flags: number): Promise<FileHandle> {
    const handle = await open(path, flags | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const opened = await descriptorPath(handle);
      if (opened !== undefined && !(await this.#contains(await realpath(opened)))) throw outside(path);
      return handle;
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** Works on a folder by its real path: on Linux on the very one that was judged, else on its name, judged before and after. */
  async withFolder<T>(path: string, work: (path: string) => Promise<T>): Promise<T> {
    const handle =
      platform() === "linux" ? await this.open(path, constants.O_RDONLY | constants.O_DIRECTORY) : undefined;
    try {
      const held = handle === undefined ? undefined : await descriptorPath(handle);
      if (held !== undefined) return await work(held);
      await this.assertStill(path);
      const result = await work(path);
      await this.assertStill(path);
      return result;
    } finally {
      await handle?.close();
    }
  }

  /** The entries of a folder by its real path; see {@link withFolder}. */
  readFolder(path: string): Promise<readonly Dirent[]> {
    return this.withFolder(path, (held) => readdir(held, { withFileTypes: true }));
  }

  async #contains(target: string): Promise<boolean> {
    if (this.#roots.length === 0) return true;
    for (const root of this.#roots) {
      const real = await realpath(root).catch(() => root);
      if (target === real || target.startsWith(real.endsWith(sep) ? real : real + sep)) return true;
    }
    return false;
  }
}

function outside(path: string): MeshError {
  return new MeshError("permission_denied", `${path} is outside of the folders this tool may use`);
}

/** The real path that `path` means, whether it exists or not. */
async function follow(cwd: string, path: string): Promise<string> {
  const { root } = parse(path);
  const todo = path.slice(root.length).split(sep);
  let current = root === "" ? await realpath(cwd) : resolve(root);
  let links = 0;
  while (todo.length > 0) {
    const part = todo.shift();
    if (part === undefined || part === "" || part === ".") continue;
    if (part === "..") {
      current = dirname(current);
      continue;
    }
    const next = join(current, part);
    const target = await linkTarget(next);
    if (target === undefined) {
      current = next;
      continue;
    }
    links += 1;
    if (links > MAX_LINKS) throw new MeshError("permission_denied", `${path} goes through too many links`);
    const start = parse(target).root;
    if (start !== "") current = start;
    todo.unshift(...target.slice(start.length).split(sep));
  }
  return current;
}

async function linkTarget(path: string): Promise<string | undefined> {
  try {
    const stats = await lstat(path);
    return stats.isSymbolicLink() ? await readlink(path) : undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // What does not exist yet is no link; anything else (no permission, a file as a folder) is the tool's to report.
    if (code === "ENOENT" || code === "ENOTDIR" || code === "EACCES") return undefined;
    throw error;
  }
}
