/**
 * A directory lock that survives crashes: the file names its owner by pid and process start time, so a
 * recycled pid is not mistaken for the owner, and a dead owner's lock is taken over.
 */

import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { dirname } from "node:path";

import { MeshError } from "./errors.ts";

/** A held lock. Releasing twice is harmless. */
export interface HeldLock {
  release(): void;
}

interface Owner {
  readonly pid: number;
  readonly started: string;
  readonly what: string;
}

/**
 * Takes the lock at `path` or throws `failed_precondition` naming the process that holds it.
 * `what` describes the owner to other people ("yao up").
 */
export function takeLock(path: string, what: string): HeldLock {
  mkdirSync(dirname(path), { recursive: true });
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const fd = tryCreate(path);
    if (fd !== undefined) {
      writeSync(
        fd,
        JSON.stringify({ pid: process.pid, started: statOf(process.pid)?.started ?? "", what } satisfies Owner),
      );
      closeSync(fd);
      return { release: () => release(path) };
    }
    const owner = readOwner(path);
    if (owner !== undefined && isAlive(owner)) {
      throw new MeshError(
        "failed_precondition",
        `${dirname(path)} is in use by ${owner.what} (process ${owner.pid}). Stop it first, or choose another data directory with --data.`,
        {
          details: { pid: owner.pid, path },
        },
      );
    }
    rmSync(path, { force: true });
  }
  throw new MeshError("failed_precondition", `${path} is being taken by another process; try again`);
}

function tryCreate(path: string): number | undefined {
  try {
    return openSync(path, "wx", 0o600);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return undefined;
    throw error;
  }
}

function release(path: string): void {
  if (readOwner(path)?.pid === process.pid) rmSync(path, { force: true });
}

function readOwner(path: string): Owner | undefined {
  try {
    const parsed: unknown = JSON.parse(readFileSync(path, "utf8"));
    const owner = parsed as Partial<Owner> | null;
    if (typeof owner?.pid !== "number") return undefined;
    return { pid: owner.pid, started: owner.started ?? "", what: owner.what ?? "another process" };
  } catch {
    return undefined;
  }
}

function isAlive(owner: Owner): boolean {
  try {
    process.kill(owner.pid, 0);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EPERM")) return false;
  }
  const stat = statOf(owner.pid);
  // A zombie has ended; only its parent has not noticed yet.
  if (stat?.state === "Z") return false;
  return stat === undefined || owner.started === "" || stat.started === owner.started;
}

// State and start time in clock ticks (fields 3 and 22); where there is no /proc we can only trust the pid.
function statOf(pid: number): { readonly state: string; readonly started: string } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return { state: fields[0] ?? "", started: fields[19] ?? "" };
  } catch {
    return undefined;
  }
}
