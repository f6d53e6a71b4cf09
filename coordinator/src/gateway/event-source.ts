/**
 * A run's events as Server-Sent Events.
 *
 * E1  `id` is the seq, `event` the kind, `data` the RunEvent; after the terminal event one `end`, then the connection closes.
 * E2  `Last-Event-ID` resumes without loss or duplicates; a cursor at the end of a finished run gets 204, which stops EventSource.
 * E3  A client that takes nothing for 10 s, or leaves more than 1 MB unread, is cut; it resumes by its cursor.
 */

import type { ServerResponse } from "node:http";

import { type Clock, MeshError } from "@mesh/kernel";
import type { FollowRunRequest, Run, RunEvent } from "@mesh/proto";
import type { FastifyRequest } from "fastify";

import { requireReached } from "../runs/event-view.ts";
import { isTerminal, toRunState } from "../runs/run-state.ts";
import { drained } from "./drained.ts";
import type { ErrorLog } from "./error-log.ts";
import type { HttpCall, HttpHandler } from "./http-server.ts";
import type { Api } from "./operation.ts";
import { handle, operationOf, validate } from "./operations.ts";
import type { RunStreams } from "./run-stream.ts";

/** What event streams need. */
export interface EventSourceDeps {
  readonly api: Api;
  readonly streams: RunStreams;
  readonly errors: ErrorLog;
  readonly clock: Clock;
}

const PING_MS = 15_000;

/** The handler of `/v1/runs/{run}/events`: a stream when the client asks for one, else a page. */
export function runEventsHandler(deps: EventSourceDeps, page: HttpHandler): HttpHandler {
  const follow = operationOf("runs", "followRun");
  return async (request, reply, call, input) => {
    const { stream, ...rest } = input;
    if (stream === undefined ? !wantsStream(request) : stream !== "1") return page(request, reply, call, rest);
    const cursor = lastEventId(request);
    if (cursor !== undefined) rest["after_seq"] = cursor;
    const message = validate(follow, rest) as FollowRunRequest;
    const run = await runOf(deps.api, message, call);
    const state = toRunState(run.state);
    // Once the stream has begun it could only be cut, and an EventSource would come back with the same cursor for ever.
    if (state === undefined || !isTerminal(state)) requireReached(run, message.after_seq);
    if (state !== undefined && isTerminal(state) && message.after_seq >= run.last_seq) return reply.code(204).send();
    reply.hijack();
    const headers = reply.getHeaders();
    for (const [name, value] of Object.entries(headers)) if (value !== undefined) reply.raw.setHeader(name, value);
    await send(deps, reply.raw, message, call);
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

/** Also the access check: a foreign run fails here, as a problem and before any byte of a stream. */
async function runOf(api: Api, { run }: FollowRunRequest, call: HttpCall): Promise<Run> {
  const operation = operationOf("runs", "getRun");
  const response = (await handle(api, operation, { run }, call)) as { readonly run?: Run };
  if (response.run === undefined) throw new MeshError("internal", "getRun gave no run");
  return response.run;
}

async function send(
  deps: EventSourceDeps,
  raw: ServerResponse,
  request: FollowRunRequest,
  call: HttpCall,
): Promise<void> {
  raw.writeHead(200, {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store, no-transform",
    "x-accel-buffering": "no",
  });
  raw.flushHeaders();
  raw.write("retry: 1000\n\n");
  const cancelPing = deps.clock.every(PING_MS, () => raw.write(":\n\n"));
  let lastSeq = request.after_seq;
  try {
    for await (const event of deps.streams.follow(request, call, call.token)) {
      lastSeq = event.seq;
      if (!raw.write(frame(event)) && !(await drained(deps.clock, raw, call.signal))) {
        raw.destroy();
        return;
      }
    }
    raw.end(`event: end\ndata: ${JSON.stringify({ run_id: request.run, last_seq: lastSeq })}\n\n`);
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

function frame(event: RunEvent): string {
  return `id: ${event.seq}\nevent: ${event.kind}\ndata: ${JSON.stringify(event)}\n\n`;
}
