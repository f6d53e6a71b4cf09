import { MeshError } from "@mesh/kernel";
import { describe, expect, test } from "vitest";

import { readChatRequest } from "./chat-request.ts";

const hi = [{ role: "user", content: "hi" }];

function findings(body: unknown): unknown {
  try {
    readChatRequest(body);
  } catch (thrown) {
    const { errors } = MeshError.from(thrown).details as { readonly errors: readonly { readonly field: string }[] };
    return errors.map(({ field }) => field);
  }
  return undefined;
}

describe("a request", () => {
  test("Q1 passes on what every model understands, and names what changes nothing", () => {
    const request = readChatRequest({
      model: "writer",
      messages: hi,
      stream: true,
      stream_options: { include_usage: true },
      temperature: 0.5,
      top_p: null,
      max_completion_tokens: 10,
      max_tokens: 99,
      stop: ["a"],
      seed: 7,
      user: "u1",
      metadata: { k: "v" },
      response_format: { type: "json_object" },
      logit_bias: { 1: 1 },
      store: null,
      service_tier: "auto",
    });
    expect(request).toMatchObject({
      isStream: true,
      includesUsage: true,
      input: "hi",
      options: { temperature: 0.5, max_tokens: 10, stop: ["a"], seed: 7, response_format: { type: "json_object" } },
      metadata: { k: "v", user: "u1" },
      ignored: ["logit_bias", "service_tier"],
    });
    expect(Object.keys(request.options)).not.toContain("top_p");
  });

  test("keeps the conversation, without what only describes answers", () => {
    const call = { id: "c1", type: "function", function: { name: "f", arguments: "{}" } };
    const { messagesJson, input } = readChatRequest({
      model: "m",
      messages: [
        { role: "developer", content: "Be short." },
        {
          role: "user",
          name: "ann",
          content: [
            { type: "text", text: "look" },
            { type: "image_url", image_url: { url: "data:" } },
          ],
        },
        { role: "assistant", content: null, tool_calls: [call], refusal: null, annotations: [] },
        { role: "tool", tool_call_id: "c1", content: "done" },
        { role: "assistant", content: [{ type: "refusal", refusal: "no" }], tool_calls: [] },
      ],
    });
    expect(JSON.parse(messagesJson)).toEqual([
      { role: "developer", content: "Be short." },
      {
        role: "user",
        name: "ann",
        content: [
          { type: "text", text: "look" },
          { type: "image_url", image_url: { url: "data:" } },
        ],
      },
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", content: "done", tool_call_id: "c1" },
      { role: "assistant", content: [{ type: "text", text: "no" }] },
    ]);
    expect(input).toBe("look");
  });

  test("without tools to choose from has no functions; another choice than auto is named", () => {
    const tools = [{ type: "function", function: { name: "f", parameters: { type: "object" } } }];
    const request = (more: object) => readChatRequest({ model: "m", messages: hi, tools, ...more });
    expect([...request({}).functions]).toEqual(["f"]);
    expect(request({ tool_choice: "none" }).options["functions"]).toBeUndefined();
    expect(request({ tool_choice: "required" })).toMatchObject({ options: { tool_choice: "required" }, ignored: [] });
    expect(request({ tool_choice: { type: "allowed_tools" } }).ignored).toEqual(["tool_choice"]);
    expect(request({ tool_choice: "auto" }).ignored).toEqual([]);
  });
});

test.each([
  [{ messages: hi }, ["model"]],
  [{ model: "m" }, ["messages"]],
  [{ model: "m", messages: [] }, ["messages"]],
  [{ model: "m", messages: hi, n: 2 }, ["n"]],
  [{ model: "m", messages: hi, temperature: 3 }, ["temperature"]],
  [{ model: "m", messages: hi, max_tokens: 0, top_p: "x" }, ["top_p", "max_tokens"]],
  [{ model: "m", messages: [{ role: "user" }] }, ["messages.0.content"]],
  [{ model: "m", messages: [{ role: "robot", content: "x" }] }, ["messages.0.role"]],
  [{ model: "m", messages: [{ role: "tool", content: "x" }] }, ["messages.0.tool_call_id"]],
  [{ model: "m", messages: [{ role: "user", content: "a\u0000b" }] }, ["messages"]],
  [{ model: "m", messages: hi, tools: [{ type: "web_search" }] }, ["tools.0.type", "tools.0.function"]],
  [{ model: "m", messages: hi, tools: [{ type: "function", function: { name: "a b" } }] }, ["tools.0.function.name"]],
  [{ model: "m", messages: hi, stream: "yes" }, ["stream"]],
  [[], [""]],
  ["text", [""]],
])("Q2 %j is refused, naming what is wrong", (body, fields) => {
  expect(findings(body)).toEqual(fields);
});

test("Q2 what a run cannot carry, or is nested too deep, is refused before anything is made of it", () => {
  const large = [{ role: "user", content: "x".repeat(800 * 1024) }];
  expect(findings({ model: "m", messages: large })).toEqual(["messages"]);
  const deep: unknown = JSON.parse(`${'{"type":"text","text":"x","a":'.repeat(50)}1${"}".repeat(50)}`);
  expect(findings({ model: "m", messages: [{ role: "user", content: [deep] }] })).toEqual(["messages"]);
});
