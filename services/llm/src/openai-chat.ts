/**
 * OpenAI chat completions over HTTP: time-outs, retries and the connection of one call.
 *
 * C1  Retries happen only here, and only before the first event was handed on: nothing is said twice.
 * C2  Whatever ends a call (finish, error, abort, a reader that stops reading) closes its connection.
 * C3  Every wait is bounded; an abort settles at once, even when the server does not.
 */

import { Backoff, type Clock, isObject, MeshError, parseDuration, systemClock } from "@mesh/kernel";

import { CallGuard, type CallLimits } from "./call-guard.ts";
import type { ChatEvent, Connector, StreamChat } from "./chat.ts";
import { callError, statusError } from "./openai-failure.ts";
import { buildOpenAiRequest, type OpenAiRequest } from "./openai-request.ts";
import { parseOpenAiStream } from "./openai-stream.ts";

/** What the protocol needs from outside, with the machine's as defaults. */
export interface OpenAiChatOptions {
  readonly clock: Clock;
  readonly fetch?: typeof fetch;
  /** Randomness in [0, 1), for the jitter of retries. */
  readonly random?: () => number;
  readonly limits?: Partial<CallLimits>;
}

const LIMITS: CallLimits = { firstByteMs: 60_000, idleMs: 60_000, totalMs: 600_000 };
const MAX_ATTEMPTS = 3;
// A server that asks for more is better asked again by a person than by a waiting run.
const MAX_RETRY_WAIT_MS = 30_000;
const MAX_ERROR_BYTES = 64 * 1024;
// A complete answer still owes its usage, and then its end (waited for so that the connection can be used again).
const USAGE_WAIT_MS = 2000;
const END_WAIT_MS = 200;

interface Attempt {
  readonly connector: Connector;
  readonly wire: OpenAiRequest;
  readonly limits: CallLimits;
  readonly guard: CallGuard;
}

/** Makes the OpenAI protocol with the given clock and transport. */
export function createOpenAiChat(options: OpenAiChatOptions): StreamChat {
  const { clock } = options;
  return async function* streamChat(connector, request, signal) {
    const limits = limitsOf(connector, { ...LIMITS, ...options.limits });
    const wire = buildOpenAiRequest(connector, request);
    const end = clock.monotonic() + limits.totalMs;
    const backoff = new Backoff(clock, {
      firstMs: 1000,
      maxMs: 8000,
      ...(options.random === undefined ? {} : { random: options.random }),
    });
    for (let attempt = 1; ; attempt += 1) {
      const guard = new CallGuard({ clock, signal, connectorId: connector.id, remainingMs: end - clock.monotonic() });
      let saidSomething = false;
      try {
        for await (const event of attemptOnce({ connector, wire, limits, guard }, options)) {
          throwIfAborted(signal);
          saidSomething = true;
          yield event;
        }
        return;
      } catch (thrown) {
        const error = callError(connector, thrown);
        const waitMs = retryWaitMs(error, backoff);
        const isLast = attempt >= MAX_ATTEMPTS || clock.monotonic() + (waitMs ?? 0) >= end;
        if (saidSomething || isLast || waitMs === undefined) throw error;
        guard.close();
        await clock.sleep(waitMs, signal);
        throwIfAborted(signal);
      } finally {
        guard.close();
      }
    }
  };
}

/** The OpenAI protocol on the machine's clock and network. */
export const streamOpenAiChat: StreamChat = createOpenAiChat({ clock: systemClock });

async function* attemptOnce(attempt: Attempt, options: OpenAiChatOptions): AsyncGenerator<ChatEvent> {
  const { connector, wire, limits, guard } = attempt;
  const { clock } = options;
  const firstByteBy = clock.monotonic() + limits.firstByteMs;
  const send = options.fetch ?? fetch;
  const answer = await guard.wait(
    // A redirect would turn the POST into a GET and carry the key to another place.
    send(wire.url, {
      method: "POST",
      headers: wire.headers,
      body: wire.body,
      redirect: "manual",
      signal: guard.signal,
    }),
    limits.firstByteMs,
    "did not answer",
  );
  if (!answer.ok) throw statusError(connector, answer, await errorBody(answer, attempt), clock);
  const body = new BodySource(answer, guard, limits.idleMs);
  const bytes = body.read(Math.max(1, firstByteBy - clock.monotonic()));
  yield* parseOpenAiStream(bytes, { onComplete: (by) => body.expectEnd(by === "done" ? END_WAIT_MS : USAGE_WAIT_MS) });
}

/** Reads a body with a bound on each wait. */
class BodySource {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  readonly #guard: CallGuard;
  #idleMs: number;

  constructor(answer: Response, guard: CallGuard, idleMs: number) {
    this.#reader = answer.body?.getReader();
    this.#guard = guard;
    this.#idleMs = idleMs;
  }

  /** The answer is complete: what is still to come is not worth a long wait. */
  expectEnd(withinMs: number): void {
    this.#idleMs = Math.min(this.#idleMs, withinMs);
  }

  async *read(firstByteMs: number): AsyncGenerator<Uint8Array> {
    if (this.#reader === undefined) return;
    let limitMs = firstByteMs;
    for (;;) {
      const { done, value } = await this.#guard.wait(this.#reader.read(), limitMs, "sent nothing");
      if (done) return;
      yield value;
      limitMs = this.#idleMs;
    }
  }
}

async function errorBody(answer: Response, attempt: Attempt): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  try {
    for await (const chunk of new BodySource(answer, attempt.guard, attempt.limits.idleMs).read(
      attempt.limits.idleMs,
    )) {
      text += decoder.decode(chunk, { stream: true });
      bytes += chunk.length;
      if (bytes > MAX_ERROR_BYTES) break;
    }
  } catch (error) {
    if (MeshError.from(error).code === "cancelled") throw error;
    // The status alone tells enough when its explanation is lost.
  }
  return text;
}

function retryWaitMs(error: MeshError, backoff: Backoff): number | undefined {
  if (error.details?.["retry"] !== true) return undefined;
  const asked = error.details["retry_after_ms"];
  if (typeof asked !== "number") return backoff.nextDelayMs();
  return asked <= MAX_RETRY_WAIT_MS ? asked : undefined;
}

function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw new MeshError("cancelled", "the model call was cancelled", { cause: signal.reason });
}

/** `options.timeouts` of a connector: durations under first_byte, idle and total. */
function limitsOf(connector: Connector, defaults: CallLimits): CallLimits {
  const timeouts = connector.options["timeouts"];
  if (!isObject(timeouts)) return defaults;
  const read = (name: string, fallback: number): number => {
    const value = timeouts[name];
    if (value === undefined) return fallback;
    const ms = typeof value === "string" ? parseDuration(value) : undefined;
    if (ms === undefined || ms < 1) {
      throw new MeshError(
        "invalid_argument",
        `connector ${connector.id}: timeouts.${name} must be a duration such as 90s or 5m`,
      );
    }
    return ms;
  };
  return {
    firstByteMs: read("first_byte", defaults.firstByteMs),
    idleMs: read("idle", defaults.idleMs),
    totalMs: read("total", defaults.totalMs),
  };
}
