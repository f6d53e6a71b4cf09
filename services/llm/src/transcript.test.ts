import fc from "fast-check";
import { expect, test } from "vitest";

import { buildAnthropicRequest } from "./anthropic-request.ts";
import { buildBedrockRequest } from "./bedrock-request.ts";
import { buildCompletionsRequest } from "./completions-request.ts";
import { buildGeminiRequest } from "./gemini-request.ts";
import type { ApiProtocol, Message } from "./message.ts";
import { buildResponsesRequest } from "./responses-request.ts";
import { answered, called, callOf, resulted, said } from "./testing/index.ts";
import { MISSING_RESULT, soundTranscript } from "./transcript.ts";

test("a sound history is left as it is", () => {
  const history = [
    said("Hi"),
    answered([called("a"), called("b")]),
    resulted("a", ["1"]),
    resulted("b", ["2"]),
    answered(["Done"]),
  ];
  const sound = soundTranscript(history);
  expect(sound).toEqual(history);
  expect(sound.every((message, index) => message === history[index])).toBe(true);
});

test("results are put behind their calls in the order of the calls, before what the user said meanwhile", () => {
  const [user, calls, one, two, late] = [
    said("Hi"),
    answered([called("a"), called("b")]),
    resulted("a", ["1"]),
    resulted("b", ["2"]),
    said("wait"),
  ];
  expect(soundTranscript([user, calls, two, late, one])).toEqual([user, calls, one, two, late]);
});

test("a call without a result gets one that says so; a result without a call is dropped", () => {
  const sound = soundTranscript([said("Hi"), answered([called("a")]), resulted("ghost", ["?"]), said("Go on")]);
  expect(sound.map((message) => message.role)).toEqual(["user", "assistant", "toolResult", "user"]);
  expect(sound[2]).toMatchObject({ toolCallId: "a", isError: true, content: [{ text: MISSING_RESULT }] });
});

test("an id that comes again is renamed together with its result", () => {
  const turn = [answered([called("a")]), resulted("a", ["1"])];
  const sound = soundTranscript([said("Hi"), ...turn, ...turn]);
  expect(sound[3]).toMatchObject({ content: [{ id: "a_2" }] });
  expect(sound[4]).toMatchObject({ toolCallId: "a_2", content: [{ text: "1" }] });
});

test("a history that does not open with words of the user's gets an opening that says so, and keeps it", () => {
  const opening = { role: "user", content: [{ type: "text", text: "(empty message)" }] };
  const image = { ...said(""), content: [{ type: "image", data: "AA==", mimeType: "image/png" } as const] };
  expect(soundTranscript([said(" "), answered(["Hi"])])).toMatchObject([
    opening,
    { role: "user" },
    { role: "assistant" },
  ]);
  expect(soundTranscript([answered(["Hi"]), said("x")])).toMatchObject([
    opening,
    { role: "assistant" },
    { role: "user" },
  ]);
  expect(soundTranscript([image, answered(["A picture"])])).toHaveLength(2);
  expect(soundTranscript([])).toEqual([]);
});

const anyMessage: fc.Arbitrary<Message> = fc.oneof(
  fc.constantFrom("hello", "", "go on").map((text) => said(text)),
  fc
    .array(fc.constantFrom("a", "b", "c", "d"), { maxLength: 3 })
    .map((ids) => answered(["text", ...ids.map((id) => called(id))])),
  fc.constantFrom("a", "b", "c", "d").map((id) => resulted(id, ["r"])),
  fc.constant(answered([])),
);

test("whatever happened to a history, every call is answered once, at once, and ids are unique", () => {
  fc.assert(
    fc.property(fc.array(anyMessage, { maxLength: 20 }), (history) => {
      const sound = soundTranscript(history);
      const seen = new Set<string>();
      for (let at = 0; at < sound.length; at += 1) {
        const message = sound[at]!;
        if (message.role !== "assistant") continue;
        for (const part of message.content) {
          if (part.type !== "toolCall") continue;
          expect(seen.has(part.id)).toBe(false);
          seen.add(part.id);
          at += 1;
          expect(sound[at]).toMatchObject({ role: "toolResult", toolCallId: part.id });
        }
        expect(sound[at + 1]?.role).not.toBe("toolResult");
      }
      expect(soundTranscript(sound)).toEqual(sound);
    }),
  );
});

const BUILD: Readonly<Record<string, (messages: readonly Message[]) => Promise<string>>> = {
  "anthropic-messages": async (messages) => buildAnthropicRequest(config("anthropic-messages", messages)).body,
  "openai-completions": async (messages) => buildCompletionsRequest(config("openai-completions", messages)).body,
  "openai-responses": async (messages) => buildResponsesRequest(config("openai-responses", messages)).body,
  "google-generative-ai": async (messages) => buildGeminiRequest(config("google-generative-ai", messages)).body,
  "bedrock-converse-stream": async (messages) =>
    (
      await buildBedrockRequest(
        { ...config("bedrock-converse-stream", messages), apiKey: "AKIAX:secretsecret" },
        { env: { AWS_REGION: "us-east-1" }, nowMs: 1e12 },
      )
    ).body,
};

function config(api: ApiProtocol, messages: readonly Message[]): ReturnType<typeof callOf> {
  return callOf({ api }, messages, { systemPrompt: "S", cache: { enabled: false, strategy: "auto" } });
}

test.each(Object.keys(BUILD))("over 200 turns the bytes of a request to %s only grow at their end", async (api) => {
  const build = BUILD[api]!;
  const history: Message[] = [said("Hi")];
  let before = "";
  for (let turn = 0; turn < 200; turn += 1) {
    const body = await build(history);
    // What all requests share ends where the list of messages does.
    const messages =
      /"(?:messages|contents|input)":(\[.*?\])(?:,"(?:stream|system|inferenceConfig|instructions|toolConfig|systemInstruction)"|\}$)/s.exec(
        body,
      )?.[1] ?? "";
    expect(messages.length).toBeGreaterThan(2);
    expect(messages.startsWith(before)).toBe(true);
    before = messages.slice(0, -1);
    const id = `call_${turn}`;
    history.push(answered([`turn ${turn}`, called(id, { turn })]), resulted(id, [`result ${turn}`]));
  }
});
