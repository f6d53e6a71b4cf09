/** The machine's processes: who started whom, and who was left behind. */

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

/** One process. */
export interface ProcessRow {
  readonly pid: number;
  readonly parent: number;
  readonly args: string;
}

/** All processes that have not ended. */
export function listProcesses(): readonly ProcessRow[] {
  const text = execFileSync("ps", ["-A", "-o", "pid=,ppid=,stat=,args="], { encoding: "utf8" });
  return text.split("\n").flatMap((line) => {
    const match = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line);
    // A zombie has ended; it only waits for its parent to notice.
    const [, pid, parent, state, args] = match ?? [];
    if (args === undefined || state === undefined || state.startsWith("Z")) return [];
    return [{ pid: Number(pid), parent: Number(parent), args }];
  });
}

/** The runner processes of an agent. */
export function runnersOf(agentPid: number): readonly number[] {
  return listProcesses()
    .filter(({ parent, args }) => parent === agentPid && args.includes("runner/main"))
    .map(({ pid }) => pid);
}

/**
 * Processes that carry `mark` in their environment or arguments. Environments can be read on Linux only; elsewhere the
 * arguments have to do.
 */
export function processesMarked(mark: string): readonly ProcessRow[] {
  return listProcesses().filter(
    ({ pid, args }) => pid !== process.pid && (args.includes(mark) || environmentOf(pid).includes(mark)),
  );
}

function environmentOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, "latin1");
  } catch {
    return "";
  }
}
