/** The messages of a history: what a model is sent, plus what an application keeps beside it. */

import { isObject, type Json, MeshError } from "@mesh/kernel";
import {
  type AssistantMessage,
  type Content,
  type InputContent,
  type Message,
  textContent,
  textOf,
  type ToolResultMessage,
  type UserMessage,
} from "@mesh/llm";

/** An application's own message: part of history, events and persistence, never of a request. */
export interface ExtensionMessage {
  readonly role: "extension";
  readonly kind: string;
  readonly data: Json;
  readonly timestamp?: number;
}

/** Any message of a history. */
export type AgentMessage = Message | ExtensionMessage;

/** A user message of one text. */
export function userMessage(text: string, timestamp: number): UserMessage {
  return { role: "user", content: [textContent(text)], timestamp };
}

/** Whether a message may come from outside of the loop: calls and their results are the loop's own. */
export function mayBeAdded(message: AgentMessage): boolean {
  if (message.role === "toolResult") return false;
  return message.role !== "assistant" || !message.content.some((part) => part.type === "toolCall");
}

/** All text of a message; empty for an application's message. */
export function messageText(message: AgentMessage): string {
  return message.role === "extension" ? "" : textOf(message.content);
}

/** The messages that a model may be sent. */
export function modelMessages(history: readonly AgentMessage[]): Message[] {
  return history.filter((message) => message.role !== "extension");
}

/** The last assistant message of a history. */
export function lastAssistant(history: readonly AgentMessage[]): AssistantMessage | undefined {
  for (let i = history.length - 1; i >= 0; i -= 1) {
    const message = history[i];
    if (message?.role === "assistant") return message;
  }
  return undefined;
}

/** JSON text of a history, for storing. */
export function saveHistory(history: readonly AgentMessage[]): string {
  return JSON.stringify(history);
}

/** Reads stored JSON back into a history; also understands the snake_case names of older files. */
export function loadHistory(json: string): AgentMessage[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(json);
  } catch (cause) {
    throw new MeshError("invalid_argument", "the history is not JSON; it must be an array of messages", { cause });
  }
  if (!Array.isArray(parsed)) {
    throw new MeshError("invalid_argument", "the history is not an array of messages");
  }
  return parsed.map((value, index) => readMessage(value, `message ${index}`));
}

/** Reads one stored message; throws `invalid_argument` naming `where`. */
export function readMessage(value: unknown, where: string): AgentMessage {
  if (!isObject(value)) throw invalid(where, "is not an object");
  switch (value["role"]) {
    case "user":
      return { ...value, role: "user", content: readContent(value, where), timestamp: readTime(value) } as UserMessage;
    case "assistant":
      return readAssistant(value, where);
    case "toolResult":
    case "tool_result":
      return readToolResult(value, where);
    case "extension":
      if (typeof value["kind"] !== "string") throw invalid(where, 'has no "kind"');
      return value as unknown as ExtensionMessage;
    default:
      throw invalid(where, `has the unknown role ${JSON.stringify(value["role"])}`);
  }
}

function readAssistant(value: Record<string, unknown>, where: string): AssistantMessage {
  const usage = isObject(value["usage"]) ? value["usage"] : {};
  const count = (camel: string, snake: string): number => numberOr0(usage[camel] ?? usage[snake]);
  const stopReason = value["stopReason"] ?? value["stop_reason"] ?? "stop";
  const errorMessage = value["errorMessage"] ?? value["error_message"];
  const { stop_reason: _stop, error_message: _error, ...rest } = value;
  return {
    ...rest,
    role: "assistant",
    content: readContent(value, where),
    stopReason: stopReason === "tool_use" ? "toolUse" : stopReason,
    model: textAt(value, "model"),
    provider: textAt(value, "provider"),
    usage: {
      ...usage,
      input: count("input", "input_tokens"),
      output: count("output", "output_tokens"),
      cacheRead: count("cacheRead", "cache_read"),
      cacheWrite: count("cacheWrite", "cache_write"),
      totalTokens: count("totalTokens", "total_tokens"),
    },
    timestamp: readTime(value),
    ...(typeof errorMessage === "string" ? { errorMessage } : {}),
  } as AssistantMessage;
}

function readToolResult(value: Record<string, unknown>, where: string): ToolResultMessage {
  const toolCallId = value["toolCallId"] ?? value["tool_call_id"];
  if (typeof toolCallId !== "string") throw invalid(where, 'has no "toolCallId"');
  const { tool_call_id: _id, tool_name: _name, is_error: _error, ...rest } = value;
  return {
    ...rest,
    role: "toolResult",
    toolCallId,
    toolName: textAt(value, "toolName", "tool_name"),
    content: readContent(value, where) as readonly InputContent[],
    isError: (value["isError"] ?? value["is_error"]) === true,
    timestamp: readTime(value),
  };
}

function readContent(value: Record<string, unknown>, where: string): readonly Content[] {
  const content = value["content"];
  if (typeof content === "string") return [textContent(content)];
  if (!Array.isArray(content)) throw invalid(where, 'has no "content"');
  return content.map((part: unknown, index) => readPart(part, `${where}, part ${index}`));
}

function readPart(part: unknown, where: string): Content {
  if (!isObject(part)) throw invalid(where, "is not an object");
  switch (part["type"]) {
    case "text":
      return { ...part, type: "text", text: textAt(part, "text") };
    case "image": {
      const { mime_type: _mimeType, ...rest } = part;
      return { ...rest, type: "image", data: textAt(part, "data"), mimeType: textAt(part, "mimeType", "mime_type") };
    }
    case "thinking": {
      const { redacted_protocol: redactedProtocol, ...rest } = part;
      return { ...(redactedProtocol === undefined ? {} : { redactedProtocol }), ...rest } as unknown as Content;
    }
    case "toolCall":
    case "tool_call": {
      const { provider_metadata: providerMetadata, ...rest } = part;
      return {
        ...(providerMetadata === undefined || providerMetadata === null ? {} : { providerMetadata }),
        ...rest,
        type: "toolCall",
        arguments: isObject(part["arguments"]) ? part["arguments"] : {},
      } as unknown as Content;
    }
    default:
      throw invalid(where, `has the unknown type ${JSON.stringify(part["type"])}`);
  }
}

function readTime(value: Record<string, unknown>): number {
  return numberOr0(value["timestamp"]);
}

/** The first of these fields that is a text. */
function textAt(value: Record<string, unknown>, ...fields: readonly string[]): string {
  const found = fields.map((field) => value[field]).find((each) => typeof each === "string");
  return typeof found === "string" ? found : "";
}

function numberOr0(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) ? value : 0;
}

function invalid(where: string, what: string): MeshError {
  return new MeshError("invalid_argument", `${where} ${what}`);
}
