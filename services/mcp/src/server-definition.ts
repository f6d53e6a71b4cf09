/** What an embedder offers as an MCP server, and what its functions are told. */

import type { Json, JsonObject } from "@mesh/kernel";

import type {
  McpProgress,
  McpPrompt,
  McpPromptResult,
  McpReadResult,
  McpResource,
  McpResourceTemplate,
  McpTool,
  McpToolResult,
} from "./session.ts";

/** Severity of a log line a client may show. */
export type McpLogLevel = "debug" | "info" | "notice" | "warning" | "error" | "critical" | "alert" | "emergency";

/** One request, for the function that serves it. */
export interface McpServed<Caller> {
  readonly caller: Caller;
  /** Aborts when the client cancels or goes away. */
  readonly signal: AbortSignal;
  /** Tells the client, if it asked to be told. */
  readonly progress: (progress: McpProgress) => void;
  /** A line for the client's log. */
  readonly log: (level: McpLogLevel, data: Json) => void;
  /** Asks the client's user or model; rejects with `unimplemented` when the client does not offer that. */
  readonly ask: (method: "elicitation/create" | "sampling/createMessage", params: JsonObject) => Promise<JsonObject>;
}

/** What a completion is asked for. */
export interface McpCompletion {
  readonly ref: { readonly type: "ref/prompt" | "ref/resource"; readonly name?: string; readonly uri?: string };
  readonly argument: { readonly name: string; readonly value: string };
}

/** What a server offers; only what is given is announced. */
export interface McpServerDefinition<Caller> {
  readonly name: string;
  readonly version: string;
  readonly title?: string | undefined;
  readonly instructions?: string | undefined;
  readonly listTools: (served: McpServed<Caller>) => Promise<readonly McpTool[]>;
  readonly callTool: (name: string, args: JsonObject, served: McpServed<Caller>) => Promise<McpToolResult>;
  readonly listResources?: (served: McpServed<Caller>) => Promise<readonly McpResource[]>;
  readonly listResourceTemplates?: (served: McpServed<Caller>) => Promise<readonly McpResourceTemplate[]>;
  readonly readResource?: (uri: string, served: McpServed<Caller>) => Promise<McpReadResult>;
  /** Calls `changed` whenever a resource has changed, until the function it returns is called. Needs a session. */
  readonly watchResource?: (uri: string, changed: () => void, caller: Caller) => () => void;
  readonly listPrompts?: (served: McpServed<Caller>) => Promise<readonly McpPrompt[]>;
  readonly getPrompt?: (name: string, args: JsonObject, served: McpServed<Caller>) => Promise<McpPromptResult>;
  readonly complete?: (completion: McpCompletion, served: McpServed<Caller>) => Promise<readonly string[]>;
}
