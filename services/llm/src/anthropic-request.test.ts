import { expect, test } from "vitest";

import { buildAnthropicRequest } from "./anthropic-request.ts";
import type { Content, Message } from "./message.ts";
import type { ModelConfig, StreamConfig } from "./provider.ts";
import { answered, called, callOf, resulted, said } from "./testing/index.ts";

const api = "anthropic-messages";
const OFF = { enabled: false, strategy: "auto" } as const;
const SIGNED: Content = { type: "thinking", thinking: "hm", signature: "c2ln" };

function body(
  messages: readonly Message[],
  more: Partial<StreamConfig> = {},
  model: Partial<ModelConfig> = {},
): Record<string, unknown> {
  const config = callOf({ api, ...model }, messages, { cache: OFF, ...more });
  return JSON.parse(buildAnthropicRequest(config).body) as Record<string, unknown>;
}

function blocks(request: Record<string, unknown>): unknown[] {
  return (request["messages"] as { content: unknown[] }[]).flatMap((message) => message.content);
}

test.each([
  [undefined, "https://api.anthropic.com/v1/messages"],
  ["https://api.anthropic.com", "https://api.anthropic.com/v1/messages"],
  ["https://api.anthropic.com/v1/", "https://api.anthropic.com/v1/messages"],
  ["https://api.minimax.io/anthropic", "https://api.minimax.io/anthropic/v1/messages"],
  ["http://proxy:1/v1/messages", "http://proxy:1/v1/messages"],
])("the address %s means %s", (baseUrl, url) => {
  expect(buildAnthropicRequest(callOf({ api, ...(baseUrl === undefined ? {} : { baseUrl }) }, [said("Hi")])).url).toBe(
    url,
  );
});

test("the key goes in x-api-key, as a bearer token when asked, and not at all beside an authorization header", () => {
  const headers = (model: Partial<ModelConfig>): Readonly<Record<string, string>> =>
    buildAnthropicRequest(callOf({ api, ...model }, [said("Hi")], { apiKey: " sk-1234 " })).headers;
  expect(headers({})).toMatchObject({ "x-api-key": "sk-1234", "anthropic-version": "2023-06-01" });
  expect(headers({ compat: { anthropic: { bearerAuth: true } } })).toMatchObject({ authorization: "Bearer sk-1234" });
  expect(headers({ headers: { Authorization: "Basic x" } })).toMatchObject({ authorization: "Basic x" });
  expect(headers({ headers: { Authorization: "Basic x" } })).not.toHaveProperty("x-api-key");
  expect(() => buildAnthropicRequest(callOf({ api }, [said("Hi")], { apiKey: "sk-\n1234" }))).toThrow("cannot be sent");
});

test("empty text is dropped, empty messages are skipped, and all texts of a result are sent", () => {
  const request = body([
    said("Hi", " "),
    answered([""]),
    answered(["", called("a b", { x: 1 })]),
    resulted("a b", ["one", "two"]),
    said(""),
    answered([SIGNED]),
  ]);
  expect(request["messages"]).toMatchObject([
    { role: "user", content: [{ type: "text", text: "Hi" }] },
    { role: "assistant", content: [{ type: "tool_use", name: "add", input: { x: 1 } }] },
    { role: "user", content: [{ type: "tool_result", content: [{ text: "one" }, { text: "two" }] }] },
  ]);
  const [, use, result] = blocks(request) as [unknown, { id: string }, { tool_use_id: string }];
  expect(use.id).toMatch(/^[a-zA-Z0-9_-]+$/);
  expect(result.tool_use_id).toBe(use.id);
});

test("signed and redacted thinking goes back to the model that made it, unchanged, and to no other", () => {
  const redacted: Content = { type: "thinking", thinking: "", redacted: "ZW5j", redactedProtocol: api };
  const foreign: Content = {
    type: "thinking",
    thinking: "",
    redacted: "ZW5j",
    redactedProtocol: "bedrock-converse-stream",
  };
  const unsigned: Content = { type: "thinking", thinking: "secret" };
  const history = (model: string): Message[] => [
    said("Hi"),
    answered([SIGNED, redacted, foreign, unsigned, "Hello"], { model, api }),
    said("Go on"),
  ];
  expect(blocks(body(history("m-1")))).toEqual([
    { type: "text", text: "Hi" },
    { type: "thinking", thinking: "hm", signature: "c2ln" },
    { type: "redacted_thinking", data: "ZW5j" },
    { type: "text", text: "Hello" },
    { type: "text", text: "Go on" },
  ]);
  expect(JSON.stringify(body(history("m-2")))).not.toMatch(/thinking|ZW5j/);
});

test("thinking is adaptive or a budget, drops the temperature and raises the limit", () => {
  const adaptive = body(
    [said("Hi")],
    { thinking: "minimal", temperature: 0.2 },
    { compat: { anthropic: { adaptiveThinking: true } } },
  );
  expect(adaptive).toMatchObject({ thinking: { type: "adaptive" }, output_config: { effort: "low" } });
  expect(adaptive).not.toHaveProperty("temperature");
  expect(body([said("Hi")], { thinking: "high", maxTokens: 100 })).toMatchObject({
    thinking: { type: "enabled", budget_tokens: 8192 },
    max_tokens: 9216,
  });
  expect(body([said("Hi")], { thinking: "off", temperature: 0.2 })).toMatchObject({ temperature: 0.2 });
});

test("a budget is not asked for in the middle of a turn that began without thinking", () => {
  const turn = [said("Hi"), answered([called("a")], { api }), resulted("a", ["1"])];
  expect(body(turn, { thinking: "high" })).not.toHaveProperty("thinking");
  const signed = [said("Hi"), answered([SIGNED, called("a")], { api }), resulted("a", ["1"])];
  expect(body(signed, { thinking: "high" })).toHaveProperty("thinking");
});

test("structured output is native where it can be, else a forced tool without thinking", () => {
  const responseFormat = { name: "answer", schema: { type: "object" } };
  const native = body(
    [said("Hi")],
    { responseFormat, thinking: "high" },
    { compat: { anthropic: { nativeStructuredOutput: true, adaptiveThinking: true } } },
  );
  expect(native["output_config"]).toEqual({
    effort: "high",
    format: { type: "json_schema", schema: { type: "object" } },
  });
  expect(native).not.toHaveProperty("tool_choice");
  const forced = body([said("Hi")], { responseFormat, thinking: "high" });
  expect(forced).toMatchObject({ tool_choice: { type: "tool", name: "answer" }, tools: [{ name: "answer" }] });
  expect(forced).not.toHaveProperty("thinking");
});

test("cache marks stand on the last system block, the last tool and the message before the last", () => {
  const tools = [
    { name: "a", description: "", parameters: {} },
    { name: "b", description: "B", parameters: {} },
  ];
  const history = [said("One"), answered(["Two"]), said("Three")];
  const mark = { type: "ephemeral" };
  const request = body(history, { tools, systemPrompt: "S", cache: { enabled: true, strategy: "auto" } });
  expect(request).toMatchObject({
    system: [{ text: "S", cache_control: mark }],
    tools: [
      { name: "a", input_schema: {} },
      { name: "b", cache_control: mark },
    ],
    messages: [{}, { content: [{ text: "Two", cache_control: mark }] }, { content: [{ text: "Three" }] }],
  });
  expect(JSON.stringify(request).match(/cache_control/g)).toHaveLength(3);
  const off = { system: false, tools: false, messages: false };
  for (const cache of [OFF, { enabled: true, strategy: "disabled" }, { enabled: true, strategy: off }] as const) {
    expect(JSON.stringify(body(history, { tools, systemPrompt: "S", cache }))).not.toContain("cache_control");
  }
});

test("extra fields are added, merged, and removed with null; the call's win over the model's", () => {
  const request = body(
    [said("Hi")],
    { extraBody: { top_k: 5, max_tokens: null } },
    { extraBody: { top_k: 1, metadata: { user_id: "u" } } },
  );
  expect(request).toMatchObject({ top_k: 5, metadata: { user_id: "u" } });
  expect(request).not.toHaveProperty("max_tokens");
});

test("pictures become a note for a model that cannot see", () => {
  const image = { type: "image", data: "eA==", mimeType: "image/png" } as const;
  expect(blocks(body([said(image)]))).toMatchObject([{ type: "image", source: { media_type: "image/png" } }]);
  expect(blocks(body([said(image)], {}, { vision: false }))).toMatchObject([
    { type: "text", text: expect.stringContaining("cannot see") },
  ]);
});
