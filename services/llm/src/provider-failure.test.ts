import { FakeClock } from "@mesh/kernel/testing";
import { describe, expect, test } from "vitest";

import type { ErrorClass } from "./provider-error.ts";
import { classOf, faultOf, OVERFLOW_PHRASES, say, statusError } from "./provider-failure.ts";
import { callOf } from "./testing/index.ts";

const config = callOf({ api: "openai-completions", provider: "acme", headers: { "x-own": "header-secret" } }, [], {
  apiKey: "AKIAKEY12345:secret-secret",
});

describe("an overflow", () => {
  test.each([
    ["Anthropic", "prompt is too long: 220000 tokens > 200000 maximum"],
    ["Bedrock", "Input is too long for requested model."],
    ["OpenAI", "Your input exceeds the context window of this model."],
    ["Gemini", "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."],
    ["xAI", "This model's maximum prompt length is 131072 but the request contains 537812 tokens."],
    ["Groq", "Please reduce the length of the messages or completion."],
    ["OpenAI chat", "This model's maximum context length is 8192 tokens."],
    ["Fireworks", "prompt length 9000 exceeds the limit of 8192"],
    ["llama.cpp", "the request exceeds the available context size, try increasing it"],
    ["LM Studio", "tokens to keep is greater than the context length"],
    ["MiniMax", "invalid params, context window exceeds limit"],
    ["Kimi", "Your request exceeded model token limit: 131072"],
    ["vLLM", "context length exceeded"],
  ])("is known in the words of %s", (_vendor, text) => {
    expect(classOf(["invalid_request_error"], text)).toBe("overflow");
    expect(
      statusError(new Response("", { status: 400 }), JSON.stringify({ error: { message: text } }), {
        config,
        clock: new FakeClock(),
      }).errorClass,
    ).toBe("overflow");
  });

  test("is known by every phrase, in any case", () => {
    for (const phrase of OVERFLOW_PHRASES) expect(classOf([], `Error: ${phrase.toUpperCase()}!`)).toBe("overflow");
  });

  test.each([
    "too many tokens per minute",
    "Rate limit: token limit exceeded for requests per day",
    "Throttled: too many tokens, please wait",
  ])("is not a rate limit that sounds like one: %s", (text) => expect(classOf([], text)).toBe("rateLimit"));
});

test.each<[unknown, ErrorClass]>([
  [{ type: "overloaded_error", message: "Overloaded" }, "rateLimit"],
  [{ code: "too_many_requests", message: "x" }, "rateLimit"],
  [{ code: "no_capacity", message: "x" }, "rateLimit"],
  [{ code: 503, status: "UNAVAILABLE", message: "x" }, "rateLimit"],
  [{ code: 529, message: "x" }, "rateLimit"],
  [{ code: 429, status: "RESOURCE_EXHAUSTED", message: "x" }, "rateLimit"],
  [{ code: 429, status: "RESOURCE_EXHAUSTED", message: "You exceeded your current quota" }, "quota"],
  [{ code: "insufficient_quota", message: "x" }, "quota"],
  [{ message: "Your credit balance is too low to access the API" }, "quota"],
  [{ type: "authentication_error", message: "invalid x-api-key" }, "auth"],
  [{ type: "permission_error", message: "x" }, "auth"],
  [{ code: "invalid_api_key", type: "invalid_request_error", message: "x" }, "auth"],
  [{ code: "model_not_found", type: "invalid_request_error", message: "x" }, "notFound"],
  [{ type: "invalid_request_error", message: "x" }, "invalidRequest"],
  [{ type: "api_error", message: "x" }, "server"],
  [{ code: 502, message: "x" }, "server"],
  ["plain words", "server"],
])("the error %j is of class %s", (error, errorClass) => {
  expect(faultOf(error)?.errorClass).toBe(errorClass);
});

test.each([undefined, null, "", {}, [], 7])("%j is no error", (value) => {
  expect(faultOf(value)).toBeUndefined();
});

test("messages name the provider, are one short line and hold no secret", () => {
  const text = say(
    config,
    `bad\n key  AKIAKEY12345:secret-secret or secret-secret or header-secret ${"x".repeat(1000)}`,
  );
  expect(text).toMatch(/^acme: bad key \*\*\* or \*\*\* or \*\*\* x+…$/);
  expect(text.length).toBe(500);
});
