/**
 * The patience of one attempt: it ends when the caller aborts, when the whole call has taken too long, or when a single
 * wait has; whichever comes first aborts {@link CallGuard.signal}, which closes the connection.
 */

import { type CancelTimer, type Clock, MeshError } from "@mesh/kernel";

/** Time-outs of a model call, in milliseconds. */
export interface CallLimits {
  /** From sending the request to the first byte of the body. */
  readonly firstByteMs: number;
  /** Between two reads of the body. */
  readonly idleMs: number;
  /** All attempts together. */
  readonly totalMs: number;
}

/** What a guard needs to know. */
export interface CallGuardInit {
  readonly clock: Clock;
  /** The caller's. */
  readonly signal: AbortSignal;
  /** For messages. */
  readonly connectorId: string;
  /** Left of the whole call. */
  readonly remainingMs: number;
}

/** See the file comment; `close` must be called once the attempt is over. */
export class CallGuard {
  readonly #clock: Clock;
  readonly #caller: AbortSignal;
  readonly #connectorId: string;
  readonly #controller = new AbortController();
  readonly #cancelTotal: CancelTimer;

  constructor(init: CallGuardInit) {
    this.#clock = init.clock;
    this.#caller = init.signal;
    this.#connectorId = init.connectorId;
    this.#cancelTotal = init.clock.after(Math.max(0, init.remainingMs), () => {
      this.#expire("the call took longer than it may; raise timeouts.total of the connector if it needs more");
    });
    this.#caller.addEventListener("abort", this.#abort, { once: true });
    if (this.#caller.aborted) this.#abort();
  }

  /** Aborted as soon as the attempt must end; its reason is a MeshError. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Settles as `work` does, or rejects when the guard ends or `limitMs` pass. `what` completes "the server …". */
  async wait<T>(work: Promise<T>, limitMs: number, what: string): Promise<T> {
    const { signal } = this;
    let onAbort: () => void = () => undefined;
    const ended = new Promise<never>((_resolve, reject) => {
      onAbort = (): void => reject(MeshError.from(signal.reason));
      signal.addEventListener("abort", onAbort, { once: true });
    });
    const cancel = this.#clock.after(limitMs, () =>
      this.#expire(`the server ${what} for ${Math.round(limitMs / 1000)} s`),
    );
    if (signal.aborted) onAbort();
    try {
      return await Promise.race([work, ended]);
    } catch (error) {
      // An aborted fetch rejects in its own words; ours say why.
      throw signal.aborted ? MeshError.from(signal.reason) : error;
    } finally {
      cancel();
      signal.removeEventListener("abort", onAbort);
    }
  }

  /** Ends the attempt and frees timers and listeners; harmless when repeated. */
  close(): void {
    this.#cancelTotal();
    this.#caller.removeEventListener("abort", this.#abort);
    this.#controller.abort(new MeshError("cancelled", "the model call has ended"));
  }

  readonly #abort = (): void => {
    this.#controller.abort(new MeshError("cancelled", "the model call was cancelled", { cause: this.#caller.reason }));
  };

  #expire(what: string): void {
    this.#controller.abort(
      new MeshError("deadline_exceeded", `connector ${this.#connectorId}: ${what}`, {
        details: { connector: this.#connectorId, retry: false },
      }),
    );
  }
}
