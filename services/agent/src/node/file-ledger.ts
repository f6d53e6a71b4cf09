/** Remembers what a model has seen of files, so that it does not overwrite what changed since. */

import { stat } from "node:fs/promises";

import { toolFailed } from "../tool.ts";

/** Times of files as they were last read or written by the tools that share this ledger. */
export class FileLedger {
  readonly #seen = new Map<string, number>();

  /** Records a file as it is now. */
  async note(path: string): Promise<void> {
    const modified = await modifiedMs(path);
    if (modified !== undefined) this.#seen.set(path, modified);
  }

  /** Throws when the file changed since it was noted; a file that was never noted passes. */
  async assertUnchanged(path: string, shown: string): Promise<void> {
    const seen = this.#seen.get(path);
    if (seen === undefined) return;
    const modified = await modifiedMs(path);
    if (modified === undefined || modified === seen) return;
    throw toolFailed(`${shown} changed since you read it. Read it again before you change it.`);
  }
}

async function modifiedMs(path: string): Promise<number | undefined> {
  return (await stat(path).catch(() => undefined))?.mtimeMs;
}
