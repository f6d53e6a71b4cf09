/** `FS`: files of the app and of the workspace. */

import { outside } from "./outside.ts";

/** Files under one root. No path leads out of it. Everything here throws when it fails. */
export interface FS {
  /**
   * Whether there is such a file or folder.
   * @example
   * if (!new FS("data").Exists("/notes")) new FS("data").MkdirAll("/notes");
   */
  Exists(path: string): boolean;
  /** Whether it is a folder. */
  IsDir(path: string): boolean;
  /** Whether it is a file. */
  IsFile(path: string): boolean;
  /** Whether it is a link. */
  IsLink(path: string): boolean;
  /**
   * Text of a file.
   * @example
   * const text = new FS("data").ReadFile("/notes/today.md");
   */
  ReadFile(path: string): string;
  /** Bytes of a file, as base64. */
  ReadFileBase64(path: string): string;
  /** Bytes of a file. */
  ReadFileBuffer(path: string): Uint8Array;
  /**
   * Writes a file and gives the number of bytes.
   * @example
   * new FS("data").WriteFile("/notes/today.md", "# Today");
   */
  WriteFile(path: string, content: string): number;
  /** Writes bytes given as base64 and gives their number. */
  WriteFileBase64(path: string, base64: string): number;
  /** Writes bytes and gives their number. */
  WriteFileBuffer(path: string, bytes: Uint8Array | ArrayBuffer): number;
  /** Adds to the end of a file and gives the number of bytes. */
  AppendFile(path: string, content: string): number;
  /**
   * Paths in a folder, or in all folders below it as well.
   * @example
   * const notes = new FS("data").ReadDir("/notes", true);
   */
  ReadDir(path: string, recursive?: boolean): string[];
  /**
   * Paths that match a pattern.
   * @example
   * const notes = new FS("data").Glob("/notes/*.md");
   */
  Glob(pattern: string): string[];
  /** Makes a folder. */
  Mkdir(path: string): void;
  /** Makes a folder, and those above it. */
  MkdirAll(path: string): void;
  /** Makes a folder with a name nobody has, and gives its path. */
  MkdirTemp(path?: string, pattern?: string): string;
  /** Removes a file or an empty folder. */
  Remove(path: string): void;
  /** Removes a folder and all in it. */
  RemoveAll(path: string): void;
  /** Moves. */
  Rename(from: string, to: string): void;
  /** Moves, also between folders on different disks. */
  Move(from: string, to: string): void;
  /** Copies a file or a folder. */
  Copy(from: string, to: string): void;
  /** Bytes of a file. */
  Size(path: string): number;
  /** Seconds since 1970 of its last change. */
  ModTime(path: string): number;
  /** Its permissions, as a number. */
  Mode(path: string): number;
  /** Changes its permissions. */
  Chmod(path: string, mode: number): void;
  /** The path from the root. */
  Abs(path: string): string;
  /** The last part of a path. */
  BaseName(path: string): string;
  /** All but the last part of a path. */
  DirName(path: string): string;
  /** The ending of a path, without the dot. */
  ExtName(path: string): string;
  /** The kind of content, by ending. */
  MimeType(path: string): string;
  /** Packs a file or folder. */
  Zip(from: string, to: string): void;
  /** Unpacks, and gives the paths. */
  Unzip(from: string, to: string): string[];
  /** Joins files to one. */
  Merge(files: string[], to: string): void;
}

/** See {@link FS}. */
export interface FSConstructor {
  new (root: string): FS;
  (root: string): FS;
}

/**
 * Files under a root, such as `data` for files of the workspace.
 *
 * @example
 * const files = new FS("data");
 * if (files.Exists("/a.txt")) console.log(files.ReadFile("/a.txt"));
 */
export const FS: FSConstructor = outside("FS");
