/**
 * Runner processes by workspace: warm, shared by the workspace's runs, replaceable.
 *
 * Q1  Runs of different workspaces never share a process.
 * Q2  A run that does not stop within `STOP_MS` costs its process: at once when it hangs, after its other runs when it does not.
 */

import type { CancelTimer } from "@mesh/kernel";
import type { SteeringMessage } from "@mesh/runtime";

import type { Job } from "./protocol.ts";
import { type RunListener, type RunnerDeps, RunnerProcess } from "./runner-process.ts";

/** A run that was handed to a runner. */
export interface RunHandle {
  /** Asks the run to stop; `gaveUp` is called when it did not in time, after which the listener hears nothing more. */
  cancel(gaveUp: () => void): void;
  /** Says something to the run. */
  steer(message: SteeringMessage): void;
  /** Stops listening and stops the run. */
  abandon(): void;
}

const IDLE_MS = 10 * 60_000;
const STOP_MS = 5_000;

/** The runners of this node. */
export class RunnerPool {
  readonly #deps: RunnerDeps;
  readonly #runners = new Set<RunnerProcess>();
  readonly #idle = new Map<RunnerProcess, CancelTimer>();
  readonly #waiting = new Set<() => void>();

  constructor(deps: RunnerDeps) {
    this.#deps = deps;
  }

  /** Process ids of the live runners. */
  get pids(): readonly number[] {
    return [...this.#runners].flatMap((runner) => (runner.pid === undefined ? [] : [runner.pid]));
  }

  /** Starts the workspace's runner ahead of its first run. */
  warm(workspaceId: string): void {
    this.#runnerOf(workspaceId);
  }

  /** Starts a run in the workspace's runner. */
  run(job: Job, listener: RunListener): RunHandle {
    const runner = this.#runnerOf(job.workspaceId);
    this.#idle.get(runner)?.();
    let cancelStop: CancelTimer | undefined;
    const over = (): void => {
      cancelStop?.();
      this.#settled(runner);
    };
    runner.start(job, {
      ...listener,
      ended: (end) => {
        over();
        listener.ended(end);
      },
      crashed: (reason) => {
        cancelStop?.();
        listener.crashed(reason);
      },
    });
    const giveUp = (): void => {
      runner.forget(job);
      void this.#retire(runner);
    };
    return {
      cancel: (gaveUp) => {
        runner.cancel(job);
        cancelStop ??= this.#deps.clock.after(STOP_MS, () => {
          giveUp();
          gaveUp();
        });
      },
      steer: (message) => runner.steer(job, message),
      abandon: () => {
        runner.cancel(job);
        cancelStop?.();
        cancelStop = this.#deps.clock.after(STOP_MS, giveUp);
      },
    };
  }

  /** Kills every runner and waits until they are gone. */
  async stop(): Promise<void> {
    for (const cancel of this.#idle.values()) cancel();
    this.#idle.clear();
    for (const runner of this.#runners) runner.kill();
    while (this.#runners.size > 0) await new Promise<void>((resolve) => this.#waiting.add(resolve));
  }

  #runnerOf(workspaceId: string): RunnerProcess {
    for (const runner of this.#runners) if (runner.workspaceId === workspaceId && !runner.isRetired) return runner;
    const runner = new RunnerProcess(workspaceId, this.#deps, () => this.#exited(runner));
    this.#runners.add(runner);
    this.#deps.log.debug({ workspaceId, pid: runner.pid }, "runner started");
    this.#settled(runner);
    return runner;
  }

  #settled(runner: RunnerProcess): void {
    if (runner.runCount > 0) return;
    if (runner.isRetired) {
      runner.kill();
      return;
    }
    this.#idle.get(runner)?.();
    this.#idle.set(
      runner,
      this.#deps.clock.after(IDLE_MS, () => {
        if (runner.runCount === 0) runner.leave();
      }),
    );
  }

  async #retire(runner: RunnerProcess): Promise<void> {
    runner.isRetired = true;
    if (runner.runCount === 0 || !(await runner.answers())) runner.kill();
  }

  #exited(runner: RunnerProcess): void {
    this.#idle.get(runner)?.();
    this.#idle.delete(runner);
    this.#runners.delete(runner);
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }
}
