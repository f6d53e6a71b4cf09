/** Keeps the limits only the host can keep: the time a script runs, and the memory it fills while it does. */

import type { Clock } from "@mesh/kernel";

import type { RunningCall } from "./running-call.ts";
import { originalPosition, programFile, type SourcePosition } from "./source-stack.ts";
import { type ProbedFrame, WorkerProbe } from "./worker-probe.ts";

const MB = 1024 * 1024;
/** Calls younger than this cannot have done much. */
const PROBE_AGE_MS = 20;
/** So far over the limit it is not garbage, and waiting for a collection would let it grow. */
const CLEARLY = 1.5;

/** Checks running calls, now and then. */
export class Watchdog {
  readonly #probe: WorkerProbe;
  readonly #heapMb: number;
  /** One question at a time for a call; a waiting script answers when it goes on. */
  readonly #asked = new WeakSet<RunningCall>();
  readonly #overdue = new WeakSet<RunningCall>();

  constructor(clock: Clock, heapMb: number) {
    this.#probe = new WorkerProbe(clock);
    this.#heapMb = heapMb;
  }

  /** Ends the call if it went over a limit. */
  check(running: RunningCall): void {
    const { ageMs } = running;
    if (running.isSettled || ageMs < PROBE_AGE_MS) return;
    if (running.worker.runningMs(ageMs) > running.limits.runMs) void this.#overrun(running);
    else void this.#checkHeap(running);
  }

  close(): void {
    this.#probe.close();
  }

  async #overrun(running: RunningCall): Promise<void> {
    if (this.#overdue.has(running)) return;
    this.#overdue.add(running);
    const frames = await this.#probe.stack(running.worker.threadId);
    const seconds = running.limits.runMs / 1000;
    running.exceed("runMs", `ran for more than ${seconds} s without ending`, userPlace(frames, running));
  }

  async #checkHeap(running: RunningCall): Promise<void> {
    if (this.#asked.has(running)) return;
    this.#asked.add(running);
    const { threadId } = running.worker;
    const limit = this.#heapMb * MB;
    let bytes = await this.#probe.heapBytes(threadId);
    // Much of it may be garbage that nobody has needed to collect.
    if (bytes !== undefined && bytes > limit && bytes < limit * CLEARLY) {
      bytes = (await this.#probe.liveHeapBytes(threadId)) ?? bytes;
    }
    this.#asked.delete(running);
    if (bytes !== undefined && bytes > limit) {
      running.exceed("heap", `filled ${Math.round(bytes / MB)} MB of memory; a script may use ${this.#heapMb} MB`);
    }
  }
}

/** The innermost place that is the user's. */
function userPlace(frames: readonly ProbedFrame[], running: RunningCall): SourcePosition | undefined {
  const { program } = running.call;
  const file = programFile(program);
  for (const frame of frames) {
    const at = frame.file === file ? originalPosition(program, frame.line, frame.column) : undefined;
    if (at !== undefined) return at;
  }
  return undefined;
}
