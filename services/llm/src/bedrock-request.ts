/**
 * A request of Bedrock's ConverseStream as data, signed over the exact bytes that are sent.
 *
 * Q1  No empty text and no empty description; an empty result says so: Bedrock refuses them all.
 * Q2  All results of one batch share one user message; tools stay declared as long as the history holds calls.
 * Q3  Reasoning goes back signed, or as the bytes Bedrock gave; unsigned text never to a model that verifies signatures.
 */

import { isObject, type Json, type JsonObject } from "@mesh/kernel";

import { THINKING_BUDGETS } from "./anthropic-request.ts";
import { awsAuthorization, sha256Hex } from "./aws-signature.ts";
import { bedrockAuth, bedrockRegion } from "./bedrock-auth.ts";
import type { AssistantMessage, InputContent, Message, ThinkingContent, ToolResultMessage } from "./message.ts";
import type { StreamConfig } from "./provider.ts";
import { ProviderError } from "./provider-error.ts";
import {
  baseUrl,
  cachePlan,
  configHeaders,
  type Fields,
  maxTokensOf,
  refused,
  sendable,
  temperatureOf,
  withExtra,
} from "./request-part.ts";
import { wireCallId } from "./tool-call-id.ts";
import { soundTranscript } from "./transcript.ts";
import type { Env, WireRequest } from "./wire.ts";

const CACHE_POINT: JsonObject = { cachePoint: { type: "default" } };
const SIGNED: ReadonlySet<string> = new Set([
  "host",
  "content-type",
  "x-amz-date",
  "x-amz-content-sha256",
  "x-amz-security-token",
]);

/** What a builder needs to know beside the call. */
export interface BedrockSite {
  readonly env: Env;
  /** Wall clock, milliseconds. */
  readonly nowMs: number;
}

/** Builds and signs one streaming request. */
export async function buildBedrockRequest(config: StreamConfig, site: BedrockSite): Promise<WireRequest> {
  const warnings: string[] = [];
  const given = (config.model.baseUrl ?? "").trim();
  const own = configHeaders(config);
  const auth = bedrockAuth("authorization" in own, config.apiKey, site.env);
  const fallback = given === "" ? `https://bedrock-runtime.${bedrockRegion(undefined, site.env)}.amazonaws.com` : "";
  const url = baseUrl(config, fallback);
  url.pathname = `${url.pathname.replace(/\/+$/, "")}/model/${encodeURIComponent(config.model.id)}/converse-stream`;
  const body = bedrockBody(config, warnings);
  const headers = { "content-type": "application/json", accept: "application/vnd.amazon.eventstream" };
  const request: WireRequest = { url: url.href, headers: { ...headers, ...own }, body, warnings };
  if (auth.kind === "header") return request;
  if (auth.kind === "bearer") {
    return { ...request, headers: { ...request.headers, authorization: `Bearer ${auth.token}` } };
  }
  const clash = Object.keys(own).find((name) => SIGNED.has(name));
  if (clash !== undefined) throw refused(`the header "${clash}" is part of the signature and cannot be set`);
  const amzDate = amzDateOf(site.nowMs);
  const signed = {
    "content-type": "application/json",
    "x-amz-date": amzDate,
    "x-amz-content-sha256": await sha256Hex(body),
    ...(auth.credentials.sessionToken === undefined ? {} : { "x-amz-security-token": auth.credentials.sessionToken }),
  };
  const authorization = await awsAuthorization(
    { method: "POST", url, headers: signed, body },
    { credentials: auth.credentials, region: bedrockRegion(url.hostname, site.env), service: "bedrock", amzDate },
  );
  return { ...request, headers: { ...request.headers, ...signed, authorization } };
}

/** The body of a request, which does not depend on who signs it; adds to `warnings` what could not be said. */
export function bedrockBody(config: StreamConfig, warnings: string[]): string {
  return JSON.stringify(withExtra(bodyOf(config, warnings), config));
}

/** The tool that carries a structured answer; Bedrock has no other way that all models know. */
export function bedrockAnswerTool(config: StreamConfig): string | undefined {
  return config.responseFormat?.name;
}

function amzDateOf(nowMs: number): string {
  if (!(nowMs > 0))
    throw new ProviderError({ errorClass: "auth", message: "the clock is before 1970; set it right to sign requests" });
  return new Date(nowMs).toISOString().replaceAll(/[-:]|\.\d{3}/g, "");
}

function bodyOf(config: StreamConfig, warnings: string[]): Fields {
  const plan = /claude|nova/.test(config.model.id) ? cachePlan(config) : undefined;
  const messages = messagesOf(config, warnings);
  if (plan?.messages === true) markMessages(messages);
  const body: Fields = { messages };
  if (config.systemPrompt.trim() !== "") {
    body["system"] = [{ text: config.systemPrompt }, ...(plan?.system === true ? [CACHE_POINT] : [])];
  }
  const inference = inferenceOf(config, addThinking(body, config, warnings));
  if (Object.keys(inference).length > 0) body["inferenceConfig"] = inference;
  addTools(body, config, plan?.tools === true);
  return body;
}

function inferenceOf(config: StreamConfig, hasThinking: boolean): Fields {
  const maxTokens = maxTokensOf(config);
  const temperature = temperatureOf(config);
  const level = config.thinking ?? "off";
  const budget = hasThinking && level !== "off" ? THINKING_BUDGETS[level] : 0;
  return {
    ...(maxTokens === undefined ? {} : { maxTokens: maxTokens > budget ? maxTokens : budget + 1024 }),
    ...(temperature === undefined || hasThinking ? {} : { temperature }),
  };
}

function addThinking(body: Fields, config: StreamConfig, warnings: string[]): boolean {
  const level = config.thinking ?? "off";
  if (level === "off") return false;
  const isForced =
    bedrockAnswerTool(config) !== undefined || config.toolChoice === "required" || isObject(config.toolChoice);
  if (isForced) {
    warnings.push("thinking was left out: it cannot be combined with a forced tool");
    return false;
  }
  if (!config.model.reasoning)
    warnings.push(`model ${config.model.id} is not known to reason; thinking was asked for anyway`);
  const isAdaptive = config.model.compat?.anthropic?.adaptiveThinking === true;
  body["additionalModelRequestFields"] = isAdaptive
    ? { thinking: { type: "adaptive" }, output_config: { effort: level === "minimal" ? "low" : level } }
    : { thinking: { type: "enabled", budget_tokens: THINKING_BUDGETS[level] } };
  return true;
}

function addTools(body: Fields, config: StreamConfig, isCached: boolean): void {
  const tools: { readonly name: string; readonly description: string; readonly parameters: JsonObject }[] = [
    ...(config.tools ?? []),
  ];
  const answer = config.responseFormat;
  if (answer !== undefined) {
    tools.push({
      name: answer.name,
      description: answer.description ?? "Give the final answer in this shape.",
      parameters: answer.schema,
    });
  }
  // A history with calls is refused when no tool is declared.
  if (tools.length === 0) {
    for (const name of calledTools(config.messages))
      tools.push({ name, description: "", parameters: { type: "object" } });
  }
  if (tools.length === 0) return;
  const specs: Json[] = tools.map((tool) => ({
    toolSpec: {
      name: tool.name,
      ...(tool.description.trim() === "" ? {} : { description: tool.description }),
      inputSchema: { json: tool.parameters },
    },
  }));
  if (isCached) specs.push(CACHE_POINT);
  const choice = choiceOf(config);
  body["toolConfig"] = { tools: specs, ...(choice === undefined ? {} : { toolChoice: choice }) };
}

function choiceOf(config: StreamConfig): JsonObject | undefined {
  const forced =
    bedrockAnswerTool(config) ?? (typeof config.toolChoice === "object" ? config.toolChoice.name : undefined);
  if (forced !== undefined) return { tool: { name: forced } };
  if (config.toolChoice === "required") return { any: {} };
  return config.toolChoice === "auto" ? { auto: {} } : undefined;
}

function calledTools(messages: readonly Message[]): ReadonlySet<string> {
  const names = new Set<string>();
  for (const message of messages) {
    if (message.role !== "assistant") continue;
    for (const part of message.content) if (part.type === "toolCall") names.add(part.name);
  }
  return names;
}

function messagesOf(config: StreamConfig, warnings: string[]): Fields[] {
  const messages: { role: string; content: JsonObject[] }[] = [];
  // Roles must alternate: what follows results, or another user message, joins it.
  const add = (role: string, content: readonly JsonObject[]): void => {
    const last = messages.at(-1);
    if (content.length === 0) return;
    if (last?.role === role) last.content.push(...content);
    else messages.push({ role, content: [...content] });
  };
  for (const message of soundTranscript(config.messages)) {
    if (message.role === "toolResult") add("user", [resultOf(message, config)]);
    else if (message.role === "user") add("user", blocksOf(message.content, config));
    else add("assistant", assistantBlocks(message, config, warnings));
  }
  return messages;
}

function blocksOf(content: readonly InputContent[], config: StreamConfig): readonly JsonObject[] {
  return sendable(content, config).map((part) =>
    part.type === "text"
      ? { text: part.text }
      : {
          image: { format: part.mimeType.replace(/^image\//, "").replace("jpg", "jpeg"), source: { bytes: part.data } },
        },
  );
}

function resultOf(message: ToolResultMessage, config: StreamConfig): JsonObject {
  const content = blocksOf(message.content, config);
  return {
    toolResult: {
      toolUseId: wireCallId(message.toolCallId, "word"),
      content: content.length === 0 ? [{ text: "(no output)" }] : content,
      status: message.isError ? "error" : "success",
    },
  };
}

function assistantBlocks(message: AssistantMessage, config: StreamConfig, warnings: string[]): readonly JsonObject[] {
  const blocks = message.content.flatMap((part): readonly JsonObject[] => {
    switch (part.type) {
      case "text":
        return part.text.trim() === "" ? [] : [{ text: part.text }];
      case "toolCall":
        return [{ toolUse: { toolUseId: wireCallId(part.id, "word"), name: part.name, input: part.arguments } }];
      case "thinking": {
        const block = reasoningOf(part, message, config);
        if (block === undefined) warnings.push("reasoning that this model cannot take back was left out");
        return block === undefined ? [] : [block];
      }
      case "image":
        return [];
    }
  });
  return blocks.some((block) => !("reasoningContent" in block)) ? blocks : [];
}

function reasoningOf(part: ThinkingContent, message: AssistantMessage, config: StreamConfig): JsonObject | undefined {
  if (message.model !== config.model.id) return undefined;
  if (part.redacted !== undefined) {
    return part.redactedProtocol === "bedrock-converse-stream"
      ? { reasoningContent: { redactedContent: part.redacted } }
      : undefined;
  }
  const signature = part.signature ?? "";
  if (signature === "" && (config.model.id.includes("claude") || part.thinking === "")) return undefined;
  return {
    reasoningContent: { reasoningText: { text: part.thinking, ...(signature === "" ? {} : { signature }) } },
  };
}

function markMessages(messages: readonly Fields[]): void {
  const content = messages.at(-2)?.["content"];
  if (Array.isArray(content)) (content as Json[]).push(CACHE_POINT);
}
