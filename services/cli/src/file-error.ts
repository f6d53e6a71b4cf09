/** What went wrong with a file a person named, in words. Pure. */

import { errorText } from "@mesh/kernel";

const WORDS: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  ENOTDIR: "a part of the path is not a directory",
  EISDIR: "it is a directory",
  EACCES: "you may not read it",
  EPERM: "you may not read it",
};

/** The reason why a file cannot be read. */
export function fileErrorText(error: unknown): string {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return WORDS[code] ?? errorText(error);
}
