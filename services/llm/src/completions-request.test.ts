import { expect, test } from "vitest";

import { buildCompletionsRequest } from "./completions-request.ts";
import type { Content, Message } from "./message.ts";
import type { ModelConfig, StreamConfig, ThinkingLevel } from "./provider.ts";
import { answered, called, callOf, resulted, said } from "./testing/index.ts";
import { vendorNames, VENDORS } from "./vendor.ts";

const api = "openai-completions";

interface Body extends Record<string, unknown> {
  readonly messages: readonly Record<string, unknown>[];
}

function build(messages: readonly Message[], more: Partial<StreamConfig> = {}, model: Partial<ModelConfig> = {}): Body {
  return JSON.parse(buildCompletionsRequest(callOf({ api, ...model }, messages, more)).body) as Body;
}

const TURN = [
  said("Hi"),
  answered([{ type: "thinking", thinking: "hm" }, called("call_1")], { api }),
  resulted("call_1", ["1"]),
  said("And?"),
];

test.each([
  [undefined, "https://api.openai.com/v1/chat/completions"],
  ["http://localhost:11434", "http://localhost:11434/v1/chat/completions"],
  ["https://api.z.ai/api/paas/v4/", "https://api.z.ai/api/paas/v4/chat/completions"],
  [
    "https://generativelanguage.googleapis.com/v1beta/openai",
    "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions",
  ],
  ["https://x/v1/chat/completions?api-version=1", "https://x/v1/chat/completions?api-version=1"],
])("the address %s means %s", (baseUrl, url) => {
  expect(
    buildCompletionsRequest(callOf({ api, ...(baseUrl === undefined ? {} : { baseUrl }) }, [said("Hi")])).url,
  ).toBe(url);
});

test.each(["localhost:1", "ftp://x", "https://user:pass@x/v1"])(
  "the address %s is refused before anything is sent",
  (baseUrl) => {
    expect(() => buildCompletionsRequest(callOf({ api, baseUrl }, []))).toThrow(/address of model/);
  },
);

test("every vendor's row builds a request with its own address", () => {
  const chat = vendorNames().filter((name) => VENDORS[name]?.api === api);
  expect(chat.length).toBeGreaterThanOrEqual(15);
  for (const provider of chat) {
    const baseUrl = VENDORS[provider]?.baseUrl ?? "";
    const { url, body } = buildCompletionsRequest(
      callOf({ api, provider, baseUrl }, TURN, { thinking: "high", maxTokens: 5 }),
    );
    expect(url).toMatch(/\/chat\/completions$/);
    expect(JSON.parse(body)).toMatchObject({ model: "m-1", stream: true });
  }
});

test.each<[string, ThinkingLevel, Record<string, unknown>]>([
  ["openai", "minimal", { reasoning_effort: "low" }],
  ["openai", "xhigh", { reasoning_effort: "high" }],
  ["openrouter", "medium", { reasoning: { effort: "medium" } }],
  ["deepseek", "high", { thinking: { type: "enabled" } }],
  ["deepseek", "off", { thinking: { type: "disabled" } }],
  ["zai", "high", { thinking: { type: "enabled" } }],
  ["qwen", "high", { enable_thinking: true }],
  ["vllm", "high", { chat_template_kwargs: { enable_thinking: true } }],
])("%s is asked to think %s in its own words", (provider, thinking, fields) => {
  expect(build([said("Hi")], { thinking }, { provider })).toMatchObject(fields);
});

test("a level that is off sends nothing, and a ceiling holds", () => {
  expect(
    Object.keys(build([said("Hi")], { thinking: "off" }, { provider: "openai" })).some((name) =>
      /think|reason/.test(name),
    ),
  ).toBe(false);
  const compat = { openai: { maxReasoningEffort: "xhigh" } } as const;
  expect(build([said("Hi")], { thinking: "max" }, { provider: "openai", compat })).toMatchObject({
    reasoning_effort: "xhigh",
  });
});

test("Mistral gets short ids, names of tools and an assistant message between results and user; no stream options", () => {
  const body = build(TURN, {}, { provider: "mistral" });
  expect(body.messages.map((message) => message["role"])).toEqual(["user", "assistant", "tool", "assistant", "user"]);
  const [call] = body.messages[1]!["tool_calls"] as { id: string }[];
  expect(call?.id).toMatch(/^[a-zA-Z0-9]{9}$/);
  expect(body.messages[2]).toMatchObject({ tool_call_id: call?.id, name: "add" });
  expect(body).not.toHaveProperty("stream_options");
});

test("reasoning goes back only where the server wants it and only the same model's", () => {
  expect(build(TURN, {}, { provider: "deepseek" }).messages[1]).toMatchObject({ reasoning_content: "hm" });
  expect(JSON.stringify(build(TURN, {}, { provider: "deepseek", id: "other" }))).not.toContain("hm");
  expect(JSON.stringify(build(TURN, {}, { provider: "openai" }))).not.toContain("hm");
  const details: Content = { type: "thinking", thinking: "hm", redacted: '[{"type":"x"}]', redactedProtocol: api };
  const turn = [said("Hi"), answered([details, called("a")], { api }), resulted("a", ["1"])];
  expect(build(turn, {}, { provider: "openrouter" }).messages[1]).toMatchObject({ reasoning_details: [{ type: "x" }] });
});

test("Gemini's hidden signature goes back with its call, to the same model", () => {
  const extra = { google: { thought_signature: "c2ln" } };
  const call: Content = {
    type: "toolCall",
    id: "odd id / 1",
    name: "add",
    arguments: {},
    providerMetadata: { extra_content: extra },
  };
  const turn = [said("Hi"), answered([call], { api }), resulted("odd id / 1", ["1"])];
  expect(build(turn).messages[1]?.["tool_calls"]).toMatchObject([{ id: "odd id / 1", extra_content: extra }]);
  expect(JSON.stringify(build(turn, {}, { id: "other" }))).not.toContain("c2ln");
});

test("pictures of results follow in a user message, after all results", () => {
  const image = { type: "image", data: "eA==", mimeType: "image/png" } as const;
  const body = build([said("Hi"), answered([called("a"), called("b")]), resulted("a", [image]), resulted("b", [])]);
  expect(body.messages).toMatchObject([
    { role: "user", content: "Hi" },
    { role: "assistant", content: null },
    { role: "tool", tool_call_id: "a", content: "(see the image below)" },
    { role: "tool", tool_call_id: "b", content: "(no output)" },
    {
      role: "user",
      content: [{ type: "text" }, { type: "image_url", image_url: { url: "data:image/png;base64,eA==" } }],
    },
  ]);
});

test("a reasoning model of OpenAI is told as developer; every other server as system", () => {
  const role = (model: Partial<ModelConfig>): unknown =>
    build([said("Hi")], { systemPrompt: "S" }, model).messages[0]?.["role"];
  expect(role({ provider: "openai", reasoning: true })).toBe("developer");
  expect(role({ provider: "openai", reasoning: false })).toBe("system");
  expect(role({ provider: "groq", reasoning: true })).toBe("system");
});

test("structured output is strict, or asked for in words where the server knows no schema", () => {
  const responseFormat = { name: "answer", schema: { type: "object" } };
  expect(build([said("Hi")], { responseFormat })).toMatchObject({
    response_format: { type: "json_schema", json_schema: { name: "answer", strict: true } },
  });
  const asked = build([said("Hi")], { responseFormat }, { provider: "deepseek" });
  expect(asked).toMatchObject({ response_format: { type: "json_object" }, messages: [{ role: "system" }, {}] });
});

test("the cache key comes from the system prompt, or as given, stays the same as messages are added, and is off when hints are", () => {
  const key = (messages: readonly Message[], more: Partial<StreamConfig> = {}): unknown =>
    build(messages, { systemPrompt: "S", ...more }, { provider: "openai" })["prompt_cache_key"];
  expect(key([said("Hi")])).toMatch(/^yao-[0-9a-f]{16}$/);
  expect(key(TURN)).toBe(key([said("Hi")]));
  expect(key(TURN, { cache: { enabled: true, strategy: "auto", sessionKey: " s1 " } })).toBe("s1");
  expect(key(TURN, { cache: { enabled: true, strategy: "disabled", sessionKey: "s1" } })).toBeUndefined();
  expect(key(TURN, { systemPrompt: "" })).toBeUndefined();
});

test("a tool without a description sends none", () => {
  const tools = [{ name: "a", description: " ", parameters: { type: "object" } }];
  expect(build([said("Hi")], { tools, toolChoice: { name: "a" } })).toMatchObject({
    tools: [{ type: "function", function: { name: "a" } }],
    tool_choice: { type: "function", function: { name: "a" } },
  });
  expect(JSON.stringify(build([said("Hi")], { tools }))).not.toContain("description");
});

const ANSWERS = [answered([{ type: "text", text: "Yes" }], { api })];

test("a message keeps its translation, and marks for the cache do not stay on it", () => {
  const model = callOf(
    { api, id: "claude-x", provider: "openrouter", compat: { openai: { cacheControl: true } } },
    [],
  ).model;
  const bodyOf = (messages: readonly Message[]): Body => {
    const config = { ...callOf({ api }, messages, { systemPrompt: "S" }), model };
    return JSON.parse(buildCompletionsRequest(config).body) as Body;
  };
  const first = bodyOf([said("Hi"), ...ANSWERS, said("And?")]);
  const second = bodyOf([
    said("Hi"),
    ...ANSWERS,
    said("And?"),
    answered([{ type: "text", text: "So" }], { api }),
    said("?"),
  ]);
  const marked = ({ messages }: Body): readonly number[] =>
    messages.flatMap((message, index) => (Array.isArray(message["content"]) ? [index] : []));
  expect(marked(first)).toEqual([0, 2]);
  expect(marked(second)).toEqual([0, 4]);
  expect(second.messages.slice(1, 2)).toEqual(first.messages.slice(1, 2));
});

test("the same message is translated for each model by its own rules", () => {
  const sent = [said("Hi"), answered([called("call_1")], { api }), resulted("call_1", ["1"])];
  const plain = build(sent);
  const named = build(sent, {}, { compat: { openai: { toolResultName: true } } });
  expect(plain.messages.at(-1)).not.toHaveProperty("name");
  expect(named.messages.at(-1)).toHaveProperty("name");
});

test("the messages of a body are its last field and the same text in every request", () => {
  const config = callOf({ api }, TURN, { systemPrompt: "S", maxTokens: 9 });
  const [first, again] = [buildCompletionsRequest(config).body, buildCompletionsRequest(config).body];
  expect(again).toBe(first);
  expect(Object.keys(JSON.parse(first) as Body).at(-1)).toBe("messages");
  const longer = buildCompletionsRequest({
    ...config,
    messages: [...TURN, answered([{ type: "text", text: "So" }], { api })],
  });
  expect(longer.body.startsWith(first.slice(0, -2))).toBe(true);
});

test("extra fields can replace the messages, and take them out", () => {
  const replaced = [{ role: "user", content: "Only this" }, "odd"];
  expect(build(TURN, { extraBody: { messages: replaced } }).messages).toEqual(replaced);
  expect(build(TURN, { extraBody: { messages: null } })).not.toHaveProperty("messages");
});
