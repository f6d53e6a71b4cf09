/**
 * Messages as users' programs write them (the form of Chat Completions), and as the loop keeps them.
 *
 * C1  What a program gives is checked: a message that no model could be sent is refused, naming its place.
 * C2  System messages become part of the system prompt, in their order: no provider takes them in the middle.
 * C3  Tool calls of earlier messages that nobody answered are left out, so that the history is legal.
 */

import { type AgentMessage, repairTranscript } from "@mesh/agent";
import { isObject, type Json, type JsonObject, MeshError } from "@mesh/kernel";
import { type Content, type ImageContent, type InputContent, NO_USAGE, textContent } from "@mesh/llm";

/** One message of a conversation. */
export interface ChatMessage {
  readonly role: "system" | "developer" | "user" | "assistant" | "tool";
  /** A text, or parts such as `{type: "text", text}` and `{type: "image_url", image_url: {url}}`. */
  readonly content?: Json;
  readonly name?: string;
  readonly tool_calls?: readonly JsonObject[];
  readonly tool_call_id?: string;
}

/** A conversation as the loop takes it. */
export interface LoopConversation {
  /** Text of the system messages. */
  readonly system: string;
  /** What was said before. */
  readonly history: readonly AgentMessage[];
  /** What is said now: the user messages at the end. */
  readonly prompts: readonly AgentMessage[];
}

const ROLES = new Set(["system", "developer", "user", "assistant", "tool"]);
const MAX_MESSAGES = 10_000;

/** Checks messages that a program or a caller gave; `where` says who, for the error. */
export function readChatMessages(value: Json | undefined, where: string): readonly ChatMessage[] {
  if (!Array.isArray(value)) throw invalid(`${where} must be a list of messages {role, content}`);
  if (value.length > MAX_MESSAGES) throw invalid(`${where} has ${value.length} messages; ${MAX_MESSAGES} are the most`);
  return value.map((each, index) => readChatMessage(each, `${where}[${index}]`));
}

function readChatMessage(value: Json, where: string): ChatMessage {
  if (!isObject(value)) throw invalid(`${where} must be a message {role, content}`);
  const { role, content } = value;
  if (typeof role !== "string" || !ROLES.has(role)) {
    throw invalid(`${where}.role must be one of ${[...ROLES].join(", ")}`);
  }
  const isContent = content === undefined || content === null || typeof content === "string" || Array.isArray(content);
  if (!isContent) throw invalid(`${where}.content must be a text or a list of parts`);
  checkCallFields(value, where);
  return value as unknown as ChatMessage;
}

// Programs write null for what a message does not have.
function checkCallFields(message: JsonObject, where: string): void {
  for (const field of ["name", "tool_call_id"]) {
    if (typeof (message[field] ?? "") !== "string") throw invalid(`${where}.${field} must be a text`);
  }
  const calls: Json = message["tool_calls"] ?? [];
  if (!Array.isArray(calls) || !calls.every(isObject)) throw invalid(`${where}.tool_calls must be a list of calls`);
}

/** The text of a message: its content, or the texts among its parts. */
export function chatText({ content }: ChatMessage): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part) => (isObject(part) && typeof part["text"] === "string" ? part["text"] : "")).join("");
}

/** Splits a conversation into what the loop needs. */
export function toLoop(messages: readonly ChatMessage[], now: number): LoopConversation {
  const isSystem = (message: ChatMessage): boolean => message.role === "system" || message.role === "developer";
  const system = messages
    .filter(isSystem)
    .map(chatText)
    .filter((text) => text !== "");
  const names = new Map<string, string>();
  const said = messages.filter((message) => !isSystem(message)).map((message) => toAgentMessage(message, names, now));
  const sound = repairTranscript(
    said.filter((message) => message.role !== "extension" && message.content.length > 0),
    now,
  );
  const firstPrompt = sound.findLastIndex((message) => message.role !== "user") + 1;
  return { system: system.join("\n\n"), history: sound.slice(0, firstPrompt), prompts: sound.slice(firstPrompt) };
}

function toAgentMessage(message: ChatMessage, names: Map<string, string>, timestamp: number): AgentMessage {
  switch (message.role) {
    case "assistant": {
      const content: Content[] = [...inputContent(message), ...callsOf(message)];
      for (const part of content) if (part.type === "toolCall") names.set(part.id, part.name);
      const stopReason = content.some((part) => part.type === "toolCall") ? "toolUse" : "stop";
      return { role: "assistant", content, stopReason, model: "", provider: "", usage: NO_USAGE, timestamp };
    }
    case "tool": {
      const id = message.tool_call_id ?? "";
      const toolName = message.name ?? names.get(id) ?? "tool";
      const content = [textContent(chatText(message))];
      return { role: "toolResult", toolCallId: id, toolName, content, isError: false, timestamp };
    }
    default:
      return { role: "user", content: inputContent(message), timestamp };
  }
}

function inputContent({ content }: ChatMessage): InputContent[] {
  if (typeof content === "string") return content === "" ? [] : [textContent(content)];
  if (!Array.isArray(content)) return [];
  return content.flatMap((part): InputContent[] => {
    if (!isObject(part)) return [];
    if (typeof part["text"] === "string") return part["text"] === "" ? [] : [textContent(part["text"])];
    const image = imageOf(part);
    return image === undefined ? [] : [image];
  });
}

function imageOf(part: Readonly<Record<string, unknown>>): ImageContent | undefined {
  const image = part["image_url"];
  const url = isObject(image) ? image["url"] : image;
  const match = typeof url === "string" ? /^data:([\w.+-]+\/[\w.+-]+);base64,/.exec(url) : null;
  if (match?.[1] === undefined || typeof url !== "string") return undefined;
  return { type: "image", mimeType: match[1], data: url.slice(match[0].length) };
}

function callsOf({ tool_calls: calls }: ChatMessage): Content[] {
  // Programs write null for none.
  return (calls ?? []).flatMap((call): Content[] => {
    const fn = call["function"];
    if (!isObject(fn) || typeof fn["name"] !== "string" || typeof call["id"] !== "string") return [];
    return [{ type: "toolCall", id: call["id"], name: fn["name"], arguments: argumentsOf(fn["arguments"]) }];
  });
}

function argumentsOf(value: unknown): JsonObject {
  if (isObject(value)) return value as JsonObject;
  if (typeof value !== "string") return {};
  try {
    const parsed: unknown = JSON.parse(value);
    return isObject(parsed) ? (parsed as JsonObject) : {};
  } catch {
    return {};
  }
}

/** A tool call in the form of Chat Completions. */
export function toWireCall(call: {
  readonly id: string;
  readonly name: string;
  readonly arguments: JsonObject;
}): JsonObject {
  return { id: call.id, type: "function", function: { name: call.name, arguments: JSON.stringify(call.arguments) } };
}

function invalid(message: string): MeshError {
  return new MeshError("invalid_argument", message);
}
