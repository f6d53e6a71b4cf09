/**
 * The one message model that every protocol is read into and written from: plain JSON, camelCase, safe to store.
 *
 * M1  An assistant message that ended as `error` or `aborted` holds no tool call: unfinished work becomes a text note.
 * M2  A tool call marked `malformed` must never be executed; it is answered with an error result.
 * M3  Reasoning that only its maker can read carries the protocol that made it and is replayed nowhere else.
 */

import type { JsonObject } from "@mesh/kernel";

/** Wire protocols that a model can be reached by. */
export const API_PROTOCOLS = [
  "anthropic-messages",
  "openai-completions",
  "openai-responses",
  "azure-openai-responses",
  "google-generative-ai",
  "google-vertex",
  "bedrock-converse-stream",
  "demo",
] as const;

/** One of {@link API_PROTOCOLS}. */
export type ApiProtocol = (typeof API_PROTOCOLS)[number];

/** Text that was said. */
export interface TextContent {
  readonly type: "text";
  readonly text: string;
  /** What the provider wants back with this part, such as a Gemini thought signature. */
  readonly providerMetadata?: JsonObject;
}

/** An image, inline. */
export interface ImageContent {
  readonly type: "image";
  /** Base64, without a data-URL prefix. */
  readonly data: string;
  readonly mimeType: string;
}

/** Reasoning: readable, signed or encrypted. */
export interface ThinkingContent {
  readonly type: "thinking";
  /** What may be shown; empty when the provider keeps it to itself. */
  readonly thinking: string;
  /** Proof that `thinking` is the model's own; valid for that model only. */
  readonly signature?: string;
  /** Reasoning that only its maker can read: Anthropic data, Bedrock bytes in base64, a Responses item as JSON. */
  readonly redacted?: string;
  /** Who made `redacted`; without it the data is sent nowhere. */
  readonly redactedProtocol?: ApiProtocol;
}

/** A request of the model to run a tool. */
export interface ToolCallContent {
  readonly type: "toolCall";
  readonly id: string;
  readonly name: string;
  readonly arguments: JsonObject;
  /** What the provider wants back with this call; never given to the tool. */
  readonly providerMetadata?: JsonObject;
  /** Present when the arguments are not usable: the call must not run, the model must be told `reason`. */
  readonly malformed?: MalformedCall;
}

/** Why a tool call cannot run. */
export interface MalformedCall {
  /** `truncated`: the model hit its output limit; `invalid`: the arguments are not a JSON object. */
  readonly kind: "truncated" | "invalid";
  /** For the model: what was wrong. */
  readonly reason: string;
  /** The first characters of what the model wrote. */
  readonly raw: string;
}

/** Any part of a message. */
export type Content = TextContent | ImageContent | ThinkingContent | ToolCallContent;

/** Parts of what a user or a tool says. */
export type InputContent = TextContent | ImageContent;

/** Why an assistant message ended. */
export type StopReason = "stop" | "length" | "toolUse" | "error" | "aborted" | "refusal";

/** Tokens of one or more model calls. */
export interface Usage {
  /** Prompt tokens that were not read from a cache. */
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  /** Sum of the four as one call reports it; 0 on figures that were added up. */
  readonly totalTokens: number;
  /** The part of `output` spent on reasoning, when the provider says it. */
  readonly reasoning?: number;
}

/** Nothing used. */
export const NO_USAGE: Usage = Object.freeze({ input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 });

/** What a person (or the loop on their behalf) says. */
export interface UserMessage {
  readonly role: "user";
  readonly content: readonly InputContent[];
  /** Milliseconds since the epoch. */
  readonly timestamp: number;
}

/** What the model said. */
export interface AssistantMessage {
  readonly role: "assistant";
  readonly content: readonly Content[];
  readonly stopReason: StopReason;
  /** Id of the model that was asked. */
  readonly model: string;
  /** Name of the provider, from its config. */
  readonly provider: string;
  /** Which protocol made it; absent in sessions of older versions. */
  readonly api?: ApiProtocol;
  readonly usage: Usage;
  readonly timestamp: number;
  /** Explains `error`, `aborted` and `refusal`. */
  readonly errorMessage?: string;
  /** Class of a failure, for code that branches; see `ErrorClass`. */
  readonly errorClass?: string;
  /** The provider's own id of this response; not unique with every server. */
  readonly responseId?: string;
}

/** What a tool answered. */
export interface ToolResultMessage {
  readonly role: "toolResult";
  readonly toolCallId: string;
  readonly toolName: string;
  readonly content: readonly InputContent[];
  readonly isError: boolean;
  readonly timestamp: number;
}

/** A message that a model can be sent. */
export type Message = UserMessage | AssistantMessage | ToolResultMessage;

/** A text part. */
export function textContent(text: string): TextContent {
  return { type: "text", text };
}

/** All text of a message's parts, joined. */
export function textOf(content: readonly Content[]): string {
  return content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

/** The tool calls of a message, in order. */
export function toolCallsOf(message: AssistantMessage): readonly ToolCallContent[] {
  return message.content.filter((part) => part.type === "toolCall");
}

/** Adds two usages; `totalTokens` of a sum stays 0. */
export function addUsage(a: Usage, b: Usage): Usage {
  const reasoning = (a.reasoning ?? 0) + (b.reasoning ?? 0);
  return {
    input: a.input + b.input,
    output: a.output + b.output,
    cacheRead: a.cacheRead + b.cacheRead,
    cacheWrite: a.cacheWrite + b.cacheWrite,
    totalTokens: 0,
    ...(reasoning === 0 ? {} : { reasoning }),
  };
}
