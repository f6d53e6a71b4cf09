import { expect, test } from "vitest";

import { parseToolResult, toolResultText } from "./tool-result.ts";

const image = { type: "image", data: "AA==", mimeType: "image/png" } as const;
const resource = { type: "resource", resource: { uri: "a://b", text: "body" } } as const;

test("nothing is null, one item is the item, several are a list", () => {
  expect(parseToolResult({ content: [] })).toBeNull();
  expect(parseToolResult({ content: [{ type: "text", text: "plain" }] })).toBe("plain");
  expect(parseToolResult({ content: [{ type: "text", text: '{"a":[1]}' }] })).toEqual({ a: [1] });
  expect(parseToolResult({ content: [{ type: "text", text: "42" }, image, resource] })).toEqual([
    42,
    { type: "image", data: "AA==", mimeType: "image/png" },
    { uri: "a://b", text: "body" },
  ]);
});

test("structured content counts where there is no other", () => {
  expect(parseToolResult({ content: [], structuredContent: { a: 1 } })).toEqual({ a: 1 });
  expect(parseToolResult({ content: [{ type: "text", text: "x" }], structuredContent: { a: 1 } })).toBe("x");
});

test("a model reads the texts, and the names of what is no text", () => {
  const link = { type: "resource_link", uri: "a://c", name: "C" } as const;
  expect(toolResultText({ content: [{ type: "text", text: "one" }, image, resource, link] })).toBe(
    "one\n[image image/png]\nbody\n[C](a://c)",
  );
});
