/** A model config as text for logs and people: what it is, never a secret. */

import type { JsonObject } from "@mesh/kernel";

import type { ModelConfig } from "./provider.ts";

/** The config with header values left out and any secret-looking part of its address removed. */
export function describeModel(model: ModelConfig): JsonObject {
  const { headers, extraBody, baseUrl, cost, ...plain } = model;
  return {
    ...(JSON.parse(JSON.stringify(plain)) as JsonObject),
    priced: cost !== null,
    ...(baseUrl === undefined ? {} : { baseUrl: bareUrl(baseUrl) }),
    ...(headers === undefined ? {} : { headers: Object.keys(headers) }),
    ...(extraBody === undefined ? {} : { extraBody: Object.keys(extraBody) }),
  };
}

function bareUrl(text: string): string {
  if (!URL.canParse(text)) return "(not a URL)";
  const url = new URL(text);
  return `${url.origin}${url.pathname}`;
}
