/**
 * The one owner of retries: a model call that always ends as a message.
 *
 * O1  Never rejects: a final failure is a message with `stopReason` `error` (or `aborted`) and what was said before.
 * O2  Each attempt's events are complete (`start` … `done` | `error`) before a `retry` event announces the next one.
 * O3  Only classes that a repeat can help are repeated. A finished answer is never asked for again; one that is of no
 *     use (empty, or a call that its own provider calls malformed) once. A `retry` event carries what its attempt cost.
 * O4  The server's wish to wait wins, up to the largest delay; waits and attempts together stay within the total time.
 */

import type { Clock } from "@mesh/kernel";

import { type AssistantMessage, NO_USAGE } from "./message.ts";
import { MessageAssembler } from "./message-assembler.ts";
import type { RetryConfig, StreamConfig, StreamProvider, StreamSink } from "./provider.ts";
import { ProviderError } from "./provider-error.ts";
import { transportError } from "./provider-failure.ts";
import { timeoutsOf } from "./wire.ts";

/** How often and how patiently a failed attempt is repeated when nothing else is said. */
export const DEFAULT_RETRY: RetryConfig = {
  maxRetries: 3,
  firstDelayMs: 1000,
  factor: 2,
  maxDelayMs: 30_000,
  jitter: 0.2,
};

/** What {@link streamWithRetry} needs from outside. */
export interface RetryDeps {
  readonly clock: Clock;
  /** Randomness in [0, 1). */
  readonly random: () => number;
}

/** A call as {@link streamWithRetry} takes it. */
export interface RetriedCall {
  readonly provider: StreamProvider;
  readonly config: StreamConfig;
  readonly sink: StreamSink;
  readonly signal: AbortSignal;
}

/** Streams with retries; see the file comment. */
export async function streamWithRetry(call: RetriedCall, deps: RetryDeps): Promise<AssistantMessage> {
  const { config, sink, signal } = call;
  const retry: RetryConfig = { ...DEFAULT_RETRY, ...config.retry };
  const limits = timeoutsOf(config);
  const endAt = deps.clock.monotonic() + limits.totalMs;
  const maxAttempts = Math.max(0, Math.floor(retry.maxRetries)) + 1;
  let finished = 0;
  for (let attempt = 1; ; attempt += 1) {
    const leftMs = Math.max(1, endAt - deps.clock.monotonic());
    const timeouts = { ...limits, attemptMs: Math.min(limits.attemptMs, leftMs) };
    const outcome = await oneAttempt(call, { ...config, timeouts }, deps.clock);
    if (!(outcome instanceof ProviderError)) return outcome;
    const delayMs = delayOf(outcome, attempt, retry, deps.random);
    if (outcome.isFinished) finished += 1;
    const isOver = attempt >= maxAttempts || finished > 1 || deps.clock.monotonic() + delayMs >= endAt;
    if (!outcome.retryable || isOver || signal.aborted) return failed(outcome, config, deps.clock);
    sink({
      type: "retry",
      attempt,
      maxAttempts,
      delayMs,
      errorClass: outcome.errorClass,
      errorMessage: outcome.message,
      usage: outcome.partial?.usage ?? NO_USAGE,
    });
    await deps.clock.sleep(delayMs, signal);
    if (signal.aborted) {
      const cancelled = new ProviderError({ errorClass: "aborted", message: "the model call was cancelled" });
      cancelled.partial = outcome.partial;
      return failed(cancelled, config, deps.clock);
    }
  }
}

/** How long to wait after failed attempt number `attempt`. */
export function delayOf(error: ProviderError, attempt: number, retry: RetryConfig, random: () => number): number {
  if (error.retryAfterMs !== undefined) return Math.min(error.retryAfterMs, retry.maxDelayMs);
  const base = Math.min(retry.firstDelayMs * retry.factor ** (attempt - 1), retry.maxDelayMs);
  return Math.round(base * (1 + retry.jitter * (2 * random() - 1)));
}

async function oneAttempt(
  call: RetriedCall,
  config: StreamConfig,
  clock: Clock,
): Promise<AssistantMessage | ProviderError> {
  let isClosed = false;
  let hasStarted = false;
  const told: { done?: AssistantMessage } = {};
  const watched: StreamSink = (event) => {
    // A provider that still talks after its end would put words into the next attempt.
    if (isClosed) return;
    hasStarted ||= event.type === "start";
    isClosed = event.type === "done" || event.type === "error";
    if (event.type === "done") told.done = event.message;
    call.sink(event);
  };
  try {
    const message = await call.provider.stream(config, watched, call.signal);
    if (!isClosed) watched({ type: "done", message });
    return message;
  } catch (thrown) {
    // What was told as done is done and paid for, whatever its provider stumbles over afterwards.
    if (told.done !== undefined) return told.done;
    const error = transportError(thrown, config);
    error.partial ??= failed(error, config, clock);
    if (!isClosed && hasStarted) watched({ type: "error", error, message: error.partial });
    return error;
  } finally {
    isClosed = true;
  }
}

function failed(error: ProviderError, config: StreamConfig, clock: Clock): AssistantMessage {
  const isAborted = error.errorClass === "aborted";
  const partial =
    error.partial ??
    new MessageAssembler({ config, clock, sink: () => undefined, malformedCalls: "tell" }).partial(error);
  return {
    ...partial,
    stopReason: isAborted ? "aborted" : "error",
    errorMessage: error.message,
    errorClass: error.errorClass,
  };
}
