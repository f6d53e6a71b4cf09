import { ScriptedProvider, type ScriptedStep } from "@mesh/agent/testing";
import type { JsonObject } from "@mesh/kernel";
import { FakeClock } from "@mesh/kernel/testing";
import { ProviderRegistry, type StreamConfig } from "@mesh/llm";
import { describe, expect, test } from "vitest";

import type { OutputMessage } from "./message.ts";
import { runAssistant } from "./run-assistant.ts";
import type { RunInput } from "./run-input.ts";
import {
  bareInput,
  delta,
  event,
  interleaving,
  last,
  problems,
  scripted,
  shape,
  START,
  start,
} from "./testing/assistant-run.ts";

test("the app of these tests has no problems", () => {
  expect(problems).toEqual([]);
});

describe("a run", () => {
  test("is exactly this stream", async () => {
    const run = start();
    const outcome = await run.done;
    const usage = { prompt_tokens: 12, completion_tokens: 4, total_tokens: 16 };
    expect(outcome).toMatchObject({ output: "You said: hi there", finish_reason: "stop", usage });
    expect(run.messages).toEqual([
      event("stream_start", "Stream started", {
        context_id: "run_1",
        request_id: "run_1",
        assistant: { id: "hello", name: "Hello", description: "Says hello", avatar: "/hello.png" },
      }),
      event("message_start", "Message started", { message_id: "M1", type: "text" }),
      delta(1, "M1", "text", "You"),
      delta(2, "M1", "text", " said:"),
      delta(3, "M1", "text", " hi"),
      delta(4, "M1", "text", " there"),
      event("message_end", "Message completed", {
        message_id: "M1",
        type: "text",
        duration_ms: 0,
        chunk_count: 4,
        status: "completed",
        extra: { content: "You said: hi there" },
      }),
      event("stream_end", "Stream completed", {
        context_id: "run_1",
        request_id: "run_1",
        duration_ms: 0,
        status: "completed",
        usage,
        metadata: { finish_reason: "stop" },
      }),
    ]);
  });

  test("starts a new message when thinking turns into text", async () => {
    const run = start({ input: "/think hm" });
    await run.done;
    expect(shape(run.messages)).toEqual([
      "stream_start",
      "message_start",
      'thinking {"content":"hm"}',
      "message_end",
      "message_start",
      'text {"content":"I"}',
      'text {"content":" thought"}',
      'text {"content":" about:"}',
      'text {"content":" hm"}',
      "message_end",
      "stream_end",
    ]);
    expect(run.messages.flatMap((message) => message.message_id ?? [])).toEqual(["M1", "M2", "M2", "M2", "M2"]);
    expect((await run.done).output).toBe("I thought about: hm");
  });

  test("streams parallel tool calls as messages of their own and ends each with its arguments", async () => {
    const run = start({}, interleaving("Let me see"));
    await run.done;
    const ofCalls = run.messages.filter((message) => message.type === "tool_call");
    expect(ofCalls).toEqual([
      {
        type: "tool_call",
        delta: true,
        delta_action: "merge",
        props: { id: "a", type: "function", index: 0, name: "add", arguments: '{"x"' },
        message_id: "M2",
        chunk_id: "C2",
      },
      {
        type: "tool_call",
        delta: true,
        delta_action: "merge",
        props: { id: "b", type: "function", index: 1, name: "sub", arguments: "{}" },
        message_id: "M3",
        chunk_id: "C3",
      },
      {
        type: "tool_call",
        delta: true,
        delta_path: "arguments",
        delta_action: "append",
        props: { arguments: ":1}" },
        message_id: "M2",
        chunk_id: "C4",
      },
    ]);
    const ends = run.messages.filter((message) => message.props["event"] === "message_end");
    expect(ends.map((end) => (end.props["data"] as JsonObject)["tool_call"])).toEqual([
      undefined,
      { id: "a", index: 0, name: "add", arguments: '{"x":1}' },
      { id: "b", index: 1, name: "sub", arguments: "{}" },
    ]);
  });

  test("marks what a limit on length cut as partial", async () => {
    const run = start({}, scripted({ text: "cut o", stopReason: "length" }));
    expect((await run.done).finish_reason).toBe("length");
    const end = run.messages.find((message) => message.props["event"] === "message_end");
    expect(end?.props["data"]).toMatchObject({ status: "partial", extra: { content: "cut o" } });
  });

  test("measures its time with the clock", async () => {
    const run = start({ input: "/count 3 every 20ms" });
    await run.clock.advance(0);
    await run.clock.advance(40);
    await run.done;
    expect(last(run.messages)).toMatchObject({ duration_ms: 40, timestamp: START + 40 });
  });

  test("asks the model again only when its reader has taken all that was said", async () => {
    const taken: string[] = [];
    const asked = (step: ScriptedStep) => () => (taken.push("asked"), step);
    const provider = new ScriptedProvider(
      asked({ text: ["a", "b"], calls: [{ name: "none" }] }),
      asked({ text: "c" }),
      asked({}),
    );
    const clock = new FakeClock(START);
    const ports = { clock, providers: new ProviderRegistry([provider]) };
    const emit = async (message: OutputMessage): Promise<void> => {
      await new Promise((resolve) => setImmediate(resolve));
      if (message.type !== "event") taken.push(message.type);
    };
    await runAssistant({ ...bareInput, input: "x" }, ports, emit, new AbortController().signal);
    expect(taken).toEqual(["asked", "text", "text", "tool_call", "execute", "execute", "asked", "text"]);
  });
});

describe("what the model is told", () => {
  async function told(patch: Partial<RunInput>): Promise<StreamConfig> {
    const provider = scripted({ text: "ok" });
    await start(patch, provider).done;
    const [call] = provider.requests;
    if (call === undefined) throw new Error("the model was not called");
    expect(provider.faults).toEqual([]);
    return call;
  }

  function said(call: StreamConfig): unknown[] {
    return call.messages.map(({ role, content }) => [role, ...content.map((part) => "text" in part && part.text)]);
  }

  test("is the global prompts, the assistant's with their variables, then the input", async () => {
    const call = await told({ metadata: { mood: "good" } });
    expect(call.systemPrompt).toBe("Global.\n\nIn ws_1 for user_1, mood good, year 2023, here.");
    expect(said(call)).toEqual([["user", "hi there"]]);
  });

  test("holds the examples of the prompts as a conversation before the input", async () => {
    expect(said(await told({ assistantId: "shy" }))).toEqual([
      ["user", "1+1"],
      ["assistant", "2"],
      ["user", "hi there"],
    ]);
  });

  test("follows the preset and the switch for global prompts of the call's metadata", async () => {
    const call = await told({ metadata: { __prompt_preset: "short", __disable_global_prompts: true } });
    expect(call.systemPrompt).toBe("Be short.");
  });

  test("never takes from metadata who is calling", async () => {
    const call = await told({ metadata: { WORKSPACE_ID: "ws_other", USER_ID: "admin", mood: "x" } });
    expect(call.systemPrompt).toContain("In ws_1 for user_1, mood x");
  });

  test("takes the call's options before the assistant's, and its model before the connector's", async () => {
    const call = await told({ options: { temperature: 1, model: "other", top_p: 0.5 } });
    expect(call).toMatchObject({ temperature: 1, maxTokens: 100 });
    expect(call.model).toMatchObject({ id: "other", connector: "demo", extraBody: { top_p: 0.5 } });
  });

  test("goes to the connector that the call names", async () => {
    const connectors = new Map([["mine", { type: "openai", model: "m", key: "k", host: "http://x" }]]);
    const call = await told({ options: { connector: "mine" }, connectors });
    expect(call.model).toMatchObject({ id: "m", api: "openai-completions", connector: "mine", baseUrl: "http://x" });
    expect(call.apiKey).toBe("k");
  });
});

test("an assistant without prompts and MCP servers calls no model, and says so", async () => {
  const run = start({ assistantId: "bare" });
  expect(await run.done).toMatchObject({ output: "", finish_reason: "skipped", usage: undefined });
  expect(last(run.messages)).toMatchObject({
    status: "completed",
    metadata: { finish_reason: "skipped", note: "the assistant has no prompts, so no model was called" },
  });
});
