import { systemClock } from "@mesh/kernel";
import { FakeClock } from "@mesh/kernel/testing";
import { expect, test } from "vitest";

import type { ChatEvent, ChatRequest, Connector } from "./chat.ts";
import { createChatRegistry } from "./chat-registry.ts";

const CONNECTOR: Connector = {
  id: "c",
  type: "anthropic",
  model: "m",
  key: "k-12345678",
  options: { temperature: 0.1, extra_body: { a: 1 } },
};
const REQUEST: ChatRequest = {
  messages: [
    { role: "system", content: "One." },
    { role: "system", content: "Two." },
    { role: "user", content: "Hi" },
    { role: "assistant", content: "Hello" },
    { role: "user", content: "Go on" },
  ],
  options: { temperature: 0.9, extra_body: { b: 2 }, max_tokens: 7 },
};

const event = (value: Record<string, unknown>): string => `data: ${JSON.stringify(value)}\n\n`;
const ANSWER =
  event({ type: "message_start", message: { usage: { input_tokens: 3, output_tokens: 1 } } }) +
  event({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }) +
  event({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hel" } }) +
  event({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "lo" } }) +
  event({ type: "content_block_stop", index: 0 }) +
  event({ type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 2 } }) +
  event({ type: "message_stop" });

async function collect(events: AsyncIterable<ChatEvent>): Promise<ChatEvent[]> {
  const all: ChatEvent[] = [];
  for await (const each of events) all.push(each);
  return all;
}

test("a connector of another protocol is served through the same port", async () => {
  const sent: { url: string; body: string }[] = [];
  const registry = createChatRegistry({
    clock: systemClock,
    fetch: async (url, init) => {
      sent.push({ url: url as string, body: init?.body as string });
      return new Response(ANSWER);
    },
  });
  expect(await collect(registry("anthropic")(CONNECTOR, REQUEST, new AbortController().signal))).toEqual([
    { kind: "text", text: "Hel" },
    { kind: "text", text: "lo" },
    { kind: "finish", reason: "stop", usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 } },
  ]);
  expect(JSON.parse(sent[0]!.body)).toMatchObject({
    temperature: 0.9,
    max_tokens: 7,
    a: 1,
    b: 2,
    system: [{ text: "One.\n\nTwo." }],
    messages: [{ role: "user" }, { role: "assistant" }, { role: "user" }],
  });
});

test("a failure is repeated while nothing was said, and never afterwards", async () => {
  for (const [first, requests] of [
    ["", 2],
    [ANSWER.slice(0, 300), 1],
  ] as const) {
    let count = 0;
    const clock = new FakeClock();
    const registry = createChatRegistry({
      clock,
      fetch: async () => new Response((count += 1) === 1 ? first : ANSWER),
    });
    const all = collect(registry("anthropic")(CONNECTOR, REQUEST, new AbortController().signal)).catch(
      (error: Error) => error,
    );
    for (let turn = 0; turn < 20; turn += 1) await clock.advance(200);
    expect(await all).toEqual(requests === 2 ? expect.any(Array) : expect.any(Error));
    expect(count).toBe(requests);
  }
});

test("a reader that stops reading closes the connection", async () => {
  let signal: AbortSignal | undefined;
  const registry = createChatRegistry({
    clock: systemClock,
    fetch: async (_url, init) => {
      signal = init?.signal ?? undefined;
      return new Response(
        new ReadableStream({
          start: (controller) => controller.enqueue(new TextEncoder().encode(ANSWER.slice(0, 350))),
        }),
      );
    },
  });
  for await (const _event of registry("anthropic")(CONNECTOR, REQUEST, new AbortController().signal)) break;
  expect(signal?.aborted).toBe(true);
});

test("an unknown type names what there is", () => {
  expect(() => createChatRegistry({ clock: systemClock })("sparkle")).toThrow(
    /sparkle is not supported; use openai, anthropic/,
  );
});
