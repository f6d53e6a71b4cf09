/**
 * `/v1/chat/completions` and `/v1/models`: the assistants of a workspace for clients of OpenAI's API.
 *
 * C1  Admitted like every other request; every error has OpenAI's envelope.
 * C2  An answer names its run in `x-yao-run`, and in `x-yao-ignored` the parameters that changed nothing.
 * C3  A stream ends with a finish reason and `[DONE]`, or with an `error` and `[DONE]`; never without a word.
 */

import type { ServerResponse } from "node:http";

import { MeshError } from "@mesh/kernel";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";

import type { Scope } from "../auth/caller.ts";
import { chatCompletion } from "../openai/chat-completion.ts";
import type { ChatChunk, ChatStep } from "../openai/chat-chunks.ts";
import { failureOf } from "../openai/chat-failure.ts";
import { readChatRequest } from "../openai/chat-request.ts";
import { type ChatRun, followChatRun, startChatRun } from "../openai/chat-run.ts";
import { findModel, listModels, retrieveModel } from "../openai/model-ref.ts";
import { OpenAiError, toOpenAi } from "../openai/openai-error.ts";
import { drained } from "./backpressure.ts";
import { admitted, asMeshError, type HttpCall, type HttpDeps } from "./http-server.ts";
import type { OpenStreams } from "./open-streams.ts";

/** What the routes serve with. */
export interface OpenAiRouteDeps extends Pick<HttpDeps, "api" | "admission" | "errors" | "clock"> {
  readonly streams: OpenStreams;
}

const PING_MS = 15_000;
/** A failure in this time still has a status of its own; after it the stream begins. */
const HEAD_MS = 200;
/** Of an answer that is not streamed. */
const MAX_CHUNKS = 100_000;
const MAX_KEY_CHARS = 200;
const MAX_IGNORED = 40;

type Answer = (request: FastifyRequest, reply: FastifyReply, call: HttpCall) => Promise<unknown>;

/** Adds the routes. */
export function addOpenAiRoutes(app: FastifyInstance, deps: OpenAiRouteDeps): void {
  const add = (method: "GET" | "POST", url: string, scope: Scope, answer: Answer): void => {
    const calls = new WeakMap<FastifyRequest, HttpCall>();
    app.route({
      method,
      url,
      errorHandler: (error, request, reply) => refuse(deps, error, request, reply),
      onRequest: async (request, reply) => {
        calls.set(request, await admitted(deps, { scope, knowsAssistants: true }, request, reply));
      },
      handler: async (request, reply) => {
        const call = calls.get(request);
        if (call === undefined) throw new MeshError("internal", "a request passed without admission");
        return answer(request, reply, call);
      },
    });
  };
  add("POST", "/v1/chat/completions", "runs", (request, reply, call) => complete(deps, request, reply, call));
  add("GET", "/v1/models", "read", async (_request, reply, call) => {
    const data = await listModels(deps.api, call);
    return sendJson(reply, { object: "list", data });
  });
  add("GET", "/v1/models/*", "read", async (request, reply, call) => {
    const { "*": id = "" } = request.params as Readonly<Record<string, string>>;
    return sendJson(reply, await retrieveModel(deps.api, id, call));
  });
}

async function complete(
  deps: OpenAiRouteDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  call: HttpCall,
): Promise<unknown> {
  if (request.body === undefined) {
    throw new MeshError("invalid_argument", "the body is empty; send the request as application/json");
  }
  const asked = readChatRequest(request.body);
  const idempotencyKey = keyOf(request);
  const target = await findModel(deps.api, asked.model, call);
  const run = await startChatRun(deps, { request: asked, target, idempotencyKey }, call);
  void reply.header("x-yao-run", run.runId);
  if (run.isReplayed) void reply.header("idempotency-replayed", "true");
  if (asked.ignored.length > 0) void reply.header("x-yao-ignored", namesOf(asked.ignored));
  const steps = followChatRun(deps, run, call);
  if (!asked.isStream) return sendJson(reply, await whole(run, steps, call));
  await streamed(deps, { reply, run, steps, call });
  return undefined;
}

/** The answer without a stream; throws what the run failed with. */
async function whole(run: ChatRun, steps: AsyncIterable<ChatStep>, call: HttpCall): Promise<unknown> {
  const chunks: ChatChunk[] = [];
  for await (const step of steps) {
    if (step.kind === "failure") throw failureOf(step.failure);
    if (step.kind === "end") return chatCompletion(run.head, chunks, step.usage);
    // A chunk holds a few KB at most, so this bounds what is kept as well.
    if (chunks.push(step.chunk) > MAX_CHUNKS) {
      throw new MeshError(
        "resource_exhausted",
        `the answer is too long to be held back; ask for it with "stream": true`,
      );
    }
  }
  throw MeshError.from(call.signal.reason ?? new MeshError("unavailable", "the run could not be read to its end"));
}

interface Streaming {
  readonly reply: FastifyReply;
  readonly run: ChatRun;
  readonly steps: AsyncGenerator<ChatStep>;
  readonly call: HttpCall;
}

async function streamed(deps: OpenAiRouteDeps, { reply, run, steps, call }: Streaming): Promise<void> {
  const wire = new ChunkWire(deps, reply, call.signal);
  try {
    for await (const step of steps) {
      if (step.kind === "failure") throw failureOf(step.failure);
      if (step.kind === "chunk" && !(await wire.write(JSON.stringify(step.chunk)))) return;
    }
    wire.end();
  } catch (thrown) {
    const error = MeshError.from(thrown);
    // Nobody reads any more.
    if (call.signal.aborted) return;
    if (!(error instanceof OpenAiError)) {
      deps.errors.report(error, { requestId: call.requestId, path: "chat/completions", transport: "http" });
    }
    if (!wire.hasBegun) throw error;
    const { body } = toOpenAi(error, call.requestId);
    const { id, created, model } = run.head;
    const choices = [{ index: 0, delta: {}, logprobs: null, finish_reason: "error" }];
    await wire.write(JSON.stringify({ ...body, id, object: "chat.completion.chunk", created, model, choices }));
    wire.end();
  } finally {
    wire.release();
  }
}

/** The response of one stream; its head is sent with the first chunk, or when the run takes its time. */
class ChunkWire {
  readonly #deps: OpenAiRouteDeps;
  readonly #reply: FastifyReply;
  readonly #signal: AbortSignal;
  readonly #cancelHead: () => void;
  #cancelPing: (() => void) | undefined;
  hasBegun = false;

  constructor(deps: OpenAiRouteDeps, reply: FastifyReply, signal: AbortSignal) {
    this.#deps = deps;
    this.#reply = reply;
    this.#signal = signal;
    this.#cancelHead = deps.clock.after(HEAD_MS, () => this.#begin());
  }

  /** False when the client is gone or too slow. */
  async write(data: string): Promise<boolean> {
    const raw = this.#begin();
    if (raw.write(`data: ${data}\n\n`) || (await drained(this.#deps.clock, raw, this.#signal))) return true;
    raw.destroy();
    return false;
  }

  end(): void {
    this.#begin().end("data: [DONE]\n\n");
  }

  release(): void {
    this.#cancelHead();
    this.#cancelPing?.();
  }

  #begin(): ServerResponse {
    const reply = this.#reply;
    const { raw } = reply;
    if (this.hasBegun) return raw;
    this.hasBegun = true;
    this.#cancelHead();
    reply.hijack();
    addProcessingTime(reply);
    const headers = Object.entries(reply.getHeaders());
    for (const [name, value] of headers) if (value !== undefined) raw.setHeader(name, value);
    raw.writeHead(200, {
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-store, no-transform",
      "x-accel-buffering": "no",
    });
    raw.write(": ok\n\n");
    this.#cancelPing = this.#deps.clock.every(PING_MS, () => raw.write(": hb\n\n"));
    return raw;
  }
}

function refuse(
  deps: Pick<OpenAiRouteDeps, "errors">,
  thrown: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const error = asMeshError(thrown);
  const { status, headers, body } = toOpenAi(error, request.id);
  if (!(error instanceof OpenAiError)) {
    deps.errors.report(error, { requestId: request.id, path: request.url.split("?", 1)[0] ?? "", transport: "http" });
  }
  // The refused body is still on its way; see `sendError`.
  if (status === 413) reply.removeHeader("connection");
  addProcessingTime(reply);
  void reply.code(status).headers(headers).type("application/json; charset=utf-8").send(JSON.stringify(body));
}

function sendJson(reply: FastifyReply, body: unknown): string {
  addProcessingTime(reply);
  void reply.type("application/json; charset=utf-8");
  return JSON.stringify(body);
}

function addProcessingTime(reply: FastifyReply): void {
  void reply.header("openai-processing-ms", String(Math.round(reply.elapsedTime)));
}

function keyOf({ headers }: FastifyRequest): string {
  const key = headers["idempotency-key"] ?? "";
  if (typeof key === "string" && key.length <= MAX_KEY_CHARS) return key;
  throw new MeshError("invalid_argument", `Idempotency-Key must have at most ${MAX_KEY_CHARS} characters`);
}

/** Names as a header may hold them. */
function namesOf(names: readonly string[]): string {
  return names
    .slice(0, MAX_IGNORED)
    .map((name) => name.replaceAll(/[^\w.-]/g, "").slice(0, 64))
    .join(", ");
}
