/**
 * A request of OpenAI's Responses API as data, for OpenAI and for Azure.
 *
 * Q1  The history goes as items, without a stateful id: each item id is sent at most once, and only with its reasoning.
 * Q2  Encrypted reasoning goes back to its own protocol and model, before the item that followed it, or not at all.
 * Q3  `store` is never sent: the account's setting decides.
 */

import type { JsonObject } from "@mesh/kernel";

import { reasoningEffort } from "./completions-request.ts";
import type { AssistantMessage, InputContent, ToolCallContent, ToolResultMessage } from "./message.ts";
import type { StreamConfig } from "./provider.ts";
import {
  baseUrl,
  cacheKey,
  endpointUrl,
  type Fields,
  joinedText,
  refused,
  requestHeaders,
  sendable,
  temperatureOf,
  withExtra,
} from "./request-part.ts";
import { type KeptReasoning, parseKept, reasoningItem } from "./responses-reasoning.ts";
import { wireCallId } from "./tool-call-id.ts";
import { soundTranscript } from "./transcript.ts";
import type { WireRequest } from "./wire.ts";

/** Builds one streaming request. */
export function buildResponsesRequest(config: StreamConfig): WireRequest {
  const warnings: string[] = [];
  const target = config.model.api === "azure-openai-responses" ? azureTarget(config) : openAiTarget(config);
  return {
    url: target.url,
    headers: requestHeaders(config, config.model.api === "azure-openai-responses" ? "api-key" : "bearer"),
    body: JSON.stringify(withExtra(bodyOf(config, target.model, warnings), config)),
    warnings,
  };
}

interface Target {
  readonly url: string;
  readonly model: string;
}

function openAiTarget(config: StreamConfig): Target {
  const endpoint = { defaultBase: "https://api.openai.com/v1", version: "/v1", path: "/responses" };
  return { url: endpointUrl(config, endpoint).href, model: config.model.id };
}

function azureTarget(config: StreamConfig): Target {
  if ((config.model.baseUrl ?? "").trim() === "") {
    throw refused("an Azure model needs the address of its resource, such as https://NAME.openai.azure.com");
  }
  const url = baseUrl(config, "");
  const path = url.pathname.replace(/\/+$/, "");
  // Addresses of the older API name the deployment in the path; the current one takes it as the model.
  const legacy = /^(.*)\/openai\/deployments\/([^/]+)/.exec(path);
  if (legacy !== null) url.pathname = `${legacy[1]}/openai/v1/responses`;
  else if (path.endsWith("/responses")) url.pathname = path;
  else if (path.endsWith("/openai/v1")) url.pathname = `${path}/responses`;
  else url.pathname = `${path.replace(/\/openai$/, "")}/openai/v1/responses`;
  return { url: url.href, model: legacy?.[2] === undefined ? config.model.id : decodeURIComponent(legacy[2]) };
}

function bodyOf(config: StreamConfig, model: string, warnings: string[]): Fields {
  const body: Fields = { model, input: inputOf(config), stream: config.model.streaming !== false };
  if (config.systemPrompt.trim() !== "") body["instructions"] = config.systemPrompt;
  if (config.maxTokens !== undefined) body["max_output_tokens"] = config.maxTokens;
  const temperature = temperatureOf(config);
  if (temperature !== undefined) body["temperature"] = temperature;
  addTools(body, config);
  addReasoning(body, config, warnings);
  if (config.responseFormat !== undefined) {
    const { name, description, schema } = config.responseFormat;
    body["text"] = {
      format: {
        type: "json_schema",
        name,
        ...(description === undefined ? {} : { description }),
        strict: true,
        schema,
      },
    };
  }
  const key = cacheKey(config);
  if (key !== undefined) body["prompt_cache_key"] = key;
  return body;
}

function addTools(body: Fields, config: StreamConfig): void {
  const tools = config.tools ?? [];
  if (tools.length === 0) return;
  body["tools"] = tools.map((tool) => ({
    type: "function",
    name: tool.name,
    ...(tool.description.trim() === "" ? {} : { description: tool.description }),
    parameters: tool.parameters,
    // Absent would mean strict, which refuses most schemas.
    strict: false,
  }));
  const { toolChoice } = config;
  if (toolChoice === undefined) return;
  body["tool_choice"] = typeof toolChoice === "object" ? { type: "function", name: toolChoice.name } : toolChoice;
}

function addReasoning(body: Fields, config: StreamConfig, warnings: string[]): void {
  const level = config.thinking ?? "off";
  const compat = config.model.compat?.openai;
  if (level !== "off") {
    if (!config.model.reasoning) {
      warnings.push(`model ${config.model.id} is not known to reason; thinking was asked for anyway`);
    }
    body["reasoning"] = { effort: reasoningEffort(level, compat?.maxReasoningEffort), summary: "auto" };
  }
  if (keepsReasoning(config)) body["include"] = ["reasoning.encrypted_content"];
}

// Models that do not reason answer 400 to either field.
function keepsReasoning(config: StreamConfig): boolean {
  const reasons = config.model.reasoning || (config.thinking ?? "off") !== "off";
  return config.model.compat?.openai?.encryptedReasoning === true && reasons;
}

function inputOf(config: StreamConfig): readonly JsonObject[] {
  const sentIds = new Set<string>();
  return soundTranscript(config.messages).flatMap((message): readonly JsonObject[] => {
    if (message.role === "toolResult") return [resultOf(message, config)];
    if (message.role === "assistant") return assistantItems(message, config, sentIds);
    const content = partsOf(message.content, config);
    return content.length === 0 ? [] : [{ role: "user", content }];
  });
}

function partsOf(content: readonly InputContent[], config: StreamConfig): readonly JsonObject[] {
  return sendable(content, config).map((part) =>
    part.type === "text"
      ? { type: "input_text", text: part.text }
      : { type: "input_image", image_url: `data:${part.mimeType};base64,${part.data}`, detail: "auto" },
  );
}

function resultOf(message: ToolResultMessage, config: StreamConfig): JsonObject {
  const parts = sendable(message.content, config);
  const hasImage = parts.some((part) => part.type === "image");
  const text = joinedText(parts);
  return {
    type: "function_call_output",
    call_id: wireCallId(message.toolCallId, "word"),
    output: hasImage ? partsOf(message.content, config) : text === "" ? "(no output)" : text,
  };
}

function assistantItems(message: AssistantMessage, config: StreamConfig, sentIds: Set<string>): readonly JsonObject[] {
  const isOwn = message.model === config.model.id && message.api === config.model.api && keepsReasoning(config);
  const writer = new ItemWriter(sentIds);
  for (const part of message.content) {
    if (part.type === "thinking") {
      const isReplayed = isOwn && part.redactedProtocol === config.model.api;
      writer.reasoning(isReplayed ? parseKept(part.redacted ?? "") : undefined);
    } else if (part.type === "text" && part.text.trim() !== "") writer.text(part.text);
    else if (part.type === "toolCall") writer.call(part);
  }
  return writer.items;
}

/** Items of one turn; a reasoning item goes out with the item that follows it, so that a trailing one is dropped. */
class ItemWriter {
  readonly items: JsonObject[] = [];
  readonly #sentIds: Set<string>;
  #waiting: KeptReasoning | undefined;
  #current: KeptReasoning | undefined;

  constructor(sentIds: Set<string>) {
    this.#sentIds = sentIds;
  }

  reasoning(kept: KeptReasoning | undefined): void {
    this.#current = undefined;
    this.#waiting = kept !== undefined && this.#fresh(kept.id) !== undefined ? kept : undefined;
  }

  text(text: string): void {
    this.#flush();
    this.items.push({
      type: "message",
      role: "assistant",
      ...this.#idField(this.#current?.message_id),
      status: "completed",
      content: [{ type: "output_text", text, annotations: [] }],
    });
  }

  call(part: ToolCallContent): void {
    this.#flush();
    this.items.push({
      type: "function_call",
      ...this.#idField(this.#current?.call_ids[part.id]),
      call_id: wireCallId(part.id, "word"),
      name: part.name,
      arguments: JSON.stringify(part.arguments),
    });
  }

  #flush(): void {
    if (this.#waiting === undefined) return;
    this.items.push(reasoningItem(this.#waiting));
    this.#current = this.#waiting;
    this.#waiting = undefined;
  }

  #idField(id: string | undefined): { readonly id?: string } {
    const fresh = id === undefined ? undefined : this.#fresh(id);
    return fresh === undefined ? {} : { id: fresh };
  }

  #fresh(id: string): string | undefined {
    if (this.#sentIds.has(id)) return undefined;
    this.#sentIds.add(id);
    return id;
  }
}
