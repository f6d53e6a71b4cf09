import { describe, expect, test } from "vitest";

import { buildBedrockRequest } from "./bedrock-request.ts";
import { buildGeminiRequest } from "./gemini-request.ts";
import { geminiSchema } from "./gemini-schema.ts";
import type { Content, Message } from "./message.ts";
import type { ModelConfig, StreamConfig } from "./provider.ts";
import { buildResponsesRequest } from "./responses-request.ts";
import { answered, called, callOf, resulted, said } from "./testing/index.ts";
import type { Env } from "./wire.ts";

type Fields = Record<string, unknown>;

describe("Responses", () => {
  const api = "openai-responses";
  const compat = { openai: { encryptedReasoning: true } };
  const kept = (id: string, callIds: Record<string, string>, messageId?: string): Content => ({
    type: "thinking",
    thinking: "hm",
    redacted: JSON.stringify({
      id,
      summary: [],
      encrypted_content: `enc-${id}`,
      call_ids: callIds,
      ...(messageId === undefined ? {} : { message_id: messageId }),
    }),
    redactedProtocol: api,
  });
  const input = (messages: readonly Message[], model: Partial<ModelConfig> = {}): Fields[] =>
    (JSON.parse(buildResponsesRequest(callOf({ api, compat, ...model }, messages)).body) as { input: Fields[] }).input;
  const history = [
    said("Hi"),
    answered([kept("rs_1", { a: "fc_1" }, "msg_1"), called("a"), "Done", kept("rs_2", {})], { api }),
    resulted("a", ["1"]),
    answered([kept("rs_1", { b: "fc_1" }), called("b")], { api }),
    resulted("b", []),
  ];

  test("reasoning goes back before the item that followed it, under that item's id, each id once, a trailing one never", () => {
    const items = input(history);
    expect(items.map((item) => item["id"] ?? item["type"] ?? item["role"])).toEqual([
      "user",
      "rs_1",
      "fc_1",
      "msg_1",
      "function_call_output",
      "function_call",
      "function_call_output",
    ]);
    expect(items[1]).toEqual({ type: "reasoning", id: "rs_1", summary: [], encrypted_content: "enc-rs_1" });
    expect(JSON.stringify(items)).not.toContain("hm");
    expect(items.at(-1)).toMatchObject({ output: "(no output)" });
  });

  test.each([
    ["another model", { id: "m-2" }],
    ["another protocol", { api: "azure-openai-responses", baseUrl: "https://x.openai.azure.com" }],
    ["a model that does not ask for it", { compat: {} }],
    ["a model that does not reason", { reasoning: false }],
  ] as const)("%s gets neither reasoning nor ids of items", (_what, model) => {
    expect(input(history, model).every((item) => item["id"] === undefined && item["type"] !== "reasoning")).toBe(true);
  });

  test("store is never sent; include only when reasoning is kept; tools are not strict", () => {
    const tools = [{ name: "t", description: "", parameters: {} }];
    const body = JSON.parse(
      buildResponsesRequest(callOf({ api, compat }, [said("Hi")], { tools, thinking: "low", systemPrompt: "S" })).body,
    ) as Fields;
    expect(body).toMatchObject({
      include: ["reasoning.encrypted_content"],
      reasoning: { effort: "low" },
      tools: [{ strict: false }],
      instructions: "S",
    });
    expect(body).not.toHaveProperty("store");
    expect(body["prompt_cache_key"]).toMatch(/^yao-/);
  });

  test.each([
    ["https://r.openai.azure.com", "https://r.openai.azure.com/openai/v1/responses", "m-1"],
    ["https://r.openai.azure.com/openai/v1/", "https://r.openai.azure.com/openai/v1/responses", "m-1"],
    [
      "https://r.openai.azure.com/openai/deployments/my%20dep/chat",
      "https://r.openai.azure.com/openai/v1/responses",
      "my dep",
    ],
  ])("Azure's address %s means %s with model %s", (baseUrl, url, model) => {
    const wire = buildResponsesRequest(callOf({ api: "azure-openai-responses", baseUrl }, [], { apiKey: "k-123" }));
    expect(wire.url).toBe(url);
    expect(JSON.parse(wire.body)).toMatchObject({ model });
    expect(wire.headers).toMatchObject({ "api-key": "k-123" });
  });
});

describe("Gemini", () => {
  const api = "google-generative-ai";
  const contents = (messages: readonly Message[], model: Partial<ModelConfig> = {}): Fields[] =>
    (JSON.parse(buildGeminiRequest(callOf({ api, ...model }, messages)).body) as { contents: Fields[] }).contents;
  const signed: Content = {
    type: "toolCall",
    id: "x",
    name: "add",
    arguments: { a: 1 },
    providerMetadata: { thoughtSignature: "c2ln" },
  };
  const turn = [
    said("Hi"),
    answered([{ type: "thinking", thinking: "hm" }, signed, called("local_1234")], { api }),
    resulted("x", ["1"]),
    resulted("local_1234", ["boom"], true),
  ];

  test("a batch goes back as received: only the first call signed, made-up ids left out, results in one content", () => {
    expect(contents(turn)).toEqual([
      { role: "user", parts: [{ text: "Hi" }] },
      {
        role: "model",
        parts: [
          { functionCall: { id: "x", name: "add", args: { a: 1 } }, thoughtSignature: "c2ln" },
          { functionCall: { name: "add", args: {} } },
        ],
      },
      {
        role: "user",
        parts: [
          { functionResponse: { id: "x", name: "add", response: { result: "1" } } },
          { functionResponse: { name: "add", response: { error: "boom" } } },
        ],
      },
    ]);
  });

  test("another model gets no signature, but Gemini 3 the documented stand-in on the first call", () => {
    expect(JSON.stringify(contents(turn, { id: "m-2" }))).not.toContain("hought");
    const three = contents(turn, { id: "m-2", compat: { google: { thinkingLevel: true } } });
    expect(JSON.stringify(three).match(/skip_thought_signature_validator/g)).toHaveLength(1);
  });

  test("thinking is a budget, or a level from Gemini 3 on", () => {
    const thinking = (model: Partial<ModelConfig>): unknown =>
      (
        JSON.parse(buildGeminiRequest(callOf({ api, ...model }, [said("Hi")], { thinking: "high" })).body) as {
          generationConfig: Fields;
        }
      ).generationConfig["thinkingConfig"];
    expect(thinking({})).toEqual({ includeThoughts: true, thinkingBudget: 24_576 });
    expect(thinking({ compat: { google: { thinkingLevel: true } } })).toEqual({
      includeThoughts: true,
      thinkingLevel: "high",
    });
  });

  test("the key is in a header, also beside an authorization header, never in the address", () => {
    const wire = buildGeminiRequest(
      callOf({ api, headers: { authorization: "Bearer p" } }, [], { apiKey: " AIza-123 " }),
    );
    expect(wire.headers).toMatchObject({ "x-goog-api-key": "AIza-123", authorization: "Bearer p" });
    expect(wire.url).toBe("https://generativelanguage.googleapis.com/v1beta/models/m-1:streamGenerateContent?alt=sse");
    const own = buildGeminiRequest(callOf({ api, headers: { "X-Goog-Api-Key": "own" } }, [], { apiKey: "AIza-123" }));
    expect(own.headers["x-goog-api-key"]).toBe("own");
  });

  test("Vertex is reached at its own address with a bearer token", () => {
    const baseUrl = "https://eu-aiplatform.googleapis.com/v1/projects/p/locations/eu/publishers/google/models";
    const wire = buildGeminiRequest(callOf({ api: "google-vertex", baseUrl }, [], { apiKey: "ya29.x" }));
    expect(wire.url).toBe(`${baseUrl}/m-1:streamGenerateContent?alt=sse`);
    expect(wire.headers).toMatchObject({ authorization: "Bearer ya29.x" });
    expect(() => buildGeminiRequest(callOf({ api: "google-vertex" }, []))).toThrow("needs its address");
  });

  test("schemas lose what Gemini does not know and keep what it does", () => {
    const schema = {
      type: "object",
      additionalProperties: false,
      $defs: {
        Node: { type: "object", properties: { next: { $ref: "#/$defs/Node" }, v: { type: ["integer", "null"] } } },
      },
      properties: {
        node: { $ref: "#/$defs/Node" },
        kind: { const: "a" },
        size: { enum: [1, 2] },
        either: { anyOf: [{ type: "string" }, { type: "null" }] },
        list: { type: "array" },
      },
      required: ["node", "gone"],
    };
    const out = geminiSchema(schema);
    expect(out).toMatchObject({
      type: "OBJECT",
      properties: {
        node: { type: "OBJECT", properties: { next: { type: "OBJECT" }, v: { type: "INTEGER", nullable: true } } },
        kind: { type: "STRING", enum: ["a"] },
        size: { description: "One of: 1, 2" },
        either: { type: "STRING", nullable: true },
        list: { type: "ARRAY", items: { type: "STRING" } },
      },
      required: ["node"],
    });
    expect(JSON.stringify(out)).not.toMatch(/\$ref|\$defs|additionalProperties|const/);
  });
});

describe("Bedrock", () => {
  const api = "bedrock-converse-stream";
  const site = (env: Env = {}): { env: Env; nowMs: number } => ({ env, nowMs: Date.UTC(2026, 0, 2, 3, 4, 5, 678) });
  const build = (
    config: StreamConfig,
    env: Env = { AWS_REGION: "us-east-1" },
  ): ReturnType<typeof buildBedrockRequest> => buildBedrockRequest(config, site(env));
  const request = async (
    messages: readonly Message[],
    more: Partial<StreamConfig> = {},
    model: Partial<ModelConfig> = {},
  ): Promise<Fields> =>
    JSON.parse(
      (await build(callOf({ api, ...model }, messages, { apiKey: "AKIAX:secretsecret", ...more }))).body,
    ) as Fields;

  test("roles alternate, results of a batch share a message, empty ones say so, empty descriptions are left out", async () => {
    const tools = [{ name: "add", description: "", parameters: { type: "object" } }];
    const body = await request(
      [said("Hi"), answered(["", called("a"), called("b")]), resulted("a", []), resulted("b", ["x"], true), said("Go")],
      { tools },
    );
    expect(body["messages"]).toMatchObject([
      { role: "user", content: [{ text: "Hi" }] },
      { role: "assistant", content: [{ toolUse: { toolUseId: "a" } }, { toolUse: { toolUseId: "b" } }] },
      {
        role: "user",
        content: [
          { toolResult: { toolUseId: "a", content: [{ text: "(no output)" }], status: "success" } },
          { toolResult: { toolUseId: "b", content: [{ text: "x" }], status: "error" } },
          { text: "Go" },
        ],
      },
    ]);
    expect(JSON.stringify(body)).not.toContain("description");
  });

  test("tools stay declared when the history holds calls and none is given", async () => {
    const body = await request([said("Hi"), answered([called("a")]), resulted("a", ["1"])]);
    expect(body).toMatchObject({ toolConfig: { tools: [{ toolSpec: { name: "add" } }] } });
  });

  test("reasoning goes back signed, as Bedrock's own bytes, or unsigned only to a model that does not verify it", async () => {
    const history = [
      said("Hi"),
      answered(
        [
          { type: "thinking", thinking: "signed", signature: "c2ln" },
          { type: "thinking", thinking: "", redacted: "AQI=", redactedProtocol: api },
          { type: "thinking", thinking: "", redacted: "ZW5j", redactedProtocol: "anthropic-messages" },
          { type: "thinking", thinking: "plain" },
          "Hello",
        ],
        { api, model: "us.anthropic.claude-x" },
      ),
      said("Go"),
    ];
    const claude = JSON.stringify(await request(history, {}, { id: "us.anthropic.claude-x" }));
    expect(claude).toContain('{"reasoningText":{"text":"signed","signature":"c2ln"}}');
    expect(claude).toContain('{"redactedContent":"AQI="}');
    expect(claude).not.toMatch(/plain|ZW5j|"signature":""/);
    const other = history.map((message) =>
      message.role === "assistant" ? { ...message, model: "deepseek.r1" } : message,
    );
    expect(JSON.stringify(await request(other, {}, { id: "deepseek.r1" }))).toContain(
      '{"reasoningText":{"text":"plain"}}',
    );
  });

  test("cache points go to models that know them only", async () => {
    const history = [said("One"), answered(["Two"]), said("Three")];
    const points = async (id: string): Promise<number> =>
      JSON.stringify(await request(history, { systemPrompt: "S" }, { id })).match(/cachePoint/g)?.length ?? 0;
    expect(await points("anthropic.claude-x")).toBe(2);
    expect(await points("meta.llama")).toBe(0);
  });

  test("a signed request signs the bytes and the path that are sent", async () => {
    const wire = await build(
      callOf({ api, id: "us.anthropic.claude-4:0" }, [said("Hi")], { apiKey: "ASIAX:secretsecret:token" }),
    );
    expect(wire.url).toBe(
      "https://bedrock-runtime.us-east-1.amazonaws.com/model/us.anthropic.claude-4%3A0/converse-stream",
    );
    expect(wire.headers).toMatchObject({ "x-amz-date": "20260102T030405Z", "x-amz-security-token": "token" });
    expect(wire.headers["authorization"]).toMatch(
      /^AWS4-HMAC-SHA256 Credential=ASIAX\/20260102\/us-east-1\/bedrock\/aws4_request, SignedHeaders=content-type;host;x-amz-content-sha256;x-amz-date;x-amz-security-token, Signature=[0-9a-f]{64}$/,
    );
  });

  test("the region comes from the host before the environment", async () => {
    for (const [baseUrl, region] of [
      ["https://bedrock-runtime.eu-west-3.amazonaws.com", "eu-west-3"],
      ["https://bedrock-runtime-fips.us-gov-west-1.amazonaws.com", "us-gov-west-1"],
      ["https://vpce-1.bedrock-runtime.ap-south-1.vpce.amazonaws.com", "ap-south-1"],
      ["http://localhost:1", "us-east-1"],
    ] as const) {
      const wire = await build(callOf({ api, baseUrl }, [], { apiKey: "AKIAX:secretsecret" }));
      expect(wire.headers["authorization"]).toContain(`/${region}/bedrock/`);
    }
  });

  const RAW = { AWS_REGION: "us-east-1" };
  test.each<[string, string | undefined, Env, RegExp]>([
    ["nothing", undefined, RAW, /no credentials for Bedrock/],
    ["half a pair", undefined, { ...RAW, AWS_ACCESS_KEY_ID: "AKIAX" }, /AWS_SECRET_ACCESS_KEY is not/],
    ["the other half", undefined, { ...RAW, AWS_SECRET_ACCESS_KEY: "s" }, /AWS_ACCESS_KEY_ID is not/],
    ["a temporary key without a token", "ASIAX:secret", RAW, /session token/],
    ["an access key id alone", "AKIAIOSFODNN7EXAMPLE", RAW, /access key id/],
    ["a secret alone", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", RAW, /secret access key/],
    ["a key with a space", "bedrock api", RAW, /cannot be sent/],
    ["a key of other letters", "bedrock*key", RAW, /not a Bedrock API key/],
    ["no region", "AKIAX:secretsecret", {}, /AWS_REGION/],
  ])("%s is refused before anything is sent, without the value", async (_what, apiKey, env, message) => {
    const failed = build(callOf({ api }, [], apiKey === undefined ? {} : { apiKey }), env);
    await expect(failed).rejects.toThrow(message);
    await failed.catch((error: Error) => expect(error.message).not.toContain("EXAMPLE"));
  });

  test("an own authorization header is sent alone, an API key as a bearer token, and a signed header cannot be set", async () => {
    const own = await build(callOf({ api, headers: { Authorization: "Bearer own" } }, [], { apiKey: "AKIAX:s" }));
    expect(own.headers["authorization"]).toBe("Bearer own");
    const bearer = await build(callOf({ api }, []), { ...RAW, AWS_BEARER_TOKEN_BEDROCK: "ABSKtoken" });
    expect(bearer.headers["authorization"]).toBe("Bearer ABSKtoken");
    await expect(build(callOf({ api, headers: { Host: "x" } }, [], { apiKey: "AKIAX:secret" }))).rejects.toThrow(
      '"host" is part of the signature',
    );
  });
});
