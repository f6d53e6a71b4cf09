/**
 * What a killed owner may leave in a cluster's directory: a server that still runs, or the pid file of one that does
 * not. The caller holds the lock of the data directory, so no other owner is alive.
 */

import { execFileSync } from "node:child_process";
import { readFileSync, readlinkSync, realpathSync, rmSync } from "node:fs";
import { join } from "node:path";

import { type Clock, MeshError } from "@mesh/kernel";

import type { StoreLog } from "../log.ts";

/** What stopping needs. */
export interface StopDeps {
  readonly clock: Clock;
  readonly log: StoreLog;
}

const FAST_MS = 10_000;
const IMMEDIATE_MS = 5_000;
const KILL_MS = 5_000;
const POLL_MS = 25;

/** Stops a server left running on this cluster, and removes a pid file that names no such server. */
export async function clearLeftover(clusterDir: string, deps: StopDeps): Promise<void> {
  const pidFile = join(clusterDir, "postmaster.pid");
  const pid = readPid(pidFile);
  if (pid !== undefined && isServerOf(pid, clusterDir)) {
    deps.log.warn({ pid }, "stopping the database server a killed process left running");
    const stopped = await stopProcess(pid, () => !isAlive(pid), deps);
    if (!stopped) {
      throw new MeshError(
        "failed_precondition",
        `an old database server (process ${pid}) does not stop; end it, then start again`,
        { details: { pid } },
      );
    }
  }
  // PostgreSQL would take a recycled pid of the same account for a running server and refuse to start. Should server
  // processes of this cluster really be left, it still refuses by the shared memory they hold.
  rmSync(pidFile, { force: true });
}

/** Fast shutdown, then immediate, then kill; true once `gone` holds. */
export async function stopProcess(pid: number, gone: () => boolean, deps: StopDeps): Promise<boolean> {
  const steps = [
    ["SIGINT", FAST_MS],
    ["SIGQUIT", IMMEDIATE_MS],
    ["SIGKILL", KILL_MS],
  ] as const;
  for (const [signal, patienceMs] of steps) {
    if (gone()) return true;
    if (signal !== "SIGINT") deps.log.warn({ pid, signal }, "database server is slow to stop");
    sendSignal(pid, signal);
    const end = deps.clock.monotonic() + patienceMs;
    while (!gone() && deps.clock.monotonic() < end) await deps.clock.sleep(POLL_MS);
  }
  return gone();
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // It ended between the look and the signal.
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}

function readPid(pidFile: string): number | undefined {
  try {
    const pid = Number(readFileSync(pidFile, "utf8").split("\n")[0]);
    return Number.isInteger(pid) && pid > 1 ? pid : undefined;
  } catch {
    return undefined;
  }
}

/** Whether this process is a server that works in this directory; a recycled pid is not. */
export function isServerOf(pid: number, clusterDir: string): boolean {
  if (!isAlive(pid)) return false;
  if (process.platform === "linux") {
    try {
      return readlinkSync(`/proc/${pid}/cwd`) === realpathSync(clusterDir);
    } catch {
      return false;
    }
  }
  try {
    const command = execFileSync("ps", ["-o", "command=", "-p", String(pid)], { encoding: "utf8", timeout: 5000 });
    return command.includes("postgres") && command.includes(clusterDir);
  } catch {
    return false;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EPERM")) return false;
  }
  return !isZombie(pid);
}

// A server whose parent has not collected it yet answers signals, but holds nothing any more.
function isZombie(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).startsWith("Z");
  } catch {
    return false;
  }
}
