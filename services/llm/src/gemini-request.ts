/**
 * A request of Gemini's generateContent API as data, for Google AI and for Vertex.
 *
 * Q1  A thought signature goes back on the very part it came with, and only to the model that made it.
 * Q2  Results of one batch of calls share one content; ids that the server did not give are never sent.
 * Q3  Thoughts themselves are never sent back.
 */

import { isObject, type Json, type JsonObject } from "@mesh/kernel";

import { THINKING_BUDGETS } from "./anthropic-request.ts";
import { geminiSchema } from "./gemini-schema.ts";
import type { AssistantMessage, InputContent, ToolResultMessage } from "./message.ts";
import type { StreamConfig, ThinkingLevel } from "./provider.ts";
import {
  baseUrl,
  endpointUrl,
  type Fields,
  joinedText,
  maxTokensOf,
  refused,
  requestHeaders,
  sendable,
  temperatureOf,
  withExtra,
} from "./request-part.ts";
import { isSyntheticCallId } from "./tool-call-id.ts";
import { soundTranscript } from "./transcript.ts";
import type { WireRequest } from "./wire.ts";

// Google's documented stand-in for calls that another model made and that therefore carry no signature.
const FOREIGN_SIGNATURE = "skip_thought_signature_validator";

const BUDGETS: Readonly<Record<Exclude<ThinkingLevel, "off">, number>> = {
  ...THINKING_BUDGETS,
  medium: 8192,
  high: 24_576,
  xhigh: 32_768,
  max: 32_768,
};

/** Builds one streaming request. */
export function buildGeminiRequest(config: StreamConfig): WireRequest {
  const warnings: string[] = [];
  const isVertex = config.model.api === "google-vertex";
  return {
    url: isVertex ? vertexUrl(config) : googleUrl(config),
    headers: requestHeaders(config, isVertex ? "bearer" : "x-goog-api-key"),
    body: JSON.stringify(withExtra(bodyOf(config, warnings), config)),
    warnings,
  };
}

function googleUrl(config: StreamConfig): string {
  const id = config.model.id.replace(/^models\//, "");
  const url = endpointUrl(config, {
    defaultBase: "https://generativelanguage.googleapis.com",
    version: "/v1beta",
    path: `/models/${encodeURIComponent(id)}:${methodOf(config)}`,
  });
  if (config.model.streaming !== false) url.searchParams.set("alt", "sse");
  return url.href;
}

function vertexUrl(config: StreamConfig): string {
  if ((config.model.baseUrl ?? "").trim() === "") {
    throw refused(
      "a Vertex model needs its address: https://LOCATION-aiplatform.googleapis.com/v1/projects/PROJECT/locations/LOCATION/publishers/google/models",
    );
  }
  const url = baseUrl(config, "");
  const path = url.pathname.replace(/\/+$/, "");
  url.pathname = `${path}/${encodeURIComponent(config.model.id.replace(/^models\//, ""))}:${methodOf(config)}`;
  if (config.model.streaming !== false) url.searchParams.set("alt", "sse");
  return url.href;
}

function methodOf(config: StreamConfig): string {
  return config.model.streaming === false ? "generateContent" : "streamGenerateContent";
}

function bodyOf(config: StreamConfig, warnings: string[]): Fields {
  const body: Fields = { contents: contentsOf(config) };
  if (config.systemPrompt.trim() !== "") body["systemInstruction"] = { parts: [{ text: config.systemPrompt }] };
  const tools = config.tools ?? [];
  if (tools.length > 0) {
    body["tools"] = [
      {
        functionDeclarations: tools.map((tool) => ({
          name: tool.name,
          ...(tool.description.trim() === "" ? {} : { description: tool.description }),
          ...(hasProperties(tool.parameters) ? { parameters: geminiSchema(tool.parameters) } : {}),
        })),
      },
    ];
    if (config.toolChoice !== undefined) body["toolConfig"] = { functionCallingConfig: choiceOf(config.toolChoice) };
  }
  const generation = generationOf(config, warnings);
  if (Object.keys(generation).length > 0) body["generationConfig"] = generation;
  return body;
}

// An object schema without properties is refused.
function hasProperties(schema: JsonObject): boolean {
  const { properties } = schema;
  return isObject(properties)
    ? Object.keys(properties).length > 0
    : Object.keys(schema).some((name) => name !== "type");
}

function choiceOf(choice: NonNullable<StreamConfig["toolChoice"]>): JsonObject {
  if (typeof choice === "object") return { mode: "ANY", allowedFunctionNames: [choice.name] };
  return { mode: choice === "required" ? "ANY" : choice.toUpperCase() };
}

function generationOf(config: StreamConfig, warnings: string[]): Fields {
  const generation: Fields = {};
  const maxTokens = config.maxTokens === undefined ? undefined : maxTokensOf(config);
  if (maxTokens !== undefined) generation["maxOutputTokens"] = maxTokens;
  const temperature = temperatureOf(config);
  if (temperature !== undefined) generation["temperature"] = temperature;
  const level = config.thinking ?? "off";
  if (level !== "off") {
    if (!config.model.reasoning) {
      warnings.push(`model ${config.model.id} is not known to reason; thinking was asked for anyway`);
    }
    generation["thinkingConfig"] =
      config.model.compat?.google?.thinkingLevel === true
        ? { includeThoughts: true, thinkingLevel: level === "xhigh" || level === "max" ? "high" : level }
        : { includeThoughts: true, thinkingBudget: BUDGETS[level] };
  }
  if (config.responseFormat !== undefined) {
    generation["responseMimeType"] = "application/json";
    generation["responseSchema"] = geminiSchema(config.responseFormat.schema);
  }
  return generation;
}

function contentsOf(config: StreamConfig): readonly JsonObject[] {
  const contents: JsonObject[] = [];
  let results: Json[] | undefined;
  for (const message of soundTranscript(config.messages)) {
    if (message.role === "toolResult") {
      if (results === undefined) {
        results = [];
        contents.push({ role: "user", parts: results });
      }
      results.push(...resultParts(message, config));
      continue;
    }
    results = undefined;
    const parts = message.role === "user" ? partsOf(message.content, config) : assistantParts(message, config);
    if (parts.length > 0) contents.push({ role: message.role === "user" ? "user" : "model", parts });
  }
  return contents;
}

function partsOf(content: readonly InputContent[], config: StreamConfig): readonly JsonObject[] {
  return sendable(content, config).map((part) =>
    part.type === "text" ? { text: part.text } : { inlineData: { mimeType: part.mimeType, data: part.data } },
  );
}

function resultParts(message: ToolResultMessage, config: StreamConfig): readonly JsonObject[] {
  const parts = sendable(message.content, config);
  const text = joinedText(parts);
  const response = { [message.isError ? "error" : "result"]: text === "" ? "(no output)" : text };
  const images = parts.filter((part) => part.type === "image");
  return [
    { functionResponse: { ...idOf(message.toolCallId), name: message.toolName, response } },
    ...partsOf(images, config),
  ];
}

function assistantParts(message: AssistantMessage, config: StreamConfig): readonly JsonObject[] {
  const isOwn = message.model === config.model.id && message.api === config.model.api;
  const needsSignature = config.model.compat?.google?.thinkingLevel === true && !isOwn;
  let isFirstCall = true;
  return message.content.flatMap((part): readonly JsonObject[] => {
    if (part.type === "text") {
      const signature = isOwn ? part.providerMetadata?.["thoughtSignature"] : undefined;
      if (part.text === "" && signature === undefined) return [];
      return [{ text: part.text, ...(signature === undefined ? {} : { thoughtSignature: signature }) }];
    }
    if (part.type !== "toolCall") return [];
    const own = isOwn ? part.providerMetadata?.["thoughtSignature"] : undefined;
    const signature = own ?? (needsSignature && isFirstCall ? FOREIGN_SIGNATURE : undefined);
    isFirstCall = false;
    return [
      {
        functionCall: { ...idOf(part.id), name: part.name, args: part.arguments },
        ...(signature === undefined ? {} : { thoughtSignature: signature }),
      },
    ];
  });
}

function idOf(id: string): Fields {
  return isSyntheticCallId(id) ? {} : { id };
}
