/**
 * A request of OpenAI's Chat Completions API as data, with the vendors' departures from it as flags.
 *
 * Q1  Everything said goes out as plain strings where it can: every imitation of this API understands those.
 * Q2  Pictures in tool results follow the results in a user message: the API takes none in a tool message.
 * Q3  Reasoning goes back only where a flag says that the server wants it, and only the same model's.
 */

import type { JsonObject } from "@mesh/kernel";

import { CompletionsMessages } from "./completions-message.ts";
import type { ModelConfig, OpenAiCompat, StreamConfig, ThinkingLevel } from "./provider.ts";
import {
  cacheKey,
  cachePlan,
  endpointUrl,
  type Fields,
  requestHeaders,
  temperatureOf,
  withExtra,
} from "./request-part.ts";
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
    body: bodyText(config, warnings),
    warnings,
  };
}

/** What does not change between the requests to one model. */
interface Target {
  readonly url: string;
  readonly compat: OpenAiCompat;
  readonly messages: CompletionsMessages;
}

const targets = new WeakMap<ModelConfig, Target>();

function targetOf(config: StreamConfig): Target {
  const known = targets.get(config.model);
  if (known !== undefined) return known;
  const endpoint = { defaultBase: "https://api.openai.com/v1", version: "/v1", path: "/chat/completions" };
  const { href: url } = endpointUrl(config, endpoint);
  const compat = openAiCompatOf(config.model);
  const target = { url, compat, messages: new CompletionsMessages(config.model, compat) };
  targets.set(config.model, target);
  return target;
}

/** The effort that OpenAI's models understand, below the model's ceiling. */
export function reasoningEffort(level: ThinkingLevel, ceiling: ThinkingLevel = "high"): string {
  const wanted = Math.max(LEVELS.indexOf(level), LEVELS.indexOf("low"));
  return LEVELS[Math.min(wanted, LEVELS.indexOf(ceiling), LEVELS.indexOf("xhigh"))] ?? "high";
}

/** The messages come last and as text: of a history that grows, only what is new is written. */
function bodyText(config: StreamConfig, warnings: string[]): string {
  const { compat, messages } = targetOf(config);
  const fields = JSON.stringify(withExtra(bodyOf(config, compat, warnings), config));
  const isReplaced = [config.model.extraBody, config.extraBody].some((extra) => extra?.["messages"] !== undefined);
  if (isReplaced) return fields;
  const isMarked = compat.cacheControl === true && cachePlan(config) !== undefined;
  const list = messages.text(systemOf(config, compat), config.messages, isMarked);
  return fields === "{}" ? `{"messages":[${list}]}` : `${fields.slice(0, -1)},"messages":[${list}]}`;
}

function bodyOf(config: StreamConfig, compat: OpenAiCompat, warnings: string[]): Fields {
  const streams = config.model.streaming !== false;
  const body: Fields = { model: config.model.id, stream: streams };
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

function systemOf(config: StreamConfig, compat: OpenAiCompat): Fields | undefined {
  const content = systemText(config, compat);
  if (content === "") return undefined;
  return { role: compat.developerRole === true && config.model.reasoning ? "developer" : "system", content };
}

function systemText(config: StreamConfig, compat: OpenAiCompat): string {
  const prompt = config.systemPrompt.trim() === "" ? "" : config.systemPrompt;
  if (config.responseFormat === undefined || compat.jsonSchema !== false) return prompt;
  const ask = `Answer with one JSON value that follows this JSON Schema, and nothing else: ${JSON.stringify(config.responseFormat.schema)}`;
  return prompt === "" ? ask : `${prompt}\n\n${ask}`;
}
