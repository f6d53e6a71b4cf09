/**
 * The shape shared by all protocols: a pure builder makes a {@link WireRequest}, a pure reader takes the bytes of the
 * answer, and `exchange` is the only place where the two meet a network, a clock and an abort signal.
 *
 * X1  Nothing is retried here; whatever ends an exchange closes its connection.
 * X2  An answer that was complete stays one, whatever happens to the connection afterwards: it is paid for.
 * X3  Bodies and errors are bounded.
 */

import { type Clock, errorText } from "@mesh/kernel";

import type { AssistantMessage } from "./message.ts";
import type { MessageAssembler } from "./message-assembler.ts";
import type { StreamConfig, StreamSink, Timeouts } from "./provider.ts";
import { ProviderError } from "./provider-error.ts";
import { say, speaker, statusError, transportError } from "./provider-failure.ts";
import { DEFAULT_TIMEOUTS, Watchdog } from "./watchdog.ts";

/** Environment variables, read per request where a protocol needs them. */
export type Env = Readonly<Record<string, string | undefined>>;

/** What the protocols need from outside. */
export interface ProviderDeps {
  readonly clock: Clock;
  readonly fetch?: typeof fetch;
  readonly env?: Env;
}

/** What goes over the wire. */
export interface WireRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON text. */
  readonly body: string;
  /** What could not be said in this protocol. */
  readonly warnings?: readonly string[];
}

/** Reads the bytes of one answer, whatever way they are cut; tells the assembler what they say. */
export interface BodyReader {
  /** Throws a ProviderError when the bytes are not an answer. */
  feed(chunk: Uint8Array): void;
  /** The body has ended; throws when the answer has not. */
  end(): void;
  /** The provider said why it stopped; only trailing facts, such as usage, may follow. */
  readonly isComplete: boolean;
  /** The provider said that nothing follows. */
  readonly isDone: boolean;
  /** How many events said something, for the progress time-out. */
  readonly events: number;
  /** The finished message; only after `end`. */
  result(): AssistantMessage;
}

/** One call, as a protocol hands it to {@link exchange}. */
export interface Exchange {
  readonly config: StreamConfig;
  readonly sink: StreamSink;
  readonly signal: AbortSignal;
  readonly build: () => WireRequest | Promise<WireRequest>;
  readonly assembler: MessageAssembler;
  readonly reader: BodyReader;
  /** Adds what a protocol knows about a refusal, such as a clock that is wrong. */
  readonly explain?: (status: number, body: string) => string | undefined;
}

const MAX_BODY_BYTES = 128 * 1024 * 1024;
const MAX_ERROR_BYTES = 64 * 1024;
const MAX_DISCARDED_BYTES = 64 * 1024;

/** Sends one request and reads its answer; see the file comment and V1 of `StreamProvider`. */
export async function exchange(call: Exchange, deps: ProviderDeps): Promise<AssistantMessage> {
  const { config, sink, assembler } = call;
  const limits = timeoutsOf(config);
  const watchdog = new Watchdog(deps.clock, limits, call.signal);
  try {
    await run(call, deps, watchdog);
    const message = call.reader.result();
    sink({ type: "done", message });
    return message;
  } catch (thrown) {
    const error = named(thrown, config);
    error.partial = assembler.partial(error);
    sink({ type: "error", error, message: error.partial });
    throw error;
  } finally {
    watchdog.close();
  }
}

/** The time-outs of a call, with defaults. */
export function timeoutsOf(config: StreamConfig): Timeouts {
  return { ...DEFAULT_TIMEOUTS, ...config.timeouts };
}

async function run(call: Exchange, deps: ProviderDeps, watchdog: Watchdog): Promise<void> {
  const { config } = call;
  const building = built(call);
  // Most requests are built at once; only those that must be signed are waited for.
  const wire = building instanceof Promise ? await watchdog.wait(building) : building;
  if (watchdog.signal.aborted) throw watchdog.signal.reason as Error;
  for (const warning of wire.warnings ?? []) call.assembler.warn(warning, warning);
  const answer = await watchdog.wait(sent(wire, watchdog.signal, deps.fetch));
  if (!answer.ok) throw await refusalOf(answer, call, { clock: deps.clock, watchdog });
  watchdog.progress();
  await readBody(answer, call, watchdog);
  if (watchdog.signal.aborted && call.signal.aborted) throw watchdog.signal.reason as Error;
  if (call.assembler.isEmpty && call.reader.events === 0) {
    throw new ProviderError({ errorClass: "network", message: say(config, "the server answered nothing") });
  }
}

const isNode = globalThis.process?.versions?.node !== undefined;

// A redirect would turn the POST into a GET and carry the key to another place.
async function sent(wire: WireRequest, signal: AbortSignal, given: typeof fetch | undefined): Promise<Response> {
  const init: RequestInit = { method: "POST", headers: wire.headers, body: wire.body, redirect: "manual", signal };
  if (given !== undefined || !isNode) return (given ?? fetch)(wire.url, init);
  try {
    // NOTE(why): Node's fetch keeps a copy of every body for a redirect, unless none can follow; that is a tenth of a turn.
    return await fetch(wire.url, { ...init, redirect: "error", window: null });
  } catch (error) {
    if (!isRedirect(error)) throw error;
    // A refused redirect has no status to tell of; it was not a model that answered, so nothing is paid for twice.
    return fetch(wire.url, init);
  }
}

function isRedirect(error: unknown): boolean {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  return /redirect/i.test(errorText(cause));
}

function built(call: Exchange): WireRequest | Promise<WireRequest> {
  try {
    const building = call.build();
    return building instanceof Promise ? building.catch(unbuilt) : building;
  } catch (error) {
    return unbuilt(error);
  }
}

function unbuilt(error: unknown): never {
  if (error instanceof ProviderError) throw error;
  // A history or a schema that is no JSON must not pass for a lost connection, which would be tried again.
  const message = `the request could not be built: ${errorText(error)}`;
  throw new ProviderError({ errorClass: "config", message, cause: error });
}

function feed(reader: BodyReader, bytes: Uint8Array): void {
  try {
    reader.feed(bytes);
  } catch (error) {
    if (error instanceof ProviderError) throw error;
    const message = `the server's answer could not be read: ${errorText(error)}`;
    throw new ProviderError({ errorClass: "protocol", message, cause: error });
  }
}

async function readBody(answer: Response, call: Exchange, watchdog: Watchdog): Promise<void> {
  const { reader } = call;
  const source = answer.body?.getReader();
  let bytes = 0;
  let discarded = 0;
  let events = 0;
  try {
    for (;;) {
      if (source === undefined) break;
      const { done, value } = await watchdog.wait(source.read());
      if (done) {
        watchdog.allBytes();
        break;
      }
      watchdog.byte();
      bytes += value.length;
      if (bytes > MAX_BODY_BYTES) throw tooLong();
      if (reader.isDone) {
        discarded += value.length;
        if (discarded > MAX_DISCARDED_BYTES) break;
        continue;
      }
      feed(reader, value);
      if (reader.events !== events) {
        events = reader.events;
        watchdog.progress();
      }
      // Not left at once: a body that is read to its end gives its connection back.
      if (reader.isComplete) watchdog.complete();
    }
  } catch (error) {
    // A caller who aborts wants no answer, not even a finished one that is still draining.
    if (!reader.isComplete || call.signal.aborted) throw error;
    if (isOurs(error)) {
      call.assembler.warn("after-end", `what came after the end of the answer was ignored: ${errorText(error)}`);
      return;
    }
  } finally {
    source?.cancel().catch(() => undefined);
  }
  reader.end();
}

// What a reader found wrong with the bytes; it must not read on.
function isOurs(error: unknown): boolean {
  return error instanceof ProviderError && error.errorClass !== "timeout" && error.errorClass !== "aborted";
}

function tooLong(): ProviderError {
  return new ProviderError({
    errorClass: "protocol",
    message: `the answer is longer than ${MAX_BODY_BYTES} bytes; ask for less or set a lower token limit`,
  });
}

async function refusalOf(
  answer: Response,
  call: Exchange,
  context: { readonly clock: Clock; readonly watchdog: Watchdog },
): Promise<ProviderError> {
  const body = await errorBody(answer, context.watchdog);
  const error = statusError(answer, body, { config: call.config, clock: context.clock });
  const more = call.explain?.(answer.status, body);
  if (more === undefined) return error;
  return new ProviderError({
    errorClass: error.errorClass,
    message: `${error.message}; ${more}`,
    retryable: error.retryable,
    status: answer.status,
  });
}

async function errorBody(answer: Response, watchdog: Watchdog): Promise<string> {
  const decoder = new TextDecoder();
  const source = answer.body?.getReader();
  let text = "";
  let bytes = 0;
  try {
    for (;;) {
      if (source === undefined || bytes >= MAX_ERROR_BYTES) break;
      const { done, value } = await watchdog.wait(source.read());
      if (done) break;
      watchdog.byte();
      bytes += value.length;
      text += decoder.decode(value, { stream: true });
    }
  } catch (error) {
    if (error instanceof ProviderError && error.errorClass === "aborted") throw error;
    // The status alone tells enough when its explanation is lost.
  } finally {
    source?.cancel().catch(() => undefined);
  }
  return text;
}

function named(thrown: unknown, config: StreamConfig): ProviderError {
  const error = transportError(thrown, config);
  if (error.errorClass === "aborted") return error;
  const { connector } = config.model;
  return new ProviderError({
    errorClass: error.errorClass,
    message: error.message.startsWith(`${speaker(config)}: `) ? error.message : say(config, error.message),
    ...(connector === undefined ? {} : { connector }),
    retryable: error.retryable,
    isFinished: error.isFinished,
    ...(error.retryAfterMs === undefined ? {} : { retryAfterMs: error.retryAfterMs }),
    ...(error.status === undefined ? {} : { status: error.status }),
    cause: error.cause,
  });
}
