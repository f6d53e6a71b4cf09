import { FakeClock } from "@mesh/kernel/testing";
import { describe, expect, test } from "vitest";

import type { ChatEvent, ChatRequest } from "./chat.ts";
import { createDemoChat } from "./demo-chat.ts";

function start(
  content: string,
  more: Partial<ChatRequest> = {},
): { clock: FakeClock; events: ChatEvent[]; abort: AbortController; done: Promise<void> } {
  const clock = new FakeClock();
  const abort = new AbortController();
  const events: ChatEvent[] = [];
  const request: ChatRequest = { messages: [{ role: "user", content }], ...more };
  const stream = createDemoChat({ clock })(request, abort.signal);
  const done = (async () => {
    for await (const event of stream) events.push(event);
  })();
  done.catch(() => undefined);
  return { clock, events, abort, done };
}

async function answer(content: string, more: Partial<ChatRequest> = {}): Promise<ChatEvent[]> {
  const run = start(content, more);
  await run.done;
  return run.events;
}

function text(events: readonly ChatEvent[]): string {
  return events.map((event) => (event.kind === "text" ? event.text : "")).join("");
}

describe("the demo model", () => {
  test("repeats what was said, word by word, and counts words", async () => {
    expect(await answer("hello  there")).toEqual([
      { kind: "text", text: "You" },
      { kind: "text", text: " said:" },
      { kind: "text", text: " hello" },
      { kind: "text", text: "  there" },
      { kind: "finish", reason: "stop", usage: { prompt_tokens: 2, completion_tokens: 4, total_tokens: 6 } },
    ]);
  });

  test("answers the newest user message, also with system prompts before it", async () => {
    const messages = [
      { role: "system", content: "be kind" },
      { role: "user", content: "one" },
      { role: "assistant", content: "two" },
      { role: "user", content: "/echo three" },
    ] as const;
    expect(text(await answer("", { messages }))).toBe("three");
  });

  test.each([
    ["/noop", "ok"],
    ["/echo a b", "a b"],
    ["/count 5", "1 2 3 4 5"],
    ["/unknown x", "You said: /unknown x"],
    ["/tool add {}", 'There is no tool "add"; no tools were offered.'],
  ])("answers %s with %j", async (input, output) => {
    expect(text(await answer(input))).toBe(output);
  });

  test("counts at the pace it is told to", async () => {
    const run = start("/count 3 every 20ms");
    await run.clock.advance(0);
    expect(text(run.events)).toBe("1");
    await run.clock.advance(20);
    expect(text(run.events)).toBe("1 2");
    await run.clock.advance(20);
    await run.done;
    expect(text(run.events)).toBe("1 2 3");
  });

  test("is slow for as long as it is told to, a dot every 100 ms", async () => {
    const run = start("/slow 350ms bye now");
    await run.clock.advance(0);
    await run.clock.advance(349);
    expect(text(run.events)).toBe("....");
    await run.clock.advance(1);
    await run.done;
    expect(text(run.events)).toBe(".... bye now");
  });

  test("stops at once when aborted", async () => {
    const run = start("/slow 1h");
    await run.clock.advance(0);
    await run.clock.advance(250);
    run.abort.abort();
    await expect(run.done).rejects.toMatchObject({ code: "cancelled" });
    expect(text(run.events)).toBe("...");
  });

  test("lets an abort in during a long stream without waits", async () => {
    const run = start("/count 1000000");
    await run.clock.advance(0);
    expect(run.events.length).toBeGreaterThan(200);
    run.abort.abort();
    await expect(run.done).rejects.toMatchObject({ code: "cancelled" });
    expect(run.events.length).toBeLessThan(1000);
  });

  test("thinks before it speaks", async () => {
    const events = await answer("/think about it");
    expect(events.map((event) => event.kind).slice(0, 3)).toEqual(["thinking", "thinking", "text"]);
    expect(text(events)).toBe("I thought about: about it");
  });

  test("streams as many bytes as asked for", async () => {
    const events = await answer("/bytes 5000");
    expect(text(events)).toHaveLength(5000);
    expect(events.length).toBeGreaterThan(4);
  });

  test("calls a tool that is offered, and ends after the tool has answered", async () => {
    const tools = [{ name: "add", description: "", parameters: {} }];
    const events = await answer('/tool add {"a": 1}', { tools });
    const calls = events.filter((event) => event.kind === "tool_call");
    expect(calls[0]).toMatchObject({ index: 0, id: "call_1", name: "add" });
    expect(calls.map((call) => call.arguments).join("")).toBe('{"a": 1}');
    expect(events.at(-1)).toMatchObject({ kind: "finish", reason: "tool_calls" });
    const messages = [
      { role: "user", content: "/tool add {}" },
      { role: "tool", content: "3" },
    ] as const;
    expect(text(await answer("", { messages, tools }))).toBe("The tool answered: 3");
  });

  test.each([
    ["/fail", "unavailable", "the demo model failed because it was asked to"],
    ["/fail not_found no such thing", "not_found", "no such thing"],
    ["/fail badly", "unavailable", "badly"],
    ["/count x", "invalid_argument", "demo model: write /count N [every 20ms], with N from 1 to 1000000"],
    ["/count 99999999", "invalid_argument", "demo model: write /count N [every 20ms], with N from 1 to 1000000"],
    ["/slow", "invalid_argument", "demo model: write /slow 5s [TEXT], with a time of at most 1h"],
    ["/bytes 0", "invalid_argument", "demo model: write /bytes N, with N from 1 to 16777216"],
    ["/tool add {", "invalid_argument", 'demo model: write /tool NAME {"json": "arguments"}'],
  ])("fails on %j with %s", async (input, code, message) => {
    await expect(answer(input)).rejects.toMatchObject({ code, message });
  });
});
