/**
 * A request of Anthropic's Messages API as data.
 *
 * Q1  Reasoning goes back only to the model that made it, whole; anything else of it is left out.
 * Q2  Results of one batch of calls share one user message, directly after the calls.
 * Q3  No empty text, no empty description, no empty signature is ever sent.
 */

import { isObject, type JsonObject } from "@mesh/kernel";

import type { AssistantMessage, InputContent, ToolResultMessage } from "./message.ts";
import type { StreamConfig, ThinkingLevel } from "./provider.ts";
import {
  cachePlan,
  endpointUrl,
  type Fields,
  maxTokensOf,
  requestHeaders,
  sendable,
  temperatureOf,
  withExtra,
} from "./request-part.ts";
import { wireCallId } from "./tool-call-id.ts";
import { soundTranscript } from "./transcript.ts";
import type { WireRequest } from "./wire.ts";

const DEFAULT_MAX_TOKENS = 8192;

const EFFORTS: Readonly<Record<Exclude<ThinkingLevel, "off">, string>> = {
  minimal: "low",
  low: "low",
  medium: "medium",
  high: "high",
  xhigh: "xhigh",
  max: "max",
};

/** Tokens of thinking for models that take a budget. */
export const THINKING_BUDGETS: Readonly<Record<Exclude<ThinkingLevel, "off">, number>> = {
  minimal: 1024,
  low: 1024,
  medium: 2048,
  high: 8192,
  xhigh: 16_384,
  max: 32_768,
};

/** Builds one streaming request. */
export function buildAnthropicRequest(config: StreamConfig): WireRequest {
  const warnings: string[] = [];
  const url = endpointUrl(config, { defaultBase: "https://api.anthropic.com", version: "/v1", path: "/messages" });
  const isBearer = config.model.compat?.anthropic?.bearerAuth === true;
  return {
    url: url.href,
    headers: requestHeaders(config, isBearer ? "bearer" : "x-api-key", { "anthropic-version": "2023-06-01" }),
    body: JSON.stringify(withExtra(bodyOf(config, warnings), config)),
    warnings,
  };
}

/** The tool that is forced where structured output is not native; undefined when none is. */
export function forcedAnswerTool(config: StreamConfig): string | undefined {
  return config.responseFormat !== undefined && config.model.compat?.anthropic?.nativeStructuredOutput !== true
    ? config.responseFormat.name
    : undefined;
}

function bodyOf(config: StreamConfig, warnings: string[]): Fields {
  const plan = cachePlan(config);
  const mark = cacheMark(config);
  const messages = messagesOf(config);
  if (plan?.messages === true) markMessages(messages, mark);
  const maxTokens = maxTokensOf(config) ?? DEFAULT_MAX_TOKENS;
  const body: Fields = {
    model: config.model.id,
    max_tokens: maxTokens,
    stream: config.model.streaming !== false,
    messages,
  };
  if (config.systemPrompt.trim() !== "") {
    body["system"] = [{ type: "text", text: config.systemPrompt, ...(plan?.system === true ? mark : {}) }];
  }
  addTools(body, config, plan?.tools === true ? mark : {});
  const hasThinking = addThinking(body, config, warnings);
  const temperature = temperatureOf(config);
  if (temperature !== undefined && !hasThinking) body["temperature"] = temperature;
  addFormat(body, config);
  return body;
}

function cacheMark(config: StreamConfig): JsonObject {
  const isLong = config.model.compat?.anthropic?.longCache === true;
  return { cache_control: { type: "ephemeral", ...(isLong ? { ttl: "1h" } : {}) } };
}

function addTools(body: Fields, config: StreamConfig, mark: JsonObject): void {
  const forced = forcedAnswerTool(config);
  const tools: Fields[] = (config.tools ?? []).map((tool) => ({
    name: tool.name,
    ...(tool.description.trim() === "" ? {} : { description: tool.description }),
    input_schema: tool.parameters,
  }));
  if (forced !== undefined && config.responseFormat !== undefined) {
    const { description, schema } = config.responseFormat;
    tools.push({
      name: forced,
      description: description ?? "Give the final answer in this shape.",
      input_schema: schema,
    });
    body["tool_choice"] = { type: "tool", name: forced };
  } else if (config.toolChoice !== undefined && tools.length > 0) {
    const { toolChoice } = config;
    body["tool_choice"] =
      typeof toolChoice === "object"
        ? { type: "tool", name: toolChoice.name }
        : { type: toolChoice === "required" ? "any" : toolChoice };
  }
  const last = tools.at(-1);
  if (last !== undefined) {
    Object.assign(last, mark);
    body["tools"] = tools;
  }
}

function addThinking(body: Fields, config: StreamConfig, warnings: string[]): boolean {
  const level = config.thinking ?? "off";
  if (level === "off") return false;
  if (!config.model.reasoning)
    warnings.push(`model ${config.model.id} is not known to reason; thinking was asked for anyway`);
  if (forcedAnswerTool(config) !== undefined || isForcing(config)) {
    warnings.push("thinking was left out: it cannot be combined with a forced tool");
    return false;
  }
  if (config.model.compat?.anthropic?.adaptiveThinking === true) {
    body["thinking"] = { type: "adaptive" };
    body["output_config"] = { effort: EFFORTS[level] };
    return true;
  }
  if (hasUnthoughtCalls(config)) {
    warnings.push("thinking was left out for this call: the turn in progress began without it");
    return false;
  }
  const budget = THINKING_BUDGETS[level];
  body["thinking"] = { type: "enabled", budget_tokens: budget };
  const maxTokens = maxTokensOf(config) ?? DEFAULT_MAX_TOKENS;
  body["max_tokens"] = maxTokens > budget ? maxTokens : budget + 1024;
  return true;
}

function isForcing(config: StreamConfig): boolean {
  return config.toolChoice === "required" || typeof config.toolChoice === "object";
}

// The API refuses thinking in a tool turn whose calls come without a thinking block of the same model.
function hasUnthoughtCalls(config: StreamConfig): boolean {
  if (config.messages.at(-1)?.role !== "toolResult") return false;
  const asked = config.messages.findLast((message) => message.role === "assistant");
  return asked !== undefined && !asked.content.some((part) => part.type === "thinking" && replays(part, asked, config));
}

function addFormat(body: Fields, config: StreamConfig): void {
  if (config.responseFormat === undefined || forcedAnswerTool(config) !== undefined) return;
  const before = body["output_config"];
  const format: JsonObject = { type: "json_schema", schema: config.responseFormat.schema };
  body["output_config"] = isObject(before) ? { ...before, format } : { format };
}

function messagesOf(config: StreamConfig): Fields[] {
  const messages: Fields[] = [];
  let results: JsonObject[] | undefined;
  for (const message of soundTranscript(config.messages)) {
    if (message.role === "toolResult") {
      if (results === undefined) {
        results = [];
        messages.push({ role: "user", content: results });
      }
      results.push(resultOf(message, config));
      continue;
    }
    results = undefined;
    const content = message.role === "user" ? blocksOf(message.content, config) : assistantBlocks(message, config);
    if (content.length > 0) messages.push({ role: message.role, content });
  }
  return messages;
}

function resultOf(message: ToolResultMessage, config: StreamConfig): JsonObject {
  const blocks = blocksOf(message.content, config);
  const [first] = blocks;
  return {
    type: "tool_result",
    tool_use_id: wireCallId(message.toolCallId, "word"),
    // A single text goes as a string, as the API's own examples do.
    content:
      blocks.length === 0
        ? "(no output)"
        : blocks.length === 1 && first?.["type"] === "text"
          ? (first["text"] ?? "")
          : blocks,
    ...(message.isError ? { is_error: true } : {}),
  };
}

function blocksOf(content: readonly InputContent[], config: StreamConfig): JsonObject[] {
  return sendable(content, config).map((part) =>
    part.type === "text"
      ? { type: "text", text: part.text }
      : { type: "image", source: { type: "base64", media_type: part.mimeType, data: part.data } },
  );
}

function assistantBlocks(message: AssistantMessage, config: StreamConfig): JsonObject[] {
  const blocks = message.content.flatMap((part): readonly JsonObject[] => {
    switch (part.type) {
      case "text":
        return part.text.trim() === "" ? [] : [{ type: "text", text: part.text }];
      case "toolCall":
        return [{ type: "tool_use", id: wireCallId(part.id, "word"), name: part.name, input: part.arguments }];
      case "thinking":
        if (!replays(part, message, config)) return [];
        return part.redacted === undefined
          ? [{ type: "thinking", thinking: part.thinking, signature: part.signature ?? "" }]
          : [{ type: "redacted_thinking", data: part.redacted }];
      case "image":
        return [];
    }
  });
  // Thinking alone is no message.
  return blocks.some((block) => block["type"] === "text" || block["type"] === "tool_use") ? blocks : [];
}

function replays(
  part: Extract<AssistantMessage["content"][number], { type: "thinking" }>,
  message: AssistantMessage,
  config: StreamConfig,
): boolean {
  const isOwn = message.model === config.model.id && (message.api ?? "anthropic-messages") === config.model.api;
  if (!isOwn) return false;
  if (part.redacted !== undefined) return part.redactedProtocol === "anthropic-messages";
  return part.signature !== undefined && part.signature !== "";
}

// The second-to-last message ends the part that the next call will repeat.
function markMessages(messages: readonly Fields[], mark: JsonObject): void {
  for (const message of messages.slice(0, -1).toReversed()) {
    const content = message["content"];
    if (!Array.isArray(content)) continue;
    const block = (content as Fields[]).findLast(
      (part) => part["type"] !== "thinking" && part["type"] !== "redacted_thinking",
    );
    if (block === undefined) continue;
    Object.assign(block, mark);
    return;
  }
}
