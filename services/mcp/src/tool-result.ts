/** A tool's answer as the two who read it want it: a value for a script, a text for a model. Pure. */

import type { Json } from "@mesh/kernel";

import type { McpContent, McpToolResult } from "./session.ts";

/**
 * The answer as a value: no content is null, one item is the item, several are a list. Text that is JSON is what it says, an image
 * is `{type, data, mimeType}`, a resource is the resource.
 */
export function parseToolResult(result: McpToolResult): Json {
  const values = result.content.map(valueOf);
  if (values.length === 0) return result.structuredContent ?? null;
  return values.length === 1 ? (values[0] ?? null) : values;
}

/** The texts of an answer, one below the other; other content is named. */
export function toolResultText(result: McpToolResult): string {
  if (result.content.length === 0 && result.structuredContent !== undefined)
    return JSON.stringify(result.structuredContent);
  return result.content.map(textOf).join("\n");
}

function valueOf(item: McpContent): Json {
  switch (item.type) {
    case "text":
      return parsedText(item.text);
    case "image":
    case "audio":
      return { type: item.type, data: item.data, mimeType: item.mimeType };
    case "resource":
      return defined(item.resource);
    case "resource_link":
      return defined(item);
  }
}

function textOf(item: McpContent): string {
  switch (item.type) {
    case "text":
      return item.text;
    case "image":
    case "audio":
      return `[${item.type} ${item.mimeType}]`;
    case "resource":
      return item.resource.text ?? `[resource ${item.resource.uri}]`;
    case "resource_link":
      return `[${item.name}](${item.uri})`;
  }
}

function parsedText(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}

function defined(value: object): Json {
  return Object.fromEntries(Object.entries(value).filter(([, inner]) => inner !== undefined)) as Json;
}
