/**
 * A request of OpenAI's Chat Completions API as data, with the vendors' departures from it as flags.
 *
 * Q1  Everything said goes out as plain strings where it can: every imitation of this API understands those.
 * Q2  Pictures in tool results follow the results in a user message: the API takes none in a tool message.
 * Q3  Reasoning goes back only where a flag says that the server wants it, and only the same model's.
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
import type { ModelConfig, OpenAiCompat, StreamConfig, ThinkingLevel } from "./provider.ts";
import {
  bodyText,
  cacheKey,
  cachePlan,
  endpointUrl,
  type Fields,
  joinedText,
  requestHeaders,
  sendable,
  temperatureOf,
  withExtra,
} from "./request-part.ts";
import { wireCallId } from "./tool-call-id.ts";
import { soundTranscript } from "./transcript.ts";
import { openAiCompatOf } from "./vendor.ts";
import type { WireRequest } from "./wire.ts";

const LEVELS: readonly ThinkingLevel[] = ["off", "minimal", "low", "medium", "high", "xhigh", "max"];

/** Builds one streaming request. */
export function buildCompletionsRequest(config: StreamConfig): WireRequest {
  const warnings: string[] = [];
  const { url } = targetOf(config);
  return {
    url,
    headers: requestHeaders(config, "bearer"),
    body: bodyText(withExtra(bodyOf(config, warnings), config)),
    warnings,
  };
}

/** What does not change between the requests to one model. */
interface Target {
  readonly url: string;
  readonly compat: OpenAiCompat;
  /** Messages never change and histories only grow, so each is translated once, however long the session. */
  readonly translations: WeakMap<Message, readonly Fields[]>;
}

const targets = new WeakMap<ModelConfig, Target>();

function targetOf(config: StreamConfig): Target {
  const known = targets.get(config.model);
  if (known !== undefined) return known;
  const endpoint = { defaultBase: "https://api.openai.com/v1", version: "/v1", path: "/chat/completions" };
  const { href: url } = endpointUrl(config, endpoint);
  const target = { url, compat: openAiCompatOf(config.model), translations: new WeakMap() };
  targets.set(config.model, target);
  return target;
}

/** The effort that OpenAI's models understand, below the model's ceiling. */
export function reasoningEffort(level: ThinkingLevel, ceiling: ThinkingLevel = "high"): string {
  const wanted = Math.max(LEVELS.indexOf(level), LEVELS.indexOf("low"));
  return LEVELS[Math.min(wanted, LEVELS.indexOf(ceiling), LEVELS.indexOf("xhigh"))] ?? "high";
}

function bodyOf(config: StreamConfig, warnings: string[]): Fields {
  const { compat } = targetOf(config);
  const streams = config.model.streaming !== false;
  const body: Fields = { model: config.model.id, messages: messagesOf(config, compat), stream: streams };
  if (streams && compat.usageInStream !== false) body["stream_options"] = { include_usage: true };
  if (config.maxTokens !== undefined) body[compat.maxTokensField ?? "max_tokens"] = config.maxTokens;
  const temperature = temperatureOf(config);
  if (temperature !== undefined) body["temperature"] = temperature;
  addTools(body, config);
  addThinking(body, config, compat, warnings);
  if (config.responseFormat !== undefined) body["response_format"] = formatOf(config, compat);
  if (compat.promptCacheKey === true) {
    const key = cacheKey(config);
    if (key !== undefined) body["prompt_cache_key"] = key;
  } else if (config.cache?.sessionKey !== undefined && cachePlan(config) !== undefined) {
    warnings.push(`${config.model.provider} takes no cache key; it was left out`);
  }
  return body;
}

function addTools(body: Fields, config: StreamConfig): void {
  const tools = config.tools ?? [];
  if (tools.length === 0) return;
  body["tools"] = tools.map((tool) => ({
    type: "function",
    function: {
      name: tool.name,
      ...(tool.description.trim() === "" ? {} : { description: tool.description }),
      parameters: tool.parameters,
    },
  }));
  const { toolChoice } = config;
  if (toolChoice === undefined) return;
  body["tool_choice"] =
    typeof toolChoice === "object" ? { type: "function", function: { name: toolChoice.name } } : toolChoice;
}

function addThinking(body: Fields, config: StreamConfig, compat: OpenAiCompat, warnings: string[]): void {
  const level = config.thinking ?? "off";
  if (level === "off") {
    // DeepSeek thinks unless told not to.
    if (compat.thinkingFormat === "deepseek" && config.model.reasoning) body["thinking"] = { type: "disabled" };
    return;
  }
  if (!config.model.reasoning) {
    warnings.push(`model ${config.model.id} is not known to reason; thinking was asked for anyway`);
  }
  switch (compat.thinkingFormat) {
    case "deepseek":
    case "zai":
      body["thinking"] = { type: "enabled" };
      return;
    case "qwen":
      body["enable_thinking"] = true;
      return;
    case "chat-template":
      body["chat_template_kwargs"] = { enable_thinking: true };
      return;
    case "openrouter":
      body["reasoning"] = { effort: reasoningEffort(level, compat.maxReasoningEffort) };
      return;
    case undefined:
      if (compat.reasoningEffort === true) {
        body["reasoning_effort"] = reasoningEffort(level, compat.maxReasoningEffort);
      } else warnings.push(`${config.model.provider} takes no thinking level; it was left out`);
  }
}

function formatOf(config: StreamConfig, compat: OpenAiCompat): JsonObject {
  const format = config.responseFormat;
  if (format === undefined || compat.jsonSchema === false) return { type: "json_object" };
  return {
    type: "json_schema",
    json_schema: {
      name: format.name,
      ...(format.description === undefined ? {} : { description: format.description }),
      strict: true,
      schema: format.schema,
    },
  };
}

function messagesOf(config: StreamConfig, compat: OpenAiCompat): readonly JsonObject[] {
  const messages: Fields[] = [];
  const system = systemText(config, compat);
  if (system !== "") {
    const role = compat.developerRole === true && config.model.reasoning ? "developer" : "system";
    messages.push({ role, content: system });
  }
  let images: ImageContent[] = [];
  const flush = (): void => {
    if (images.length > 0) addUser(messages, { role: "user", content: imageParts(images) }, compat);
    images = [];
  };
  for (const message of soundTranscript(config.messages)) {
    if (message.role === "toolResult") {
      messages.push(...translationOf(message, config));
      if (message.content.some((part) => part.type === "image")) {
        images.push(...sendable(message.content, config).filter((part) => part.type === "image"));
      }
      continue;
    }
    flush();
    if (message.role === "user") {
      for (const each of translationOf(message, config)) addUser(messages, each, compat);
    } else messages.push(...translationOf(message, config));
  }
  flush();
  if (compat.cacheControl === true && cachePlan(config) !== undefined && config.model.id.includes("claude")) {
    markForCache(messages);
  }
  return messages;
}

function translationOf(message: Message, config: StreamConfig): readonly Fields[] {
  const { compat, translations } = targetOf(config);
  const known = translations.get(message);
  if (known !== undefined) return known;
  const made = translated(message, config, compat);
  translations.set(message, made);
  return made;
}

function translated(message: Message, config: StreamConfig, compat: OpenAiCompat): readonly Fields[] {
  switch (message.role) {
    case "user": {
      const content = userContent(message.content, config);
      return content === undefined ? [] : [{ role: "user", content }];
    }
    case "toolResult":
      return [resultOf(message, config, compat)];
    case "assistant":
      return assistantOf(message, config, compat);
  }
}

function systemText(config: StreamConfig, compat: OpenAiCompat): string {
  const prompt = config.systemPrompt.trim() === "" ? "" : config.systemPrompt;
  if (config.responseFormat === undefined || compat.jsonSchema !== false) return prompt;
  const ask = `Answer with one JSON value that follows this JSON Schema, and nothing else: ${JSON.stringify(config.responseFormat.schema)}`;
  return prompt === "" ? ask : `${prompt}\n\n${ask}`;
}

function addUser(messages: Fields[], message: Fields, compat: OpenAiCompat): void {
  if (compat.assistantAfterToolResult === true && messages.at(-1)?.["role"] === "tool") {
    messages.push({ role: "assistant", content: "I have read the tool results." });
  }
  messages.push(message);
}

function userContent(content: readonly InputContent[], config: StreamConfig): Fields[string] | undefined {
  const parts = sendable(content, config);
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

function resultOf(message: ToolResultMessage, config: StreamConfig, compat: OpenAiCompat): Fields {
  const parts = sendable(message.content, config);
  const text = joinedText(parts);
  const isPicture = parts.some((part) => part.type === "image");
  return {
    role: "tool",
    tool_call_id: wireCallId(message.toolCallId, compat.toolCallIds ?? "any"),
    ...(compat.toolResultName === true ? { name: message.toolName } : {}),
    content: text === "" ? (isPicture ? "(see the image below)" : "(no output)") : text,
  };
}

function assistantOf(message: AssistantMessage, config: StreamConfig, compat: OpenAiCompat): readonly Fields[] {
  const text = message.content
    .flatMap((part) => (part.type === "text" && part.text.trim() !== "" ? [part.text] : []))
    .join("");
  const calls = message.content.flatMap((part): readonly JsonObject[] => {
    if (part.type !== "toolCall") return [];
    const extra = message.model === config.model.id ? part.providerMetadata?.["extra_content"] : undefined;
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
      ...reasoningOf(message, config, compat),
    },
  ];
}

// Servers that think between tool calls refuse a call whose reasoning is missing; elsewhere it is only weight.
function reasoningOf(message: AssistantMessage, config: StreamConfig, compat: OpenAiCompat): Fields {
  const field = compat.replayReasoning;
  const isOwn = message.model === config.model.id && message.content.some((part) => part.type === "toolCall");
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
    // A copy: the translation itself is kept for the next request.
    messages[index] = { ...message, content: [{ type: "text", text: content, cache_control: { type: "ephemeral" } }] };
  }
}
