/**
 * A connector of an app or a workspace as a model that can be called: address, key, limits, capabilities and generation
 * settings, read out of its options.
 *
 * K1  An option that cannot mean what it says is an error that names the connector and the option, never its value.
 * K2  What is not said is taken from the vendor that the type or the address names; a price only from a given book.
 */

import { isObject, type Json, type JsonObject, MeshError, parseDuration } from "@mesh/kernel";

import type { Connector } from "./connector.ts";
import { API_PROTOCOLS, type ApiProtocol } from "./message.ts";
import type { PriceBook } from "./price-book.ts";
import type { ModelConfig, StreamConfig, ThinkingLevel, Timeouts } from "./provider.ts";
import { anthropicCompatOf, openAiIdReasons, vendorNames, vendorOfUrl, VENDORS } from "./vendor.ts";

/** A model and the settings that every call through its connector starts from. */
export interface ConnectorModel {
  readonly model: ModelConfig;
  readonly defaults: Pick<StreamConfig, "apiKey" | "maxTokens" | "temperature" | "thinking" | "timeouts">;
}

const ALIASES: ReadonlyMap<string, ApiProtocol> = new Map([
  ["openai", "openai-completions"],
  ["chat", "openai-completions"],
  ["completions", "openai-completions"],
  ["responses", "openai-responses"],
  ["claude", "anthropic-messages"],
  ["messages", "anthropic-messages"],
  ["gemini", "google-generative-ai"],
  ["azure-openai", "azure-openai-responses"],
  ["aws", "bedrock-converse-stream"],
]);

// Types that name a protocol as well as the vendor that made it.
const PROTOCOL_TYPES: ReadonlySet<string> = new Set(["openai", "anthropic", "google"]);

const LEVELS: readonly string[] = ["off", "minimal", "low", "medium", "high", "xhigh", "max"];

/** Generation settings that are sent as they are written. */
const PASSED = [
  "top_p",
  "top_k",
  "min_p",
  "seed",
  "stop",
  "presence_penalty",
  "frequency_penalty",
  "parallel_tool_calls",
  "service_tier",
] as const;

/** Reads a connector; throws what its owner must fix. */
export function connectorModel(connector: Connector, prices?: PriceBook): ConnectorModel {
  const api = protocolOf(connector);
  const host = connector.host?.trim() ?? "";
  const model: ModelConfig = {
    id: connector.model,
    name: connector.model,
    api,
    provider: providerOf(connector, api),
    connector: connector.id,
    ...(host === "" ? {} : { baseUrl: host }),
    cost: null,
    ...abilitiesOf(connector, api),
    ...limitsOf(connector, api),
    ...headersOf(connector),
    ...authModeOf(connector),
    ...extraBodyOf(connector, api),
    ...compatOf(connector.model, api),
  };
  return { model: isFirstParty(model) ? (prices?.priced(model) ?? model) : model, defaults: defaultsOf(connector) };
}

/** The connector with a call's settings over its own; null takes nothing away, and both are read by the same rules. */
export function withOptions(connector: Connector, over: JsonObject): Connector {
  const given = Object.entries(over).filter(([, value]) => value !== null);
  const [mine, theirs] = [connector.options["extra_body"], over["extra_body"]];
  const extra: Json = { ...(isObject(mine) ? mine : {}), ...(isObject(theirs) ? theirs : {}) };
  return { ...connector, options: { ...connector.options, ...Object.fromEntries(given), extra_body: extra } };
}

// What a gateway charges is its own.
function isFirstParty(model: ModelConfig): boolean {
  return model.baseUrl === undefined || vendorOfUrl(model.baseUrl) === model.provider;
}

function abilitiesOf(
  connector: Connector,
  api: ApiProtocol,
): Pick<ModelConfig, "reasoning" | "temperatureAdjustable" | "vision" | "streaming"> {
  const can = capabilitiesOf(connector.options["capabilities"]);
  const reasoning = (can["reasoning"] ?? defaultReasoning(connector.model, api)) !== false;
  return {
    reasoning,
    // Models that do not reason always take a temperature, whatever the file says.
    ...(reasoning && can["temperature_adjustable"] === false ? { temperatureAdjustable: false } : {}),
    ...(can["vision"] === false ? { vision: false } : {}),
    ...(can["streaming"] === false ? { streaming: false } : {}),
  };
}

function limitsOf(connector: Connector, api: ApiProtocol): Pick<ModelConfig, "contextWindow" | "maxTokens"> {
  const can = capabilitiesOf(connector.options["capabilities"]);
  const vendor = VENDORS[providerOf(connector, api)];
  const input = count(connector, "capabilities.max_input_tokens", can["max_input_tokens"]);
  const output = count(connector, "capabilities.max_output_tokens", can["max_output_tokens"]);
  return {
    contextWindow: input ?? vendor?.contextWindow ?? 128_000,
    maxTokens: output ?? vendor?.maxTokens ?? 8192,
  };
}

function compatOf(model: string, api: ApiProtocol): Pick<ModelConfig, "compat"> {
  if (api === "anthropic-messages" || api === "bedrock-converse-stream") {
    return { compat: { anthropic: anthropicCompatOf(model) } };
  }
  const isGoogle = api === "google-generative-ai" || api === "google-vertex";
  return isGoogle && /gemini-([3-9]|\d\d)/.test(model) ? { compat: { google: { thinkingLevel: true } } } : {};
}

/** The protocol that a connector's type, or its list of protocols, names. */
export function protocolOf(connector: Connector): ApiProtocol {
  const { protocols } = connector.options;
  const listed = Array.isArray(protocols)
    ? (protocols as readonly Json[]).filter((each) => typeof each === "string")
    : [];
  for (const name of [...listed, connector.type]) {
    const found = protocolNamed(name);
    if (found !== undefined) return found;
  }
  throw new MeshError(
    "unimplemented",
    `connector ${connector.id}: type ${connector.type} is not supported; use a protocol (openai, responses, anthropic, gemini, vertex, azure, bedrock) or a vendor (${vendorNames().join(", ")})`,
  );
}

/** The protocol that one name means: a protocol, an alias or a vendor. */
export function protocolNamed(name: string): ApiProtocol | undefined {
  const lower = name.toLowerCase();
  const exact = API_PROTOCOLS.find((protocol) => protocol === lower);
  return exact ?? ALIASES.get(lower) ?? (Object.hasOwn(VENDORS, lower) ? VENDORS[lower]?.api : undefined);
}

function providerOf(connector: Connector, api: ApiProtocol): string {
  const type = connector.type.toLowerCase();
  const host = connector.host?.trim() ?? "";
  const byUrl = vendorOfUrl(host);
  if (byUrl !== undefined) return byUrl;
  const isVendor = Object.hasOwn(VENDORS, type);
  if (isVendor && (host === "" || !PROTOCOL_TYPES.has(type))) return type;
  if (host !== "") return connector.id.split(".")[0] ?? connector.id;
  if (api === "openai-responses") return "openai";
  return Object.entries(VENDORS).find(([, vendor]) => vendor?.api === api)?.[0] ?? connector.id;
}

function defaultReasoning(model: string, api: ApiProtocol): boolean {
  if (api === "openai-responses" || api === "azure-openai-responses") return openAiIdReasons(model);
  if (api === "anthropic-messages" || api === "bedrock-converse-stream")
    return /claude-(?:[a-z]+-)?(?:3-7|[4-9]|\d\d)/.test(model);
  if (api === "google-generative-ai" || api === "google-vertex") return /gemini-(2\.5|[3-9])/.test(model);
  return /(^|[/:_-])(o\d|gpt-[5-9]|deepseek-r|deepseek-reasoner|qwq|grok-[4-9]|glm-[5-9])|reason|thinking/.test(model);
}

function capabilitiesOf(value: Json | undefined): JsonObject {
  // Old files list what a model can do.
  if (Array.isArray(value)) {
    return Object.fromEntries(
      (value as readonly Json[]).filter((name) => typeof name === "string").map((name) => [name, true]),
    );
  }
  return isObject(value) ? value : {};
}

function defaultsOf(connector: Connector): ConnectorModel["defaults"] {
  const { options } = connector;
  const maxTokens = count(connector, "max_tokens", options["max_tokens"] ?? options["max_completion_tokens"]);
  const thinking = levelOf(connector);
  const timeouts = timeoutsOf(connector);
  const { temperature } = options;
  if (temperature !== undefined && temperature !== null && typeof temperature !== "number") {
    throw invalid(connector, "temperature must be a number");
  }
  return {
    ...(connector.key === undefined || connector.key.trim() === "" ? {} : { apiKey: connector.key.trim() }),
    ...(maxTokens === undefined ? {} : { maxTokens }),
    ...(typeof temperature === "number" ? { temperature } : {}),
    ...(thinking === undefined ? {} : { thinking }),
    ...(timeouts === undefined ? {} : { timeouts }),
  };
}

function levelOf(connector: Connector): ThinkingLevel | undefined {
  const { thinking, reasoning_effort: effort } = connector.options;
  const named = typeof thinking === "string" ? thinking : effort;
  if (named === undefined || named === null) return undefined;
  if (typeof named === "string" && LEVELS.includes(named)) return named as ThinkingLevel;
  throw invalid(connector, `thinking must be one of ${LEVELS.join(", ")}, or an object that the server understands`);
}

function extraBodyOf(connector: Connector, api: ApiProtocol): Pick<ModelConfig, "extraBody"> {
  const { options } = connector;
  const extra: Record<string, Json> = {};
  for (const name of PASSED) {
    const value = options[name];
    if (value !== undefined && value !== null) extra[name] = value;
  }
  const hasField = api === "openai-completions" || api === "anthropic-messages";
  if (isObject(options["thinking"]) && hasField) extra["thinking"] = options["thinking"];
  if (isObject(options["extra_body"])) Object.assign(extra, options["extra_body"]);
  return Object.keys(extra).length === 0 ? {} : { extraBody: extra };
}

function headersOf(connector: Connector): Pick<ModelConfig, "headers"> {
  const { headers } = connector.options;
  if (headers === undefined || headers === null) return {};
  if (!isObject(headers)) throw invalid(connector, "headers must be an object of texts");
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value !== "string") throw invalid(connector, `headers.${name} must be a text`);
  }
  return { headers: headers as Record<string, string> };
}

function authModeOf(connector: Connector): Pick<ModelConfig, "authMode"> {
  const mode = connector.options["auth_mode"];
  if (mode === undefined || mode === null || mode === "") return {};
  if (mode === "bearer" || mode === "api-key" || mode === "x-api-key") return { authMode: mode };
  throw invalid(connector, "auth_mode must be bearer, api-key or x-api-key");
}

const TIMEOUTS: Readonly<Record<string, keyof Timeouts>> = {
  first_byte: "firstByteMs",
  idle: "idleMs",
  progress: "progressMs",
  attempt: "attemptMs",
  total: "totalMs",
  drain: "drainMs",
};

function timeoutsOf(connector: Connector): Partial<Timeouts> | undefined {
  const { timeouts } = connector.options;
  if (timeouts === undefined || timeouts === null) return undefined;
  if (!isObject(timeouts))
    throw invalid(connector, `timeouts must be an object with ${Object.keys(TIMEOUTS).join(", ")}`);
  const read: Partial<Record<keyof Timeouts, number>> = {};
  for (const [name, value] of Object.entries(timeouts)) {
    const field = TIMEOUTS[name];
    const ms = typeof value === "string" ? parseDuration(value) : undefined;
    if (field === undefined)
      throw invalid(connector, `timeouts.${name} is not known; use ${Object.keys(TIMEOUTS).join(", ")}`);
    if (ms === undefined || ms < 1) throw invalid(connector, `timeouts.${name} must be a duration such as 90s or 5m`);
    read[field] = ms;
  }
  return read;
}

function count(connector: Connector, name: string, value: Json | undefined): number | undefined {
  if (value === undefined || value === null) return undefined;
  const number = typeof value === "string" && /^\d+$/.test(value) ? Number(value) : value;
  if (typeof number === "number" && Number.isSafeInteger(number) && number > 0) return number;
  throw invalid(connector, `${name} must be a whole number of tokens above 0`);
}

function invalid(connector: Connector, what: string): MeshError {
  return new MeshError("invalid_argument", `connector ${connector.id}: ${what}`, {
    details: { connector: connector.id },
  });
}
