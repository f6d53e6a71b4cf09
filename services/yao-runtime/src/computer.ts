/** `ctx.computer`, `ctx.workspace` and `ctx.sandbox`: the device a run is on. Absent when the assistant has none. */

import type { Values } from "./value.ts";

/** What a command printed and how it ended. */
export interface ExecResult {
  stdout: string;
  stderr: string;
  exit_code: number;
}

/** The device. */
export interface Computer {
  readonly id: string;
  /**
   * Runs a command in the workspace and waits for its end. A list is taken as it is; text is split at spaces outside of quotes.
   * @example
   * const { stdout, exit_code } = ctx.computer!.Exec(["git", "status", "--short"]);
   */
  Exec(command: string | string[]): ExecResult;
  /**
   * Address of its screen.
   * @example
   * const url = ctx.computer!.VNC();
   */
  VNC(): string;
  /**
   * Address under which a port of it can be reached.
   * @example
   * const url = ctx.computer!.Proxy(3000, "/health");
   */
  Proxy(port: number, path?: string): string;
  /**
   * Facts about it.
   * @example
   * const { kind, system } = ctx.computer!.Info();
   */
  Info(): Values;
}

/** An entry of a folder. */
export interface FileInfo {
  name: string;
  /** Bytes. */
  size: number;
  is_dir: boolean;
}

/** The run's folder on the device. No path leads out of it. Everything here throws when it fails. */
export interface Workspace {
  readonly id: string;
  /**
   * Text of a file.
   * @example
   * const config = JSON.parse(ctx.workspace!.ReadFile("config.json"));
   */
  ReadFile(path: string): string;
  /**
   * Writes a file, and the folders it needs.
   * @example
   * ctx.workspace!.WriteFile("out/report.md", "# Report");
   */
  WriteFile(path: string, content: string): void;
  /**
   * Bytes of a file, as base64.
   * @example
   * const image = ctx.workspace!.ReadFileBase64("chart.png");
   */
  ReadFileBase64(path: string): string;
  /**
   * Writes bytes given as base64.
   * @example
   * ctx.workspace!.WriteFileBase64("dot.png", "iVBORw0KGgo=");
   */
  WriteFileBase64(path: string, base64: string): void;
  /**
   * Entries of a folder.
   * @example
   * const names = ctx.workspace!.ReadDir("src").map((entry) => entry.name);
   */
  ReadDir(path?: string): FileInfo[];
  /**
   * Makes a folder, and those above it.
   * @example
   * ctx.workspace!.MkdirAll("out/charts");
   */
  MkdirAll(path: string): void;
  /**
   * Removes a file or an empty folder.
   * @example
   * ctx.workspace!.Remove("draft.md");
   */
  Remove(path: string): void;
  /**
   * Removes a folder and all in it.
   * @example
   * ctx.workspace!.RemoveAll("out");
   */
  RemoveAll(path: string): void;
  /**
   * Moves.
   * @example
   * ctx.workspace!.Rename("draft.md", "final.md");
   */
  Rename(from: string, to: string): void;
  /**
   * Copies.
   * @example
   * ctx.workspace!.Copy("template.md", "report.md");
   */
  Copy(from: string, to: string): void;
  /**
   * Facts about a file.
   * @example
   * const { size, mtime } = ctx.workspace!.Stat("report.md");
   */
  Stat(path: string): FileInfo & { mode: number; /** Milliseconds since 1970. */ mtime: number };
  /**
   * Whether there is such a file or folder.
   * @example
   * if (!ctx.workspace!.Exists("report.md")) ctx.Send("Nothing written yet.");
   */
  Exists(path: string): boolean;
}

/** The same device under the names older assistants use. */
export interface Sandbox {
  /** The run's folder. */
  readonly workdir: string;
  readonly sandbox_id?: string;
  readonly vnc_url?: string;
  /**
   * Text of a file.
   * @example
   * const config = ctx.sandbox!.ReadFile("config.json");
   */
  ReadFile(path: string): string;
  /**
   * Writes a file.
   * @example
   * ctx.sandbox!.WriteFile("config.json", "{}");
   */
  WriteFile(path: string, content: string): void;
  /**
   * Entries of a folder.
   * @example
   * const files = ctx.sandbox!.ListDir("src");
   */
  ListDir(path?: string): FileInfo[];
  /**
   * Runs a command and gives what it printed; throws when it fails.
   * @example
   * const log = ctx.sandbox!.Exec(["npm", "test"]);
   */
  Exec(command: string | string[]): string;
}
