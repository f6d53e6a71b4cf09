import { MeshError } from "@mesh/kernel";
import { describe, expect, test } from "vitest";

import type { Connector } from "./chat.ts";
import { buildOpenAiRequest } from "./openai-request.ts";

const connector: Connector = { id: "openai.mini", type: "openai", model: "gpt-mini", key: "sk-secret", options: {} };
const request = { messages: [{ role: "user", content: "hi" }], options: {} } as const;

function build(patch: Partial<Connector> = {}, options = {}): { url: string; headers: object; body: unknown } {
  const built = buildOpenAiRequest({ ...connector, ...patch }, { ...request, options });
  return { url: built.url, headers: built.headers, body: JSON.parse(built.body) };
}

function refusal(patch: Partial<Connector>): MeshError {
  try {
    build(patch);
  } catch (error) {
    return MeshError.from(error);
  }
  throw new Error("was not refused");
}

describe("the address", () => {
  test.each([
    [undefined, "https://api.openai.com/v1/chat/completions"],
    ["https://api.openai.com", "https://api.openai.com/v1/chat/completions"],
    ["https://api.openai.com/", "https://api.openai.com/v1/chat/completions"],
    ["https://api.openai.com/v1", "https://api.openai.com/v1/chat/completions"],
    ["https://api.openai.com/v1/", "https://api.openai.com/v1/chat/completions"],
    ["https://openrouter.ai/api", "https://openrouter.ai/api/v1/chat/completions"],
    ["https://ark.cn-beijing.volces.com/api/v3", "https://ark.cn-beijing.volces.com/api/v3/chat/completions"],
    ["https://g.example/v1beta/openai/", "https://g.example/v1beta/openai/chat/completions"],
    ["http://127.0.0.1:1/v1/chat/completions", "http://127.0.0.1:1/v1/chat/completions"],
    ["https://a.example/openai/v1?api-version=2", "https://a.example/openai/v1/chat/completions?api-version=2"],
  ])("of host %s is %s", (host, url) => {
    expect(build(host === undefined ? {} : { host }).url).toBe(url);
  });

  test.each(["ftp://x", "localhost:8080", "not a url", "https://user:sk-secret@x.example"])(
    "refuses %s and says what a host looks like, without showing it",
    (host) => {
      const error = refusal({ host });
      expect(error.code).toBe("invalid_argument");
      expect(error.message).toContain("connector openai.mini: its host must");
      expect(error.message).not.toContain("sk-secret");
    },
  );
});

describe("the headers", () => {
  test("carry the key as a bearer token by default", () => {
    expect(build().headers).toEqual({
      "content-type": "application/json",
      accept: "text/event-stream, application/json",
      authorization: "Bearer sk-secret",
    });
  });

  test("carry the key as the connector's auth mode says", () => {
    expect(build({ options: { auth_mode: "api-key" } }).headers).toMatchObject({ "api-key": "sk-secret" });
    expect(build({ options: { auth_mode: "api-key" } }).headers).not.toHaveProperty("authorization");
  });

  test("leave out a key that is not set, and take the connector's own headers last", () => {
    const { key: _key, ...keyless } = connector;
    expect(buildOpenAiRequest(keyless, request).headers).not.toHaveProperty("authorization");
    expect(build({ options: { headers: { Authorization: "Basic x", "X-Title": "mesh" } } }).headers).toMatchObject({
      authorization: "Basic x",
      "x-title": "mesh",
    });
  });

  test("refuse a key with a line break inside without printing it", () => {
    const error = refusal({ key: "sk-a\nb" });
    expect(error.message).toBe(
      "connector openai.mini: its key holds a character that cannot be sent (a line break or a space?)",
    );
  });
});

describe("the body", () => {
  test("is exactly this for a plain call", () => {
    expect(buildOpenAiRequest(connector, request).body).toBe(
      '{"model":"gpt-mini","messages":[{"role":"user","content":"hi"}],"stream":true,"stream_options":{"include_usage":true}}',
    );
  });

  test("takes generation options only, the call's before the connector's", () => {
    const body = build(
      { options: { max_tokens: 10, temperature: 0.1, capabilities: { vision: true }, protocols: ["openai"] } },
      { temperature: 0.9, stop: ["END"], connector: "x", history_size: 3, uses: {} },
    ).body;
    expect(body).toMatchObject({ max_tokens: 10, temperature: 0.9, stop: ["END"] });
    expect(Object.keys(body as object).toSorted()).toEqual(
      ["max_tokens", "messages", "model", "stop", "stream", "stream_options", "temperature"].toSorted(),
    );
  });

  test("merges extra_body, where null removes a field and messages cannot be replaced", () => {
    const { body } = build({ options: { extra_body: { stream_options: null, enable_search: true, messages: [] } } });
    expect(body).toMatchObject({ enable_search: true, messages: [{ role: "user", content: "hi" }] });
    expect(body).not.toHaveProperty("stream_options");
  });

  test("asks for a whole answer when the connector says it cannot stream", () => {
    const { body } = build({ options: { capabilities: { streaming: false } } });
    expect(body).toMatchObject({ stream: false });
    expect(body).not.toHaveProperty("stream_options");
  });

  test("leaves the temperature out for a model that has none to adjust", () => {
    const capabilities = { reasoning: true, temperature_adjustable: false };
    expect(build({ options: { capabilities } }, { temperature: 0 }).body).not.toHaveProperty("temperature");
    expect(build({ options: { capabilities: { reasoning: true } } }, { temperature: 0 }).body).toHaveProperty(
      "temperature",
    );
  });

  test("offers tools as functions and skips assistant turns that said nothing", () => {
    const built = buildOpenAiRequest(connector, {
      messages: [
        { role: "assistant", content: "" },
        { role: "user", content: "hi", name: "ann" },
      ],
      options: {},
      tools: [{ name: "add", description: "", parameters: { type: "object" } }],
    });
    expect(JSON.parse(built.body)).toMatchObject({
      messages: [{ role: "user", content: "hi", name: "ann" }],
      tools: [{ type: "function", function: { name: "add", parameters: { type: "object" } } }],
    });
  });
});
