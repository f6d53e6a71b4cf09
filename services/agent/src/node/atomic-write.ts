/**
 * Writes a file so that nobody ever sees half of it.
 *
 * The folder is opened once and everything happens inside what was opened, where the system allows it (Linux): a folder
 * that is swapped for a link in between changes nothing.
 */

import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { chmod, type FileHandle, mkdir, open, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/**
 * Replaces or creates a file in one step; keeps the mode of the one it replaces. `check` judges the real path that will
 * be written to, before anything is and again as the last word.
 */
export async function writeAtomically(
  path: string,
  data: string | Buffer,
  check: (opened: string) => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  const folder = dirname(path);
  await mkdir(folder, { recursive: true });
  const handle = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY).catch(() => undefined);
  try {
    const held = await heldFolder(handle);
    await replace({ folder: held?.path ?? folder, name: basename(path), data }, () =>
      check(held === undefined ? path : join(held.realPath, basename(path))),
    );
  } finally {
    await handle?.close();
  }
}

/** A path through the open folder itself, whatever its name has come to mean. */
async function heldFolder(
  handle: FileHandle | undefined,
): Promise<{ readonly path: string; readonly realPath: string } | undefined> {
  if (handle === undefined) return undefined;
  const path = `/proc/self/fd/${handle.fd}`;
  const realPath = await realpath(path).catch(() => undefined);
  return realPath === undefined ? undefined : { path, realPath };
}

async function replace(
  file: { readonly folder: string; readonly name: string; readonly data: string | Buffer },
  check: () => Promise<void>,
): Promise<void> {
  const { folder, name, data } = file;
  const path = join(folder, name);
  await check();
  const before = await stat(path).catch(() => undefined);
  if (before?.isDirectory() === true) throw Object.assign(new Error("is a folder"), { code: "EISDIR" });
  const draft = join(folder, `.${name.slice(0, 100)}.${randomUUID()}.tmp`);
  try {
    await writeFile(draft, data, { flag: "wx" });
    if (before !== undefined) await chmod(draft, before.mode & 0o7777);
    await check();
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}
