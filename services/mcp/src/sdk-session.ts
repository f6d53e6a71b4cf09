/**
 * A server that speaks MCP, through the SDK's client. The only client code that knows the SDK's client: it turns our exchanges
 * into requests, answers what servers may ask of us, and turns every failure into a {@link MeshError}.
 */

import { type Clock, errorText, type JsonObject, MeshError } from "@mesh/kernel";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { RequestOptions } from "@modelcontextprotocol/sdk/shared/protocol.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import {
  CallToolResultSchema,
  type ClientRequest,
  GetPromptResultSchema,
  McpError,
  PromptListChangedNotificationSchema,
  ReadResourceResultSchema,
  ResourceListChangedNotificationSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { CfWorkerJsonSchemaValidator } from "@modelcontextprotocol/sdk/validation/cfworker-provider.js";

import { withDeadline } from "./deadline.ts";
import { listRequest } from "./list-request.ts";
import { RPC_CODE, RpcError } from "./rpc-error.ts";
import {
  type Exchange,
  type ListKind,
  type McpLists,
  type McpPromptResult,
  type McpReadResult,
  type McpSession,
  type McpTool,
  type McpToolResult,
  type Page,
  type SessionEvents,
  SessionLostError,
} from "./session.ts";

/** A transport that can say how it ended. */
export interface SessionTransport extends Transport {
  readonly lastWords: string;
}

/** What a session is made of. */
export interface SdkSessionDeps {
  readonly clock: Clock;
  readonly transport: SessionTransport;
  readonly events: SessionEvents;
  readonly clientInfo: { readonly name: string; readonly version: string };
}

/** The SDK's own timer is never the one that fires: deadlines are ours. */
const NEVER_MS = 2 ** 31 - 1;

type ResultSchema = Parameters<Client["request"]>[1];

/** A connected session. */
export class SdkSession<Caller> implements McpSession<Caller> {
  readonly #name: string;
  readonly #deps: SdkSessionDeps;
  readonly #client: Client;
  #isClosing = false;
  #isDead = false;

  private constructor(name: string, deps: SdkSessionDeps) {
    this.#name = name;
    this.#deps = deps;
    // No code generation: a runner is started without it.
    const jsonSchemaValidator = new CfWorkerJsonSchemaValidator();
    this.#client = new Client(deps.clientInfo, { capabilities: {}, jsonSchemaValidator });
    this.#client.fallbackRequestHandler = (request) => {
      const text = `${request.method} is not offered by this client; ask the user through the tool's result instead`;
      return Promise.reject(new RpcError(RPC_CODE.methodNotFound, text));
    };
    this.#watch(deps.events);
  }

  /** Connects and introduces us; the transport is closed when that fails. */
  static async open<Caller>(
    id: string,
    deps: SdkSessionDeps,
    bounds: { readonly signal: AbortSignal; readonly timeoutMs: number },
  ): Promise<SdkSession<Caller>> {
    const session = new SdkSession<Caller>(`MCP server "${id}"`, deps);
    const what = `${session.#name}, being started,`;
    try {
      await withDeadline(deps.clock, { ...bounds, what }, (signal) =>
        session.#client.connect(deps.transport, { timeout: NEVER_MS, signal }),
      );
      return session;
    } catch (error) {
      // Told before the transport is closed: afterwards its last words are about our own closing.
      const failure = session.#startFailure(error);
      session.#isClosing = true;
      await deps.transport.close();
      throw failure;
    }
  }

  async list<Kind extends ListKind>(
    kind: Kind,
    cursor: string | undefined,
    exchange: Exchange<Caller>,
  ): Promise<Page<McpLists[Kind]>> {
    const { capability, request, schema, items } = listRequest(kind, cursor);
    // A server that does not offer something has none of it.
    if (this.#client.getServerCapabilities()?.[capability] === undefined) return { items: [] };
    const result = await this.#request(request, schema, exchange);
    return { items: items(result), nextCursor: (result as { readonly nextCursor?: string }).nextCursor };
  }

  async callTool(tool: McpTool, args: JsonObject, exchange: Exchange<Caller>): Promise<McpToolResult> {
    const params = { name: tool.name, arguments: { ...args } };
    return (await this.#request({ method: "tools/call", params }, CallToolResultSchema, exchange)) as McpToolResult;
  }

  async readResource(uri: string, exchange: Exchange<Caller>): Promise<McpReadResult> {
    const request = { method: "resources/read", params: { uri } } as const;
    return (await this.#request(request, ReadResourceResultSchema, exchange)) as McpReadResult;
  }

  async getPrompt(name: string, args: JsonObject, exchange: Exchange<Caller>): Promise<McpPromptResult> {
    // The protocol has only texts here.
    const texts = Object.entries(args).map(([key, value]) => [
      key,
      typeof value === "string" ? value : JSON.stringify(value),
    ]);
    const params = { name, arguments: Object.fromEntries(texts) as Record<string, string> };
    return (await this.#request({ method: "prompts/get", params }, GetPromptResultSchema, exchange)) as McpPromptResult;
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#deps.transport.close();
  }

  #watch(events: SessionEvents): void {
    const onclose = (): void => {
      this.#isDead = true;
      if (!this.#isClosing) events.died(`${this.#name} ended${this.#deps.transport.lastWords}`);
    };
    Object.assign(this.#client, { onclose });
    this.#client.setNotificationHandler(ToolListChangedNotificationSchema, () => events.changed("tools"));
    this.#client.setNotificationHandler(PromptListChangedNotificationSchema, () => events.changed("prompts"));
    this.#client.setNotificationHandler(ResourceListChangedNotificationSchema, () => {
      events.changed("resources");
      events.changed("resourceTemplates");
    });
  }

  async #request(request: ClientRequest, schema: ResultSchema, exchange: Exchange<Caller>): Promise<unknown> {
    const { signal, timeoutMs, onProgress } = exchange;
    const bounds = { signal, timeoutMs, what: `${this.#name} (${request.method})` };
    try {
      return await withDeadline(this.#deps.clock, bounds, (inner, touch) => {
        const onprogress: RequestOptions["onprogress"] = (progress) => {
          touch();
          onProgress?.(progress);
        };
        // The signal never aborts after the answer: the SDK would cancel a request that has ended.
        return this.#client.request(request, schema, { signal: inner, timeout: NEVER_MS, onprogress });
      });
    } catch (error) {
      throw this.#failure(error, request.method);
    }
  }

  /** A server that cannot be started has usually said why. */
  #startFailure(error: unknown): Error {
    const failure = this.#failure(error, "being started");
    const { lastWords } = this.#deps.transport;
    if (!(failure instanceof MeshError) || failure.message.endsWith(lastWords)) return failure;
    return new MeshError(failure.code, `${failure.message}${lastWords}`, { cause: failure.cause });
  }

  #failure(error: unknown, during: string): Error {
    if (error instanceof SessionLostError) return error;
    if (error instanceof MeshError) return this.#named(error);
    const { lastWords } = this.#deps.transport;
    if (this.#isClosing) return new MeshError("unavailable", `${this.#name} was stopped (${during})`, { cause: error });
    if (this.#isDead || (error instanceof McpError && error.code === RPC_CODE.connectionClosed)) {
      return new MeshError("unavailable", `${this.#name} died (${during})${lastWords}`, { cause: error });
    }
    if (error instanceof McpError) {
      const text = error.message.replace(/^MCP error -?\d+: /, "").slice(0, 2000);
      return new MeshError(codeOf(error.code), `${this.#name} refused ${during}: ${text}`, { cause: error });
    }
    // What the SDK could not parse.
    const text = `${this.#name} answered ${during} with something that is not MCP: ${errorText(error).slice(0, 500)}`;
    return new MeshError("data_loss", text, { cause: error });
  }

  #named({ code, message, cause }: MeshError): MeshError {
    return new MeshError(code, message.startsWith(this.#name) ? message : `${this.#name}: ${message}`, { cause });
  }
}

function codeOf(rpcCode: number): "invalid_argument" | "unimplemented" | "not_found" | "unknown" {
  if (rpcCode === RPC_CODE.invalidParams) return "invalid_argument";
  if (rpcCode === RPC_CODE.methodNotFound) return "unimplemented";
  return rpcCode === RPC_CODE.resourceNotFound ? "not_found" : "unknown";
}
