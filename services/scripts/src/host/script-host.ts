/**
 * Runs functions of bundled scripts: one exclusive worker thread a call, a fresh context, limits on everything.
 *
 * L1  A call ends by itself, by its signal, or by a limit; nothing a script does keeps a worker for ever.
 * L2  A script sees no object of the host, and no state of another call but the context memory it was handed.
 * L3  A worker is used again only after a call that came to its own end.
 */

import { availableParallelism } from "node:os";

import { type CancelTimer, type Clock, MeshError } from "@mesh/kernel";

import type { HostOps, ScriptCall, ScriptLimits, ScriptResult } from "../call.ts";
import { DEFAULT_LIMITS } from "./default-limit.ts";
import { RunningCall, type RunningCallDeps } from "./running-call.ts";
import { ScriptLimitError } from "./script-error.ts";
import type { ScriptWorker } from "./script-worker.ts";
import { Watchdog } from "./watchdog.ts";
import { WorkerPool } from "./worker-pool.ts";

/** What a script host needs. */
export interface ScriptHostDeps {
  readonly clock: Clock;
  /** An operation failed with something the script was not told. */
  readonly onInternalError?: (error: MeshError, op: string) => void;
  /** A thread could not be ended (it is in a native loop): only ending the process frees what it holds. */
  readonly onStuck?: () => void;
}

/** Sizes and limits of a host. */
export interface ScriptHostOptions {
  readonly maxWorkers?: number;
  readonly minWarm?: number;
  /** Calls that may wait for a worker. */
  readonly maxQueued?: number;
  readonly idleMs?: number;
  /** Heap a script may use, MB. */
  readonly heapMb?: number;
  /** Buffers a script may hold, MB. */
  readonly bufferMb?: number;
  readonly maxDepth?: number;
  readonly limits?: Partial<ScriptLimits>;
}

const DEFAULTS = {
  maxWorkers: 32,
  minWarm: 1,
  maxQueued: 1_000,
  idleMs: 30_000,
  heapMb: 256,
  bufferMb: 128,
  maxDepth: 16,
} as const;
/** See {@link WorkerMemory.hardMb}: room for the largest single array V8 can make, and for its copy. */
const HARD_HEAP_MB = 2_048;
const TICK_MS = 20;
const STUCK_MS = 5_000;
const MIN_RUNNING = 2;

/** Calls functions of scripts. */
export class ScriptHost {
  readonly #deps: ScriptHostDeps;
  readonly #options: Required<Omit<ScriptHostOptions, "limits">>;
  readonly #limits: ScriptLimits;
  readonly #pool: WorkerPool;
  readonly #watchdog: Watchdog;
  readonly #callDeps: Omit<RunningCallDeps, "worker" | "ops" | "limits">;
  readonly #running = new Set<RunningCall>();
  #calls = 0;
  #ticker: CancelTimer | undefined;

  constructor(deps: ScriptHostDeps, options: ScriptHostOptions = {}) {
    const { limits, ...sizes } = options;
    this.#deps = deps;
    this.#options = { ...DEFAULTS, ...sizes };
    this.#limits = { ...DEFAULT_LIMITS, ...limits };
    const { heapMb, bufferMb, ...poolSizes } = this.#options;
    this.#pool = new WorkerPool(deps.clock, {
      ...poolSizes,
      maxRunning: Math.max(MIN_RUNNING, availableParallelism()),
      memory: { hardMb: Math.max(HARD_HEAP_MB, heapMb * 2), bufferMb },
    });
    this.#watchdog = new Watchdog(deps.clock, heapMb);
    this.#callDeps = {
      clock: deps.clock,
      onWait: () => this.#pool.pump(),
      onInternalError: (error, op) => deps.onInternalError?.(error, op),
    };
  }

  /** Starts the workers that are kept warm; without it the first call starts one. */
  warm(): void {
    this.#pool.warm();
  }

  /** Threads there are now. */
  get workers(): number {
    return this.#pool.size;
  }

  /**
   * Calls a function. Rejects with a ScriptError when the script threw, a ScriptLimitError when it went too far, and
   * `cancelled` when `signal` aborted.
   */
  async call(call: ScriptCall, ops: HostOps, signal: AbortSignal): Promise<ScriptResult> {
    const limits = { ...this.#limits, ...call.limits };
    const args = this.#checked(call, limits);
    this.#calls += 1;
    this.#tick();
    try {
      const { depth = 0, program, label } = call;
      const worker = await this.#pool.acquire({ label, depth, digest: program.digest, signal });
      return await this.#run(new RunningCall({ ...this.#callDeps, worker, ops, limits }, call), args, signal);
    } finally {
      this.#calls -= 1;
      this.#tick();
    }
  }

  /** Ends all workers; calls still running fail with `unavailable`. */
  async close(): Promise<void> {
    await this.#pool.close();
    this.#watchdog.close();
  }

  #checked(call: ScriptCall, limits: ScriptLimits): string {
    const { label, depth = 0 } = call;
    if (depth > this.#options.maxDepth) {
      throw new ScriptLimitError(
        "depth",
        `${label} is nested ${depth} calls deep; ${this.#options.maxDepth} are allowed`,
      );
    }
    const args = JSON.stringify(call.args);
    if (args.length <= limits.argumentBytes) return args;
    throw new MeshError(
      "resource_exhausted",
      `The arguments of ${label} have ${args.length} bytes; up to ${limits.argumentBytes} are allowed`,
    );
  }

  async #run(running: RunningCall, args: string, signal: AbortSignal): Promise<ScriptResult> {
    const { worker } = running;
    let reusable = false;
    this.#running.add(running);
    try {
      const result = await running.run(args, signal);
      reusable = true;
      return result;
    } catch (error) {
      reusable = running.hasReturned;
      throw error;
    } finally {
      this.#running.delete(running);
      if (!reusable) void this.#end(worker);
      this.#pool.release(worker, { reusable });
    }
  }

  async #end(worker: ScriptWorker): Promise<void> {
    const cancel = this.#deps.clock.after(STUCK_MS, () => this.#deps.onStuck?.());
    await worker.terminate();
    cancel();
  }

  /** Watches while there is anything to watch. */
  #tick(): void {
    if (this.#calls === 0) {
      this.#ticker?.();
      this.#ticker = undefined;
      this.#watchdog.close();
      return;
    }
    this.#ticker ??= this.#deps.clock.every(TICK_MS, () => {
      for (const running of this.#running) this.#watchdog.check(running);
      if (this.#pool.waiting > 0) this.#pool.pump();
    });
  }
}
