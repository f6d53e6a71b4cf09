/**
 * `/v1/workspaces/{workspace}/assistants/{assistant}/mcp`: an assistant's tools over MCP's Streamable HTTP.
 *
 * X1  Admitted like every other request, with the scope `runs`; a workspace or an assistant the caller may not use is a
 *     problem before anything of MCP is answered.
 * X2  No state is kept between requests, so any replica serves any of them. The session id only names the client to itself:
 *     it tells whose request a cancellation means.
 */

import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";

import { isObject, MeshError } from "@mesh/kernel";
import { serveNodeRequest } from "@mesh/mcp";
import { createMcpServer } from "@mesh/mcp/server";
import type { Assistant, GetAssistantResponse } from "@mesh/proto";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";

import { type AssistantServerDeps, assistantServer } from "../mcp/assistant-server.ts";
import { ToolLists } from "../mcp/tool-list.ts";
import { admitted, type HttpCall, type HttpDeps } from "./http-server.ts";
import { type FlightOwner, McpFlights } from "./mcp-flight.ts";
import { handle, operationOf, validate } from "./operations.ts";
import type { OpenStreams } from "./open-streams.ts";
import { HttpError } from "./problem.ts";

/** What the route serves with. */
export interface McpRouteDeps extends Omit<HttpDeps, "ids" | "onCall"> {
  readonly streams: OpenStreams;
}

interface Served extends AssistantServerDeps {
  readonly flights: McpFlights;
}

const PATH = "/v1/workspaces/:workspace/assistants/:assistant/mcp";
const SESSION_HEADER = "mcp-session-id";
const MAX_SESSION_CHARS = 128;
const MAX_NODE_CHARS = 200;
const PING_MS = 15_000;

/** Adds the route. */
export function addMcpRoute(app: FastifyInstance, deps: McpRouteDeps): void {
  const { api, streams, errors, clock } = deps;
  const served: Served = { api, streams, errors, clock, lists: new ToolLists(clock), flights: new McpFlights() };
  const calls = new WeakMap<FastifyRequest, HttpCall>();
  app.route({
    method: ["GET", "POST", "DELETE"],
    url: PATH,
    onRequest: async (request, reply) => {
      calls.set(request, await admitted(deps, { scope: "runs", knowsAssistants: true }, request, reply));
      if (request.method === "POST") requireJson(request);
    },
    handler: async (request, reply) => {
      const call = calls.get(request);
      if (call === undefined) throw new MeshError("internal", "a request passed without admission");
      await answer(served, request, reply, call);
    },
  });
}

async function answer(served: Served, request: FastifyRequest, reply: FastifyReply, call: HttpCall): Promise<void> {
  const { body } = request;
  if (request.method === "POST" && body === undefined) {
    throw new MeshError("invalid_argument", "the body is empty; send one JSON-RPC message");
  }
  const { workspace = "", assistant: id = "" } = request.params as Readonly<Record<string, string>>;
  const node = nodeOf(request);
  const assistant = await findAssistant(served, { workspace, assistant: id }, call);
  const messages = messagesIn(body);
  const session = sessionOf(request);
  const owner: FlightOwner | undefined = session === undefined ? undefined : { tokenId: call.caller.tokenId, session };
  if (owner !== undefined) cancelNamed(served.flights, owner, messages);
  const flight = owner === undefined ? undefined : served.flights.enter(owner, idsOf(messages));
  const signal = flight === undefined ? call.signal : AbortSignal.any([call.signal, flight.signal]);
  const bounded = { ...call, signal };
  const server = createMcpServer(assistantServer(served, { workspace, assistant, node, call: bounded }));
  const http = server.http(
    { clock: served.clock },
    { callerKey: ({ caller }) => caller.tokenId, allowedOrigins: ownOrigins(request) },
  );
  const { raw } = takeOver(reply);
  if (messages.some(({ method }) => method === "initialize")) raw.setHeader(SESSION_HEADER, randomUUID());
  const cancelPing = served.clock.every(PING_MS, () => ping(raw));
  try {
    await serveNodeRequest(http, { request: request.raw, response: raw }, bounded, body);
  } catch (thrown) {
    // Nobody else answers any more.
    served.errors.report(MeshError.from(thrown), { requestId: call.requestId, path: "mcp", transport: "http" });
    raw.destroy();
  } finally {
    cancelPing();
    flight?.leave();
  }
}

/**
 * Pages this very gateway served on the machine itself. Elsewhere a name proves nothing: the page of a name that was made to
 * lead here (DNS rebinding) would call itself ours.
 */
function ownOrigins({ headers }: FastifyRequest): readonly string[] {
  const { host = "" } = headers;
  return /^(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?$/i.test(host) ? [`http://${host}`, `https://${host}`] : [];
}

/** Also the access check of everything that follows. */
async function findAssistant(
  { api }: Served,
  named: { readonly workspace: string; readonly assistant: string },
  call: HttpCall,
): Promise<Assistant> {
  const operation = operationOf("apps", "getAssistant");
  const response = (await handle(api, operation, validate(operation, named), call)) as GetAssistantResponse;
  if (response.assistant === undefined) throw new MeshError("internal", "getAssistant gave no assistant");
  return response.assistant;
}

function requireJson({ headers }: FastifyRequest): void {
  const type = headers["content-type"]?.split(";", 1)[0]?.trim().toLowerCase();
  if (type === "application/json") return;
  throw new HttpError(415, "Unsupported media type", {
    code: "invalid_argument",
    message: "send one JSON-RPC message as application/json",
  });
}

function nodeOf({ headers, query }: FastifyRequest): string {
  const { node } = query as { readonly node?: unknown };
  const named = headers["yao-node"] ?? node ?? "";
  if (typeof named === "string" && named.length <= MAX_NODE_CHARS) return named;
  throw new MeshError(
    "invalid_argument",
    `node must be the name of one device, of at most ${MAX_NODE_CHARS} characters`,
  );
}

function sessionOf({ headers }: FastifyRequest): string | undefined {
  const session = headers[SESSION_HEADER];
  return typeof session === "string" && session !== "" ? session.slice(0, MAX_SESSION_CHARS) : undefined;
}

type Message = Readonly<Record<string, unknown>>;

function messagesIn(body: unknown): readonly Message[] {
  return (Array.isArray(body) ? body : [body]).filter(isObject);
}

function idsOf(messages: readonly Message[]): readonly (string | number)[] {
  return messages.flatMap(({ method, id }) => (method !== undefined && isRequestId(id) ? [id] : []));
}

function cancelNamed(flights: McpFlights, owner: FlightOwner, messages: readonly Message[]): void {
  for (const { method, params } of messages) {
    const id = method === "notifications/cancelled" && isObject(params) ? params["requestId"] : undefined;
    if (isRequestId(id)) flights.cancel(owner, id);
  }
}

function isRequestId(id: unknown): id is string | number {
  return typeof id === "string" || typeof id === "number";
}

/** Lets the handler of MCP write the response, with the headers that every response has. */
function takeOver(reply: FastifyReply): FastifyReply {
  reply.hijack();
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) reply.raw.setHeader(name, value);
  }
  return reply;
}

/** Proxies close streams that are silent for long; a comment between two events is nothing to the client. */
function ping(raw: ServerResponse): void {
  const type = raw.getHeader("content-type");
  const isStream = typeof type === "string" && type.startsWith("text/event-stream");
  if (raw.headersSent && isStream && !raw.writableEnded) raw.write(":\n\n");
}
