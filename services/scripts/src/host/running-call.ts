/**
 * One call on one worker, from the first message to the last.
 *
 * C1  It settles once: with the function's outcome, or with the reason that ended it (limit, cancel, dead worker).
 * C2  When it settles, its `OpIo.signal` aborts, callbacks still wanted reject, and answers that come later are dropped.
 * C3  A cancelled script gets a short time to come to its end, so that its worker can be used again; then the thread is ended.
 */

import { setMaxListeners } from "node:events";

import { type CancelTimer, type Clock, type Json, MeshError } from "@mesh/kernel";

import type { HostOps, OpIo, ScriptCall, ScriptLimits, ScriptResult } from "../call.ts";
import type { FromWorker } from "../worker/protocol.ts";
import { parseUntrusted, readOpArguments } from "./op-argument.ts";
import { failureAnswer, resultAnswer } from "./operation-answer.ts";
import { type ScriptLimit, ScriptLimitError, thrownError } from "./script-error.ts";
import type { ScriptWorker, WorkerEnd } from "./script-worker.ts";
import { programFile, type SourcePosition } from "./source-stack.ts";
import { cancelReason } from "./worker-pool.ts";

/** What a running call needs of its host. */
export interface RunningCallDeps {
  readonly clock: Clock;
  readonly worker: ScriptWorker;
  readonly ops: HostOps;
  readonly limits: ScriptLimits;
  /** An operation began to wait: another worker may be of use. */
  readonly onWait: () => void;
  /** An operation failed with something the script must not read. */
  readonly onInternalError: (error: MeshError, op: string) => void;
}

interface PendingCallback {
  resolve(value: Json | undefined): void;
  reject(error: Error): void;
}

const CANCEL_GRACE_MS = 100;

/** A call while it runs. */
export class RunningCall {
  readonly worker: ScriptWorker;
  readonly call: ScriptCall;
  readonly limits: ScriptLimits;
  readonly #deps: RunningCallDeps;
  /** Made for the first operation that asks: most calls have none, and an abort with its reason costs a stack. */
  #ending: AbortController | undefined;
  #isSettled = false;
  readonly #callbacks = new Map<number, PendingCallback>();
  readonly #startedAt: number;
  #nextCallback = 1;
  /** Version of the context memory the script's copy is equal to. */
  #memoryVersion = 0;
  #cancelGrace: CancelTimer | undefined;
  #cancelled: MeshError | undefined;
  #hasReturned = false;
  #settle: { resolve(result: ScriptResult): void; reject(error: Error): void } | undefined;

  constructor(deps: RunningCallDeps, call: ScriptCall) {
    this.#deps = deps;
    this.call = call;
    this.worker = deps.worker;
    this.limits = deps.limits;
    this.#startedAt = deps.clock.monotonic();
  }

  get ageMs(): number {
    return this.#deps.clock.monotonic() - this.#startedAt;
  }

  /** Whether the worker came out of the script, however the call ended. */
  get hasReturned(): boolean {
    return this.#hasReturned;
  }

  /** Whether nothing more will come of it. */
  get isSettled(): boolean {
    return this.#isSettled;
  }

  /** Starts the call; resolves or rejects when it has settled. `args` is the JSON of the wire arguments. */
  async run(args: string, signal: AbortSignal): Promise<ScriptResult> {
    const cancel = (): void => this.#cancel(cancelReason(this.call.label, signal));
    signal.addEventListener("abort", cancel, { once: true });
    try {
      return await new Promise<ScriptResult>((resolve, reject) => {
        this.#settle = { resolve, reject };
        this.worker.listen({ message: (message) => this.#message(message), ended: (end) => this.#workerEnded(end) });
        this.#start(args);
        if (signal.aborted) cancel();
      });
    } finally {
      signal.removeEventListener("abort", cancel);
      this.#cancelGrace?.();
    }
  }

  /** Ends the call by force, for a limit the host keeps. */
  exceed(limit: ScriptLimit, text: string, at?: SourcePosition): void {
    this.#fail(new ScriptLimitError(limit, `${this.call.label} ${text}`, at));
  }

  #start(args: string): void {
    const { program, fn, contextMemory } = this.call;
    const known = this.worker.knows(program.digest);
    this.#memoryVersion = contextMemory?.version ?? 0;
    this.worker.send({
      kind: "call",
      program: { digest: program.digest, file: programFile(program), ...(!known && { code: program.code }) },
      fn,
      args,
      memory: this.#memoryVersion === 0 ? "" : (contextMemory?.snapshot() ?? ""),
      limits: this.limits,
    });
  }

  #message(message: FromWorker): void {
    if (this.isSettled) return;
    switch (message.kind) {
      case "operation":
        this.#operation(message);
        return;
      case "called":
        this.#called(message.id, message.outcome);
        return;
      case "over":
        this.exceed(message.limit, OVER[message.limit](message.size, this.limits[message.limit]));
        return;
      case "done":
        this.#done(message);
        return;
      case "ready":
    }
  }

  #operation({ operation, op, args, changes }: Extract<FromWorker, { kind: "operation" }>): void {
    let result: Json | undefined | Promise<Json | undefined>;
    try {
      this.#takeChanges(changes);
      result = this.#deps.ops.invoke(op, readOpArguments(op, args), this.#io(operation));
    } catch (error) {
      this.#answer(operation, this.#failure(op, error));
      return;
    }
    if (!(result instanceof Promise)) {
      this.#answer(operation, this.#result(op, result));
      return;
    }
    this.#deps.onWait();
    result.then(
      (value) => this.#answer(operation, this.#result(op, value)),
      (error: unknown) => this.#answer(operation, this.#failure(op, error)),
    );
  }

  #result(op: string, value: Json | undefined): string {
    try {
      return resultAnswer(op, value, this.limits.answerBytes);
    } catch (error) {
      return this.#failure(op, error);
    }
  }

  #failure(op: string, error: unknown): string {
    return failureAnswer(op, error, (hidden) => this.#deps.onInternalError(hidden, op));
  }

  #answer(operation: number, answer: string): void {
    if (this.isSettled) return;
    const memory = this.call.contextMemory;
    const isStale = memory !== undefined && memory.version !== this.#memoryVersion;
    if (isStale) this.#memoryVersion = memory.version;
    this.worker.send({ kind: "answer", operation, answer, memory: isStale ? memory.snapshot() : "" });
  }

  #signal(): AbortSignal {
    if (this.#ending === undefined) {
      this.#ending = new AbortController();
      setMaxListeners(0, this.#ending.signal);
      if (this.#isSettled) this.#ending.abort(this.#hasEnded());
    }
    return this.#ending.signal;
  }

  #io(operation: number): OpIo {
    const signal = (): AbortSignal => this.#signal();
    return {
      get signal() {
        return signal();
      },
      callback: (fn, args) =>
        new Promise((resolve, reject) => {
          if (this.isSettled) {
            reject(this.#hasEnded());
            return;
          }
          const id = this.#nextCallback;
          this.#nextCallback += 1;
          this.#callbacks.set(id, { resolve, reject });
          this.worker.send({ kind: "callback", operation, id, fn, args: JSON.stringify(args) });
        }),
    };
  }

  #called(id: number, outcome: string): void {
    const pending = this.#callbacks.get(id);
    this.#callbacks.delete(id);
    if (pending === undefined) return;
    try {
      if (outcome.startsWith("-")) pending.reject(thrownError(outcome, this.call.program));
      else pending.resolve(valueOf(outcome));
    } catch {
      pending.reject(unreadable(this.call));
    }
  }

  #done({ outcome, changes, operations, runMs }: Extract<FromWorker, { kind: "done" }>): void {
    this.#hasReturned = true;
    try {
      this.#takeChanges(changes);
      if (this.#cancelled !== undefined && outcome.startsWith("-")) throw this.#cancelled;
      if (outcome.startsWith("-")) throw thrownError(outcome, this.call.program);
      this.#end();
      this.#settle?.resolve(
        outcome === "?"
          ? { kind: "missing", functions: this.call.program.functions }
          : { kind: "returned", value: valueOf(outcome), stats: { operations, runMs } },
      );
    } catch (error) {
      this.#fail(error instanceof MeshError ? error : unreadable(this.call));
    }
  }

  #takeChanges(changes: string): void {
    const memory = this.call.contextMemory;
    if (changes === "" || memory === undefined) return;
    const isCurrent = memory.version === this.#memoryVersion;
    memory.apply(changes);
    if (isCurrent) this.#memoryVersion = memory.version;
  }

  #cancel(reason: MeshError): void {
    if (this.isSettled || this.#cancelled !== undefined) return;
    this.#cancelled = reason;
    this.worker.send({ kind: "cancel", reason: reason.message });
    this.#cancelGrace = this.#deps.clock.after(CANCEL_GRACE_MS, () => this.#fail(reason));
  }

  #workerEnded(end: WorkerEnd): void {
    if (end.kind === "heap") this.exceed("heap", "used more memory than a script may");
    else
      this.#fail(
        new MeshError("unavailable", `The script worker of ${this.call.label} ended (${end.reason}); run it again`),
      );
  }

  #fail(error: MeshError): void {
    if (this.isSettled) return;
    this.#end();
    this.#settle?.reject(error);
  }

  #end(): void {
    this.#isSettled = true;
    this.#ending?.abort(this.#hasEnded());
    for (const pending of this.#callbacks.values()) pending.reject(this.#hasEnded());
    this.#callbacks.clear();
  }

  #hasEnded(): MeshError {
    return new MeshError("cancelled", `${this.call.label} has ended`);
  }
}

const OVER = {
  operations: (size: number, max: number) => `asked for more than ${max} operations (at the ${size}th)`,
  outputBytes: (size: number, max: number) => `sent ${size} bytes; a call may send ${max}`,
  resultBytes: (size: number, max: number) => `returned ${size} bytes; a function may return ${max}`,
} as const;

function valueOf(outcome: string): Json | undefined {
  return outcome.startsWith("+") ? parseUntrusted(outcome.slice(1)) : undefined;
}

function unreadable(call: ScriptCall): MeshError {
  return new MeshError("invalid_argument", `${call.label} returned something that cannot be read`);
}
