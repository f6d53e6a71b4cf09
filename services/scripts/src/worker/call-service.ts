/**
 * Serves the operations of one call inside the worker: hands them to the host and blocks until the answer is there,
 * running the script's callbacks meanwhile.
 *
 * W1  While an operation is pending, only its own callbacks run; those of the operations around it wait their turn.
 * W2  The worker's clock card says at any moment whether the script runs or waits, and how long it has waited.
 * W3  Over a limit there is no way back into the script: the worker says so and waits for its end.
 */

import { type MessagePort, receiveMessageOnPort } from "node:worker_threads";

import { type FromWorker, SHARED, type ToWorker, WORKER_STATES, type WorkerLimits } from "./protocol.ts";
import type { Sandbox } from "./sandbox.ts";

/** What a call's operations need of the worker. */
export interface CallServiceDeps {
  readonly port: MessagePort;
  readonly shared: Int32Array;
  readonly bufferBytes: number;
  /** Monotonic time, ms. */
  readonly now: () => number;
  /** Bytes of buffers this thread holds. */
  readonly bufferBytesHeld: () => number;
}

type Answer = Extract<ToWorker, { kind: "answer" | "callback" }>;

const CANCELLED = "cancelled";
const MAX_SLEEP_MS = 24 * 3_600_000;

/** The operations of one call. */
export class CallService {
  readonly #deps: CallServiceDeps;
  readonly #sandbox: Sandbox;
  readonly #limits: WorkerLimits;
  readonly #startedAt: number;
  /** Arrived for an operation further out. */
  #stash: Answer[] = [];
  #cancelled: string | undefined;
  #operations = 0;
  #outputBytes = 0;
  #waitedMs = 0;

  constructor(deps: CallServiceDeps, sandbox: Sandbox, limits: WorkerLimits) {
    this.#deps = deps;
    this.#sandbox = sandbox;
    this.#limits = limits;
    this.#startedAt = deps.now();
    Atomics.store(deps.shared, SHARED.waitedMs, 0);
    Atomics.store(deps.shared, SHARED.state, WORKER_STATES.running);
  }

  get operations(): number {
    return this.#operations;
  }

  /** Time the script itself ran. */
  get runMs(): number {
    return this.#deps.now() - this.#startedAt - this.#waitedMs;
  }

  /** Serves one operation; the host function of the context. */
  serve(op: string, args: string): string {
    if (op === "memory.Bytes") return this.#bytes(Number(args));
    if (this.#cancelled !== undefined) return failure(this.#cancelled, CANCELLED);
    if (op === "time.Sleep") return this.#sleep(Number(args));
    this.#operations += 1;
    if (this.#operations > this.#limits.operations) this.stop("operations", this.#operations);
    const operation = this.#operations;
    const changes = this.takeChanges();
    this.#count(args);
    this.#post({ kind: "operation", operation, op, args, changes });
    return this.#answer(operation);
  }

  /** Changes of the context memory, counted as output. */
  takeChanges(): string {
    const changes = this.#sandbox.takeChanges();
    this.#count(changes);
    return changes;
  }

  #count(text: string): void {
    this.#outputBytes += text.length;
    if (this.#outputBytes > this.#limits.outputBytes) this.stop("outputBytes", this.#outputBytes);
  }

  /** Says that the call went over a limit and never returns. */
  stop(limit: keyof WorkerLimits, size: number): never {
    this.#post({ kind: "over", limit, size });
    Atomics.store(this.#deps.shared, SHARED.state, WORKER_STATES.waiting);
    for (;;) Atomics.wait(this.#deps.shared, SHARED.wake, Atomics.load(this.#deps.shared, SHARED.wake));
  }

  #answer(operation: number): string {
    for (;;) {
      const message = this.#next(operation);
      if (message === undefined) return failure(this.#cancelled ?? "The call was cancelled", CANCELLED);
      if (message.kind === "answer") {
        if (message.memory !== "") this.#sandbox.loadMemory(message.memory);
        return message.answer;
      }
      const outcome = this.#sandbox.callback(message.fn, message.args);
      this.#count(outcome);
      this.#post({ kind: "called", id: message.id, outcome });
    }
  }

  /** The next message for `operation`, or undefined when the call is cancelled. */
  #next(operation: number): Answer | undefined {
    const at = this.#stash.findIndex((message) => message.operation === operation);
    if (at >= 0) return this.#stash.splice(at, 1)[0];
    for (;;) {
      if (this.#cancelled !== undefined) return undefined;
      const message = this.#wait(undefined);
      if (message === undefined || message.kind === "call") continue;
      if (message.kind === "cancel") this.#cancelled = message.reason;
      else if (message.operation === operation) return message;
      else this.#stash.push(message);
    }
  }

  #sleep(ms: number): string {
    const until = this.#deps.now() + Math.min(Math.max(0, ms), MAX_SLEEP_MS);
    for (;;) {
      const leftMs = until - this.#deps.now();
      if (leftMs <= 0) return "=";
      const message = this.#wait(leftMs);
      if (message === undefined || message.kind === "call") continue;
      if (message.kind !== "cancel") {
        this.#stash.push(message);
        continue;
      }
      this.#cancelled = message.reason;
      return failure(message.reason, CANCELLED);
    }
  }

  /** Blocks until a message is there or `timeoutMs` has passed. */
  #wait(timeoutMs: number | undefined): ToWorker | undefined {
    const { port, shared, now } = this.#deps;
    // Read before looking: what arrives after the look changes it, and the wait returns at once.
    const seen = Atomics.load(shared, SHARED.wake);
    const waiting = receiveMessageOnPort(port);
    if (waiting !== undefined) return waiting.message;
    const from = now();
    Atomics.store(shared, SHARED.waitStartMs, Math.floor(from - this.#startedAt));
    Atomics.store(shared, SHARED.state, WORKER_STATES.waiting);
    Atomics.wait(shared, SHARED.wake, seen, timeoutMs);
    this.#waitedMs += now() - from;
    Atomics.store(shared, SHARED.waitedMs, Math.floor(this.#waitedMs));
    Atomics.store(shared, SHARED.state, WORKER_STATES.running);
    return receiveMessageOnPort(port)?.message;
  }

  #bytes(bytes: number): string {
    const { bufferBytes, bufferBytesHeld } = this.#deps;
    // What is not a number asks for the most.
    if (bytes <= bufferBytes && bufferBytesHeld() + bytes <= bufferBytes) return "=";
    return failure(
      `There is no room for a buffer of ${bytes} bytes: a script may hold ${bufferBytes}`,
      "resource_exhausted",
    );
  }

  #post(message: FromWorker): void {
    this.#deps.port.postMessage(message);
  }
}

function failure(message: string, code: string): string {
  return `-${JSON.stringify({ message, code })}`;
}
