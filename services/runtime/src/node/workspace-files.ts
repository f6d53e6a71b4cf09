/**
 * The folder of a workspace on this device.
 *
 * W1  Every path is judged by the path sandbox before and after it is opened: nothing outside of the folder is read or written,
 *     whatever links lie in it.
 * W2  A file is written whole or not at all. Reads, listings and outputs are bounded.
 */

import { constants } from "node:fs";
import { mkdir, rename, rm, rmdir, stat, unlink } from "node:fs/promises";
import { arch, cpus, hostname, platform } from "node:os";
import { basename, dirname, join } from "node:path";

import type { PathSandbox } from "@mesh/agent/node";
import { type Clock, MeshError } from "@mesh/kernel";

import type { CommandResult, FileEntry, FileFacts, FilePort } from "../file-port.ts";

/** Where and with what environment. */
export interface WorkspaceFilesOptions {
  readonly clock: Clock;
  /** Made when it is first used. */
  readonly dir: string;
  /** What commands see. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

const MAX_FILE_BYTES = 16 * 1024 * 1024;
const MAX_ENTRIES = 10_000;
const MAX_ARGUMENTS = 1_000;
const MAX_COMMAND_CHARS = 100_000;
const COMMAND_LIMIT_MS = 600_000;
const MAX_OUTPUT_BYTES = 1024 * 1024;
const MAX_SHOWN_CHARS = 200;

/** See the file comment. */
export class WorkspaceFiles implements FilePort {
  readonly #options: WorkspaceFilesOptions;
  #sandbox: Promise<PathSandbox> | undefined;

  constructor(options: WorkspaceFilesOptions) {
    this.#options = options;
  }

  async read(path: string): Promise<Uint8Array> {
    const handle = await this.#told(path, async (real) => (await this.#judge()).open(real, constants.O_RDONLY));
    try {
      const facts = await handle.stat();
      if (facts.isDirectory()) throw new MeshError("failed_precondition", `${path} is a folder`);
      if (!facts.isFile()) throw new MeshError("failed_precondition", `${path} is not a file`);
      if (facts.size > MAX_FILE_BYTES) throw tooLarge(path, facts.size);
      return await handle.readFile();
    } finally {
      await handle.close();
    }
  }

  async write(path: string, content: Uint8Array): Promise<void> {
    if (content.length > MAX_FILE_BYTES) throw tooLarge(path, content.length);
    const { writeAtomically } = await import("@mesh/agent/node");
    const judge = await this.#judge();
    await this.#told(path, (real) =>
      writeAtomically(real, Buffer.from(content), (opened) => judge.assertStill(opened)),
    );
  }

  async list(path: string): Promise<readonly FileEntry[]> {
    const judge = await this.#judge();
    return this.#told(path, (real) =>
      judge.withFolder(real, async (held) => {
        const entries = await judge.readFolder(real);
        if (entries.length > MAX_ENTRIES) {
          throw new MeshError(
            "resource_exhausted",
            `${path} holds ${entries.length} files; ${MAX_ENTRIES} are the most`,
          );
        }
        const listed = entries.map(async (entry): Promise<FileEntry> => {
          const facts = entry.isFile() ? await stat(join(held, entry.name)).catch(() => undefined) : undefined;
          return { name: entry.name, isDir: entry.isDirectory(), size: facts?.size ?? 0 };
        });
        return (await Promise.all(listed)).toSorted((a, b) => (a.name < b.name ? -1 : 1));
      }),
    );
  }

  async stat(path: string): Promise<FileFacts | undefined> {
    const real = await this.#real(path);
    const facts = await stat(real).catch((error: NodeJS.ErrnoException) => {
      // A name that is too long is nobody's.
      if (/^(ENOENT|ENOTDIR|ENAMETOOLONG)$/.test(error.code ?? "")) return undefined;
      throw failure(path, error);
    });
    if (facts === undefined) return undefined;
    const { size, mode, mtimeMs } = facts;
    return { name: basename(real), isDir: facts.isDirectory(), size, mode: mode & 0o777, mtimeMs: Math.round(mtimeMs) };
  }

  async makeDir(path: string): Promise<void> {
    await this.#told(path, async (real) => {
      await mkdir(real, { recursive: true });
      await (await this.#judge()).assertStill(real);
    });
  }

  async remove(path: string, { recursive }: { readonly recursive: boolean }): Promise<void> {
    await this.#inFolder(path, async (place) => {
      if (recursive) await rm(place, { recursive: true, force: true });
      else await unlink(place).catch((error: NodeJS.ErrnoException) => removeFolder(place, error));
    });
  }

  async rename(from: string, to: string): Promise<void> {
    const target = await this.#real(to);
    await this.#told(to, () => mkdir(dirname(target), { recursive: true }));
    await this.#inFolder(from, async (source) => {
      await (await this.#judge()).assertStill(target);
      await rename(source, target);
    });
  }

  async copy(from: string, to: string): Promise<void> {
    await this.write(to, await this.read(from));
  }

  async exec(command: readonly string[], signal: AbortSignal): Promise<CommandResult> {
    const [file = "", ...args] = command;
    const chars = command.reduce((sum, text) => sum + text.length, 0);
    if (file === "" || command.length > MAX_ARGUMENTS || chars > MAX_COMMAND_CHARS) {
      throw new MeshError("invalid_argument", 'Exec takes a program and its arguments, such as ["ls", "-l"]');
    }
    const { clock, dir, env } = this.#options;
    await mkdir(dir, { recursive: true, mode: 0o700 });
    const { runCommand } = await import("@mesh/agent/node");
    const end = await runCommand(
      { file, args, cwd: dir, env },
      { clock, limitMs: COMMAND_LIMIT_MS, maxOutputBytes: MAX_OUTPUT_BYTES, signal },
    );
    if (end.exit === undefined) {
      throw new MeshError("deadline_exceeded", `${file} was ended after ${COMMAND_LIMIT_MS / 1000} s`);
    }
    return { stdout: end.stdout, stderr: end.stderr, exitCode: end.exit.code ?? 128 };
  }

  describe(): ReturnType<FilePort["describe"]> {
    return { os: platform(), arch: arch(), hostname: hostname(), cpus: cpus().length };
  }

  async #real(path: string): Promise<string> {
    await mkdir(this.#options.dir, { recursive: true, mode: 0o700 });
    // A leading slash means the workspace's own root, as scripts know no other.
    const judge = await this.#judge();
    return judge.resolve(path.replace(/^\/+/, "")).catch((error: unknown) => {
      throw failure(path, error);
    });
  }

  async #told<Result>(path: string, work: (real: string) => Promise<Result>): Promise<Result> {
    const real = await this.#real(path);
    return work(real).catch((error: unknown) => {
      throw failure(path, error);
    });
  }

  /** Works on an entry of a folder that is held open, not on what it links to. */
  async #inFolder(path: string, work: (place: string) => Promise<void>): Promise<void> {
    const name = basename(path);
    if (name === "" || name === "." || name === "..") {
      throw new MeshError("invalid_argument", `${path} is not a file of the workspace`);
    }
    const judge = await this.#judge();
    await this.#told(dirname(path), (real) => judge.withFolder(real, (held) => work(join(held, name))));
  }

  /** Made when a path is judged first, and loaded then as well: most runs touch no file. */
  #judge(): Promise<PathSandbox> {
    const { dir } = this.#options;
    this.#sandbox ??= import("@mesh/agent/node").then(({ PathSandbox }) => new PathSandbox({ cwd: dir, roots: [dir] }));
    return this.#sandbox;
  }
}

async function removeFolder(place: string, error: NodeJS.ErrnoException): Promise<void> {
  if (error.code !== "EISDIR" && error.code !== "EPERM") throw error;
  await rmdir(place);
}

function tooLarge(path: string, bytes: number): MeshError {
  const most = MAX_FILE_BYTES / 1024 / 1024;
  return new MeshError(
    "resource_exhausted",
    `${path} has ${Math.ceil(bytes / 1024 / 1024)} MB; ${most} MB are the most`,
  );
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file in the workspace",
  ENOTDIR: "a part of the path is a file",
  EISDIR: "it is a folder",
  ENOTEMPTY: "the folder is not empty; use RemoveAll",
  ENOSPC: "the disk of the device is full",
  EACCES: "the device does not allow it",
  EPERM: "the device does not allow it",
  EROFS: "the device does not allow it",
  EBUSY: "it is in use",
  EEXIST: "there is a file of that name",
  EINVAL: "the device cannot do that with it",
  EMFILE: "the device has too many files open; try again",
  ENAMETOOLONG: "the name is too long",
  ENXIO: "it is not a file",
  ELOOP: "a link stands in the way",
};

// The device's own words name its folders.
function failure(path: string, error: unknown): unknown {
  const { code: errno, syscall } = error as NodeJS.ErrnoException;
  if (error instanceof MeshError || errno === undefined || syscall === undefined) return error;
  const reason = REASONS[errno] ?? `the device refused it (${errno})`;
  const name = path.length > MAX_SHOWN_CHARS ? `${path.slice(0, MAX_SHOWN_CHARS)}…` : path;
  return new MeshError(errno === "ENOENT" ? "not_found" : "failed_precondition", `${name}: ${reason}`, {
    cause: error,
  });
}
