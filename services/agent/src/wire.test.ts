/** The loop over the real protocols: faked at the wire, nothing between a server's bytes and the history. */

import { systemClock } from "@mesh/kernel";
import { createProviders, type ModelConfig } from "@mesh/llm";
import { afterEach, describe, expect, test } from "vitest";

import { Agent, type AgentOptions } from "./agent.ts";
import type { AgentEvent } from "./event.ts";
import { messageText } from "./message.ts";
import { historyFaults, scriptedTool } from "./testing/index.ts";

type Answer = { readonly status?: number; readonly body: string; readonly type?: string };

const agents: Agent[] = [];
afterEach(() => {
  for (const agent of agents.splice(0)) expect(historyFaults(agent.messages)).toEqual([]);
});

interface Wired {
  readonly agent: Agent;
  readonly bodies: Record<string, unknown>[];
}

function wired(change: Partial<ModelConfig>, options: Partial<AgentOptions>, ...answers: readonly Answer[]): Wired {
  const bodies: Record<string, unknown>[] = [];
  const left = [...answers];
  const fetch = ((_url: unknown, init: { body: string }) => {
    bodies.push(JSON.parse(init.body) as Record<string, unknown>);
    const { status = 200, body, type = "text/event-stream" } = left.shift() ?? { status: 500, body: "no more answers" };
    return Promise.resolve(new Response(body, { status, headers: { "content-type": type } }));
  }) as unknown as typeof globalThis.fetch;
  const registry = createProviders({ clock: systemClock, fetch, env: {} });
  const model: ModelConfig = {
    id: "m",
    name: "m",
    api: "openai-completions",
    provider: "local",
    baseUrl: "http://model.test/v1",
    reasoning: false,
    contextWindow: 100_000,
    maxTokens: 1000,
    cost: null,
    ...change,
  };
  const retry = { maxRetries: 1, firstDelayMs: 0, maxDelayMs: 0 };
  const agent = Agent.fromModel(model, { registry, clock: systemClock, retry, ...options });
  agents.push(agent);
  return { agent, bodies };
}

const sse = (...events: readonly unknown[]): string =>
  events.map((event) => `data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`).join("");
const chunk = (delta: object, finish: string | null = null): object => ({
  id: "chatcmpl-1",
  choices: [{ index: 0, delta, finish_reason: finish }],
});
const callChunk = (id: string, name: string, args: string, index = 0): object =>
  chunk({ tool_calls: [{ index, id, type: "function", function: { name, arguments: args } }] });
const said = (text: string): Answer => ({ body: sse(chunk({ content: text }), chunk({}, "stop"), "[DONE]") });

function counter(): { ran: unknown[]; tool: ReturnType<typeof scriptedTool> } {
  const ran: unknown[] = [];
  const tool = scriptedTool("add", (args) => {
    ran.push(args);
    return "3";
  });
  return { ran, tool };
}

describe("chat completions", () => {
  test("a call is run and its result is in the next request, paired by id", async () => {
    const { ran, tool } = counter();
    const body = sse(callChunk("a", "add", '{"x":'), callChunk("", "", "1}"), chunk({}, "tool_calls"), "[DONE]");
    const { agent, bodies } = wired({}, { tools: [tool] }, { body }, said("three"));
    await agent.prompt("1+2").result;
    expect(ran).toEqual([{ x: 1 }]);
    expect(messageText(agent.messages.at(-1)!)).toBe("three");
    const sent = bodies[1]!["messages"] as { tool_calls?: { id: string }[]; tool_call_id?: string }[];
    const [call, result] = sent.slice(-2);
    expect(result?.tool_call_id).toBe(call?.tool_calls?.[0]?.id);
  });

  test("a stream that is cut after a whole call runs nothing and is asked for again", async () => {
    const { ran, tool } = counter();
    const { agent, bodies } = wired({}, { tools: [tool] }, { body: sse(callChunk("a", "add", "{}")) }, said("fine"));
    const events: AgentEvent[] = [];
    await agent.promptInto("x", (event) => void events.push(event));
    expect(ran).toEqual([]);
    expect(bodies).toHaveLength(2);
    expect(events.map((event) => event.type)).toContain("providerRetry");
    expect(agent.messages).toHaveLength(2);
  });

  test("arguments cut by the output limit are answered, not run and not repaired", async () => {
    const { ran, tool } = counter();
    const body = sse(callChunk("a", "add", '{"x":1,'), chunk({}, "length"), "[DONE]");
    const { agent } = wired({}, { tools: [tool] }, { body }, said("ok"));
    await agent.prompt("x").result;
    expect(ran).toEqual([]);
    expect(agent.messages.map((message) => message.role)).toEqual(["user", "assistant", "toolResult", "assistant"]);
  });

  test("two calls of one id are two calls with a result each", async () => {
    const { ran, tool } = counter();
    const body = sse(
      callChunk("a", "add", '{"x":1}'),
      callChunk("a", "add", '{"x":2}', 1),
      chunk({}, "tool_calls"),
      "[DONE]",
    );
    const { agent } = wired({}, { tools: [tool] }, { body }, said("ok"));
    await agent.prompt("x").result;
    expect(ran).toHaveLength(2);
  });

  test("a page of HTML with status 200 is an error, and no turn is spent on it", async () => {
    const html = { body: "<html>login</html>", type: "text/html" };
    const { agent, bodies } = wired({}, {}, html, html, html);
    const { end } = await agent.prompt("x").result;
    expect(end.kind).toBe("failed");
    expect(bodies.length).toBeLessThanOrEqual(2);
    expect(agent.messages.at(-1)).toMatchObject({ stopReason: "error" });
  });

  test("an overflow is cured by one compaction and one more request", async () => {
    const tool = scriptedTool("add", () => "words\n".repeat(190));
    const tooLong = {
      status: 400,
      type: "application/json",
      body: JSON.stringify({ error: { code: "context_length_exceeded", message: "maximum context length is 10" } }),
    };
    const call = { body: sse(callChunk("a", "add", "{}"), chunk({}, "tool_calls"), "[DONE]") };
    const { agent, bodies } = wired({}, { tools: [tool] }, call, tooLong, said("ok"));
    expect((await agent.prompt("x").result).end.kind).toBe("completed");
    expect(bodies).toHaveLength(3);
    expect(JSON.stringify(bodies[2]).length).toBeLessThan(JSON.stringify(bodies[1]).length);
  });
});

describe("Anthropic messages", () => {
  const event = (type: string, rest: object): string =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`;
  const answer = (block: object, delta: object, reason: string): Answer => ({
    body: [
      event("message_start", { message: { id: "m", usage: { input_tokens: 1, cache_read_input_tokens: 5 } } }),
      event("content_block_start", { index: 0, content_block: block }),
      event("content_block_delta", { index: 0, delta }),
      event("content_block_stop", { index: 0 }),
      event("message_delta", { delta: { stop_reason: reason }, usage: { output_tokens: 2 } }),
      event("message_stop", {}),
    ].join(""),
  });
  const anthropic: Partial<ModelConfig> = { api: "anthropic-messages", provider: "anthropic", id: "claude-sonnet-4-5" };
  const text = (value: string): Answer =>
    answer({ type: "text", text: "" }, { type: "text_delta", text: value }, "end_turn");

  test("runs a call and counts cached tokens apart", async () => {
    const { ran, tool } = counter();
    const call = answer(
      { type: "tool_use", id: "t", name: "add", input: {} },
      { type: "input_json_delta", partial_json: '{"x":1}' },
      "tool_use",
    );
    const { agent } = wired(anthropic, { tools: [tool], apiKey: "k" }, call, text("done"));
    const { stats } = await agent.prompt("x").result;
    expect(ran).toEqual([{ x: 1 }]);
    expect(stats.usage).toMatchObject({ input: 2, cacheRead: 10, output: 4 });
  });

  test("an answer of a required shape comes back as a value where a tool must be forced for it", async () => {
    const forced = answer(
      { type: "tool_use", id: "t", name: "point", input: {} },
      { type: "input_json_delta", partial_json: '{"x":1}' },
      "tool_use",
    );
    const compat = { anthropic: { nativeStructuredOutput: false } };
    let judged = 0;
    const middleware = [{ beforeTool: () => ((judged += 1), { kind: "allow" } as const) }];
    const { agent, bodies } = wired({ ...anthropic, id: "old", compat }, { apiKey: "k", middleware }, forced);
    const schema = { type: "object", properties: { x: { type: "number" } }, required: ["x"] };
    expect(await agent.promptStructured("where?", { name: "point", schema })).toEqual({ x: 1 });
    expect(bodies).toHaveLength(1);
    expect(judged).toBe(0);
  });
});
