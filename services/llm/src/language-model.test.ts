import { systemClock } from "@mesh/kernel";
import { describe, expect, test } from "vitest";

import { type LanguageModelLike, languageModelProvider } from "./language-model.ts";
import type { StreamConfig, StreamEvent } from "./provider.ts";
import { ProviderError } from "./provider-error.ts";
import { answered, called, callOf, resulted, said } from "./testing/index.ts";

const api = "openai-completions";

interface Ran {
  readonly message: Promise<unknown>;
  readonly events: StreamEvent[];
  readonly options: () => Record<string, unknown>;
}

function run(
  parts: readonly unknown[] | Error,
  config: StreamConfig = callOf({ api }, [said("Hi")]),
  version = "v3",
): Ran {
  let seen: Record<string, unknown> = {};
  const model: LanguageModelLike = {
    specificationVersion: version,
    provider: "acme",
    modelId: "m-1",
    doStream(options) {
      seen = options;
      if (parts instanceof Error) return Promise.reject(parts);
      return Promise.resolve({
        stream: new ReadableStream({
          start(controller) {
            for (const part of parts) controller.enqueue(part);
            controller.close();
          },
        }),
      });
    },
  };
  const events: StreamEvent[] = [];
  const provider = languageModelProvider(model, { clock: systemClock, protocol: api });
  return {
    message: provider.stream(config, (event) => events.push(event), new AbortController().signal),
    events,
    options: () => seen,
  };
}

const TEXT = [
  { type: "stream-start", warnings: [] },
  { type: "text-start", id: "1" },
  { type: "text-delta", id: "1", delta: "Hello" },
  { type: "text-end", id: "1" },
];
const V2 = {
  type: "finish",
  finishReason: "stop",
  usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15, cachedInputTokens: 4 },
};
const V3 = {
  type: "finish",
  finishReason: { unified: "stop", raw: "end" },
  usage: { inputTokens: { total: 10, cacheRead: 4, cacheWrite: 1 }, outputTokens: { total: 5, reasoning: 2 } },
};

test.each([
  ["v2", V2, { input: 6, output: 5, cacheRead: 4, cacheWrite: 0, totalTokens: 15 }],
  ["v3", V3, { input: 5, output: 5, cacheRead: 4, cacheWrite: 1, totalTokens: 15, reasoning: 2 }],
])("a text of a %s model is read with its usage", async (version, finish, usage) => {
  const { message, events } = run([...TEXT, finish], undefined, version);
  expect(await message).toMatchObject({ stopReason: "stop", content: [{ type: "text", text: "Hello" }], usage });
  expect(events.map((event) => event.type)).toEqual(["start", "textDelta", "usage", "done"]);
});

test("calls, reasoning and what they want back make the round trip to the same model only", async () => {
  const metadata = { acme: { sig: "c2ln" } };
  const { message } = run([
    { type: "reasoning-start", id: "r" },
    { type: "reasoning-delta", id: "r", delta: "hm" },
    { type: "reasoning-end", id: "r", providerMetadata: metadata },
    { type: "tool-input-start", id: "a", toolName: "add" },
    { type: "tool-input-delta", id: "a", delta: '{"x":' },
    { type: "tool-input-delta", id: "a", delta: "1}" },
    { type: "tool-call", toolCallId: "a", toolName: "add", input: '{"x":1}', providerMetadata: metadata },
    { ...V2, finishReason: "tool-calls" },
  ]);
  const assistant = (await message) as ReturnType<typeof answered>;
  expect(assistant).toMatchObject({
    stopReason: "toolUse",
    content: [{ thinking: "hm" }, { id: "a", arguments: { x: 1 } }],
  });
  const history = [said("Hi"), assistant, resulted("a", ["2"])];
  const again = run(TEXT, callOf({ api }, history));
  await again.message.catch(() => undefined);
  expect(again.options()["prompt"]).toEqual([
    { role: "user", content: [{ type: "text", text: "Hi" }] },
    {
      role: "assistant",
      content: [
        { type: "reasoning", text: "hm", providerOptions: metadata },
        { type: "tool-call", toolCallId: "a", toolName: "add", input: { x: 1 }, providerOptions: metadata },
      ],
    },
    {
      role: "tool",
      content: [{ type: "tool-result", toolCallId: "a", toolName: "add", output: { type: "text", value: "2" } }],
    },
  ]);
  const other = run(TEXT, callOf({ api, id: "m-2" }, history));
  await other.message.catch(() => undefined);
  expect(JSON.stringify(other.options()["prompt"])).not.toMatch(/hm|c2ln/);
});

test("results of a batch share one message", async () => {
  const history = [said("Hi"), answered([called("a"), called("b")]), resulted("a", []), resulted("b", ["x"], true)];
  const made = run([...TEXT, V2], callOf({ api }, history));
  await made.message;
  expect((made.options()["prompt"] as { content: unknown[] }[])[2]?.content).toMatchObject([
    { output: { type: "text", value: "(no output)" } },
    { output: { type: "error-text", value: "x" } },
  ]);
});

describe("a failure", () => {
  test.each<[string, readonly unknown[] | Error, string]>([
    ["without a finish part", TEXT, "network"],
    [
      "as an error part",
      [...TEXT, { type: "error", error: { type: "overloaded_error", message: "Overloaded" } }],
      "rateLimit",
    ],
    ["as a finish reason", [...TEXT, { ...V2, finishReason: "error" }], "server"],
    ["as a rejected call", Object.assign(new Error("Unauthorized"), { statusCode: 401 }), "auth"],
    [
      "as an overflow",
      Object.assign(new Error("Bad Request"), { statusCode: 400, responseBody: "prompt is too long" }),
      "overflow",
    ],
  ])("%s is classified and keeps what was said", async (_how, parts, errorClass) => {
    const { message, events } = run(parts);
    await expect(message).rejects.toBeInstanceOf(ProviderError);
    await expect(message).rejects.toMatchObject({ errorClass });
    const end = events.at(-1);
    expect(end).toMatchObject({
      type: "error",
      message: { stopReason: "error", content: parts instanceof Error ? [] : [{ text: "Hello" }] },
    });
  });

  test("cut arguments never become a call that runs", async () => {
    const { message } = run([
      { type: "tool-call", toolCallId: "a", toolName: "add", input: '{"x":' },
      { ...V2, finishReason: "tool-calls" },
    ]);
    expect(await message).toMatchObject({ content: [{ arguments: {}, malformed: { kind: "invalid" } }] });
  });
});

test("an interface of another version is refused", () => {
  expect(() => run([], undefined, "v1")).toThrow("v2, v3 and v4 are supported");
});
