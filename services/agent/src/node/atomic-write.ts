/** Writes a file so that nobody ever sees half of it. */

import { randomUUID } from "node:crypto";
import { chmod, mkdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/** Replaces or creates a file in one step; keeps the mode of the one it replaces. `check` has the last word before it. */
export async function writeAtomically(
  path: string,
  data: string | Buffer,
  check: () => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  const folder = dirname(path);
  await mkdir(folder, { recursive: true });
  const before = await stat(path).catch(() => undefined);
  if (before?.isDirectory() === true) throw Object.assign(new Error("is a folder"), { code: "EISDIR" });
  const draft = join(folder, `.${basename(path).slice(0, 100)}.${randomUUID()}.tmp`);
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
