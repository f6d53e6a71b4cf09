/** Looking at, finding and stopping server processes. */

import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, readFileSync, statSync } from "node:fs";
import { delimiter, join } from "node:path";

import { type Clock, MeshError } from "@mesh/kernel";

const TERM_MS = 5_000;

// Debian installs it where a user's PATH does not look.
const SYSTEM_DIRS = ["/usr/sbin", "/usr/local/bin", "/opt/homebrew/bin"];

/** Path of nats-server in the directories of `searchPath` (a PATH value), then where deploy/install-nats.sh puts it. */
export function findNatsServer(searchPath: string, home: string, systemDirs: readonly string[] = SYSTEM_DIRS): string {
  const dirs = [...searchPath.split(delimiter).filter((dir) => dir !== ""), ...systemDirs, join(home, ".yao", "bin")];
  const found = dirs.map((dir) => join(dir, "nats-server")).find(isProgram);
  if (found !== undefined) return found;
  throw new MeshError(
    "failed_precondition",
    "nats-server is not installed: run deploy/install-nats.sh, or point YAO_NATS_URL at a server of yours",
  );
}

/** Whether a process with this id exists. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !isZombie(pid);
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

/** Whether process `pid` runs and names `argument` on its command line; a recycled pid does not. */
export function runsWith(pid: number, argument: string): boolean {
  return isRunning(pid) && commandLine(pid).includes(argument);
}

/** SIGTERM, then SIGKILL when `exited` takes too long; resolves when it has. */
export async function stopProcess(pid: number, exited: Promise<void>, clock: Clock): Promise<void> {
  let done = false;
  const ended = exited.then(() => {
    done = true;
  });
  // A moment for an exit that has happened already: its pid may belong to somebody else by now.
  await Promise.race([ended, new Promise((resolve) => setImmediate(resolve))]);
  if (done) return;
  signal(pid, "SIGTERM");
  const patience = new AbortController();
  await Promise.race([ended, clock.sleep(TERM_MS, patience.signal)]);
  patience.abort();
  if (!done) signal(pid, "SIGKILL");
  await ended;
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has just ended by itself.
  }
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function commandLine(pid: number): string {
  if (existsSync("/proc/self")) {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
    } catch {
      return "";
    }
  }
  return spawnSync("ps", ["-o", "args=", "-p", String(pid)], { encoding: "utf8" }).stdout ?? "";
}

function isZombie(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).startsWith("Z");
  } catch {
    return false;
  }
}
