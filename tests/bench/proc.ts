/** What Linux says about a process. */

import { readFileSync } from "node:fs";

// The kernel reports processor time to programs in hundredths of a second on every common build.
const TICKS_PER_SECOND = 100;

/** Processor seconds used so far, in user and kernel mode. */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The name in parentheses may hold anything, also spaces.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** Resident memory in megabytes. */
export function residentMb(pid: number): number {
  const kb = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  if (kb === undefined) throw new Error(`process ${pid} tells no VmRSS`);
  return Number(kb) / 1024;
}
