/** One worker thread as the host sees it: messages, its clock card, its end. */

import { Worker } from "node:worker_threads";

import { errorText } from "@mesh/kernel";

import { WORKER_SOURCE } from "../gen/worker.ts";
import {
  type FromWorker,
  MAX_PROGRAMS,
  SHARED,
  type ToWorker,
  WORKER_STATES,
  type WorkerStart,
} from "../worker/protocol.ts";

/** Memory of a worker, in MB. */
export interface WorkerMemory {
  /** Where V8 gives up; far above what a script may use, since one allocation past it would end the whole process. */
  readonly hardMb: number;
  readonly bufferMb: number;
}

/** Why a worker is gone. */
export type WorkerEnd = { readonly kind: "heap" } | { readonly kind: "crashed"; readonly reason: string };

/** Who is told what a worker says: the running call, or the pool while it starts. */
export interface WorkerListener {
  message(message: FromWorker): void;
  ended(end: WorkerEnd): void;
}

const MB = 1024 * 1024;
/** Three halves of it are used at a time; see `tidy` of the worker. */
const YOUNG_MB = 32;
const STACK_MB = 1;
const OUT_OF_MEMORY = "ERR_WORKER_OUT_OF_MEMORY";

/** A thread that runs scripts. */
export class ScriptWorker {
  readonly #worker: Worker;
  readonly #shared: Int32Array;
  /** Programs the thread has, in the order it was given them. */
  readonly #programs = new Set<string>();
  #listener: WorkerListener;
  #end: WorkerEnd | undefined;

  constructor(memory: WorkerMemory, listener: WorkerListener) {
    const shared = new SharedArrayBuffer(SHARED.words * Int32Array.BYTES_PER_ELEMENT);
    const workerData: WorkerStart = { shared, bufferBytes: memory.bufferMb * MB };
    this.#shared = new Int32Array(shared);
    this.#listener = listener;
    this.#worker = new Worker(WORKER_SOURCE, {
      eval: true,
      name: "script",
      workerData,
      // No credential of the process, no option of its loader.
      env: {},
      execArgv: [],
      resourceLimits: {
        maxOldGenerationSizeMb: memory.hardMb,
        maxYoungGenerationSizeMb: YOUNG_MB,
        stackSizeMb: STACK_MB,
      },
    });
    this.#worker.on("message", (message: FromWorker) => this.#listener.message(message));
    this.#worker.once("error", (error) => this.#ended(endOf(error)));
    this.#worker.once("exit", (code) => this.#ended({ kind: "crashed", reason: `exit code ${code}` }));
  }

  get threadId(): number {
    return this.#worker.threadId;
  }

  get hasEnded(): boolean {
    return this.#end !== undefined;
  }

  /** Whether the script waits for the host (or sleeps). */
  get isWaiting(): boolean {
    return Atomics.load(this.#shared, SHARED.state) === WORKER_STATES.waiting;
  }

  listen(listener: WorkerListener): void {
    this.#listener = listener;
  }

  knows(digest: string): boolean {
    return this.#programs.has(digest);
  }

  send(message: ToWorker): void {
    if (message.kind === "call") {
      this.#programs.add(message.program.digest);
      const [oldest] = this.#programs;
      if (this.#programs.size > MAX_PROGRAMS && oldest !== undefined) this.#programs.delete(oldest);
      Atomics.store(this.#shared, SHARED.waitedMs, 0);
      Atomics.store(this.#shared, SHARED.state, WORKER_STATES.running);
    }
    this.#worker.postMessage(message);
    Atomics.add(this.#shared, SHARED.wake, 1);
    Atomics.notify(this.#shared, SHARED.wake);
  }

  /** Of `elapsedMs` since its call began, the time the script itself ran. */
  runningMs(elapsedMs: number): number {
    const until = this.isWaiting ? Atomics.load(this.#shared, SHARED.waitStartMs) : elapsedMs;
    return until - Atomics.load(this.#shared, SHARED.waitedMs);
  }

  /** Ends the thread, whatever it does; resolves when it is gone. */
  async terminate(): Promise<void> {
    await this.#worker.terminate();
  }

  #ended(end: WorkerEnd): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    this.#listener.ended(end);
  }
}

function endOf(error: unknown): WorkerEnd {
  if (error instanceof Error && "code" in error && error.code === OUT_OF_MEMORY) return { kind: "heap" };
  return { kind: "crashed", reason: errorText(error) };
}
