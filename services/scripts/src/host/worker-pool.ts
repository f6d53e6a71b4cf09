/**
 * The threads scripts run on, and who gets the next free one.
 *
 * P1  A worker serves one call at a time. Nested calls come before outer ones: they free what waits for them.
 * P2  There are as many running workers as processors; more only while others wait for operations, or while every one
 *     has been running the same call for long; never more than `maxWorkers`.
 * P3  Outermost calls leave a quarter of the workers to nested ones. A nested call that still finds every worker waiting
 *     fails after a while instead of waiting for itself.
 * P4  Idle workers end after a while; `minWarm` stay.
 */

import { type CancelTimer, type Clock, MeshError } from "@mesh/kernel";

import { ScriptWorker, type WorkerEnd, type WorkerMemory } from "./script-worker.ts";

/** Sizes of the pool. */
export interface WorkerPoolOptions {
  readonly maxWorkers: number;
  readonly minWarm: number;
  readonly maxRunning: number;
  readonly maxQueued: number;
  readonly idleMs: number;
  readonly memory: WorkerMemory;
}

/** What a call asks a worker for. */
export interface WorkerRequest {
  readonly label: string;
  readonly depth: number;
  /** Workers that know the program are preferred. */
  readonly digest: string;
  readonly signal: AbortSignal;
}

interface Waiter extends WorkerRequest {
  readonly since: number;
  readonly resolve: (worker: ScriptWorker) => void;
  readonly reject: (error: Error) => void;
}

/** Why a call with this signal ended: the reason it was given, if that is meant for users. */
export function cancelReason(label: string, signal: AbortSignal): MeshError {
  const reason: unknown = signal.reason;
  return reason instanceof MeshError ? reason : new MeshError("cancelled", `${label} was cancelled`);
}

const PATIENCE_MS = 100;
const NESTED_WAIT_MS = 2_000;
const OUTER_SHARE = 0.5;

/** Workers, busy and idle, and the calls that wait for one. */
export class WorkerPool {
  readonly #clock: Clock;
  readonly #options: WorkerPoolOptions;
  /** With the time each began its call. */
  readonly #busy = new Map<ScriptWorker, number>();
  /** The one used last is at the end. */
  readonly #idle: ScriptWorker[] = [];
  readonly #idleSince = new Map<ScriptWorker, number>();
  #starting = 0;
  #waiters: Waiter[] = [];
  #idleTimer: CancelTimer | undefined;
  #closed = false;

  constructor(clock: Clock, options: WorkerPoolOptions) {
    this.#clock = clock;
    this.#options = options;
  }

  get size(): number {
    return this.#busy.size + this.#idle.length + this.#starting;
  }

  get waiting(): number {
    return this.#waiters.length;
  }

  /** Starts workers until the least number of warm ones is there. */
  warm(): void {
    while (!this.#closed && this.size < this.#options.minWarm) this.#startWorker();
  }

  /** A worker for one call; give it back with `release`. */
  async acquire(request: WorkerRequest): Promise<ScriptWorker> {
    if (this.#closed) throw new MeshError("unavailable", "Scripts are being shut down");
    if (this.#waiters.length >= this.#options.maxQueued) {
      throw new MeshError(
        "resource_exhausted",
        `${this.#waiters.length} script calls wait for a worker already; try again later`,
      );
    }
    return this.#takeAtOnce(request) ?? (await this.#takeLater(request));
  }

  /** As `pump` would, where nobody waits and a worker is there. */
  #takeAtOnce({ depth, digest, signal }: WorkerRequest): ScriptWorker | undefined {
    if (signal.aborted || this.#waiters.length > 0 || this.#busy.size >= this.#cap(depth)) return undefined;
    const worker = this.#takeIdle(digest);
    if (worker !== undefined) this.#busy.set(worker, this.#clock.monotonic());
    return worker;
  }

  #takeLater(request: WorkerRequest): Promise<ScriptWorker> {
    return new Promise<ScriptWorker>((resolve, reject) => {
      const { signal } = request;
      const cancel = (): void => {
        this.#waiters = this.#waiters.filter((other) => other !== waiter);
        reject(cancelReason(request.label, signal));
      };
      const settled =
        <Value>(then: (value: Value) => void) =>
        (value: Value): void => {
          signal.removeEventListener("abort", cancel);
          then(value);
        };
      const since = this.#clock.monotonic();
      const waiter: Waiter = { ...request, since, resolve: settled(resolve), reject: settled(reject) };
      this.#enqueue(waiter);
      signal.addEventListener("abort", cancel, { once: true });
      if (signal.aborted) cancel();
      else this.pump();
    });
  }

  /** Takes a worker back; one that has been ended, or is being ended, is forgotten. */
  release(worker: ScriptWorker, options: { readonly reusable: boolean }): void {
    this.#busy.delete(worker);
    if (options.reusable && !worker.hasEnded && !this.#closed) this.#becomeIdle(worker);
    else this.warm();
    this.pump();
  }

  /** Serves waiting calls as far as workers and limits allow. Call it when something may have changed, and now and then. */
  pump(): void {
    for (;;) {
      const waiter = this.#waiters.find(({ depth }) => this.#busy.size < this.#cap(depth));
      const worker = waiter === undefined ? undefined : this.#takeIdle(waiter.digest);
      if (waiter === undefined || worker === undefined) break;
      this.#waiters = this.#waiters.filter((other) => other !== waiter);
      this.#busy.set(worker, this.#clock.monotonic());
      waiter.resolve(worker);
    }
    const eligible = this.#waiters.filter(({ depth }) => this.#busy.size < this.#cap(depth));
    if (eligible.length > this.#starting && this.#mayGrow()) this.#startWorker();
    this.#failStuck();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#idleTimer?.();
    for (const waiter of this.#waiters) waiter.reject(new MeshError("unavailable", "Scripts are being shut down"));
    this.#waiters = [];
    const workers = [...this.#busy.keys(), ...this.#idle];
    this.#idle.length = 0;
    await Promise.all(workers.map((worker) => worker.terminate()));
  }

  #enqueue(waiter: Waiter): void {
    const at = this.#waiters.findIndex(({ depth }) => depth < waiter.depth);
    this.#waiters.splice(at < 0 ? this.#waiters.length : at, 0, waiter);
  }

  // Each level of nesting may have one worker more than the level that waits for it, so that the deepest calls can always end.
  #cap(depth: number): number {
    const { maxWorkers } = this.#options;
    return Math.max(1, Math.min(maxWorkers, Math.floor(maxWorkers * OUTER_SHARE) + depth));
  }

  #mayGrow(): boolean {
    if (this.size >= this.#options.maxWorkers) return false;
    const running = [...this.#busy].filter(([worker]) => !worker.isWaiting);
    if (running.length + this.#starting < this.#options.maxRunning) return true;
    const now = this.#clock.monotonic();
    return this.#starting === 0 && running.every(([, since]) => now - since > PATIENCE_MS);
  }

  /** P3: nobody will give a worker back to a nested call when all wait for calls like it. */
  #failStuck(): void {
    if (this.#busy.size < this.#options.maxWorkers || [...this.#busy.keys()].some((worker) => !worker.isWaiting))
      return;
    const now = this.#clock.monotonic();
    for (const waiter of this.#waiters.filter(({ depth, since }) => depth > 0 && now - since > NESTED_WAIT_MS)) {
      this.#waiters = this.#waiters.filter((other) => other !== waiter);
      waiter.reject(
        new MeshError(
          "resource_exhausted",
          `All ${this.#options.maxWorkers} script workers wait for other calls, so a nested one cannot start: call fewer scripts and assistants at once or less deep`,
        ),
      );
    }
  }

  #startWorker(): void {
    this.#starting += 1;
    const worker = new ScriptWorker(this.#options.memory, {
      message: () => {
        this.#starting -= 1;
        if (this.#closed) void worker.terminate();
        else this.#becomeIdle(worker);
        this.pump();
      },
      ended: (end) => this.#startFailed(end),
    });
  }

  #startFailed(end: WorkerEnd): void {
    this.#starting -= 1;
    const reason = end.kind === "crashed" ? end.reason : "out of memory";
    const [waiter] = this.#waiters.splice(0, 1);
    waiter?.reject(new MeshError("unavailable", `A script worker could not start (${reason}); try again`));
  }

  #becomeIdle(worker: ScriptWorker): void {
    worker.listen({
      message: () => undefined,
      ended: () => {
        this.#forgetIdle(worker);
        this.warm();
      },
    });
    this.#idle.push(worker);
    this.#idleSince.set(worker, this.#clock.monotonic());
    this.#scheduleIdleEnd();
  }

  #takeIdle(digest: string): ScriptWorker | undefined {
    const worker = this.#idle.findLast((candidate) => candidate.knows(digest)) ?? this.#idle.at(-1);
    if (worker !== undefined) this.#forgetIdle(worker);
    return worker;
  }

  #forgetIdle(worker: ScriptWorker): void {
    const at = this.#idle.indexOf(worker);
    if (at >= 0) this.#idle.splice(at, 1);
    this.#idleSince.delete(worker);
  }

  #scheduleIdleEnd(): void {
    if (this.#idleTimer !== undefined || this.size <= this.#options.minWarm) return;
    this.#idleTimer = this.#clock.after(this.#options.idleMs, () => {
      this.#idleTimer = undefined;
      this.#endIdle();
      if (this.#idle.length > 0) this.#scheduleIdleEnd();
    });
  }

  #endIdle(): void {
    const now = this.#clock.monotonic();
    const isOld = (worker: ScriptWorker): boolean => now - (this.#idleSince.get(worker) ?? now) >= this.#options.idleMs;
    for (const worker of this.#idle.filter(isOld)) {
      if (this.size <= this.#options.minWarm) return;
      this.#forgetIdle(worker);
      void worker.terminate();
    }
  }
}
