/** What went wrong with a file or directory a person named, in words, and with what to do. */

import { mkdirSync } from "node:fs";

import { errorText, MeshError } from "@mesh/kernel";

const WORDS: Readonly<Record<string, string>> = {
  ENOENT: "no such file or directory",
  ENOTDIR: "a part of the path is not a directory",
  EEXIST: "it is not a directory",
  EISDIR: "it is a directory",
  EACCES: "permission denied",
  EPERM: "permission denied",
  EROFS: "the disk is read-only",
  ENOSPC: "the disk is full",
};

/** The reason in words. */
export function fileErrorText(error: unknown): string {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return WORDS[code] ?? errorText(error);
}

/** Makes a directory that only its owner may look into, unless it is there; says what to do when it cannot. */
export function makeDataDirectory(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new MeshError(
      "failed_precondition",
      `the data directory ${path} cannot be made: ${fileErrorText(error)} — choose another with --data`,
      { cause: error },
    );
  }
}
