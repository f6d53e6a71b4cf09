/** A coordinator at the wire: real HTTP and SSE, scripted runs. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** One request as it arrived. */
export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
}

/** An answer of a scripted route. */
export interface StubAnswer {
  readonly status?: number;
  readonly json: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** One event of a scripted run. */
export interface StubEvent {
  readonly seq: number;
  readonly kind: string;
  readonly data: object;
}

/** A scripted run: what has happened so far, and what happens on cancel. */
export interface StubRun {
  readonly id: string;
  state: string;
  error?: { readonly code: string; readonly message: string };
  output?: string;
  readonly events: StubEvent[];
}

type Route = (request: SeenRequest) => StubAnswer | undefined;

/** The stub. */
export class StubGateway {
  readonly seen: SeenRequest[] = [];
  readonly #runs = new Map<string, StubRun>();
  readonly #routes: Route[] = [];
  readonly #streams = new Set<{ readonly run: string; readonly response: ServerResponse; cursor: number }>();
  #server: Server = createServer();
  #port = 0;
  /** Cuts each event stream after this many events. */
  cutAfter: number | undefined;

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** How many event streams are open. */
  get openStreams(): number {
    return this.#streams.size;
  }

  async start(): Promise<this> {
    this.#server = createServer((request, response) => void this.#serve(request, response));
    await new Promise<void>((resolve) => this.#server.listen(this.#port, "127.0.0.1", resolve));
    this.#port = (this.#server.address() as AddressInfo).port;
    return this;
  }

  /** Breaks every connection and stops listening; `start` listens on the same port again. */
  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#streams.clear();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  /** Adds a route; the first that answers wins. */
  route(method: string, path: string, answer: (request: SeenRequest) => StubAnswer): void {
    this.#routes.push((request) =>
      request.method === method && request.path.split("?")[0] === path ? answer(request) : undefined,
    );
  }

  addRun(run: StubRun): StubRun {
    this.#runs.set(run.id, run);
    return run;
  }

  /** Adds events to a run and sends them to its viewers. */
  emit(run: StubRun, ...events: readonly Omit<StubEvent, "seq">[]): void {
    for (const event of events) run.events.push({ ...event, seq: run.events.length + 1 });
    this.#flush();
  }

  /** Ends a run. */
  finish(run: StubRun, state: string, error?: StubRun["error"]): void {
    run.state = state;
    if (error !== undefined) run.error = error;
    this.emit(run, { kind: "run.finished", data: { state } });
  }

  requests(method: string, path: string): readonly SeenRequest[] {
    return this.seen.filter((request) => request.method === method && request.path.split("?")[0] === path);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const seen: SeenRequest = {
      method: request.method ?? "",
      path: request.url ?? "",
      headers: request.headers as SeenRequest["headers"],
      body: Buffer.concat(chunks).toString("utf8"),
    };
    this.seen.push(seen);
    const events = /^\/v1\/runs\/([^/]+)\/events/.exec(seen.path)?.[1];
    const scripted = this.#routes.map((route) => route(seen)).find((answer) => answer !== undefined);
    const run = events === undefined ? undefined : this.#runs.get(events);
    if (scripted === undefined && run !== undefined) this.#stream(run, seen, response);
    else send(response, scripted ?? this.#builtIn(seen));
  }

  #builtIn(seen: SeenRequest): StubAnswer {
    const match = /^\/v1\/runs\/([^/?]+)(\/cancel)?$/.exec(seen.path);
    const run = this.#runs.get(match?.[1] ?? "");
    if (run === undefined) {
      return { status: 404, json: { status: 404, code: "not_found", detail: `${seen.path} was not found` } };
    }
    if (match?.[2] !== undefined) queueMicrotask(() => this.finish(run, "cancelled"));
    return { json: { run: runJson(run) } };
  }

  #stream(run: StubRun, seen: SeenRequest, response: ServerResponse): void {
    const cursor = Number(seen.headers["last-event-id"] ?? 0);
    if (isEnded(run) && cursor >= run.events.length) {
      response.writeHead(204).end();
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.flushHeaders();
    const stream = { run: run.id, response, cursor };
    this.#streams.add(stream);
    response.on("close", () => this.#streams.delete(stream));
    this.#flush();
  }

  #flush(): void {
    for (const stream of this.#streams) {
      const run = this.#runs.get(stream.run);
      if (run === undefined) continue;
      const pending = run.events.filter((event) => event.seq > stream.cursor);
      const sent = pending.slice(0, this.cutAfter ?? pending.length);
      for (const event of sent) stream.response.write(frame(run.id, event));
      stream.cursor += sent.length;
      const isCut = sent.length > 0 && sent.length === this.cutAfter && sent.length < pending.length;
      if (isCut) {
        this.#streams.delete(stream);
        stream.response.end();
      } else if (isEnded(run)) {
        this.#streams.delete(stream);
        stream.response.end("event: end\ndata: {}\n\n");
      }
    }
  }
}

/** The JSON of a run, as the coordinator tells it. */
export function runJson(run: StubRun): object {
  return {
    id: run.id,
    workspace_id: "ws_1",
    assistant: "hello",
    state: run.state,
    reason: "",
    input: "hi",
    epoch: 1,
    attempt: 1,
    last_seq: run.events.length,
    created_at: "2026-01-01T00:00:00.000Z",
    output: run.output ?? "",
    cancel_requested: false,
    app: "demo",
    app_version: 1,
    created_by: "admin",
    ...(run.error === undefined ? {} : { error: run.error }),
  };
}

function frame(run: string, event: StubEvent): string {
  const data = {
    run_id: run,
    seq: event.seq,
    epoch: 1,
    at: "2026-01-01T00:00:00.000Z",
    kind: event.kind,
    data: event.data,
  };
  return `id: ${event.seq}\nevent: ${event.kind}\ndata: ${JSON.stringify(data)}\n\n`;
}

function isEnded(run: StubRun): boolean {
  return run.state === "succeeded" || run.state === "failed" || run.state === "cancelled" || run.state === "lost";
}

function send(response: ServerResponse, answer: StubAnswer): void {
  const status = answer.status ?? 200;
  const type = status >= 400 ? "application/problem+json" : "application/json";
  response.writeHead(status, { "content-type": type, ...answer.headers }).end(JSON.stringify(answer.json));
}
