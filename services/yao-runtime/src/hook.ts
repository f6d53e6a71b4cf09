/** The hooks `Create` and `Next`: what they get and what they may return. */

import type { CallOptions, SkipOptions } from "./agent-call.ts";
import type { Completion, Message } from "./message.ts";
import type { Value, Values } from "./value.ts";

/** Hands the request over to another assistant. */
export interface Delegate {
  agent_id: string;
  messages: Message[];
  options?: CallOptions & Values;
}

/** An MCP server to use in this request, with all or some of its tools. */
export interface McpServer {
  server_id: string;
  tools?: string[];
  resources?: string[];
}

/** Who does what the model cannot: an assistant's id, `mcp:server`, or `disabled`. */
export interface Uses {
  vision?: string;
  audio?: string;
  search?: string;
  fetch?: string;
  web?: string;
  keyword?: string;
  querydsl?: string;
  rerank?: string;
}

/**
 * What `Create` may return. Everything is optional; nothing at all leaves the request as it is.
 *
 * @example
 * function Create(ctx: agent.Context, messages: agent.Message[]): agent.Create {
 *   return { messages, temperature: 0.2, prompt_preset: "task" };
 * }
 */
export interface CreateResponse {
  /** Instead of the messages that came in. */
  messages?: Message[];
  /** For models that speak. */
  audio?: { voice: string; format: string };
  temperature?: number;
  max_tokens?: number;
  max_completion_tokens?: number;
  /** Servers to add. */
  mcp_servers?: McpServer[];
  /** A set of prompts, such as `chat.friendly`. */
  prompt_preset?: string;
  disable_global_prompts?: boolean;
  /** Another model. */
  connector?: string;
  locale?: string;
  theme?: string;
  route?: string;
  metadata?: Values;
  uses?: Uses;
  /** Whether `uses` wins over what the model could do by itself. */
  force_uses?: boolean;
  /** Whether and what to search before the model is asked. */
  search?: boolean | Values;
  /** Leaves the request to another assistant; the model is not asked. */
  delegate?: Delegate;
}

/** Return type of `Create`. */
export type Create = CreateResponse | null | undefined | void;

/** A tool that was called, with its answer or its error. */
export interface ToolCallResponse {
  toolcall_id: string;
  /** MCP server. */
  server: string;
  tool: string;
  arguments?: Value;
  result?: Value;
  error?: string;
}

/**
 * What `Next` gets.
 *
 * @example
 * function Next(ctx: agent.Context, payload: agent.Payload): agent.Next {
 *   return payload.error ? { data: { sorry: payload.error } } : null;
 * }
 */
export interface Payload {
  /** What the model was asked. */
  messages: Message[];
  /** What it answered; absent when it was not asked. */
  completion?: Completion;
  /** Tools that were called. */
  tools?: ToolCallResponse[];
  /** Why there is no answer. */
  error?: string;
}

/** What `Next` may return. */
export interface NextResponse {
  /** Leaves the rest to another assistant. */
  delegate?: Delegate;
  /** Becomes the answer, in place of the usual one. */
  data?: Value;
  /** For logs. */
  metadata?: Values;
}

/** Return type of `Next`; nothing means the usual answer. */
export type Next = NextResponse | null | undefined | void;

/** Options of the request, the third argument of both hooks. */
export interface Options {
  skip?: SkipOptions;
  connector?: string;
  disable_global_prompts?: boolean;
  search?: boolean;
  mode?: string;
  metadata?: Values;
}
