/**
 * The messages of a Chat Completions request as JSON text. A history that grows is written once: the text of a request is
 * kept with its first message, and the next request of the same conversation only adds what is new.
 */

import type { JsonObject } from "@mesh/kernel";

import type {
  AssistantMessage,
  ImageContent,
  InputContent,
  Message,
  ThinkingContent,
  ToolResultMessage,
} from "./message.ts";
import type { ModelConfig, OpenAiCompat } from "./provider.ts";
import { type Fields, joinedText, sendable } from "./request-part.ts";
import { wireCallId } from "./tool-call-id.ts";
import { opened, soundFrom } from "./transcript.ts";

/** Whose messages are written. */
interface Dialect {
  readonly model: ModelConfig;
  readonly compat: OpenAiCompat;
}

/** A history as it was last written. */
interface Written {
  readonly messages: readonly Message[];
  readonly usedIds: Set<string>;
  readonly text: string;
  readonly endsWithTool: boolean;
}

/** Writes the messages of all requests to one model. */
export class CompletionsMessages {
  readonly #dialect: Dialect;
  readonly #written = new WeakMap<Message, Written>();

  constructor(model: ModelConfig, compat: OpenAiCompat) {
    this.#dialect = { model, compat };
  }

  /** The elements of the list; with cache marks in Anthropic's way where `isMarked`. */
  text(system: Fields | undefined, messages: readonly Message[], isMarked: boolean): string {
    const before = system === undefined ? [] : [system];
    if (isMarked && this.#dialect.model.id.includes("claude")) {
      const list = [...before, ...translated(opened(soundFrom(messages, 0, new Set()).sound), false, this.#dialect)];
      markForCache(list);
      return joined("", list);
    }
    const history = this.#historyText(messages);
    const start = joined("", before);
    return start === "" || history === "" ? start + history : `${start},${history}`;
  }

  #historyText(messages: readonly Message[]): string {
    const [first] = messages;
    if (first === undefined) return "";
    const base = this.#take(first, messages);
    const { usedIds } = base;
    const { sound, isSettled } = soundFrom(messages, base.messages.length, usedIds);
    const fields = translated(base.text === "" ? opened(sound) : sound, base.endsWithTool, this.#dialect);
    const text = joined(base.text, fields);
    const last = fields.at(-1);
    const endsWithTool = last === undefined ? base.endsWithTool : last["role"] === "tool";
    if (isSettled && text !== "") this.#written.set(first, { messages: [...messages], usedIds, text, endsWithTool });
    return text;
  }

  /** What is written of these messages. It is taken, not read: whoever else goes on from there must not find new ids in it. */
  #take(first: Message, messages: readonly Message[]): Written {
    const known = this.#written.get(first);
    this.#written.delete(first);
    if (known !== undefined && isStart(known.messages, messages)) return known;
    return { messages: [], usedIds: new Set(), text: "", endsWithTool: false };
  }
}

function isStart(start: readonly Message[], messages: readonly Message[]): boolean {
  return start.length <= messages.length && start.every((message, at) => message === messages[at]);
}

function joined(before: string, list: readonly Fields[]): string {
  if (list.length === 0) return before;
  const added = JSON.stringify(list).slice(1, -1);
  return before === "" ? added : `${before},${added}`;
}

function translated(sound: readonly Message[], isAfterTool: boolean, dialect: Dialect): Fields[] {
  const list: Fields[] = [];
  let images: ImageContent[] = [];
  const addUser = (message: Fields): void => {
    const last = list.at(-1);
    const isTool = last === undefined ? isAfterTool : last["role"] === "tool";
    if (dialect.compat.assistantAfterToolResult === true && isTool) {
      list.push({ role: "assistant", content: "I have read the tool results." });
    }
    list.push(message);
  };
  const flush = (): void => {
    if (images.length > 0) addUser({ role: "user", content: imageParts(images) });
    images = [];
  };
  for (const message of sound) {
    if (message.role === "toolResult") {
      list.push(resultOf(message, dialect));
      if (message.content.some((part) => part.type === "image")) {
        images.push(...sendable(message.content, dialect).filter((part) => part.type === "image"));
      }
      continue;
    }
    flush();
    if (message.role === "assistant") list.push(...assistantOf(message, dialect));
    else {
      const content = userContent(message.content, dialect);
      if (content !== undefined) addUser({ role: "user", content });
    }
  }
  flush();
  return list;
}

function userContent(content: readonly InputContent[], dialect: Dialect): Fields[string] | undefined {
  const parts = sendable(content, dialect);
  if (parts.length === 0) return undefined;
  if (parts.every((part) => part.type === "text")) return joinedText(parts);
  return parts.map((part) => (part.type === "text" ? { type: "text", text: part.text } : imagePart(part)));
}

function imageParts(images: readonly ImageContent[]): readonly JsonObject[] {
  return [{ type: "text", text: "Images from the tool results above:" }, ...images.map(imagePart)];
}

function imagePart(image: ImageContent): JsonObject {
  return { type: "image_url", image_url: { url: `data:${image.mimeType};base64,${image.data}` } };
}

function resultOf(message: ToolResultMessage, dialect: Dialect): Fields {
  const { compat } = dialect;
  const parts = sendable(message.content, dialect);
  const text = joinedText(parts);
  const isPicture = parts.some((part) => part.type === "image");
  return {
    role: "tool",
    tool_call_id: wireCallId(message.toolCallId, compat.toolCallIds ?? "any"),
    ...(compat.toolResultName === true ? { name: message.toolName } : {}),
    content: text === "" ? (isPicture ? "(see the image below)" : "(no output)") : text,
  };
}

function assistantOf(message: AssistantMessage, { model, compat }: Dialect): readonly Fields[] {
  const text = message.content
    .flatMap((part) => (part.type === "text" && part.text.trim() !== "" ? [part.text] : []))
    .join("");
  const calls = message.content.flatMap((part): readonly JsonObject[] => {
    if (part.type !== "toolCall") return [];
    const extra = message.model === model.id ? part.providerMetadata?.["extra_content"] : undefined;
    const call = {
      id: wireCallId(part.id, compat.toolCallIds ?? "any"),
      type: "function",
      function: { name: part.name, arguments: JSON.stringify(part.arguments) },
    };
    return [extra === undefined ? call : { ...call, extra_content: extra }];
  });
  if (text === "" && calls.length === 0) return [];
  return [
    {
      role: "assistant",
      content: text === "" ? null : text,
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
      ...reasoningOf(message, { model, compat }),
    },
  ];
}

// Servers that think between tool calls refuse a call whose reasoning is missing; elsewhere it is only weight.
function reasoningOf(message: AssistantMessage, { model, compat }: Dialect): Fields {
  const field = compat.replayReasoning;
  const isOwn = message.model === model.id && message.content.some((part) => part.type === "toolCall");
  if (field === undefined || !isOwn) return {};
  const thoughts = message.content.filter((part): part is ThinkingContent => part.type === "thinking");
  if (field === "reasoning_details") {
    const kept = thoughts.find((part) => part.redactedProtocol === "openai-completions")?.redacted;
    return kept === undefined ? {} : { reasoning_details: JSON.parse(kept) as Fields[string] };
  }
  const text = thoughts.map((part) => part.thinking).join("");
  return text === "" ? {} : { [field]: text };
}

// Anthropic behind an OpenAI-shaped gateway: marks go on the system prompt and the message before the last.
function markForCache(messages: Fields[]): void {
  for (const index of [0, messages.length - 2]) {
    const message = messages[index];
    const content = message?.["content"];
    if (message === undefined || typeof content !== "string" || message["role"] === "tool") continue;
    message["content"] = [{ type: "text", text: content, cache_control: { type: "ephemeral" } }];
  }
}
