/**
 * A server over HTTP, Streamable HTTP or the older SSE pair. Wraps the SDK's transports for what they leave open:
 *
 * H1  A request whose answer can no longer come (its stream broke and cannot be resumed) fails at once, not at its deadline.
 * H2  A session the server has forgotten is reported as {@link SessionLostError}, so that the request can be sent on a new one.
 * H3  A request that was cancelled does not stay open.
 * H4  Answers are bounded. An SSE connection that breaks is over: it is never continued in a session that was not initialized.
 */

import { type Clock, errorText, isObject, MeshError } from "@mesh/kernel";
import { SSEClientTransport, SseError } from "@modelcontextprotocol/sdk/client/sse.js";
import { StreamableHTTPClientTransport, StreamableHTTPError } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { JSONRPCMessage, RequestId } from "@modelcontextprotocol/sdk/types.js";

import { boundedFetch } from "./bounded-fetch.ts";
import { deliver } from "./deliver.ts";
import { RPC_CODE } from "./rpc-error.ts";
import { SessionLostError } from "./session.ts";

/** Where to connect. */
export interface HttpTarget {
  readonly kind: "http" | "sse";
  readonly url: URL;
  readonly authorizationToken: string | undefined;
  readonly maxMessageBytes: number;
}

/** What the transport uses. */
export interface HttpTransportDeps {
  readonly clock: Clock;
  readonly fetch: typeof fetch;
}

interface PendingRequest {
  /** Ends its HTTP request. */
  readonly stop: AbortController;
  /** Whether its stream can be resumed. */
  isResumable: boolean;
}

/** Between the end of a stream and the moment its last event has been through the SDK's parser. */
const PARSE_MS = 20;
const FAREWELL_MS = 1000;

/** The transport of one session; it is started once. */
export class HttpTransport implements Transport {
  onmessage?: NonNullable<Transport["onmessage"]>;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  readonly #clock: Clock;
  readonly #target: HttpTarget;
  readonly #inner: StreamableHTTPClientTransport | SSEClientTransport;
  /** Requests without an answer yet. */
  readonly #pending = new Map<RequestId, PendingRequest>();
  /** Of those, the ones whose stream broke and is being resumed. */
  readonly #interrupted = new Set<RequestId>();
  #isStarted = false;
  #lastError = "";

  constructor(target: HttpTarget, deps: HttpTransportDeps) {
    this.#clock = deps.clock;
    this.#target = target;
    const fetch = boundedFetch({
      fetch: (input, init) => deps.fetch(input, this.#stoppable(init)),
      maxBytes: target.maxMessageBytes,
      ended: (request) => this.#streamEnded(request),
    });
    const { url, authorizationToken: token } = target;
    const options =
      token === undefined || token === "" ? { fetch } : { fetch, requestInit: { headers: authorization(token) } };
    this.#inner =
      target.kind === "http" ? new StreamableHTTPClientTransport(url, options) : new SSEClientTransport(url, options);
  }

  get sessionId(): string | undefined {
    return this.#inner instanceof StreamableHTTPClientTransport ? this.#inner.sessionId : undefined;
  }

  /** Why the connection ended, for error messages. */
  get lastWords(): string {
    return this.#lastError === "" ? "" : `: ${this.#lastError}`;
  }

  async start(): Promise<void> {
    const handlers: Pick<Transport, "onmessage" | "onclose" | "onerror"> = {
      onmessage: (message) => {
        if ("id" in message && !("method" in message) && message.id !== undefined) this.#settled(message.id);
        deliver(this, message);
      },
      onclose: () => this.onclose?.(),
      onerror: (error) => this.#noticed(error),
    };
    Object.assign(this.#inner, handlers);
    try {
      await this.#inner.start();
      this.#isStarted = true;
    } catch (cause) {
      throw this.#unreachable(cause);
    }
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const id = "method" in message && "id" in message ? message.id : undefined;
    if (id !== undefined) this.#pending.set(id, { stop: new AbortController(), isResumable: false });
    if ("method" in message && message.method === "notifications/cancelled") this.#cancelled(message.params);
    try {
      await (this.#inner instanceof SSEClientTransport
        ? this.#inner.send(message)
        : this.#inner.send(message, this.#sendOptions(id)));
    } catch (cause) {
      if (id !== undefined) this.#settled(id);
      throw this.#sendFailed(cause);
    }
  }

  setProtocolVersion(version: string): void {
    this.#inner.setProtocolVersion(version);
  }

  async close(): Promise<void> {
    if (this.#inner instanceof StreamableHTTPClientTransport) {
      const farewell = this.#inner.terminateSession().catch(() => undefined);
      const stop = new AbortController();
      await Promise.race([farewell, this.#clock.sleep(FAREWELL_MS, stop.signal)]);
      stop.abort();
    }
    await this.#inner.close();
  }

  #sendOptions(id: RequestId | undefined): { onresumptiontoken?: () => void } {
    if (id === undefined) return {};
    return {
      onresumptiontoken: () => {
        const pending = this.#pending.get(id);
        if (pending !== undefined) pending.isResumable = true;
      },
    };
  }

  #stoppable(init: RequestInit | undefined): RequestInit | undefined {
    const stop = this.#pending.get(requestIdOf(init) ?? "")?.stop;
    if (init === undefined || stop === undefined) return init;
    return {
      ...init,
      signal: AbortSignal.any([stop.signal, ...(init.signal instanceof AbortSignal ? [init.signal] : [])]),
    };
  }

  /** Nobody waits for the answer any more, and not every server ends the stream. One that can be resumed would be resumed. */
  #cancelled(params: unknown): void {
    const id = isObject(params) ? (params["requestId"] as RequestId) : "";
    const pending = this.#pending.get(id);
    this.#settled(id);
    if (pending?.isResumable === false) pending.stop.abort();
  }

  #settled(id: RequestId): void {
    this.#pending.delete(id);
    this.#interrupted.delete(id);
  }

  #streamEnded(request: RequestInit | undefined): void {
    const id = requestIdOf(request);
    if (id === undefined) return;
    this.#clock.after(PARSE_MS, () => {
      const isResumable = this.#pending.get(id)?.isResumable;
      if (isResumable === true) this.#interrupted.add(id);
      else if (isResumable === false) this.#fail(id);
    });
  }

  /** Answers a request in the server's place: nobody else will. */
  #fail(id: RequestId): void {
    this.#settled(id);
    const message = `the connection was lost before the answer${this.lastWords}`;
    this.onmessage?.({ jsonrpc: "2.0", id, error: { code: RPC_CODE.connectionClosed, message } });
  }

  #noticed(error: Error): void {
    this.#lastError = reasonOf(error);
    this.onerror?.(error);
    // The SDK's only sign that it has given up resuming a stream.
    if (error.message.startsWith("Maximum reconnection attempts")) {
      for (const id of this.#interrupted) this.#fail(id);
    }
    // Its event source would reconnect and speak to a new, uninitialized session.
    if (error instanceof SseError && this.#isStarted) void this.#inner.close();
  }

  #sendFailed(cause: unknown): Error {
    if (cause instanceof MeshError) return cause;
    if (cause instanceof StreamableHTTPError && this.sessionId !== undefined) {
      const isForgotten = cause.code === 404 || (cause.code === 400 && /session/i.test(cause.message));
      if (isForgotten) return new SessionLostError("the server no longer knows this session", { cause });
    }
    return this.#unreachable(cause);
  }

  #unreachable(cause: unknown): MeshError {
    const where = `${this.#target.url.origin}${this.#target.url.pathname}`;
    const code = cause instanceof StreamableHTTPError || cause instanceof SseError ? cause.code : undefined;
    const text = `${where}: ${reasonOf(cause)}`;
    if (code === 401 || code === 403) {
      const advice = `${text}. Check "authorization_token"`;
      return new MeshError(code === 401 ? "unauthenticated" : "permission_denied", advice, { cause });
    }
    if (code === 404) return new MeshError("not_found", `${text}. Check "url" and "transport"`, { cause });
    if (code === 429) return new MeshError("resource_exhausted", text, { cause });
    return new MeshError("unavailable", text, { cause });
  }
}

function authorization(token: string): Readonly<Record<string, string>> {
  return { authorization: /^\S+ /.test(token) ? token : `Bearer ${token}` };
}

function requestIdOf(request: RequestInit | undefined): RequestId | undefined {
  if (request?.method !== "POST" || typeof request.body !== "string") return undefined;
  const message: unknown = JSON.parse(request.body);
  const id = isObject(message) ? message["id"] : undefined;
  return typeof id === "number" || typeof id === "string" ? id : undefined;
}

/** `fetch` hides what happened in its cause. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : undefined;
  const text = cause === undefined ? errorText(error) : `${errorText(error)} (${errorText(cause)})`;
  return text.length > 500 ? `${text.slice(0, 500)}…` : text;
}
