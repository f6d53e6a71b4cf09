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

type Limit = Exclude<keyof Timeouts, "totalMs">;

/** Looks are not more frequent than this, unless a limit is. */
const MIN_LOOK_MS = 1000;

const LIMITS: readonly Limit[] = ["attemptMs", "firstByteMs", "idleMs", "progressMs", "drainMs"];

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
  #lookAt = Infinity;
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
    // A look too early now and then costs less than setting the timer anew with the first byte and the end of every answer.
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
    if (isFirst && this.#dueAt("idleMs") < this.#lookAt) this.#arm();
  }

  /** Something was said. */
  progress(): void {
    this.#progressAt = this.#clock.monotonic();
  }

  /** The answer is complete: what may follow is worth a short wait only. */
  complete(): void {
    if (this.#completeAt !== undefined) return;
    this.#completeAt = this.#clock.monotonic();
    if (this.#dueAt("drainMs") < this.#lookAt) this.#arm();
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
    const now = this.#clock.monotonic();
    const { idleMs, drainMs } = this.#limits;
    const nextLookMs = Math.max(MIN_LOOK_MS, Math.min(idleMs, drainMs));
    this.#lookAt = Math.min(this.#dueAt(this.#nextLimit()), now + nextLookMs);
    this.#cancelTimer = this.#clock.after(Math.max(0, this.#lookAt - now), () => {
      const limit = this.#nextLimit();
      if (this.#dueAt(limit) > this.#clock.monotonic()) this.#arm();
      else this.#end(new ProviderError({ errorClass: "timeout", message: lateText(limit, this.#limits[limit]) }));
    });
  }

  #nextLimit(): Limit {
    return LIMITS.reduce((first, limit) => (this.#dueAt(limit) < this.#dueAt(first) ? limit : first));
  }

  /** When a limit is reached; Infinity for one that does not apply now. */
  #dueAt(limit: Limit): number {
    return (this.#since(limit) ?? Infinity) + this.#limits[limit];
  }

  #since(limit: Limit): number | undefined {
    switch (limit) {
      case "attemptMs":
        return this.#startedAt;
      case "firstByteMs":
        return this.#byteAt === undefined ? this.#startedAt : undefined;
      case "idleMs":
        return this.#byteAt;
      case "progressMs":
        return this.#progressAt;
      case "drainMs":
        return this.#completeAt;
    }
  }
}

function lateText(limit: Limit, ms: number): string {
  switch (limit) {
    case "attemptMs":
      return `the answer took longer than ${seconds(ms)}; raise the attempt time-out if it needs more`;
    case "firstByteMs":
      return `the server did not answer for ${seconds(ms)}`;
    case "idleMs":
      return `the server sent nothing for ${seconds(ms)}`;
    case "progressMs":
      return `the server kept the connection alive for ${seconds(ms)} without an answer`;
    case "drainMs":
      return "the connection was not closed after the answer";
  }
}

function seconds(ms: number): string {
  return ms < 1000 ? `${ms} ms` : `${Math.round(ms / 1000)} s`;
}
