/** The check of what each protocol makes of a history: it must see what servers refuse. */

import fc from "fast-check";
import { expect, test } from "vitest";

import type { ApiProtocol } from "./message.ts";
import { answered, called, resulted, said, wireFaults, wireFormFaults } from "./testing/index.ts";

test("whatever happened to a history, every protocol makes a request of it that its servers accept", () => {
  const id = fc.constantFrom("a", "b", "call|with:odd/shape", "local_1", "x".repeat(80));
  const message = fc.oneof(
    fc.constantFrom("hello", "", " ", "go on").map((text) => said(text)),
    fc.array(id, { maxLength: 3 }).map((ids) => answered(["text", ...ids.map((each) => called(each))])),
    fc.array(id, { maxLength: 2 }).map((ids) => answered(ids.map((each) => called(each)))),
    id.map((each) => resulted(each, [])),
    id.map((each) => resulted(each, ["r"])),
    fc.constant(answered([])),
    fc.constant(answered([" "])),
  );
  fc.assert(
    fc.property(fc.array(message, { maxLength: 15 }), (history) => {
      expect(wireFaults([said("Hi"), ...history])).toEqual([]);
    }),
  );
});

const user = { role: "user", content: [{ type: "text", text: "Hi" }] };
const use = (id: string): object => ({ type: "tool_use", id, name: "t", input: {} });
const answer = (id: string): object => ({ type: "tool_result", tool_use_id: id, content: "ok" });
const call = (id: string): object => ({ id, type: "function", function: { name: "t", arguments: "{}" } });

test.each<[ApiProtocol, string, object]>([
  ["anthropic-messages", "W1", { messages: [{ role: "assistant", content: [{ type: "text", text: "x" }] }, user] }],
  ["anthropic-messages", "W1", { messages: [user, { role: "assistant", content: [{ type: "text", text: "x" }] }] }],
  ["anthropic-messages", "W2", { messages: [user, { role: "assistant", content: [use("a")] }, user] }],
  ["anthropic-messages", "W2", { messages: [user, { role: "user", content: [answer("a")] }] }],
  [
    "anthropic-messages",
    "W2",
    {
      messages: [user, { role: "assistant", content: [use("a"), use("b")] }, { role: "user", content: [answer("a")] }],
    },
  ],
  [
    "anthropic-messages",
    "W3",
    {
      messages: [
        user,
        { role: "assistant", content: [use("a"), use("a")] },
        { role: "user", content: [answer("a"), answer("a")] },
      ],
    },
  ],
  [
    "anthropic-messages",
    "W3",
    { messages: [user, { role: "assistant", content: [use("a:b")] }, { role: "user", content: [answer("a:b")] }] },
  ],
  ["anthropic-messages", "blank", { messages: [{ role: "user", content: [{ type: "text", text: " " }] }] }],
  ["anthropic-messages", "role", { messages: [user, { role: "tool", content: [{ type: "text", text: "x" }] }, user] }],
  ["openai-completions", "W2", { messages: [user, { role: "assistant", tool_calls: [call("a")] }, user] }],
  ["openai-completions", "W2", { messages: [user, { role: "tool", tool_call_id: "a", content: "x" }] }],
  ["openai-completions", "empty", { messages: [user, { role: "assistant", content: null }, user] }],
  [
    "openai-responses",
    "W2",
    {
      input: [
        { role: "user", content: "Hi" },
        { type: "function_call", call_id: "a" },
      ],
    },
  ],
  [
    "openai-responses",
    "W2",
    {
      input: [
        { role: "user", content: "Hi" },
        { type: "function_call_output", call_id: "a", output: "x" },
      ],
    },
  ],
  [
    "google-generative-ai",
    "W2",
    {
      contents: [
        { role: "user", parts: [{ text: "Hi" }] },
        { role: "model", parts: [{ functionCall: { name: "t" } }] },
      ],
    },
  ],
  [
    "google-generative-ai",
    "role",
    {
      contents: [
        { role: "user", parts: [{ text: "Hi" }] },
        { role: "assistant", parts: [{ text: "x" }] },
      ],
    },
  ],
  [
    "bedrock-converse-stream",
    "W5",
    {
      messages: [
        { role: "user", content: [{ text: "a" }] },
        { role: "user", content: [{ text: "b" }] },
      ],
    },
  ],
  [
    "bedrock-converse-stream",
    "W5",
    {
      messages: [
        { role: "user", content: [{ text: "a" }] },
        { role: "assistant", content: [{ toolUse: { toolUseId: "a", name: "t", input: {} } }] },
        { role: "user", content: [{ toolResult: { toolUseId: "a", content: [{ text: "x" }] } }] },
      ],
    },
  ],
])("a body of %s that breaks %s is told", (protocol, rule, body) => {
  expect(wireFormFaults(protocol, body as Record<string, unknown>).join("; ")).toContain(rule);
});
