/**
 * A folder held open: what is done through it happens in that folder, whatever its name comes to mean meanwhile.
 *
 * H1  On Linux every step from the root of the file system is opened by itself and follows no link, and what is missing is
 *     made inside the step before it. A folder that was swapped for a link on the way ends it with an error.
 * H2  Elsewhere the system gives no path to an open folder: then the name is all there is, and callers judge it again.
 */

import { constants } from "node:fs";
import { type FileHandle, mkdir, open, realpath } from "node:fs/promises";
import { platform } from "node:os";
import { join, sep } from "node:path";

/** See the file comment. */
export interface HeldFolder {
  /** A path into the folder; for the file system, not for people. */
  readonly path: string;
  /** Where the folder is now. */
  realPath(): Promise<string>;
  close(): Promise<void>;
}

// A handle that only names a place: needs no permission to read it. Not among Node's constants.
const O_PATH = 0x20_0000;
const STEP = O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** Opens a folder by its real path, and makes what is missing of it. */
export async function holdFolder(realFolder: string): Promise<HeldFolder> {
  const root = platform() === "linux" ? await open(sep, STEP) : undefined;
  if (root === undefined || (await descriptorPath(root)) === undefined) {
    await root?.close();
    await mkdir(realFolder, { recursive: true });
    return { path: realFolder, realPath: () => realpath(realFolder), close: () => Promise.resolve() };
  }
  let held = root;
  try {
    for (const name of realFolder.split(sep)) {
      if (name === "") continue;
      const next = await step(held, name);
      await held.close();
      held = next;
    }
  } catch (error) {
    await held.close();
    throw error;
  }
  const path = descriptorOf(held);
  return { path, realPath: () => realpath(path), close: () => held.close() };
}

/** A path to what a handle holds open; undefined where the system has none. */
export async function descriptorPath(handle: FileHandle): Promise<string | undefined> {
  const path = descriptorOf(handle);
  return (await realpath(path).catch(() => undefined)) === undefined ? undefined : path;
}

async function step(held: FileHandle, name: string): Promise<FileHandle> {
  const path = join(descriptorOf(held), name);
  try {
    return await open(path, STEP);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
  }
  try {
    await mkdir(path);
  } catch (error) {
    // Made by another in between: opened like any other, so a link is refused as well.
    if (codeOf(error) !== "EEXIST") throw error;
  }
  return open(path, STEP);
}

function descriptorOf(handle: FileHandle): string {
  return `/proc/self/fd/${handle.fd}`;
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}
