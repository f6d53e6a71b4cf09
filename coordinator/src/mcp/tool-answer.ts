/** The result of a run that called one tool, as the answer of a tool again. Pure. */

import { isObject, type JsonObject } from "@mesh/kernel";
import type { McpContent, McpToolResult } from "@mesh/mcp";

/**
 * An answer of what the tool's text and value were. Pictures and sound, which a text can only name, are taken from the value;
 * an object is given to programs as well.
 */
export function toolAnswer(text: string, value: unknown): McpToolResult {
  const items = Array.isArray(value) ? value : [value];
  if (items.some(isMedia)) return { content: items.map(contentOf) };
  return {
    content: [{ type: "text", text }],
    ...(isObject(value) && { structuredContent: value as JsonObject }),
  };
}

/** An answer that says what went wrong, for the model to read. */
export function failedAnswer(text: string): McpToolResult {
  return { content: [{ type: "text", text }], isError: true };
}

type Media = Extract<McpContent, { readonly data: string }>;

function isMedia(value: unknown): value is Media {
  return (
    isObject(value) &&
    (value["type"] === "image" || value["type"] === "audio") &&
    typeof value["data"] === "string" &&
    typeof value["mimeType"] === "string"
  );
}

function contentOf(value: unknown): McpContent {
  if (isMedia(value)) return { type: value.type, data: value.data, mimeType: value.mimeType };
  return { type: "text", text: typeof value === "string" ? value : JSON.stringify(value) };
}
