/**
 * A command and everything it starts, as one thing that can be ended.
 *
 * G1  The command leads a process group of its own; ending it kills the whole group at once.
 * G2  A descendant that left the group (setsid, a daemon) is found by a mark in its environment, where the system shows
 *     environments (Linux); it is killed as well.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import type { Readable } from "node:stream";

import { MeshError } from "@mesh/kernel";

const MARK = "YAO_TOOL_CALL";
const MAX_SWEEPS = 5;

/** What to run. */
export interface GroupCommand {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** How the command itself ended. */
export interface GroupExit {
  readonly code: number | null;
  readonly signal: string | null;
}

/** A running group. */
export class ProcessGroup {
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Resolves when the command has exited; its children may live on. Rejects when it could not be started. */
  readonly exited: Promise<GroupExit>;
  /** Resolves when nobody holds its output open any more. */
  readonly closed: Promise<void>;
  readonly #child: ChildProcess;
  readonly #mark: string;

  constructor(command: GroupCommand) {
    this.#mark = randomUUID();
    this.#child = spawn(command.file, [...command.args], {
      cwd: command.cwd,
      env: { ...command.env, [MARK]: this.#mark },
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    const { stdout, stderr } = this.#child;
    if (stdout === null || stderr === null) throw new MeshError("internal", "a process was started without pipes");
    this.stdout = stdout;
    this.stderr = stderr;
    this.exited = new Promise((resolve, reject) => {
      this.#child.once("error", (cause) => {
        reject(new MeshError("failed_precondition", `could not start ${command.file}: ${cause.message}`, { cause }));
      });
      this.#child.once("exit", (code, signal) => resolve({ code, signal }));
    });
    // A failed start also rejects `exited`, which is the one that is awaited.
    this.closed = new Promise((resolve) => {
      this.#child.once("close", () => resolve());
    });
  }

  /** Ends the group and every marked descendant; resolves when none is left to be found. */
  async kill(): Promise<void> {
    this.#killGroup();
    await killMarked(MARK, this.#mark);
  }

  #killGroup(): void {
    const { pid } = this.#child;
    // The group exists as long as any member does, also after its leader is gone.
    if (pid !== undefined) killQuietly(-pid);
  }
}

/** Ends every process with this variable in its environment, where the system shows environments. */
export async function killMarked(name: string, value: string): Promise<void> {
  for (let sweep = 0; sweep < MAX_SWEEPS; sweep += 1) {
    const found = await markedProcesses(`${name}=${value}`);
    if (found.length === 0) return;
    for (const pid of found) killQuietly(pid);
  }
}

function killQuietly(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // Gone already.
  }
}

async function markedProcesses(mark: string): Promise<readonly number[]> {
  const names = await readdir("/proc").catch(() => []);
  const pids = names.filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(pids.map(async (pid) => ((await isMarked(pid, mark)) ? [Number(pid)] : [])));
  return found.flat();
}

async function isMarked(pid: string, mark: string): Promise<boolean> {
  // Not ours to read, or gone: not ours to kill.
  const environment = await readFile(`/proc/${pid}/environ`, "latin1").catch(() => "");
  return environment.split("\0").includes(mark);
}
