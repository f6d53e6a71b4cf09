/**
 * The coordinator's API as a scripted server: real HTTP, server-sent events and WebSocket, state in memory. For tests of the
 * page; answers have the shapes of the wire contract.
 */

import { createReadStream, existsSync, statSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { extname, join } from "node:path";

import type { FeedEvent, RunEvent } from "@mesh/proto";
import { type WebSocket, WebSocketServer } from "ws";

import { briefOf, type FakeEvalEvent } from "./fake-evals.ts";
import { type Answer, FakeState, type Query, Refusal } from "./fake-state.ts";
import { ROUTES } from "./fake-routes.ts";

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".webmanifest": "application/manifest+json",
};

/** What the page is served with. */
export const CSP =
  "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'";

/** One request that came in. */
export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: unknown;
}

/** A running server. */
export class FakeMesh {
  readonly state: FakeState = new FakeState();
  readonly seen: Seen[] = [];
  readonly #dist: string | undefined;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #feeds = new Set<ServerResponse>();
  readonly #wss = new WebSocketServer({ noServer: true });
  readonly #evalFollowers = new Map<ServerResponse, string>();
  readonly #subscriptions = new Map<WebSocket, Map<string, string>>();
  /** Answers nothing at all while true. */
  isDown = false;
  /** Takes WebSocket upgrades and never answers them. */
  hangsUpgrades = false;
  /** Refusals by "METHOD path" of the next calls. */
  readonly refuse = new Map<string, Refusal>();

  /** `dist`: the built page to serve beside the API. */
  constructor(dist?: string) {
    this.#dist = dist;
    this.#server = createServer((request, response) => {
      this.#handle(request, response).catch((thrown: unknown) => {
        problem(response, thrown instanceof Refusal ? thrown : new Refusal(500, "internal", String(thrown)));
      });
    });
    this.#server.on("connection", (socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
    this.#server.on("upgrade", (request, socket, head) => {
      if (this.isDown) socket.destroy();
      else if (!this.hangsUpgrades) this.#wss.handleUpgrade(request, socket, head, (client) => this.#socket(client));
    });
    this.state.onFeed = (event) => this.#tellFeed(event);
    this.state.onRunEvent = (event) => this.#tellRun(event);
    this.state.evals.onEvent = (id, event) => this.#tellEval(id, event);
  }

  /** Listens; returns the address. */
  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Number of open streams of evals. */
  get evalFollowers(): number {
    return this.#evalFollowers.size;
  }

  /** Number of open feed streams. */
  get feeds(): number {
    return this.#feeds.size;
  }

  /** Cuts all connections; new ones are taken unless `isDown`. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.cut();
    for (const client of this.#wss.clients) client.terminate();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.isDown) {
      request.socket.destroy();
      return;
    }
    const url = new URL(request.url ?? "/", "http://localhost");
    if (!url.pathname.startsWith("/v1/")) {
      this.#file(url.pathname, response);
      return;
    }
    const body = await readBody(request);
    this.seen.push({ method: request.method ?? "", path: url.pathname + url.search, headers: request.headers, body });
    const name = `${request.method} ${url.pathname}`;
    const refusal = this.refuse.get(name);
    if (refusal !== undefined) {
      this.refuse.delete(name);
      throw refusal;
    }
    const wantsStream = request.headers.accept === "text/event-stream";
    this.#admit(request, url.pathname);
    if (request.method === "GET" && url.pathname.endsWith("/files/content")) this.#content(url, response);
    else if (wantsStream && url.pathname.endsWith("/feed")) this.#feed(url, response);
    else if (wantsStream && url.pathname.startsWith("/v1/evals/")) this.#evalStream(url, response);
    else if (wantsStream) this.#runStream(url, response);
    else this.#answer(request.method ?? "", url, body, response);
  }

  #admit(request: IncomingMessage, path: string): void {
    if (/^\/v1\/(login|invitations|shares)/.test(path)) return;
    if (!this.state.isLoggedIn) throw new Refusal(401, "unauthenticated", "log in first");
    if (request.method !== "GET" && request.headers["x-csrf-token"] !== this.state.csrfToken) {
      throw new Refusal(403, "permission_denied", "the CSRF token is missing");
    }
  }

  #content(url: URL, response: ServerResponse): void {
    const content = this.state.things.contents.get(url.searchParams.get("path") ?? "");
    if (content === undefined) throw new Refusal(404, "not_found", "there is no such file");
    response.writeHead(200, { "content-type": "text/plain", "content-disposition": "attachment" });
    response.end(content);
  }

  #answer(method: string, url: URL, body: unknown, response: ServerResponse): void {
    for (const [verb, pattern, handler] of ROUTES) {
      const match = verb === method ? pattern.exec(url.pathname) : null;
      if (match === null) continue;
      const query: Query = { ...Object.fromEntries(url.searchParams), ...(isObject(body) ? body : {}) };
      const answer: Answer = handler(this.state, match.slice(1).map(decodeURIComponent), query);
      response.writeHead(200, { "content-type": "application/json", "cache-control": "no-store" });
      response.end(JSON.stringify(answer));
      return;
    }
    throw new Refusal(404, "not_found", `there is nothing at ${method} ${url.pathname}`);
  }

  #feed(url: URL, response: ServerResponse): void {
    const after = Number(url.searchParams.get("after_seq") ?? 0);
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache, no-transform" });
    response.write(": ok\n\n");
    for (const event of this.state.feed) if (event.seq > after) response.write(frame(event));
    this.#feeds.add(response);
    response.once("close", () => this.#feeds.delete(response));
  }

  #tellFeed(event: FeedEvent): void {
    for (const response of this.#feeds) response.write(frame(event));
  }

  /** As the coordinator does: results after the cursor, the eval, and the end when it has ended. */
  #evalStream(url: URL, response: ServerResponse): void {
    const id = /^\/v1\/evals\/([^/]+)\/results$/.exec(url.pathname)?.[1] ?? "";
    const known = this.state.evals.evals.get(id);
    if (known === undefined) throw new Refusal(404, "not_found", `eval ${id} was not found`);
    const after = Number(url.searchParams.get("after_seq") ?? 0);
    if (isOver(known.state) && after >= known.last_seq) {
      response.writeHead(204).end();
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write("retry: 1000\n\n");
    const log = this.state.evals.results.get(id) ?? [];
    const frames = log.filter(({ seq }) => seq > after).map((value) => evalFrame({ kind: "result", value }, 0));
    response.write(frames.join("") + evalFrame({ kind: "eval", value: known }, log.length));
    if (isOver(known.state)) response.end("event: end\ndata: {}\n\n");
    else this.#evalFollowers.set(response, id);
    response.once("close", () => this.#evalFollowers.delete(response));
  }

  #tellEval(id: string, event: FakeEvalEvent): void {
    for (const [response, followed] of this.#evalFollowers) {
      if (followed !== id) continue;
      response.write(evalFrame(event, this.state.evals.results.get(id)?.length ?? 0));
      if (event.kind === "eval" && isOver(event.value.state)) response.end("event: end\ndata: {}\n\n");
    }
  }

  #runStream(url: URL, response: ServerResponse): void {
    const run = /^\/v1\/runs\/([^/]+)\/events$/.exec(url.pathname)?.[1] ?? "";
    const after = Number(url.searchParams.get("after_seq") ?? 0);
    const events = this.state.eventsOf(run);
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const event of events) if (event.seq > after) response.write(frame(event));
    if (this.state.isEnded(run)) response.end("event: end\ndata: {}\n\n");
  }

  #socket(client: WebSocket): void {
    const own = new Map<string, string>();
    this.#subscriptions.set(client, own);
    client.once("close", () => this.#subscriptions.delete(client));
    client.on("message", (data: Buffer) => {
      const message = JSON.parse(data.toString()) as { type: string; id: string; run: string; after_seq: number };
      if (message.type === "unsubscribe") own.delete(message.id);
      if (message.type !== "subscribe") return;
      own.set(message.id, message.run);
      for (const event of this.state.eventsOf(message.run)) {
        if (event.seq > message.after_seq) client.send(JSON.stringify({ type: "event", id: message.id, event }));
      }
      if (this.state.isEnded(message.run)) client.send(JSON.stringify({ type: "end", id: message.id }));
    });
    client.send(JSON.stringify({ type: "ready", user: "ada" }));
  }

  #tellRun(event: RunEvent): void {
    for (const [client, own] of this.#subscriptions) {
      for (const [id, run] of own) {
        if (run !== event.run_id) continue;
        client.send(JSON.stringify({ type: "event", id, event }));
        if (this.state.isEnded(run)) client.send(JSON.stringify({ type: "end", id }));
      }
    }
  }

  #file(path: string, response: ServerResponse): void {
    const dist = this.#dist ?? "";
    const wanted = join(dist, path);
    const isFile = dist !== "" && !path.includes("..") && existsSync(wanted) && statSync(wanted).isFile();
    const file = isFile ? wanted : join(dist, "index.html");
    response.writeHead(200, {
      "content-type": TYPES[extname(file)] ?? "application/octet-stream",
      "content-security-policy": CSP,
      "x-content-type-options": "nosniff",
    });
    createReadStream(file).pipe(response);
  }
}

function frame(event: FeedEvent | RunEvent): string {
  return `id: ${event.seq}\nevent: ${event.kind}\ndata: ${JSON.stringify(event)}\n\n`;
}

function problem(response: ServerResponse, { status, code, message, details = {} }: Refusal): void {
  response.writeHead(status, { "content-type": "application/problem+json", "x-request-id": "req_fake" });
  const { errors, ...rest } = details;
  const extra = { errors, ...(Object.keys(rest).length === 0 ? {} : { details: rest }) };
  response.end(
    JSON.stringify({ type: "about:blank", status, code, detail: message, request_id: "req_fake", ...extra }),
  );
}

function isOver(state: string): boolean {
  return ["ended", "cancelled", "failed"].includes(state);
}

function evalFrame({ kind, value }: FakeEvalEvent, cursor: number): string {
  const shown = kind === "result" ? briefOf(value) : { ...value, seq: cursor };
  return `id: ${shown.seq}\nevent: ${kind}\ndata: ${JSON.stringify({ ...shown, kind })}\n\n`;
}

async function readBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  if (!request.headers["content-type"]?.includes("json")) return text;
  return text === "" ? {} : (JSON.parse(text) as unknown);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
