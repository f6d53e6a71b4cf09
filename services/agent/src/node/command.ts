/** Runs one command to its end: bounded in time and output, ended with everything it started. */

import type { Clock } from "@mesh/kernel";

import { toolCancelled } from "../tool.ts";
import { Capture } from "./capture.ts";
import { type GroupCommand, type GroupExit, ProcessGroup } from "./process-group.ts";

/** Bounds of one command. */
export interface CommandBounds {
  readonly clock: Clock;
  readonly limitMs: number;
  /** Of each stream. */
  readonly maxOutputBytes: number;
  readonly signal: AbortSignal;
}

/** How a command ended; `exit` is absent when its time was over. */
export interface CommandEnd {
  readonly exit: GroupExit | undefined;
  readonly stdout: string;
  readonly stderr: string;
  /** Whether some of the output was left out. */
  readonly isCut: boolean;
}

/** How long output may follow the end of the command itself; only its children can still write then. */
const TRAILING_MS = 100;

/** See the file comment; throws `cancelled` when the signal ends it. */
export async function runCommand(command: GroupCommand, bounds: CommandBounds): Promise<CommandEnd> {
  const { clock, limitMs, maxOutputBytes, signal } = bounds;
  if (signal.aborted) throw toolCancelled();
  const group = new ProcessGroup(command);
  const stdout = new Capture(maxOutputBytes);
  const stderr = new Capture(maxOutputBytes);
  group.stdout.on("data", (chunk: Buffer) => stdout.push(chunk));
  group.stderr.on("data", (chunk: Buffer) => stderr.push(chunk));
  const stop = new AbortController();
  const end = await Promise.race([
    group.exited.then((exit) => ({ kind: "exited", exit }) as const),
    clock.sleep(limitMs, stop.signal).then(() => ({ kind: "timeout" }) as const),
    aborted(signal, stop.signal).then(() => ({ kind: "cancelled" }) as const),
  ]).finally(() => stop.abort());
  if (end.kind === "exited") await settle(clock, group);
  await group.kill();
  group.stdout.destroy();
  group.stderr.destroy();
  if (end.kind === "cancelled") throw toolCancelled();
  return {
    exit: end.kind === "exited" ? end.exit : undefined,
    stdout: stdout.text(),
    stderr: stderr.text(),
    isCut: stdout.isCut || stderr.isCut,
  };
}

/** Waits for output that is still in the pipes, but not for children that keep them open. */
async function settle(clock: Clock, group: ProcessGroup): Promise<void> {
  const stop = new AbortController();
  await Promise.race([group.closed, clock.sleep(TRAILING_MS, stop.signal)]);
  stop.abort();
}

function aborted(signal: AbortSignal, done: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true, signal: done });
  });
}
