/**
 * Writes a file so that nobody ever sees half of it.
 *
 * The folder is held open and everything happens inside what is held, where the system allows it (Linux): a folder that
 * is swapped for a link in between changes nothing.
 */

import { randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { chmod, lstat, mkdir, open, realpath, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

import { type HeldFolder, holdFolder } from "./held-folder.ts";

/** What a file is to hold; the copy of another file is on the disk, not only on its way there, when it was written. */
type FileContent = string | Buffer | { readonly copyOf: string };

/**
 * Replaces or creates a file in one step, with the folders it needs; keeps the mode of the one it replaces. With `check`
 * the path must be a real one: no link on the way is followed, and `check` judges where the file will really be, before
 * anything is written and again as the last word. Without it, the folder is the caller's own, wherever links lead.
 */
export async function writeAtomically(
  path: string,
  data: FileContent,
  check?: (opened: string) => Promise<void>,
): Promise<void> {
  const folder = await holdFolder(check === undefined ? await ownFolder(dirname(path)) : dirname(path));
  try {
    await replace({ folder, name: basename(path), data }, check);
  } finally {
    await folder.close();
  }
}

async function ownFolder(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  return realpath(folder);
}

async function replace(
  file: { readonly folder: HeldFolder; readonly name: string; readonly data: FileContent },
  check: ((opened: string) => Promise<void>) | undefined,
): Promise<void> {
  const { folder, name, data } = file;
  const path = join(folder.path, name);
  const judge = async (): Promise<void> => check?.(join(await folder.realPath(), name));
  await judge();
  const before = await lstat(path).catch(() => undefined);
  if (before?.isDirectory() === true) throw Object.assign(new Error("is a folder"), { code: "EISDIR" });
  const draft = join(folder.path, `.${name.slice(0, 100)}.${randomUUID()}.tmp`);
  try {
    await fill(draft, data);
    if (before?.isFile() === true) await chmod(draft, before.mode & 0o7777);
    await judge();
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

async function fill(draft: string, data: FileContent): Promise<void> {
  if (typeof data === "string" || Buffer.isBuffer(data)) {
    await writeFile(draft, data, { flag: "wx" });
    return;
  }
  const file = await open(draft, "wx");
  try {
    for await (const piece of createReadStream(data.copyOf)) await file.writeFile(piece as Uint8Array);
    await file.sync();
  } finally {
    await file.close();
  }
}
