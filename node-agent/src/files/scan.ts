/**
 * Walks a workspace's directory.
 *
 * C1  Links are not followed; what is no file and no directory is left out, and so are names that cannot travel.
 * C2  At most {@link MAX_ENTRIES} entries, {@link MAX_DEPTH} levels; what is beyond is left out, always the same part.
 * C3  Only what changed is read: a file whose size and times are as before has its hash already.
 * C4  What cannot be read just now is as it was: only what is certainly not there has gone.
 */

import { createHash } from "node:crypto";
import { createReadStream, type Dirent, type Stats } from "node:fs";
import { lstat, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

import { filePath } from "@mesh/kernel";

import type { FileIndex, IndexEntry } from "./file-index.ts";
import { type Ignore, ignoreOf } from "./ignore.ts";

/** The most entries of a workspace on one device. */
export const MAX_ENTRIES = 100_000;

/** The largest file that is hashed. */
export const MAX_HASHED_BYTES: number = 64 * 1024 * 1024;

const MAX_DEPTH = 64;
const MAX_RULES_BYTES = 64 * 1024;

/** What a walk found. */
export interface Scan {
  readonly index: Map<string, IndexEntry>;
  /** There is more than is indexed. */
  readonly isCut: boolean;
}

/** Walks `dir`; a directory that does not exist holds nothing. */
export async function scan(dir: string, known: FileIndex, signal: AbortSignal): Promise<Scan> {
  const index = new Map<string, IndexEntry>();
  const ignore = await rulesOf(dir);
  const todo: { readonly path: string; readonly depth: number }[] = [{ path: "", depth: 1 }];
  for (let folder = todo.pop(); folder !== undefined; folder = todo.pop()) {
    signal.throwIfAborted();
    const entries = await entriesOf(join(dir, folder.path));
    if (entries === undefined) {
      for (const entry of known.values()) if (isBelow(entry.path, folder.path)) index.set(entry.path, entry);
      continue;
    }
    const folders: typeof todo = [];
    for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = folder.path === "" ? entry.name : `${folder.path}/${entry.name}`;
      if (!(entry.isFile() || entry.isDirectory()) || !travels(path) || ignore(path, entry.isDirectory())) continue;
      const seen = await look(join(dir, path), path, { known, signal });
      if (seen === undefined) continue;
      if (index.size >= MAX_ENTRIES) return { index, isCut: true };
      index.set(path, seen);
      if (seen.isDirectory && folder.depth < MAX_DEPTH) folders.push({ path, depth: folder.depth + 1 });
    }
    todo.push(...folders.toReversed());
  }
  return { index, isCut: false };
}

/** Hex SHA-256 of a file's content. */
export async function hashFile(path: string, signal?: AbortSignal): Promise<string> {
  const hash = createHash("sha256");
  const stream = createReadStream(path, signal === undefined ? {} : { signal });
  for await (const piece of stream) hash.update(piece as Uint8Array);
  return hash.digest("hex");
}

/** Undefined for a directory that is there and cannot be read. */
async function entriesOf(path: string): Promise<readonly Dirent[] | undefined> {
  try {
    return await readdir(path, { withFileTypes: true });
  } catch (error) {
    return isMissing(error) ? [] : undefined;
  }
}

function isMissing(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === "ENOENT" || code === "ENOTDIR";
}

function isBelow(path: string, folder: string): boolean {
  return folder === "" || path.startsWith(`${folder}/`);
}

async function rulesOf(dir: string): Promise<Ignore> {
  const path = join(dir, ".yaoignore");
  const facts = await lstat(path).catch(() => undefined);
  if (facts?.isFile() !== true || facts.size > MAX_RULES_BYTES) return ignoreOf("");
  return ignoreOf(await readFile(path, "utf8").catch(() => ""));
}

/** Whether the name is one that commands can name it by. */
function travels(path: string): boolean {
  try {
    return filePath(path) === path && !path.includes("\uFFFD");
  } catch {
    return false;
  }
}

async function look(
  real: string,
  path: string,
  { known, signal }: { readonly known: FileIndex; readonly signal: AbortSignal },
): Promise<IndexEntry | undefined> {
  // Again without following links: what the listing said may have been swapped since.
  const facts = await lstat(real).catch(() => undefined);
  if (facts === undefined || !(facts.isFile() || facts.isDirectory())) return undefined;
  const before = known.get(path);
  if (before !== undefined && isUntouched(before, facts)) return before;
  const { mtimeMs, ctimeMs } = facts;
  if (facts.isDirectory()) return { path, isDirectory: true, size: 0, hash: "", mtimeMs: 0, ctimeMs: 0 };
  const hash =
    facts.size > MAX_HASHED_BYTES
      ? ""
      : await hashFile(real, signal).catch((error: unknown) => {
          signal.throwIfAborted();
          return isMissing(error) ? "missing" : undefined;
        });
  if (hash === "missing") return undefined;
  if (hash === undefined) return before;
  return { path, isDirectory: false, size: facts.size, hash, mtimeMs, ctimeMs };
}

// A directory's times say nothing that its entries do not: they stay out, or each write would be two changes.
function isUntouched(entry: IndexEntry, facts: Stats): boolean {
  if (entry.isDirectory || facts.isDirectory()) return entry.isDirectory && facts.isDirectory();
  return entry.size === facts.size && entry.mtimeMs === facts.mtimeMs && entry.ctimeMs === facts.ctimeMs;
}
