/** `FS`: files of the app and of the workspace. */

import { outside } from "./outside.ts";

/** Files under one root. No path leads out of it. Everything here throws when it fails. */
export interface FS {
  /**
   * Text of a file.
   * @example
   * const text = new FS("data").ReadFile("/notes/today.md");
   */
  ReadFile(path: string): string;
  /**
   * Writes a file and gives the number of bytes.
   * @example
   * new FS("data").WriteFile("/notes/today.md", "# Today");
   */
  WriteFile(path: string, content: string): number;
}

/** See {@link FS}. */
export interface FSConstructor {
  new (root: string): FS;
}

/**
 * Files under a root, such as `data` for files of the workspace.
 *
 * @example
 * const files = new FS("data");
 * if (files.Exists("/a.txt")) console.log(files.ReadFile("/a.txt"));
 */
export const FS: FSConstructor = outside("FS");
