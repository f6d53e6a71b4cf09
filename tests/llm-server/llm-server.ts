/**
 * A real HTTP server that speaks a provider's wire protocol from a script, so that tests fake at the wire and never at a method.
 *
 * W1  It does exactly what the reply says: the same bytes, in the same pieces, with the same waits and the same ending.
 * W2  Every request is recorded, also one that the client abandons.
 * W3  `stop` ends every connection and every wait.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

import { openAiDocument, openAiError, openAiEvents, openAiModels } from "./openai-wire.ts";
import { type Matcher, type Reply, type ReplySource, Script, type SeenRequest } from "./script.ts";

/** How a server is started. */
export interface LlmServerOptions {
  /** Default 0: any free port. */
  readonly port?: number;
  /** When given, every other bearer key is refused. */
  readonly key?: string;
  /** Names for GET /v1/models. */
  readonly models?: readonly string[];
}

/** A running server. */
export interface LlmServer {
  /** Base address without a path, such as http://127.0.0.1:40123; also right as a connector's host. */
  readonly url: string;
  readonly requests: readonly SeenRequest[];
  /** Connections accepted so far. */
  readonly connections: number;
  /** Replies that were queued and not yet used. */
  readonly queued: number;
  /** Answers the next requests, in order. */
  enqueue(...replies: readonly ReplySource[]): void;
  /** Answers requests for a model, or those that pass a test. */
  on(matcher: Matcher, reply: ReplySource): void;
  /** Answers all other requests; at first an echo of the user's text. */
  default(reply: ReplySource): void;
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

type Recorded = { -readonly [K in keyof SeenRequest]: SeenRequest[K] };

const MAX_REQUEST_BYTES = 64 * 1024 * 1024;

/** Starts a scripted server on the loopback address. */
export async function startLlmServer(options: LlmServerOptions = {}): Promise<LlmServer> {
  const script = new Script();
  const requests: Recorded[] = [];
  const stopping = new AbortController();
  const server = createServer((incoming, outgoing) => {
    serve({ incoming, outgoing, script, requests, options, stopping: stopping.signal }).catch(() => outgoing.destroy());
  });
  let connections = 0;
  server.on("connection", () => (connections += 1));
  await listen(server, options.port ?? 0);
  const stop = async (): Promise<void> => {
    stopping.abort();
    server.closeAllConnections();
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    get connections() {
      return connections;
    },
    get queued() {
      return script.queued;
    },
    enqueue: (...replies) => script.enqueue(...replies),
    on: (matcher, reply) => script.on(matcher, reply),
    default: (reply) => script.default(reply),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

interface Exchange {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  readonly script: Script;
  readonly requests: Recorded[];
  readonly options: LlmServerOptions;
  readonly stopping: AbortSignal;
}

async function serve(exchange: Exchange): Promise<void> {
  const { incoming, outgoing, script, requests, options } = exchange;
  const request = await record(incoming);
  requests.push(request);
  const gone = new AbortController();
  outgoing.once("close", () => {
    request.wasAborted = !request.wasAnswered;
    gone.abort();
  });
  const refusal = refuse(request, options);
  if (refusal !== undefined) {
    await deliver(exchange, refusal, request, gone.signal);
  } else if (request.method === "GET" && request.path === "/v1/models") {
    await deliver(exchange, { body: openAiModels(options.models ?? ["scripted"]) }, request, gone.signal);
  } else if (request.method === "POST" && request.path.endsWith("/chat/completions")) {
    await deliver(exchange, script.next(request), request, gone.signal);
  } else {
    const text = openAiError(`no route ${request.method} ${request.path}`, "invalid_request_error");
    await deliver(exchange, { status: 404, body: text }, request, gone.signal);
  }
}

async function record(incoming: IncomingMessage): Promise<Recorded> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_REQUEST_BYTES) throw new Error("request too long");
    chunks.push(chunk);
  }
  const text = Buffer.concat(chunks).toString("utf8");
  const json = parseObject(text);
  return {
    method: incoming.method ?? "",
    path: new URL(incoming.url ?? "/", "http://127.0.0.1").pathname,
    headers: Object.fromEntries(Object.entries(incoming.headers).map(([name, value]) => [name, String(value)])),
    text,
    json,
    model: typeof json?.["model"] === "string" ? json["model"] : "",
    wasAborted: false,
    wasAnswered: false,
  };
}

function withErrorBody(reply: Reply): Reply {
  if (reply.body !== undefined || (reply.status ?? 200) < 300) return reply;
  return { ...reply, body: openAiError(`scripted failure ${reply.status}`, "scripted_error") };
}

function refuse(request: SeenRequest, options: LlmServerOptions): Reply | undefined {
  if (options.key !== undefined && request.headers["authorization"] !== `Bearer ${options.key}`) {
    return { status: 401, body: openAiError("Incorrect API key provided", "invalid_request_error", "invalid_api_key") };
  }
  if (request.method === "POST" && request.json === undefined) {
    return { status: 400, body: openAiError("the body is not a JSON object", "invalid_request_error") };
  }
  return undefined;
}

async function deliver(exchange: Exchange, scripted: Reply, request: Recorded, gone: AbortSignal): Promise<void> {
  const reply = withErrorBody(scripted);
  const { outgoing, requests } = exchange;
  const signal = AbortSignal.any([gone, exchange.stopping]);
  const streams = reply.body === undefined && request.json?.["stream"] === true;
  const writes = split(
    streams ? sseBytes(reply, request, requests.length) : plainBytes(reply, request, requests.length),
    reply,
  );
  if (reply.headersMs !== undefined) await delay(reply.headersMs, undefined, { signal });
  outgoing.writeHead(reply.status ?? 200, {
    "content-type": streams ? "text/event-stream; charset=utf-8" : "application/json",
    ...reply.headers,
  });
  outgoing.flushHeaders();
  if (reply.firstByteMs !== undefined) await delay(reply.firstByteMs, undefined, { signal });
  for (const [i, bytes] of writes.entries()) {
    if (i > 0 && reply.betweenMs !== undefined) await delay(reply.betweenMs, undefined, { signal });
    if (signal.aborted) return;
    // Flushed one by one, so that the client sees the pieces that the script asks for.
    await new Promise<void>((resolve) => outgoing.write(bytes, () => resolve()));
  }
  finish(exchange, reply, request);
}

function finish({ outgoing }: Exchange, reply: Reply, request: Recorded): void {
  switch (reply.ending ?? "end") {
    case "end":
      request.wasAnswered = true;
      outgoing.end();
      return;
    case "close":
      outgoing.socket?.end();
      outgoing.socket?.destroySoon();
      return;
    case "reset":
      outgoing.socket?.resetAndDestroy();
      return;
    case "hang":
  }
}

function sseBytes(reply: Reply, request: SeenRequest, count: number): readonly Buffer[] {
  const newline = reply.crlf === true ? "\r\n" : "\n";
  const comment = reply.comments === true ? `: still here${newline}${newline}` : "";
  return openAiEvents(reply, request, `chatcmpl-${count}`).map((payload) =>
    Buffer.from(`${comment}data: ${payload}${newline}${newline}`),
  );
}

function plainBytes(reply: Reply, request: SeenRequest, count: number): readonly Buffer[] {
  const body = reply.body ?? openAiDocument(reply, request, `chatcmpl-${count}`);
  return [typeof body === "string" ? Buffer.from(body) : Buffer.from(body)];
}

function split(events: readonly Buffer[], reply: Reply): readonly Buffer[] {
  const { chunkBytes, cutAfterBytes } = reply;
  if (chunkBytes === undefined && cutAfterBytes === undefined) return events;
  const whole = Buffer.concat(events).subarray(0, cutAfterBytes);
  const size = chunkBytes ?? Math.max(1, whole.length);
  return Array.from({ length: Math.ceil(whole.length / size) }, (_, i) => whole.subarray(i * size, (i + 1) * size));
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

async function listen(server: Server, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
}
