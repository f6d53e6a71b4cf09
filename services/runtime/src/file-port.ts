/**
 * Files and commands of the run's workspace on this device. Every path is relative to the workspace's folder; what would
 * lead out of it, also by a link, is refused by the port.
 */

/** What a folder holds. */
export interface FileEntry {
  readonly name: string;
  readonly isDir: boolean;
  readonly size: number;
}

/** What is known of a file. */
export interface FileFacts extends FileEntry {
  readonly mode: number;
  readonly mtimeMs: number;
}

/** How a command ended. */
export interface CommandResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
}

/** See the file comment. Sizes are bounded; errors say what to do. */
export interface FilePort {
  read(path: string): Promise<Uint8Array>;
  /** Replaces the file as a whole, or makes it and its folders. */
  write(path: string, content: Uint8Array): Promise<void>;
  list(path: string): Promise<readonly FileEntry[]>;
  /** Undefined where there is nothing. */
  stat(path: string): Promise<FileFacts | undefined>;
  makeDir(path: string): Promise<void>;
  remove(path: string, options: { readonly recursive: boolean }): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  copy(from: string, to: string): Promise<void>;
  /** Runs a program with arguments in the workspace's folder; its whole process group ends with the signal. */
  exec(command: readonly string[], signal: AbortSignal): Promise<CommandResult>;
  /** What people are told about the device. */
  describe(): { readonly os: string; readonly arch: string; readonly hostname: string; readonly cpus: number };
}
