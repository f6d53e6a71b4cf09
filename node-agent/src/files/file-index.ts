/**
 * What a device knows of the files of one workspace: entries by path, their digest, and the difference of two states.
 *
 * The digest is the exclusive or of the digests of the entries: it does not depend on their order, and a change moves it from one
 * known value to the next, which is how device and coordinator find out that they know the same.
 */

import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { createInterface } from "node:readline";

/** A file or directory as it was seen. */
export interface IndexEntry {
  readonly path: string;
  readonly isDirectory: boolean;
  readonly size: number;
  /** Hex SHA-256; empty for directories and what is too large to hash. */
  readonly hash: string;
  readonly mtimeMs: number;
  /** Changes with the content even where somebody sets the other time back. */
  readonly ctimeMs: number;
}

/** Entries by path. */
export type FileIndex = ReadonlyMap<string, IndexEntry>;

/** What has become of the entries. */
export interface IndexDiff {
  readonly changed: readonly IndexEntry[];
  readonly gone: readonly IndexEntry[];
}

/** Digest of an index without entries. */
export const EMPTY_DIGEST: string = "0".repeat(32);

/** The digest after entries have come or gone. */
export function moved(digest: string, entries: Iterable<IndexEntry>): string {
  const sum = Buffer.from(digest, "hex");
  for (const entry of entries) {
    const { path, isDirectory, size, hash, mtimeMs } = entry;
    const own = createHash("sha256")
      .update(JSON.stringify([path, isDirectory, size, hash, mtimeMs]))
      .digest();
    for (let i = 0; i < sum.length; i += 1) sum[i] = (sum[i] ?? 0) ^ (own[i] ?? 0);
  }
  return sum.toString("hex");
}

/** Whether two entries are the same to everybody else. */
export function isSame(a: IndexEntry, b: IndexEntry): boolean {
  return a.isDirectory === b.isDirectory && a.size === b.size && a.hash === b.hash && a.mtimeMs === b.mtimeMs;
}

/** What has to be told so that who knows `before` knows `after`. */
export function diffOf(before: FileIndex, after: FileIndex): IndexDiff {
  const changed: IndexEntry[] = [];
  for (const entry of after.values()) {
    const known = before.get(entry.path);
    if (known === undefined || !isSame(known, entry)) changed.push(entry);
  }
  const gone = [...before.values()].filter(({ path }) => !after.has(path));
  return { changed, gone };
}

type Line = readonly [string, 0 | 1, number, string, number, number];

/** Reads a kept index; a damaged or absent one is empty, which only costs time. */
export async function loadIndex(path: string): Promise<Map<string, IndexEntry>> {
  const index = new Map<string, IndexEntry>();
  const input = createReadStream(path, "utf8");
  try {
    // Errors of the stream end the loop.
    const lines = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
    input.once("error", () => lines.close());
    for await (const line of lines) {
      const [name, directory, size, hash, mtimeMs, ctimeMs] = JSON.parse(line) as Line;
      index.set(name, { path: name, isDirectory: directory === 1, size, hash, mtimeMs, ctimeMs });
    }
    return index;
  } catch {
    return new Map();
  } finally {
    input.destroy();
  }
}

/** Keeps an index; the old or the new one is there after a crash. */
export async function saveIndex(path: string, index: FileIndex): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const draft = `${path}.tmp`;
  const file = await open(draft, "w", 0o600);
  try {
    let text = "";
    for (const { path: name, isDirectory, size, hash, mtimeMs, ctimeMs } of index.values()) {
      text += `${JSON.stringify([name, isDirectory ? 1 : 0, size, hash, mtimeMs, ctimeMs] satisfies Line)}\n`;
      if (text.length > 65_536) {
        await file.writeFile(text);
        text = "";
      }
    }
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(draft, path).catch(async (error: unknown) => {
    await rm(draft, { force: true });
    throw error;
  });
}
