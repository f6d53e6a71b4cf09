/**
 * The HTTP side of the gateway: one route per row of the operation table, and the conventions they share.
 *
 * H1  A request is admitted before its body is read.
 * H2  Every error is a problem (`problem.ts`); nothing of a stack ever leaves.
 * H3  A unary call ends within 30 s; its signal aborts then, and when the client goes away.
 */

import { createServer as createHttp, type Server } from "node:http";
import { createServer as createHttps } from "node:https";
import type { Socket } from "node:net";

import { type Clock, type Ids, isObject, MeshError } from "@mesh/kernel";
import type { ServerTls } from "@mesh/rpc";
import fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";

import type { Admission } from "./admission.ts";
import type { BrowserRequest } from "./browser.ts";
import type { ErrorLog } from "./error-log.ts";
import { readInput } from "./http-input.ts";
import { type Answer, type AnswerStore, answerUnderKey, keyedCall, takesKey } from "./idempotency.ts";
import type { Api, Call } from "./operation.ts";
import { handle, type Operation, OPERATIONS, validate } from "./operations.ts";
import { HttpError, PROBLEM_TYPE, problemHeaders, problemType, toProblem } from "./problem.ts";
import type { RateState } from "./rate-limit.ts";
import { MAX_BUNDLE_BYTES } from "./workspace-rows.ts";

/** What HTTP serves with. */
export interface HttpDeps {
  readonly api: Api;
  readonly admission: Admission;
  readonly errors: ErrorLog;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Keeps answers to calls that may be repeated; without it the key of such a call is ignored. */
  readonly answers?: AnswerStore;
  /** Told about every finished call. */
  readonly onCall: (operation: Operation, status: number, durationMs: number) => void;
}

/** How HTTP listens. */
export interface HttpOptions {
  readonly tls?: ServerTls;
  readonly maxUnaryMs?: number;
  readonly trustedProxies?: readonly string[];
}

/** A call whose request was admitted. */
export interface HttpCall extends Call {
  /** The token it came with. */
  readonly token: string;
}

/** Answers a request that was admitted and whose input was read; routes that stream replace the usual one. */
export type HttpHandler = (
  request: FastifyRequest,
  reply: FastifyReply,
  call: HttpCall,
  input: Record<string, unknown>,
) => Promise<unknown>;

const MAX_JSON_BYTES = 1024 * 1024;

const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
};

/** A fastify instance with the conventions of H1–H3 and no routes. */
export function createHttpApp(deps: HttpDeps, options: HttpOptions): FastifyInstance {
  const app = fastify({
    logger: false,
    trustProxy:
      options.trustedProxies === undefined || options.trustedProxies.length === 0 ? false : [...options.trustedProxies],
    exposeHeadRoutes: false,
    bodyLimit: MAX_JSON_BYTES,
    routerOptions: { maxParamLength: 256 },
    genReqId: () => deps.ids.next("req"),
    return503OnClosing: false,
    clientErrorHandler: refuseBytes,
    frameworkErrors: (error, request, reply) => sendError(deps, error, request, reply),
    serverFactory: (handler): Server => {
      const settings = { maxHeaderSize: 16 * 1024, headersTimeout: 15_000, requestTimeout: 120_000 };
      return options.tls === undefined
        ? createHttp(settings, handler)
        : createHttps({ ...settings, ...options.tls }, handler);
    },
  });
  app.addHook("onRequest", async (request, reply) => {
    reply.headers({ ...SECURITY_HEADERS, "x-request-id": request.id });
  });
  app.setErrorHandler((error: FastifyError, request, reply) => sendError(deps, error, request, reply));
  app.setNotFoundHandler((request, reply) => sendError(deps, noRoute(request), request, reply));
  addParsers(app);
  return app;
}

/** Adds the routes of the table; `replace` gives the handler of rows that do more than answer once. */
export function addRoutes(
  app: FastifyInstance,
  deps: HttpDeps,
  options: HttpOptions & { readonly replace: (operation: Operation) => HttpHandler | undefined },
): void {
  for (const operation of OPERATIONS) {
    const special = options.replace(operation);
    // A stream of events shares its path with the page of events, whose handler chooses.
    if (operation.streaming && special === undefined) continue;
    const handler = special ?? answerOnce(deps, operation, options.maxUnaryMs ?? 30_000);
    const calls = new WeakMap<FastifyRequest, HttpCall>();
    app.route({
      method: operation.verb,
      url: operation.path.replaceAll(/\{(\w+)\}/g, ":$1"),
      ...bodyLimit(operation),
      onRequest: async (request, reply) => {
        calls.set(request, await admitted(deps, operation, request, reply));
      },
      onResponse: async (_request, reply) => deps.onCall(operation, reply.statusCode, reply.elapsedTime),
      handler: async (request, reply) => {
        const call = calls.get(request);
        if (call === undefined) throw new MeshError("internal", "a request passed without admission");
        return handler(request, reply, call, inputOf(operation, request, call));
      },
    });
  }
}

function bodyLimit({ rawBody, maxBodyBytes }: Operation): { readonly bodyLimit?: number } {
  if (rawBody !== undefined) return { bodyLimit: MAX_BUNDLE_BYTES };
  return maxBodyBytes === undefined ? {} : { bodyLimit: maxBodyBytes };
}

/** Sends an error as a problem. */
export function sendError(
  deps: Pick<HttpDeps, "errors">,
  thrown: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const error = asMeshError(thrown);
  const problem = toProblem(error, request.id);
  deps.errors.report(error, { requestId: request.id, path: request.url.split("?", 1)[0] ?? "", transport: "http" });
  // The refused body is still on its way. It is read and thrown away: closing now would reset the connection, and the
  // client would see that instead of this answer.
  if (problem.status === 413) reply.removeHeader("connection");
  void reply
    .code(problem.status)
    .headers({ ...SECURITY_HEADERS, "x-request-id": request.id, ...problemHeaders(error) })
    .type(PROBLEM_TYPE)
    .send(JSON.stringify(problem));
}

/** Admits a request outside the table. */
export async function admitted(
  deps: Pick<HttpDeps, "admission">,
  demand: Pick<Operation, "scope" | "mayHaveCaller" | "knowsAssistants">,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<HttpCall> {
  const origin = {
    authorization: request.headers.authorization,
    address: request.ip,
    onRate: (state: RateState) => void reply.headers(rateHeaders(state)),
    browser: browserOf(request),
    ...(demand.mayHaveCaller === true ? { mayHaveCaller: true } : {}),
  };
  const { caller, token } = await deps.admission.admit(demand.scope, origin, demand);
  const controller = new AbortController();
  reply.raw.once("close", () => controller.abort(new MeshError("cancelled", "the client has gone away")));
  const client = { address: request.ip, userAgent: (request.headers["user-agent"] ?? "").slice(0, 300) };
  return { caller, token, signal: controller.signal, requestId: request.id, transport: "http", client };
}

function browserOf({ method, headers }: FastifyRequest): BrowserRequest {
  const csrfToken = headers["x-csrf-token"];
  return {
    method,
    host: headers.host,
    origin: headers.origin,
    cookie: headers.cookie,
    csrfToken: typeof csrfToken === "string" ? csrfToken : undefined,
  };
}

/** Changes an answer on its way out, or sets headers. */
export type Finish = (response: unknown, reply: FastifyReply) => unknown;

/** The usual handler: validates, calls, answers with JSON. An answer that `finish` changes holds a secret and is never kept. */
export function answerOnce(deps: HttpDeps, operation: Operation, maxMs: number, finish?: Finish): HttpHandler {
  return async (request, reply, call, input) => {
    const { answers } = deps;
    const key = takesKey(operation) && finish === undefined ? keyOf(request) : undefined;
    const { text, isReplayed } = await withDeadline(deps.clock, maxMs, call, async (bounded): Promise<Answer> => {
      const message = validate(operation, input);
      // Handlers of rows with a field for the key know of it themselves.
      if (key === undefined || answers === undefined || operation.idempotencyField !== undefined) {
        const response = await handle(deps.api, operation, message, bounded);
        const shown = finish === undefined ? response : finish(response, reply);
        return { text: JSON.stringify(shown), isReplayed: isObject(response) && response["replayed"] === true };
      }
      const keyed = keyedCall(operation, call.caller.tokenId, key, input);
      return answerUnderKey(answers, keyed, async () =>
        JSON.stringify(await handle(deps.api, operation, message, bounded)),
      );
    });
    if (isReplayed) void reply.header("idempotency-replayed", "true");
    void reply.code(operation.successStatus).type("application/json; charset=utf-8");
    return text;
  };
}

/** Runs a call with a deadline; a handler that ignores its signal holds up no client. */
async function withDeadline<T>(clock: Clock, ms: number, call: Call, work: (call: Call) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const leave = (): void => controller.abort(call.signal.reason);
  call.signal.addEventListener("abort", leave, { once: true });
  const cancelTimer = clock.after(ms, () => {
    controller.abort(new MeshError("deadline_exceeded", `the call took longer than ${ms} ms; try again`));
  });
  const aborted = new Promise<never>((_resolve, reject) => {
    controller.signal.addEventListener("abort", () => reject(MeshError.from(controller.signal.reason)), { once: true });
  });
  try {
    return await Promise.race([aborted, work({ ...call, signal: controller.signal })]);
  } finally {
    cancelTimer();
    call.signal.removeEventListener("abort", leave);
  }
}

function keyOf({ headers }: FastifyRequest): string | undefined {
  const key = headers["idempotency-key"];
  return typeof key === "string" ? key : undefined;
}

function inputOf(operation: Operation, request: FastifyRequest, { caller }: Call): Record<string, unknown> {
  return readInput(operation, {
    params: request.params as Record<string, unknown>,
    query: request.query as Record<string, unknown>,
    body: request.body,
    idempotencyKey: keyOf(request),
    // Who has chosen a language is not asked by what the browser says.
    acceptLanguage: caller.locale === undefined ? request.headers["accept-language"] : undefined,
  });
}

function addParsers(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    "application/json",
    { parseAs: "string" },
    async (_request: unknown, body: string | Buffer) => {
      const text = body.toString();
      if (text.trim() === "") return undefined;
      try {
        return JSON.parse(text) as unknown;
      } catch (thrown) {
        throw new MeshError("invalid_argument", `the body is not JSON: ${(thrown as Error).message}`);
      }
    },
  );
  app.addContentTypeParser(
    "application/octet-stream",
    { parseAs: "buffer", bodyLimit: MAX_BUNDLE_BYTES },
    async (_request: unknown, body: string | Buffer) => body,
  );
}

function rateHeaders(state: RateState): Readonly<Record<string, string>> {
  const { limit, remaining, resetSeconds, windowSeconds } = state;
  return {
    "ratelimit-limit": String(limit),
    "ratelimit-remaining": String(remaining),
    "ratelimit-reset": String(resetSeconds),
    // As the draft of the IETF has them, and as clients of OpenAI read them.
    "ratelimit-policy": `"requests";q=${limit};w=${windowSeconds}`,
    ratelimit: `"requests";r=${remaining};t=${resetSeconds}`,
    "x-ratelimit-limit-requests": String(limit),
    "x-ratelimit-remaining-requests": String(remaining),
    "x-ratelimit-reset-requests": `${resetSeconds}s`,
  };
}

/** Anything a route threw, Fastify's own refusals included. */
export function asMeshError(thrown: unknown): MeshError {
  const status = thrown instanceof Error && "statusCode" in thrown ? thrown.statusCode : undefined;
  switch (thrown instanceof MeshError ? undefined : status) {
    case 413: {
      const message = `the body is too large: at most 1 MB of JSON, 4 MB with cases of an eval, or ${MAX_BUNDLE_BYTES / 1024 / 1024} MB for an app bundle`;
      return new HttpError(413, "Too large", { code: "resource_exhausted", message });
    }
    case 415: {
      const message = "send the body as application/json (an app bundle as application/octet-stream)";
      return new HttpError(415, "Unsupported media type", { code: "invalid_argument", message });
    }
    case 400:
    case 414:
      return new MeshError("invalid_argument", (thrown as Error).message, { cause: thrown });
    default:
      return MeshError.from(thrown);
  }
}

const ROUTES = OPERATIONS.map(({ verb, path }) => ({
  verb,
  pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+")}/?$`),
}));

function noRoute(request: FastifyRequest): MeshError {
  const path = request.url.split("?", 1)[0] ?? "";
  const verbs = [...new Set(ROUTES.filter(({ pattern }) => pattern.test(path)).map(({ verb }) => verb))];
  if (verbs.length === 0) {
    return new MeshError(
      "not_found",
      `there is nothing at ${path.slice(0, 200)}; see /v1/openapi.json for what there is`,
    );
  }
  const message = `${request.method} is not possible here; use ${verbs.join(" or ")}`;
  return new HttpError(405, "Method not allowed", { code: "unimplemented", message });
}

/** Bytes that are not HTTP at all: no request exists, so the answer is written by hand. */
function refuseBytes(error: { readonly code?: string }, socket: Socket): void {
  if (socket.destroyed || !socket.writable || error.code === "ECONNRESET") {
    socket.destroy();
    return;
  }
  const status = error.code === "HPE_HEADER_OVERFLOW" ? 431 : error.code === "ERR_HTTP_REQUEST_TIMEOUT" ? 408 : 400;
  const body = JSON.stringify({
    type: problemType("invalid_argument"),
    title: "Invalid request",
    status,
    detail: "this is not an HTTP request the gateway understands",
    code: "invalid_argument",
  });
  socket.end(
    `HTTP/1.1 ${status} Bad Request\r\nContent-Type: ${PROBLEM_TYPE}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}
