/**
 * The patience of one attempt: one timer that is set again only when it fires, so that a byte costs no more than a number.
 *
 * W1  Whatever ends the attempt first (the caller, a time-out) aborts {@link Watchdog.signal} with a ProviderError.
 * W2  `close` frees the timer and the listener; nothing fires afterwards.
 */

import type { CancelTimer, Clock } from "@mesh/kernel";

import type { Timeouts } from "./provider.ts";
import { ProviderError } from "./provider-error.ts";

/** The bounds that hold when a call names none. */
export const DEFAULT_TIMEOUTS: Timeouts = {
  firstByteMs: 120_000,
  idleMs: 90_000,
  progressMs: 300_000,
  attemptMs: 600_000,
  totalMs: 900_000,
  drainMs: 2000,
};

interface Bound {
  readonly at: number;
  readonly what: string;
}

/** See the file comment. */
export class Watchdog {
  readonly #clock: Clock;
  readonly #caller: AbortSignal;
  readonly #limits: Timeouts;
  readonly #controller = new AbortController();
  readonly #startedAt: number;
  #byteAt: number | undefined;
  #progressAt: number;
  #completeAt: number | undefined;
  #hasAllBytes = false;
  #cancelTimer: CancelTimer = () => undefined;
  #onEnd: ((error: unknown) => void) | undefined;

  constructor(clock: Clock, limits: Timeouts, caller: AbortSignal) {
    this.#clock = clock;
    this.#limits = limits;
    this.#caller = caller;
    this.#startedAt = clock.monotonic();
    this.#progressAt = this.#startedAt;
    this.#caller.addEventListener("abort", this.#abort, { once: true });
    if (this.#caller.aborted) this.#abort();
    else this.#arm();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Bytes arrived. */
  byte(): void {
    const isFirst = this.#byteAt === undefined;
    this.#byteAt = this.#clock.monotonic();
    // Silence may be allowed less time than the first byte was.
    if (isFirst) this.#arm();
  }

  /** Something was said. */
  progress(): void {
    this.#progressAt = this.#clock.monotonic();
  }

  /** The answer is complete: what may follow is worth a short wait only. */
  complete(): void {
    if (this.#completeAt !== undefined) return;
    this.#completeAt = this.#clock.monotonic();
    this.#arm();
  }

  /** The body was read to its end: nothing is left that `close` would have to stop. */
  allBytes(): void {
    this.#hasAllBytes = true;
  }

  /** Settles as `work` does, or rejects as soon as the attempt ends; one wait at a time. */
  wait<T>(work: Promise<T>): Promise<T> {
    const { signal } = this;
    if (signal.aborted) {
      work.catch(() => undefined);
      return Promise.reject(signal.reason as Error);
    }
    return new Promise<T>((resolve, reject) => {
      this.#onEnd = reject;
      work.then(
        (value) => {
          this.#onEnd = undefined;
          resolve(value);
        },
        // An aborted fetch rejects in its own words; ours say why.
        (error: unknown) => reject((signal.aborted ? signal.reason : error) as Error),
      );
    });
  }

  /** Ends the attempt; harmless when repeated. */
  close(): void {
    this.#cancelTimer();
    this.#caller.removeEventListener("abort", this.#abort);
    this.#onEnd = undefined;
    // An abort costs more than all the rest of a call; one that nobody needs is not sent.
    if (!this.signal.aborted && !this.#hasAllBytes)
      this.#controller.abort(new ProviderError({ errorClass: "aborted", message: "the model call has ended" }));
  }

  readonly #abort = (): void => {
    const cause: unknown = this.#caller.reason;
    this.#end(new ProviderError({ errorClass: "aborted", message: "the model call was cancelled", cause }));
  };

  #end(error: ProviderError): void {
    this.#cancelTimer();
    this.#controller.abort(error);
    this.#onEnd?.(error);
  }

  #arm(): void {
    this.#cancelTimer();
    if (this.signal.aborted) return;
    const next = this.#next();
    this.#cancelTimer = this.#clock.after(Math.max(0, next.at - this.#clock.monotonic()), () => {
      const due = this.#next();
      if (due.at > this.#clock.monotonic()) this.#arm();
      else this.#end(new ProviderError({ errorClass: "timeout", message: due.what }));
    });
  }

  #next(): Bound {
    const { firstByteMs, idleMs, progressMs, attemptMs, drainMs } = this.#limits;
    const bounds: Bound[] = [
      {
        at: this.#startedAt + attemptMs,
        what: `the answer took longer than ${seconds(attemptMs)}; raise the attempt time-out if it needs more`,
      },
      this.#byteAt === undefined
        ? { at: this.#startedAt + firstByteMs, what: `the server did not answer for ${seconds(firstByteMs)}` }
        : { at: this.#byteAt + idleMs, what: `the server sent nothing for ${seconds(idleMs)}` },
      {
        at: this.#progressAt + progressMs,
        what: `the server kept the connection alive for ${seconds(progressMs)} without an answer`,
      },
    ];
    if (this.#completeAt !== undefined) {
      bounds.push({ at: this.#completeAt + drainMs, what: "the connection was not closed after the answer" });
    }
    return bounds.reduce((first, bound) => (bound.at < first.at ? bound : first));
  }
}

function seconds(ms: number): string {
  return ms < 1000 ? `${ms} ms` : `${Math.round(ms / 1000)} s`;
}
