/** A definition as an SDK server: one per session (or request), its handlers bound to the embedder's functions. */

import { isObject, type JsonObject, MeshError } from "@mesh/kernel";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import type { RequestHandlerExtra } from "@modelcontextprotocol/sdk/shared/protocol.js";
import {
  CallToolRequestSchema,
  CompleteRequestSchema,
  CreateMessageResultSchema,
  ElicitResultSchema,
  GetPromptRequestSchema,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  ReadResourceRequestSchema,
  SetLevelRequestSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
  type ServerCapabilities,
  type ServerNotification,
  type ServerRequest,
  type ServerResult,
} from "@modelcontextprotocol/sdk/types.js";
import { CfWorkerJsonSchemaValidator } from "@modelcontextprotocol/sdk/validation/cfworker-provider.js";

import { schemaFaults } from "./argument-check.ts";
import { RPC_CODE, RpcError } from "./rpc-error.ts";
import type { McpLogLevel, McpServed, McpServerDefinition } from "./server-definition.ts";
import type { McpToolResult } from "./session.ts";

/** What the SDK tells a handler beside the request. */
export type HandlerExtra = RequestHandlerExtra<ServerRequest, ServerNotification>;

const MAX_COMPLETIONS = 100;
const MAX_WATCHES = 100;
/** People take their time. */
const ASK_MS = 600_000;

/** Builds a server whose handlers learn from `callerOf` who asks. */
export function protocolServer<Caller>(
  definition: McpServerDefinition<Caller>,
  callerOf: (extra: HandlerExtra) => Caller,
): Server {
  const { name, version, title, instructions } = definition;
  const server = new Server(
    { name, version, ...(title === undefined ? {} : { title }) },
    {
      capabilities: capabilitiesOf(definition),
      jsonSchemaValidator: new CfWorkerJsonSchemaValidator(),
      ...(instructions === undefined ? {} : { instructions }),
    },
  );
  const log = new ClientLog();
  server.setRequestHandler(SetLevelRequestSchema, ({ params }) => {
    log.level = params.level;
    return {};
  });
  const served = (extra: HandlerExtra): McpServed<Caller> => servedOf(server, extra, callerOf(extra), log);
  serveTools(server, definition, served);
  serveResources(server, definition, served);
  serveWatching(server, definition, served);
  servePrompts(server, definition, served);
  return server;
}

const LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"] as const;

/** What the client wants to be told; everything until it says so. */
class ClientLog {
  level: McpLogLevel = "debug";

  wants(level: McpLogLevel): boolean {
    return LEVELS.indexOf(level) >= LEVELS.indexOf(this.level);
  }
}

type Serve<Caller> = (extra: HandlerExtra) => McpServed<Caller>;

function capabilitiesOf<Caller>(definition: McpServerDefinition<Caller>): ServerCapabilities {
  return {
    tools: {},
    logging: {},
    ...(definition.listResources === undefined
      ? {}
      : { resources: definition.watchResource === undefined ? {} : { subscribe: true } }),
    ...(definition.listPrompts === undefined ? {} : { prompts: {} }),
    ...(definition.complete === undefined ? {} : { completions: {} }),
  };
}

function serveTools<Caller>(server: Server, definition: McpServerDefinition<Caller>, served: Serve<Caller>): void {
  server.setRequestHandler(ListToolsRequestSchema, (_request, extra) =>
    answered(async () => ({ tools: await definition.listTools(served(extra)) })),
  );
  server.setRequestHandler(CallToolRequestSchema, ({ params }, extra) =>
    answered(() => callTool(definition, params.name, (params.arguments ?? {}) as JsonObject, served(extra))),
  );
}

async function callTool<Caller>(
  definition: McpServerDefinition<Caller>,
  name: string,
  args: JsonObject,
  served: McpServed<Caller>,
): Promise<McpToolResult> {
  const tool = (await definition.listTools(served)).find((candidate) => candidate.name === name);
  if (tool === undefined) throw new RpcError(RPC_CODE.invalidParams, `Unknown tool: ${name}`);
  const faults = schemaFaults(tool.inputSchema, args);
  if (faults.length > 0) return failedTool(`The arguments are wrong: ${faults.join("; ")}`);
  try {
    return await definition.callTool(name, args, served);
  } catch (error) {
    if (error instanceof RpcError || isNotTheTools(error)) throw error;
    return failedTool(publicText(error));
  }
}

/** What kept the tool from running or from being heard is no answer of the tool. */
function isNotTheTools(error: unknown): boolean {
  return error instanceof MeshError && NOT_THE_TOOLS.has(error.code);
}

const NOT_THE_TOOLS: ReadonlySet<string> = new Set([
  "unavailable",
  "deadline_exceeded",
  "cancelled",
  "permission_denied",
  "unauthenticated",
]);

function serveResources<Caller>(server: Server, definition: McpServerDefinition<Caller>, served: Serve<Caller>): void {
  const { listResources, listResourceTemplates, readResource } = definition;
  if (listResources === undefined) return;
  server.setRequestHandler(ListResourcesRequestSchema, (_request, extra) =>
    answered(async () => ({ resources: await listResources(served(extra)) })),
  );
  server.setRequestHandler(ListResourceTemplatesRequestSchema, (_request, extra) =>
    answered(async () => ({ resourceTemplates: (await listResourceTemplates?.(served(extra))) ?? [] })),
  );
  server.setRequestHandler(ReadResourceRequestSchema, ({ params }, extra) =>
    answered(async () => {
      if (readResource === undefined) throw new MeshError("not_found", `there is no resource ${params.uri}`);
      return readResource(params.uri, served(extra));
    }),
  );
}

function serveWatching<Caller>(server: Server, definition: McpServerDefinition<Caller>, served: Serve<Caller>): void {
  const { watchResource } = definition;
  if (watchResource === undefined) return;
  const watches = new Map<string, () => void>();
  const stop = (uri: string): void => {
    watches.get(uri)?.();
    watches.delete(uri);
  };
  server.setRequestHandler(SubscribeRequestSchema, ({ params: { uri } }, extra) =>
    answered(async () => {
      stop(uri);
      if (watches.size >= MAX_WATCHES) {
        throw new MeshError("resource_exhausted", `at most ${MAX_WATCHES} resources can be watched`);
      }
      const changed = (): void => {
        // Lost with a client that has gone.
        server.sendResourceUpdated({ uri }).catch(() => undefined);
      };
      watches.set(uri, watchResource(uri, changed, served(extra).caller));
      return {};
    }),
  );
  server.setRequestHandler(UnsubscribeRequestSchema, ({ params: { uri } }) => {
    stop(uri);
    return {};
  });
  const onclose = (): void => {
    for (const uri of watches.keys()) stop(uri);
  };
  Object.assign(server, { onclose });
}

function servePrompts<Caller>(server: Server, definition: McpServerDefinition<Caller>, served: Serve<Caller>): void {
  const { listPrompts, getPrompt, complete } = definition;
  if (listPrompts !== undefined) {
    server.setRequestHandler(ListPromptsRequestSchema, (_request, extra) =>
      answered(async () => ({ prompts: await listPrompts(served(extra)) })),
    );
    server.setRequestHandler(GetPromptRequestSchema, ({ params }, extra) =>
      answered(async () => {
        if (getPrompt === undefined) throw new MeshError("not_found", `there is no prompt ${params.name}`);
        return getPrompt(params.name, params.arguments ?? {}, served(extra));
      }),
    );
  }
  if (complete === undefined) return;
  server.setRequestHandler(CompleteRequestSchema, ({ params }, extra) =>
    answered(async () => {
      const { ref, argument } = params;
      const all = await complete({ ref, argument }, served(extra));
      const values = all.slice(0, MAX_COMPLETIONS);
      return { completion: { values, total: all.length, hasMore: values.length < all.length } };
    }),
  );
}

function servedOf<Caller>(
  server: Server,
  extra: HandlerExtra,
  caller: Caller,
  clientLog: ClientLog,
): McpServed<Caller> {
  const { signal, _meta: meta } = extra;
  const notify = (notification: ServerNotification): void => {
    // Lost with a client that has gone.
    extra.sendNotification(notification).catch(() => undefined);
  };
  return {
    caller,
    signal,
    progress({ progress, total, message }) {
      const progressToken = meta?.progressToken;
      if (progressToken === undefined) return;
      const more = { ...(total === undefined ? {} : { total }), ...(message === undefined ? {} : { message }) };
      notify({ method: "notifications/progress", params: { progressToken, progress, ...more } });
    },
    log(level, data) {
      if (clientLog.wants(level)) notify({ method: "notifications/message", params: { level, data } });
    },
    async ask(method, params) {
      const offered = server.getClientCapabilities()?.[method === "elicitation/create" ? "elicitation" : "sampling"];
      if (offered === undefined) throw new MeshError("unimplemented", `this client does not offer ${method}`);
      const schema = method === "elicitation/create" ? ElicitResultSchema : CreateMessageResultSchema;
      // The SDK sends what it is given; the client checks it.
      const request = { method, params } as unknown as ServerRequest;
      return (await extra.sendRequest(request, schema, { signal, timeout: ASK_MS })) as JsonObject;
    },
  };
}

/** Turns what a function throws into an error of the protocol. */
async function answered(work: () => Promise<object>): Promise<ServerResult> {
  try {
    return withoutUndefined(await work()) as ServerResult;
  } catch (error) {
    if (error instanceof RpcError) throw error;
    throw new RpcError(rpcCodeOf(MeshError.from(error)), publicText(error));
  }
}

function rpcCodeOf({ code }: MeshError): number {
  if (code === "not_found") return RPC_CODE.resourceNotFound;
  if (code === "invalid_argument" || code === "permission_denied") return RPC_CODE.invalidParams;
  return code === "unimplemented" ? RPC_CODE.methodNotFound : RPC_CODE.internal;
}

function publicText(error: unknown): string {
  const { code, message } = MeshError.from(error);
  return code === "internal" ? "The server failed; its log says why." : message;
}

function failedTool(text: string): McpToolResult {
  return { content: [{ type: "text", text }], isError: true };
}

/** JSON has no undefined; schemas of optional keys refuse it. */
function withoutUndefined(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutUndefined);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).filter(([, inner]) => inner !== undefined);
  return Object.fromEntries(entries.map(([key, inner]) => [key, withoutUndefined(inner)]));
}
