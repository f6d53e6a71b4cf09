/**
 * An OpenAI chat completions request as data: pure, so that golden tests can compare it byte for byte.
 *
 * Q1  Only generation options that the protocol knows are sent; `extra_body` adds or replaces fields, `null` removes one.
 * Q2  The caller's options win over the connector's.
 * Q3  A value that cannot be sent (a bad URL, a key with a line break) is refused here, and never printed.
 */

import { isObject, type Json, type JsonObject, MeshError } from "@mesh/kernel";

import type { ChatMessage, ChatRequest, Connector } from "./chat.ts";

/** What goes over the wire. */
export interface OpenAiRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON text. */
  readonly body: string;
}

const DEFAULT_HOST = "https://api.openai.com/v1";

const GENERATION_OPTIONS = [
  "temperature",
  "top_p",
  "top_k",
  "min_p",
  "max_tokens",
  "max_completion_tokens",
  "stop",
  "seed",
  "presence_penalty",
  "frequency_penalty",
  "logit_bias",
  "logprobs",
  "top_logprobs",
  "response_format",
  "reasoning_effort",
  "tool_choice",
  "parallel_tool_calls",
  "service_tier",
  "user",
] as const;

// Connector files hold many other options (capabilities, protocols, ...); only these are generation settings.
const CONNECTOR_DEFAULTS = ["temperature", "top_p", "max_tokens", "max_completion_tokens", "reasoning_effort"] as const;

/** Builds the request of one streaming call. */
export function buildOpenAiRequest(connector: Connector, request: ChatRequest): OpenAiRequest {
  return {
    url: completionsUrl(connector),
    headers: headersOf(connector),
    body: JSON.stringify(bodyOf(connector, request)),
  };
}

function completionsUrl(connector: Connector): string {
  const text = connector.host === undefined || connector.host.trim() === "" ? DEFAULT_HOST : connector.host.trim();
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw invalid(connector, `its host must be a URL such as ${DEFAULT_HOST}`);
  }
  if (url.username !== "" || url.password !== "") {
    throw invalid(connector, "its host must not hold a user name or password; set the key instead");
  }
  const path = url.pathname.replace(/\/+$/, "");
  if (path.endsWith("/chat/completions")) url.pathname = path;
  // Vendors version their base in many places: /v1, /api/v3, /v1beta/openai.
  else if (/\/v\d+[a-z0-9]*(\/|$)/.test(path)) url.pathname = `${path}/chat/completions`;
  else url.pathname = `${path}/v1/chat/completions`;
  url.hash = "";
  return url.href;
}

function headersOf(connector: Connector): Record<string, string> {
  const headers: Record<string, string> = {
    "content-type": "application/json",
    accept: "text/event-stream, application/json",
  };
  const key = connector.key?.trim() ?? "";
  if (key !== "") {
    if (!isHeaderValue(key)) {
      throw invalid(connector, "its key holds a character that cannot be sent (a line break or a space?)");
    }
    const mode = connector.options["auth_mode"];
    if (mode === "api-key" || mode === "x-api-key") headers[mode] = key;
    else headers["authorization"] = `Bearer ${key}`;
  }
  const extra = connector.options["headers"];
  for (const [name, value] of Object.entries(isObject(extra) ? extra : {})) {
    if (typeof value !== "string" || !/^[\w-]+$/.test(name) || !/^[\x20-\x7e\t]*$/.test(value)) {
      throw invalid(connector, `its header "${name}" cannot be sent`);
    }
    headers[name.toLowerCase()] = value;
  }
  return headers;
}

function isHeaderValue(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text);
}

function bodyOf(connector: Connector, request: ChatRequest): JsonObject {
  const streams =
    !isObject(connector.options["capabilities"]) || connector.options["capabilities"]["streaming"] !== false;
  const body: Record<string, Json> = {
    model: connector.model,
    messages: request.messages.filter(saysSomething).map(messageOf),
    stream: streams,
    ...(streams ? { stream_options: { include_usage: true } } : {}),
    ...pick(connector.options, CONNECTOR_DEFAULTS),
    ...pick(request.options, GENERATION_OPTIONS),
  };
  if (refusesTemperature(connector)) delete body["temperature"];
  if (isObject(connector.options["thinking"])) body["thinking"] = connector.options["thinking"];
  if (request.tools !== undefined && request.tools.length > 0) {
    body["tools"] = request.tools.map((tool) => ({
      type: "function",
      function: {
        name: tool.name,
        ...(tool.description === "" ? {} : { description: tool.description }),
        parameters: tool.parameters,
      },
    }));
  }
  mergeExtra(body, connector.options["extra_body"]);
  mergeExtra(body, request.options["extra_body"]);
  return body;
}

// Reasoning models answer 400 to any temperature; their connector files say so.
function refusesTemperature(connector: Connector): boolean {
  const { capabilities } = connector.options;
  return (
    isObject(capabilities) && capabilities["reasoning"] !== false && capabilities["temperature_adjustable"] === false
  );
}

function mergeExtra(body: Record<string, Json>, extra: Json | undefined): void {
  if (!isObject(extra)) return;
  for (const [name, value] of Object.entries(extra)) {
    if (name === "messages") continue;
    if (value === null) delete body[name];
    else body[name] = value;
  }
}

// Vendors refuse an assistant turn without content.
function saysSomething(message: ChatMessage): boolean {
  return message.role !== "assistant" || message.content !== "";
}

function messageOf(message: ChatMessage): JsonObject {
  return {
    role: message.role,
    content: message.content,
    ...(message.name === undefined ? {} : { name: message.name }),
  };
}

function pick(options: JsonObject, names: readonly string[]): JsonObject {
  const picked: Record<string, Json> = {};
  for (const name of names) {
    const value = options[name];
    if (value !== undefined && value !== null) picked[name] = value;
  }
  return picked;
}

function invalid(connector: Connector, what: string): MeshError {
  return new MeshError("invalid_argument", `connector ${connector.id}: ${what}`, {
    details: { connector: connector.id },
  });
}
