/**
 * One live connection to an MCP server, as the rest of this package sees it. Two things implement it: processes of the app
 * (`process-session.ts`) and servers that speak the protocol (`sdk-session.ts`, the only client code that knows the SDK).
 */

import type { JsonObject } from "@mesh/kernel";

import type { McpPromptArgument } from "./server-config.ts";

/** A tool as its server describes it. */
export interface McpTool {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject | undefined;
  readonly annotations?: JsonObject | undefined;
}

/** A resource as its server describes it. */
export interface McpResource {
  readonly uri: string;
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly mimeType?: string | undefined;
}

/** A family of resources. */
export interface McpResourceTemplate {
  readonly uriTemplate: string;
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly mimeType?: string | undefined;
}

/** A prompt as its server describes it. */
export interface McpPrompt {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly arguments?: readonly McpPromptArgument[] | undefined;
}

/** Contents of a resource: text, or bytes in base64. */
export interface McpResourceContents {
  readonly uri: string;
  readonly mimeType?: string | undefined;
  readonly text?: string | undefined;
  readonly blob?: string | undefined;
}

/** One item of a tool's answer or of a prompt's message. */
export type McpContent =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image" | "audio"; readonly data: string; readonly mimeType: string }
  | { readonly type: "resource"; readonly resource: McpResourceContents }
  | ({ readonly type: "resource_link" } & McpResource);

/** A tool's answer. `isError` says that the tool itself failed; a call that could not be made throws instead. */
export interface McpToolResult {
  readonly content: readonly McpContent[];
  readonly structuredContent?: JsonObject | undefined;
  readonly isError?: boolean | undefined;
  readonly _meta?: JsonObject | undefined;
}

/** What `resources/read` answers. */
export interface McpReadResult {
  readonly contents: readonly McpResourceContents[];
}

/** What `prompts/get` answers. */
export interface McpPromptResult {
  readonly description?: string | undefined;
  readonly messages: readonly { readonly role: "user" | "assistant"; readonly content: McpContent }[];
}

/** Progress a server reports during a call. */
export interface McpProgress {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

/** What one exchange needs to know. */
export interface Exchange<Caller> {
  /** Who asks; undefined for what serves all callers, such as lists. */
  readonly caller: Caller | undefined;
  readonly signal: AbortSignal;
  /** How long without an answer or progress. */
  readonly timeoutMs: number;
  readonly onProgress?: ((progress: McpProgress) => void) | undefined;
}

/** One page of a list. */
export interface Page<Item> {
  readonly items: readonly Item[];
  readonly nextCursor?: string | undefined;
}

/** The lists a server offers. */
export interface McpLists {
  readonly tools: McpTool;
  readonly resources: McpResource;
  readonly resourceTemplates: McpResourceTemplate;
  readonly prompts: McpPrompt;
}

/** Name of a list. */
export type ListKind = keyof McpLists;

/** A live connection. */
export interface McpSession<Caller> {
  list<Kind extends ListKind>(
    kind: Kind,
    cursor: string | undefined,
    exchange: Exchange<Caller>,
  ): Promise<Page<McpLists[Kind]>>;
  callTool(tool: McpTool, args: JsonObject, exchange: Exchange<Caller>): Promise<McpToolResult>;
  readResource(uri: string, exchange: Exchange<Caller>): Promise<McpReadResult>;
  getPrompt(name: string, args: JsonObject, exchange: Exchange<Caller>): Promise<McpPromptResult>;
  close(): Promise<void>;
}

/** What a session tells its owner. */
export interface SessionEvents {
  /** A cached list is stale. */
  readonly changed: (kind: ListKind) => void;
  /** The session ended without being asked to. */
  readonly died: (reason: string) => void;
}

/** The server forgot the session before it looked at the request: the same request may be sent on a new one. */
export class SessionLostError extends Error {
  override readonly name = "SessionLostError";
}
