/** Long-running commands in the background: starting one and waiting until it is ready, and stopping the owner of a data directory. */

import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";

import { isObject, MeshError, takeLock, until } from "@mesh/kernel";

import type { Cli } from "../cli.ts";
import { makeDataDirectory } from "../file-error.ts";

/** What a command in the background tells when it is ready. */
export type ReadyMessage = Readonly<Record<string, unknown>>;

/** A command that goes on in the background. */
export interface Background {
  readonly pid: number;
  readonly message: ReadyMessage;
}

const READY_MS = 180_000;
const STOP_MS = 60_000;

/** Starts `yao <args>` detached, with its output in `logPath`; resolves when it says that it is ready, rejects with its reason when it cannot be. */
export async function startInBackground(cli: Cli, args: readonly string[], logPath: string): Promise<Background> {
  makeDataDirectory(dirname(logPath));
  const log = openSync(logPath, "a", 0o600);
  const { execPath, execArgv, script } = cli.self;
  const child = spawn(execPath, [...execArgv, script, ...args], {
    detached: true,
    stdio: ["ignore", log, log, "ipc"],
    env: { ...cli.env },
  });
  closeSync(log);
  try {
    const message = await firstMessage(cli, child, logPath);
    return { pid: child.pid ?? 0, message };
  } finally {
    if (child.connected) child.disconnect();
    child.unref();
  }
}

function firstMessage(cli: Cli, child: ChildProcess, logPath: string): Promise<ReadyMessage> {
  return new Promise((resolve, reject) => {
    const done = (settle: () => void): void => {
      cancel();
      unlisten();
      settle();
    };
    const fail = (text: string): void => done(() => reject(new MeshError("unavailable", text)));
    const cancel = cli.clock.after(READY_MS, () => {
      child.kill("SIGTERM");
      fail(`it was not ready after ${READY_MS / 1000} s — see ${logPath}`);
    });
    // Whoever gives up waiting does not leave a half-started system behind.
    const unlisten = cli.interrupts.listen(() => {
      child.kill("SIGTERM");
      done(() => reject(new MeshError("cancelled", "interrupted")));
    });
    child.on("message", (message: unknown) => {
      if (!isObject(message)) return;
      if (message["kind"] === "ready") done(() => resolve(message));
      if (message["kind"] === "failed") fail(String(message["message"]));
    });
    child.once("error", (error) => fail(error.message));
    child.once("exit", (code) => fail(`it ended at once (exit code ${code ?? "unknown"}) — see ${logPath}`));
  });
}

/** Stops the process that holds the lock at `path` and waits until it has let go; returns its pid, or undefined when nobody held it. */
export async function stopOwner(path: string): Promise<number | undefined> {
  const owner = ownerOf(path);
  if (owner === undefined) return undefined;
  try {
    process.kill(owner, "SIGTERM");
  } catch (error) {
    throw new MeshError("permission_denied", `process ${owner} cannot be stopped — do it as the user who started it`, {
      cause: error,
    });
  }
  await until(() => ownerOf(path) !== owner, { timeoutMs: STOP_MS, everyMs: 50, what: `process ${owner} to end` });
  // It lets go just before it ends; a zombie nobody collects is not worth waiting for.
  await until(() => !exists(owner), { timeoutMs: 3000, everyMs: 20 }).catch(() => undefined);
  return owner;
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

// Not being allowed to look is not the same as nothing being there.
function isThere(path: string): boolean {
  try {
    statSync(path);
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EACCES") {
      throw new MeshError("permission_denied", `${dirname(path)} cannot be read — do it as the user who owns it`, {
        cause: error,
      });
    }
    return false;
  }
}

/** The process that holds the lock at `path`. */
export function ownerOf(path: string): number | undefined {
  if (!isThere(path)) return undefined;
  try {
    takeLock(path, "yao").release();
    return undefined;
  } catch (error) {
    const pid = error instanceof MeshError ? error.details?.["pid"] : undefined;
    if (typeof pid === "number") return pid;
    throw error;
  }
}
