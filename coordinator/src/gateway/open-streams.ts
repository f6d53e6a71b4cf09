/**
 * Every answer that is a stream, whatever carries it: SSE, WebSocket, a download, gRPC.
 *
 * T1  Ends when its handler does; ends early, with the reason thrown, when the client goes, the gateway stops or the token
 *     is no longer valid (looked at every 15 s).
 * T2  A handler that ignores its signal cannot keep a stream open.
 * T3  Streams are bounded, in all and per token.
 */

import { type Clock, MeshError } from "@mesh/kernel";

import type { Admission } from "./admission.ts";
import type { Call } from "./operation.ts";

/** What streams need. */
export interface OpenStreamsDeps {
  readonly admission: Pick<Admission, "recheck">;
  readonly clock: Clock;
}

/** Bounds of streams. */
export interface OpenStreamsOptions {
  readonly maxStreams?: number;
  readonly maxStreamsPerToken?: number;
}

const RECHECK_MS = 15_000;

/** All open streams of this gateway. */
export class OpenStreams {
  readonly #deps: OpenStreamsDeps;
  readonly #options: Required<OpenStreamsOptions>;
  readonly #open = new Set<AbortController>();
  readonly #perToken = new Map<string, number>();
  #stopped = false;

  constructor(deps: OpenStreamsDeps, options: OpenStreamsOptions = {}) {
    this.#deps = deps;
    this.#options = { maxStreams: 10_000, maxStreamsPerToken: 1_000, ...options };
  }

  /** Number of open streams. */
  get size(): number {
    return this.#open.size;
  }

  /**
   * What `open` gives, under the bounds of this class; leaving the loop closes the stream. `open` is called once, with a
   * call whose signal aborts for any of the reasons of T1.
   */
  async *follow<T>(open: (call: Call) => AsyncIterable<T>, call: Call, token: string): AsyncGenerator<T> {
    const controller = this.#enter(call);
    const leave = (): void => controller.abort(new MeshError("cancelled", "the client has gone away"));
    call.signal.addEventListener("abort", leave, { once: true });
    if (call.signal.aborted) leave();
    const cancelRecheck = this.#deps.clock.every(RECHECK_MS, () => void this.#recheck(token, controller));
    try {
      yield* abortable(open({ ...call, signal: controller.signal }), controller.signal);
    } finally {
      cancelRecheck();
      call.signal.removeEventListener("abort", leave);
      this.#leave(call, controller);
    }
  }

  /** Ends all streams with `unavailable`; new ones are refused. */
  stop(): void {
    this.#stopped = true;
    for (const controller of this.#open) controller.abort(stopping());
  }

  #enter(call: Call): AbortController {
    if (this.#stopped) throw stopping();
    const own = this.#perToken.get(call.caller.tokenId) ?? 0;
    if (this.#open.size >= this.#options.maxStreams || own >= this.#options.maxStreamsPerToken) {
      throw new MeshError("resource_exhausted", "too many open streams; close some first, or share one over /v1/ws");
    }
    const controller = new AbortController();
    this.#open.add(controller);
    this.#perToken.set(call.caller.tokenId, own + 1);
    return controller;
  }

  #leave(call: Call, controller: AbortController): void {
    // Releases whatever still waits inside the handler.
    controller.abort(new MeshError("cancelled", "the stream has ended"));
    this.#open.delete(controller);
    const own = (this.#perToken.get(call.caller.tokenId) ?? 1) - 1;
    if (own > 0) this.#perToken.set(call.caller.tokenId, own);
    else this.#perToken.delete(call.caller.tokenId);
  }

  async #recheck(token: string, controller: AbortController): Promise<void> {
    try {
      await this.#deps.admission.recheck(token);
    } catch (thrown) {
      const error = MeshError.from(thrown);
      // A database that is away for a moment is no reason to end streams that have nothing to send.
      if (error.code === "unauthenticated") controller.abort(error);
    }
  }
}

/** The error of streams that end because this gateway does. */
function stopping(): MeshError {
  return new MeshError("unavailable", "the coordinator is stopping; connect again and resume after the last seq");
}

async function* abortable<T>(source: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  const iterator = source[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await nextOrAbort(iterator, signal);
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    // Not awaited: a generator that is stuck in next() would never answer.
    iterator.return?.().catch(() => undefined);
  }
}

/** One listener per wait: racing against one promise for the whole stream would keep every event alive until its end. */
function nextOrAbort<T>(iterator: AsyncIterator<T>, signal: AbortSignal): Promise<IteratorResult<T>> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(MeshError.from(signal.reason));
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    void iterator
      .next()
      .then(resolve, reject)
      .finally(() => signal.removeEventListener("abort", onAbort));
  });
}
