/**
 * Parts that the requests of all protocols share: addresses, headers, cache hints, extra fields, pictures.
 *
 * R1  A value that cannot be sent (a bad address, a key with a line break) is refused here, and never printed.
 * R2  An `authorization` header of the config is sent alone: no key beside it.
 */

import { isObject, type Json, type JsonObject } from "@mesh/kernel";

import type { ImageContent, InputContent, TextContent } from "./message.ts";
import type { StreamConfig } from "./provider.ts";
import { ProviderError } from "./provider-error.ts";
import { fnv1a } from "./tool-call-id.ts";

/** Mutable JSON object under construction. */
export type Fields = Record<string, Json>;

/** Where a request goes. */
export interface Endpoint {
  readonly defaultBase: string;
  /** Follows the version, such as `/chat/completions`. */
  readonly path: string;
  /** Put before the path when the base has no version of its own. */
  readonly version: string;
}

/** The URL of a request: the base may hold a version or even the whole path. */
export function endpointUrl(config: StreamConfig, endpoint: Endpoint): URL {
  const url = baseUrl(config, endpoint.defaultBase);
  const path = url.pathname.replace(/\/+$/, "");
  // Vendors version their base in many places: /v1, /api/v3, /v1beta/openai.
  if (path.endsWith(endpoint.path)) url.pathname = path;
  else if (/\/v\d+[a-z0-9]*(\/|$)/.test(path)) url.pathname = path + endpoint.path;
  else url.pathname = path + endpoint.version + endpoint.path;
  return url;
}

/** The base address, checked. */
export function baseUrl(config: StreamConfig, defaultBase: string): URL {
  const given = config.model.baseUrl?.trim() ?? "";
  const text = given === "" ? defaultBase : given;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw refused(`the address of model ${config.model.id} must be a URL such as ${defaultBase || "https://host/v1"}`);
  }
  if (url.username !== "" || url.password !== "") {
    throw refused(`the address of model ${config.model.id} must not hold a user name or password; set the key instead`);
  }
  url.hash = "";
  return url;
}

/** All headers of a request; `usual` is where the protocol puts the key. */
export function requestHeaders(
  config: StreamConfig,
  usual: "bearer" | "x-api-key" | "api-key" | "x-goog-api-key",
  fixed: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const headers: Record<string, string> = {
    "content-type": "application/json",
    accept: "text/event-stream, application/json",
    ...fixed,
  };
  const own = configHeaders(config);
  const keyHeader = config.model.authMode ?? usual;
  const name = keyHeader === "bearer" ? "authorization" : keyHeader;
  const key = config.apiKey?.trim() ?? "";
  // Gemini's key is independent of an authorization header, which a proxy may want for itself.
  const isGiven = name in own || ("authorization" in own && keyHeader !== "x-goog-api-key");
  if (key !== "" && !isGiven) {
    if (!/^[\x21-\x7e]+$/.test(key)) {
      throw new ProviderError({
        errorClass: "auth",
        message: `the key for ${config.model.provider} holds a character that cannot be sent (a line break or a space?)`,
      });
    }
    headers[name] = keyHeader === "bearer" ? `Bearer ${key}` : key;
  }
  return { ...headers, ...own };
}

/** The config's own headers, lower-cased and checked. */
export function configHeaders(config: StreamConfig): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(config.model.headers ?? {})) {
    if (!/^[\w-]+$/.test(name) || !/^[\x20-\x7e\t]*$/.test(value)) {
      throw refused(`the header "${name.slice(0, 60)}" of model ${config.model.id} cannot be sent`);
    }
    headers[name.toLowerCase()] = value;
  }
  return headers;
}

/** Adds the extra fields of the model, then of the call; null removes a field. */
export function withExtra(body: Fields, config: StreamConfig): JsonObject {
  const merged: Fields = { ...body };
  for (const extra of [config.model.extraBody, config.extraBody]) {
    for (const [name, value] of Object.entries(extra ?? {})) {
      const before = merged[name];
      if (value === null) delete merged[name];
      // Nested settings, such as `output_config` or `generationConfig`, are completed and not replaced.
      else merged[name] = isObject(before) && isObject(value) ? { ...before, ...value } : value;
    }
  }
  return merged;
}

/** Which parts of a request ask to be cached; undefined when no hint may be sent. */
export function cachePlan(
  config: StreamConfig,
): { readonly system: boolean; readonly tools: boolean; readonly messages: boolean } | undefined {
  const { cache } = config;
  if (cache === undefined) return { system: true, tools: true, messages: true };
  if (!cache.enabled || cache.strategy === "disabled") return undefined;
  if (cache.strategy === "auto") return { system: true, tools: true, messages: true };
  const { system, tools, messages } = cache.strategy;
  return system || tools || messages ? cache.strategy : undefined;
}

/** The key that keeps the calls of one conversation on one cache; undefined when hints are off or nothing identifies it. */
export function cacheKey(config: StreamConfig): string | undefined {
  if (cachePlan(config) === undefined) return undefined;
  const explicit = config.cache?.sessionKey?.trim() ?? "";
  if (explicit !== "") return explicit;
  return config.systemPrompt === "" ? undefined : `yao-${fnv1a(config.systemPrompt)}`;
}

/** Text and pictures that can be sent: empty text is dropped, pictures become a note for a model that cannot see. */
export function sendable(
  content: readonly InputContent[],
  config: Pick<StreamConfig, "model">,
): readonly (TextContent | ImageContent)[] {
  const said = content.filter((part) => part.type === "image" || part.text.trim() !== "");
  if (config.model.vision !== false) return said;
  return said.map((part) =>
    part.type === "image" ? { type: "text", text: "[image left out: this model cannot see images]" } : part,
  );
}

/** The text parts of a tool result, for protocols that take one string. */
export function joinedText(content: readonly InputContent[]): string {
  return content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}

/** The token limit to ask for. */
export function maxTokensOf(config: StreamConfig): number | undefined {
  const limit = config.maxTokens ?? config.model.maxTokens;
  return limit > 0 ? limit : undefined;
}

/** The temperature, unless the model refuses any. */
export function temperatureOf(config: StreamConfig): number | undefined {
  return config.model.temperatureAdjustable === false ? undefined : config.temperature;
}

/** A mistake that is found before anything is sent. */
export function refused(message: string): ProviderError {
  return new ProviderError({ errorClass: "config", message });
}
