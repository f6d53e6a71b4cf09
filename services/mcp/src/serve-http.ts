/**
 * Serves clients over Streamable HTTP, as a function from requests to responses.
 *
 * W1  Requests of pages of other origins, and to other hosts when hosts are given, are refused before anything is read.
 * W2  Bodies are bounded. Unknown protocol versions are refused.
 * W3  Without sessions each request stands alone. With them, a session belongs to the caller who opened it: for anybody else it
 *     does not exist. Their number is bounded, and one nobody uses ends.
 * W4  A client that goes away cancels its requests, unless its session is resumable.
 */

import { randomUUID } from "node:crypto";

import type { Clock } from "@mesh/kernel";
import type { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";

import { type HttpBody, readBody } from "./http-body.ts";
import { onStreamEnd, problem } from "./http-response.ts";
import { protocolServer } from "./protocol-server.ts";
import { ReplayLog } from "./replay-log.ts";
import { RPC_CODE } from "./rpc-error.ts";
import type { McpServerDefinition } from "./server-definition.ts";

/** What the handler uses. */
export interface McpHttpDeps {
  readonly clock: Clock;
}

/** How requests are served. */
export interface McpHttpOptions<Caller> {
  /** Equal for requests of the same caller; only the caller who opened a session may use it. */
  readonly callerKey: (caller: Caller) => string;
  /** Origins of pages that may call; none by default. Programs send no origin. */
  readonly allowedOrigins?: readonly string[];
  /** Values of `Host` that are served; any when absent. Give them where the server listens on a loopback address. */
  readonly allowedHosts?: readonly string[];
  /** `none` (default): each request alone. `kept`: with sessions. `resumable`: sessions whose streams can be resumed. */
  readonly sessions?: "none" | "kept" | "resumable";
  readonly maxBodyBytes?: number;
  readonly maxSessions?: number;
  readonly sessionIdleMs?: number;
}

/** A handler. */
export interface McpHttp<Caller> {
  /** Answers one request of an authenticated caller. `body` is given when the embedder has already parsed it. */
  handle(request: Request, caller: Caller, body?: unknown): Promise<Response>;
  /** Ends all sessions and what runs in them. */
  close(): Promise<void>;
}

interface HttpSession {
  readonly server: Server;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly callerKey: string;
  /** Responses that are being streamed. */
  open: number;
  usedAtMs: number;
}

const DEFAULTS = {
  allowedOrigins: [],
  sessions: "none",
  maxBodyBytes: 4 * 1024 * 1024,
  maxSessions: 1000,
  sessionIdleMs: 1_800_000,
} as const;

/** Makes a handler of a definition. */
export function serveHttp<Caller>(
  definition: McpServerDefinition<Caller>,
  deps: McpHttpDeps,
  options: McpHttpOptions<Caller>,
): McpHttp<Caller> {
  return new HttpHandler(definition, deps, options);
}

class HttpHandler<Caller> implements McpHttp<Caller> {
  readonly #definition: McpServerDefinition<Caller>;
  readonly #clock: Clock;
  readonly #options: McpHttpOptions<Caller> & Required<Omit<McpHttpOptions<Caller>, "allowedHosts">>;
  readonly #sessions = new Map<string, HttpSession>();

  constructor(definition: McpServerDefinition<Caller>, deps: McpHttpDeps, options: McpHttpOptions<Caller>) {
    this.#definition = definition;
    this.#clock = deps.clock;
    this.#options = { ...DEFAULTS, ...options };
  }

  async handle(request: Request, caller: Caller, parsed?: unknown): Promise<Response> {
    const refusal = this.#refusal(request);
    if (refusal !== undefined) return refusal;
    const body = request.method === "POST" ? await readBody(request, parsed, this.#options.maxBodyBytes) : undefined;
    if (body instanceof Response) return body;
    if (this.#options.sessions === "none") return this.#alone(request, caller, body);
    await this.#endIdle();
    const id = request.headers.get("mcp-session-id");
    if (id === null) return this.#opening(request, caller, body);
    const session = this.#sessions.get(id);
    if (session === undefined || session.callerKey !== this.#options.callerKey(caller)) {
      return problem(404, RPC_CODE.sessionNotFound, "Session not found: initialize again");
    }
    return this.#answer(session, request, caller, body);
  }

  async close(): Promise<void> {
    const sessions = [...this.#sessions.values()];
    this.#sessions.clear();
    await Promise.all(sessions.map(({ server }) => server.close()));
  }

  #refusal(request: Request): Response | undefined {
    const { allowedHosts, allowedOrigins } = this.#options;
    const origin = request.headers.get("origin");
    if (origin !== null && !allowedOrigins.includes(origin)) {
      return problem(403, RPC_CODE.connectionClosed, `Pages of ${origin.slice(0, 200)} may not call this server`);
    }
    const host = request.headers.get("host") ?? new URL(request.url).host;
    if (allowedHosts !== undefined && !allowedHosts.includes(host)) {
      return problem(403, RPC_CODE.connectionClosed, `This server is not known as ${host.slice(0, 200)}`);
    }
    return undefined;
  }

  /** Serves a request with a server of its own. */
  async #alone(request: Request, caller: Caller, body: HttpBody | undefined): Promise<Response> {
    if (body === undefined) {
      return problem(405, RPC_CODE.connectionClosed, "This server keeps no sessions: use POST", { allow: "POST" });
    }
    const server = protocolServer(this.#definition, () => caller);
    const transport = new WebStandardStreamableHTTPServerTransport({});
    await server.connect(transport);
    const response = await transport.handleRequest(request, { parsedBody: body.message });
    // Closing the server aborts what is still running for a client that has gone.
    return onStreamEnd(response, () => void server.close());
  }

  async #opening(request: Request, caller: Caller, body: HttpBody | undefined): Promise<Response> {
    if (body?.isInitialize !== true) {
      return problem(400, RPC_CODE.connectionClosed, "Mcp-Session-Id is missing: initialize first");
    }
    if (this.#sessions.size >= this.#options.maxSessions && !(await this.#endUnused())) {
      return problem(503, RPC_CODE.connectionClosed, "Too many sessions are open", { "retry-after": "30" });
    }
    return this.#answer(await this.#open(caller), request, caller, body);
  }

  async #open(caller: Caller): Promise<HttpSession> {
    const { callerKey, sessions } = this.#options;
    const server = protocolServer(this.#definition, (extra) => extra.authInfo?.extra?.["caller"] as Caller);
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => void this.#sessions.set(id, session),
      onsessionclosed: (id) => void this.#sessions.delete(id),
      ...(sessions === "resumable" ? { eventStore: new ReplayLog(), retryInterval: 1000 } : {}),
    });
    const session: HttpSession = {
      server,
      transport,
      callerKey: callerKey(caller),
      open: 0,
      usedAtMs: this.#clock.monotonic(),
    };
    await server.connect(transport);
    return session;
  }

  async #answer(session: HttpSession, request: Request, caller: Caller, body: HttpBody | undefined): Promise<Response> {
    session.open += 1;
    const response = await session.transport.handleRequest(request, {
      parsedBody: body?.message,
      // The only way through the SDK for who asks.
      authInfo: { token: "", clientId: "", scopes: [], extra: { caller } },
    });
    return onStreamEnd(response, (isComplete) => {
      session.open -= 1;
      session.usedAtMs = this.#clock.monotonic();
      if (isComplete || this.#options.sessions === "resumable") return;
      for (const requestId of body?.requestIds ?? []) {
        const params = { requestId, reason: "the client has gone" };
        session.transport.onmessage?.({ jsonrpc: "2.0", method: "notifications/cancelled", params });
      }
    });
  }

  async #endIdle(): Promise<void> {
    const before = this.#clock.monotonic() - this.#options.sessionIdleMs;
    const idle = [...this.#sessions].filter(([, { open, usedAtMs }]) => open === 0 && usedAtMs < before);
    await Promise.all(idle.map(([id]) => this.#end(id)));
  }

  /** Ends the session unused for longest; false when all are in use. */
  async #endUnused(): Promise<boolean> {
    const unused = [...this.#sessions].filter(([, { open }]) => open === 0);
    const oldest = unused.toSorted(([, a], [, b]) => a.usedAtMs - b.usedAtMs)[0];
    if (oldest === undefined) return false;
    await this.#end(oldest[0]);
    return true;
  }

  async #end(id: string): Promise<void> {
    const session = this.#sessions.get(id);
    this.#sessions.delete(id);
    await session?.server.close();
  }
}
