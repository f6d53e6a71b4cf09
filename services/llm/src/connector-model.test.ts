import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { type JsonObject, systemClock } from "@mesh/kernel";
import { describe, expect, test } from "vitest";

import { BUNDLED_PRICES } from "./bundled-prices.ts";
import type { Connector } from "./connector.ts";
import { buildCompletionsRequest } from "./completions-request.ts";
import { connectorModel, withOptions } from "./connector-model.ts";
import { PriceBook } from "./price-book.ts";
import { createProviders } from "./providers.ts";
import { testConnector } from "./test-connector.ts";
import { envKey, openAiIdReasons } from "./vendor.ts";

function connector(type: string, options: JsonObject = {}, more: Partial<Connector> = {}): Connector {
  return { id: "c.one", type, model: "m", options, ...more };
}

describe("a connector's type and address", () => {
  test.each([
    ["openai", undefined, "openai-completions", "openai"],
    ["openai", "https://api.deepseek.com", "openai-completions", "deepseek"],
    ["openai", "http://10.0.0.1:9", "openai-completions", "c"],
    ["responses", undefined, "openai-responses", "openai"],
    ["openai-responses", "https://api.openai.com/v1", "openai-responses", "openai"],
    ["Anthropic", undefined, "anthropic-messages", "anthropic"],
    ["claude", undefined, "anthropic-messages", "anthropic"],
    ["gemini", undefined, "google-generative-ai", "google"],
    ["vertex", "https://eu-aiplatform.googleapis.com/v1/x", "google-vertex", "vertex"],
    ["azure", "https://r.openai.azure.com", "azure-openai-responses", "azure"],
    ["bedrock", undefined, "bedrock-converse-stream", "bedrock"],
    ["groq", undefined, "openai-completions", "groq"],
    ["moonshot", "https://api.moonshot.cn/v1", "openai-completions", "moonshot"],
    ["demo", undefined, "demo", "demo"],
  ])("%s at %s speaks %s as %s", (type, host, api, provider) => {
    const { model } = connectorModel(connector(type, {}, host === undefined ? {} : { host }));
    expect(model.api).toBe(api);
    expect(model.provider).toBe(provider);
  });

  test("a list of protocols chooses the first that is known", () => {
    expect(connectorModel(connector("openai", { protocols: ["sparkle", "anthropic", "openai"] })).model.api).toBe(
      "anthropic-messages",
    );
  });

  test("an unknown type says what there is", () => {
    expect(() => connectorModel(connector("sparkle"))).toThrow(
      /type sparkle is not supported; use a protocol \(openai, .*groq/s,
    );
    expect(() => connectorModel(connector("constructor"))).toThrow("is not supported");
  });
});

test("options become settings, capabilities abilities, and unknown prices stay unknown", () => {
  const made = connectorModel(
    connector(
      "openai",
      {
        max_tokens: "512",
        temperature: 0.3,
        reasoning_effort: "high",
        top_p: 0.9,
        extra_body: { seed: 7, user: null },
        headers: { "X-Team": "t" },
        auth_mode: "api-key",
        timeouts: { first_byte: "10s", idle: "1m30s" },
        capabilities: {
          reasoning: true,
          vision: false,
          streaming: false,
          temperature_adjustable: false,
          max_input_tokens: 9000,
          max_output_tokens: 900,
        },
      },
      { key: " k-123456 ", host: " http://h/v1 " },
    ),
  );
  expect(made).toEqual({
    model: {
      id: "m",
      name: "m",
      api: "openai-completions",
      provider: "c",
      connector: "c.one",
      baseUrl: "http://h/v1",
      reasoning: true,
      contextWindow: 9000,
      maxTokens: 900,
      cost: null,
      headers: { "X-Team": "t" },
      authMode: "api-key",
      extraBody: { top_p: 0.9, seed: 7, user: null },
      temperatureAdjustable: false,
      vision: false,
      streaming: false,
    },
    defaults: {
      apiKey: "k-123456",
      maxTokens: 512,
      temperature: 0.3,
      thinking: "high",
      timeouts: { firstByteMs: 10_000, idleMs: 90_000 },
    },
  });
  const wire = buildCompletionsRequest({ ...made.defaults, model: made.model, systemPrompt: "", messages: [] });
  expect(wire.headers).toMatchObject({ "api-key": "k-123456", "x-team": "t" });
  expect(JSON.parse(wire.body)).not.toHaveProperty("temperature");
});

test("a model that does not reason takes a temperature whatever its file says; a list of capabilities is a list of what it can", () => {
  expect(
    connectorModel(connector("openai", { capabilities: { reasoning: false, temperature_adjustable: false } })).model
      .temperatureAdjustable,
  ).toBeUndefined();
  expect(connectorModel(connector("openai", { capabilities: ["reasoning"] })).model.reasoning).toBe(true);
});

test("a price comes from a given book, for the vendor's own address only", () => {
  const book = new PriceBook([BUNDLED_PRICES]);
  const model = "claude-opus-4-5-20251101";
  expect(connectorModel(connector("anthropic", {}, { model }), book).model.cost).toMatchObject({ input: 5 });
  expect(connectorModel(connector("anthropic", {}, { model, host: "http://gateway/v1" }), book).model.cost).toBeNull();
});

test.each<[JsonObject, RegExp]>([
  [{ temperature: "hot" }, /temperature must be a number/],
  [{ max_tokens: -1 }, /max_tokens must be a whole number/],
  [{ thinking: "hard" }, /thinking must be one of off, /],
  [{ auth_mode: "magic" }, /auth_mode must be/],
  [{ headers: ["x"] }, /headers must be/],
  [{ headers: { a: 1 } }, /headers\.a must be a text/],
  [{ timeouts: { first: "1s" } }, /timeouts\.first is not known; use first_byte/],
  [{ timeouts: { idle: "soon" } }, /timeouts\.idle must be a duration/],
  [{ capabilities: { max_input_tokens: "many" } }, /max_input_tokens must be/],
])("the options %j are refused by name", (options, message) => {
  expect(() => connectorModel(connector("openai", options))).toThrow(message);
});

const CORPUS = join(import.meta.dirname, "../../../../shared/corpus");

test.skipIf(!existsSync(CORPUS))("every model connector of the public assistants becomes a model", () => {
  const files = readdirSync(CORPUS, { recursive: true, encoding: "utf8" }).filter((path) =>
    /connectors\/.*\.yao$/.test(path),
  );
  const read = files.flatMap((path) => {
    const file = JSON.parse(
      readFileSync(join(CORPUS, path), "utf8")
        .replaceAll(/^\s*\/\/.*$/gm, "")
        .replaceAll(/,(\s*[}\]])/g, "$1"),
    ) as { type: string; options: JsonObject };
    if (file.type !== "openai" && file.type !== "anthropic") return [];
    const host = file.options["host"] ?? file.options["proxy"];
    const isUrl = typeof host === "string" && host.startsWith("http");
    return [
      connectorModel({
        id: "c",
        type: file.type,
        model: file.options["model"] as string,
        options: file.options,
        ...(isUrl ? { host } : {}),
      }),
    ];
  });
  expect(read.length).toBeGreaterThan(50);
  expect(new Set(read.map(({ model }) => model.api))).toEqual(new Set(["openai-completions", "anthropic-messages"]));
});

test("keys come from a vendor's own variables, in order, and never another's", () => {
  const env = { GOOGLE_API_KEY: " g ", OPENAI_API_KEY: "o", API_KEY: "any" };
  expect(envKey("google", "google-generative-ai", env)).toBe("g");
  expect(envKey("google", "google-generative-ai", { ...env, GEMINI_API_KEY: "first" })).toBe("first");
  expect(envKey("anthropic", "anthropic-messages", env)).toBeUndefined();
  expect(envKey("ollama", "openai-completions", env)).toBeUndefined();
  expect(envKey("acme", "openai-completions", env)).toBe("any");
  expect(envKey("acme", "bedrock-converse-stream", env)).toBeUndefined();
});

test.each([
  ["gpt-4o", false],
  ["gpt-3.5-turbo", false],
  ["chatgpt-4o-latest", false],
  ["gpt-5-chat-latest", false],
  ["gpt-5", true],
  ["o3", true],
])("%s reasons: %s", (id, reasons) => {
  expect(openAiIdReasons(id)).toBe(reasons);
});

describe("a test of a connector", () => {
  const tested = (
    answer: () => Response | Promise<Response>,
    made = connectorModel(connector("openai", {}, { host: "http://h", key: "sk-12345678" })),
  ): ReturnType<typeof testConnector> =>
    testConnector(
      made,
      { clock: systemClock, providers: createProviders({ clock: systemClock, fetch: async () => answer(), env: {} }) },
      new AbortController().signal,
    );

  test("says what the model answered and how long it took", async () => {
    const body = 'data: {"choices":[{"index":0,"delta":{"content":"ok"},"finish_reason":"stop"}]}\n\n';
    expect(await tested(() => new Response(body))).toMatchObject({
      ok: true,
      said: "ok",
      summary: expect.stringMatching(/^connector c\.one: m answered "ok" in \d+ ms$/),
    });
  });

  test.each<[string, () => Response | Promise<Response>, string, RegExp]>([
    ["a wrong key", () => new Response('{"error":{"message":"bad"}}', { status: 401 }), "auth", /set a valid key/],
    ["an unknown model", () => new Response("", { status: 404 }), "notFound", /model and host/],
    [
      "no server",
      () => Promise.reject(new TypeError("fetch failed", { cause: { code: "ECONNREFUSED" } })),
      "network",
      /is the server running/,
    ],
    ["a web page", () => new Response("<html><title>Hi</title></html>"), "protocol", /does not speak this protocol/],
    [
      "an empty account",
      () => new Response('{"error":{"code":"insufficient_quota","message":"x"}}', { status: 429 }),
      "quota",
      /add credit/,
    ],
  ])("says of %s what to do", async (_what, answer, errorClass, fix) => {
    expect(await tested(answer)).toMatchObject({ ok: false, errorClass, fix: expect.stringMatching(fix) });
  });

  test("works with the built-in demo model", async () => {
    expect(await tested(() => Response.error(), connectorModel(connector("demo")))).toMatchObject({ ok: true });
  });
});

test("a call's options win over the connector's own, null leaves them, and extra bodies are joined", () => {
  const own = { temperature: 0.1, max_tokens: 7, extra_body: { a: 1, b: 1 } };
  const connector = { id: "c", type: "openai", model: "m", options: own };
  const { model, defaults } = connectorModel(
    withOptions(connector, { temperature: 0.9, max_tokens: null, extra_body: { b: 2 } }),
  );
  expect(defaults).toMatchObject({ temperature: 0.9, maxTokens: 7 });
  expect(model.extraBody).toEqual({ a: 1, b: 2 });
});
