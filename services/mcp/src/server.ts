/**
 * An MCP server over what an embedder offers: tools, and if it likes resources, prompts and completions.
 *
 * V1  The embedder authenticates; who asks comes in with each transport and reaches each function.
 * V2  Arguments are checked against the tool's schema. A tool that fails is an answer the model can read; a tool that does not
 *     exist is an error of the protocol. What an internal error says stays here.
 * V3  A cancelled request aborts the signal its function was given.
 */

import { type McpHttp, type McpHttpDeps, type McpHttpOptions, serveHttp } from "./serve-http.ts";
import { serveStdio, type StdioStreams } from "./serve-stdio.ts";
import type { McpServerDefinition } from "./server-definition.ts";

export { serveNodeRequest } from "./node-http.ts";
export type { McpHttp, McpHttpDeps, McpHttpOptions } from "./serve-http.ts";
export type { StdioStreams } from "./serve-stdio.ts";
export type { McpCompletion, McpLogLevel, McpServed, McpServerDefinition } from "./server-definition.ts";

/** A server that can be reached in two ways. */
export interface McpServer<Caller> {
  /** Serves one client over streams; resolves when the input ends or the signal aborts. */
  stdio(streams: StdioStreams, caller: Caller, signal: AbortSignal): Promise<void>;
  /** Makes a handler of Streamable HTTP requests. */
  http(deps: McpHttpDeps, options: McpHttpOptions<Caller>): McpHttp<Caller>;
}

/** Makes a server of a definition. */
export function createMcpServer<Caller>(definition: McpServerDefinition<Caller>): McpServer<Caller> {
  return {
    stdio: (streams, caller, signal) => serveStdio(definition, streams, caller, signal),
    http: (deps, options) => serveHttp(definition, deps, options),
  };
}
