/**
 * Streams of numbered events as Server-Sent Events: the log of a run, the feed of a workspace.
 *
 * E1  `id` is the seq, `event` the kind, `data` the event; a stream that has an end ends with one `end`, then the connection closes.
 * E2  `Last-Event-ID` resumes without loss or duplicates; a cursor at the end of a finished run gets 204, which stops EventSource.
 * E3  A client that takes nothing for 10 s, or leaves more than 1 MB unread, is cut; it resumes by its cursor.
 */

import type { ServerResponse } from "node:http";

import { type Clock, type JsonObject, MeshError } from "@mesh/kernel";
import type { FastifyRequest } from "fastify";

import { drained } from "./backpressure.ts";
import type { ErrorLog } from "./error-log.ts";
import type { HttpCall, HttpHandler } from "./http-server.ts";
import type { OpenStreams } from "./open-streams.ts";
import type { Call } from "./operation.ts";
import { type Operation, validate } from "./operations.ts";

/** What event streams need. */
export interface EventSourceDeps {
  readonly streams: OpenStreams;
  readonly errors: ErrorLog;
  readonly clock: Clock;
}

/** An event of any such stream. */
export interface NumberedEvent {
  readonly seq: number;
  readonly kind: string;
}

/** One opened stream. */
export interface EventSource {
  readonly afterSeq: number;
  readonly open: (call: Call) => AsyncIterable<{ readonly event?: NumberedEvent | undefined }>;
  /** What `end` says; `lastSeq` is that of the last event sent. */
  readonly end: (lastSeq: number) => JsonObject;
}

/** A kind of stream. */
export interface EventSourceKind {
  /** Its streaming operation. */
  readonly operation: Operation;
  /**
   * Looks before any byte is sent, with the validated request: a refusal thrown here is a problem, and undefined (nothing
   * more will ever come) is 204.
   */
  readonly begin: (request: unknown, call: HttpCall) => Promise<EventSource | undefined>;
}

const PING_MS = 15_000;

/** The handler of a path that streams when the client asks for it, and otherwise answers with a page. */
export function eventSourceHandler(deps: EventSourceDeps, kind: EventSourceKind, page: HttpHandler): HttpHandler {
  return async (request, reply, call, input) => {
    const { stream, ...rest } = input;
    if (stream === undefined ? !wantsStream(request) : stream !== "1") return page(request, reply, call, rest);
    const cursor = lastEventId(request);
    if (cursor !== undefined) rest["after_seq"] = cursor;
    const source = await kind.begin(validate(kind.operation, rest), call);
    if (source === undefined) return reply.code(204).send();
    reply.hijack();
    const headers = reply.getHeaders();
    for (const [name, value] of Object.entries(headers)) if (value !== undefined) reply.raw.setHeader(name, value);
    await send(deps, reply.raw, source, call);
    return undefined;
  };
}

function wantsStream(request: FastifyRequest): boolean {
  return request.headers.accept?.includes("text/event-stream") === true;
}

function lastEventId(request: FastifyRequest): number | undefined {
  const header = request.headers["last-event-id"];
  if (typeof header !== "string" || header === "") return undefined;
  if (/^\d{1,10}$/.test(header)) return Number(header);
  throw new MeshError(
    "invalid_argument",
    "Last-Event-ID must be the number of the last event you have; leave it out to start over",
  );
}

async function send(deps: EventSourceDeps, raw: ServerResponse, source: EventSource, call: HttpCall): Promise<void> {
  raw.writeHead(200, {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store, no-transform",
    "x-accel-buffering": "no",
  });
  raw.flushHeaders();
  raw.write("retry: 1000\n\n");
  const cancelPing = deps.clock.every(PING_MS, () => raw.write(":\n\n"));
  let lastSeq = source.afterSeq;
  try {
    for await (const { event } of deps.streams.follow(source.open, call, call.token)) {
      if (event === undefined) continue;
      lastSeq = event.seq;
      if (!raw.write(frame(event)) && !(await drained(deps.clock, raw, call.signal))) {
        raw.destroy();
        return;
      }
    }
    raw.end(`event: end\ndata: ${JSON.stringify(source.end(lastSeq))}\n\n`);
  } catch (thrown) {
    // Headers are gone: the client sees a closed stream, comes back with its cursor and then gets a problem if there is one.
    const error = MeshError.from(thrown);
    if (error.code !== "cancelled")
      deps.errors.report(error, { requestId: call.requestId, path: "events", transport: "http" });
    raw.end(
      `: ${error.code === "unavailable" ? "the coordinator is stopping; reconnect with the last id" : "closed"}\n\n`,
    );
  } finally {
    cancelPing();
  }
}

function frame(event: NumberedEvent): string {
  return `id: ${event.seq}\nevent: ${event.kind}\ndata: ${JSON.stringify(event)}\n\n`;
}
