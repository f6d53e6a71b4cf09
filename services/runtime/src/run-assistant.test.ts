import type { AgentTool } from "@mesh/agent";
import { ScriptedProvider, type ScriptedStep } from "@mesh/agent/testing";
import { type AppFiles, loadApp } from "@mesh/assistants";
import type { JsonObject } from "@mesh/kernel";
import { MeshError } from "@mesh/kernel";
import { FakeClock } from "@mesh/kernel/testing";
import { createProviders, ProviderError, ProviderRegistry, type StreamConfig, type StreamProvider } from "@mesh/llm";
import { describe, expect, test } from "vitest";

import type { OutputMessage, RunOutcome, SuspendedRun } from "./message.ts";
import { runAssistant } from "./run-assistant.ts";
import type { RunInput, RunPorts } from "./run-input.ts";

const START = 1_700_000_000_000;

const FILES: Readonly<Record<string, string>> = {
  "assistants/hello/package.yao": JSON.stringify({
    name: "{{ title }}",
    description: "Says hello",
    avatar: "/hello.png",
    options: { temperature: 0.2, max_tokens: 100 },
  }),
  "assistants/hello/prompts.yml": `- role: system
  content: "In $CTX.WORKSPACE_ID for $CTX.USER_ID, mood $CTX.mood, year $SYS.YEAR, $ENV.PLACE."
`,
  "assistants/hello/prompts/short.yml": `- role: system
  content: Be short.
`,
  "assistants/hello/locales/en-us.yml": "title: Hello\n",
  "assistants/hello/locales/zh-cn.yml": "title: 你好\n",
  "assistants/shy/package.yao": '{"name": "Shy", "disable_global_prompts": true}',
  "assistants/shy/prompts.yml": "- role: user\n  content: 1+1\n- role: assistant\n  content: '2'\n",
  "assistants/handy/package.yao": '{"name": "Handy", "options": {"tools": ["break"]}}',
  "assistants/handy/prompts.yml": "- role: system\n  content: x\n",
  "assistants/bare/package.yao": '{"name": "Bare"}',
  "assistants/far/package.yao": '{"name": "Far", "connector": "far"}',
  "assistants/far/prompts.yml": "- role: system\n  content: x\n",
  "connectors/far.conn.yao": '{"type": "sparkle", "options": {"model": "m", "key": "$ENV.FAR_KEY"}}',
  "agent/prompts.yml": "- role: system\n  content: Global.\n",
};

function appFiles(): AppFiles {
  return new Map(Object.entries(FILES).map(([path, text]) => [path, new TextEncoder().encode(text)]));
}

const { app, problems } = loadApp(appFiles());

const bareInput: RunInput = {
  app,
  assistantId: "hello",
  input: "x",
  options: {},
  metadata: {},
  context: { runId: "r", workspaceId: "w", userId: "u", timezone: "UTC" },
  connectors: new Map(),
  env: () => undefined,
};

interface Run {
  readonly messages: OutputMessage[];
  readonly clock: FakeClock;
  readonly abort: AbortController;
  readonly done: Promise<RunOutcome>;
}

function start(patch: Partial<RunInput> = {}, provider?: StreamProvider, more: Partial<RunPorts> = {}): Run {
  const clock = new FakeClock(START);
  const providers = createProviders({ clock, env: {} });
  if (provider !== undefined) providers.register(provider).register(provider, "openai-completions");
  const messages: OutputMessage[] = [];
  const abort = new AbortController();
  const input: RunInput = {
    app,
    assistantId: "hello",
    input: "hi there",
    options: {},
    metadata: {},
    context: { runId: "run_1", workspaceId: "ws_1", userId: "user_1", timezone: "UTC" },
    connectors: new Map(),
    env: (name) => ({ PLACE: "here", FAR_KEY: "k" })[name],
    ...patch,
  };
  const ports = { clock, providers, ...more };
  const done = runAssistant(input, ports, (message) => void messages.push(message), abort.signal).then(finished);
  done.catch(() => undefined);
  return { messages, clock, abort, done };
}

function finished(result: RunOutcome | SuspendedRun): RunOutcome {
  if ("pending" in result) throw new Error("the run waits");
  return result;
}

async function failure(run: Run): Promise<MeshError> {
  return run.done.then(
    () => {
      throw new Error("did not fail");
    },
    (error: unknown) => MeshError.from(error),
  );
}

/** Events as their names, other messages as they are. */
function shape(messages: readonly OutputMessage[]): unknown[] {
  return messages.map((message) =>
    message.type === "event" ? message.props["event"] : `${message.type} ${JSON.stringify(message.props)}`,
  );
}

function last(messages: readonly OutputMessage[]): JsonObject {
  return messages.at(-1)?.props["data"] as JsonObject;
}

function event(name: string, message: string, data: JsonObject): OutputMessage {
  return { type: "event", props: { event: name, message, data: { ...data, timestamp: START } } };
}

function delta(n: number, message: string, type: string, content: string): OutputMessage {
  return { type, delta: true, props: { content }, message_id: message, chunk_id: `C${n}` };
}

function scripted(...steps: readonly ScriptedStep[]): ScriptedProvider {
  return new ScriptedProvider(...steps);
}

/** A model that says something, then two calls whose pieces come interleaved; asked again, it says nothing. */
function interleaving(text: string): StreamProvider {
  const empty = scripted({}, {});
  let isFirst = true;
  return {
    protocol: "demo",
    async stream(config, sink, signal) {
      const message = await empty.stream(
        config,
        isFirst ? (event) => event.type === "start" && sink(event) : sink,
        signal,
      );
      if (!isFirst) return message;
      isFirst = false;
      sink({ type: "textDelta", contentIndex: 0, delta: text });
      for (const [contentIndex, id, name, delta] of [
        [1, "a", "add", '{"x"'],
        [2, "b", "sub", "{}"],
        [1, "a", "add", ":1}"],
      ] as const) {
        sink({ type: "toolCallDelta", contentIndex, id, name, delta });
      }
      return {
        ...message,
        stopReason: "toolUse",
        content: [
          { type: "text", text },
          { type: "toolCall", id: "a", name: "add", arguments: { x: 1 } },
          { type: "toolCall", id: "b", name: "sub", arguments: {} },
        ],
      };
    },
  };
}

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

describe("tools", () => {
  const tool = (name: string, run: AgentTool["execute"]): AgentTool => ({
    name,
    description: name,
    parameters: { type: "object" },
    ...(run === undefined ? {} : { execute: run }),
  });
  const tools = (): Promise<readonly AgentTool[]> =>
    Promise.resolve([
      tool("shout", async (args, context) => {
        context.onProgress("breathing in");
        return {
          content: [{ type: "text", text: `${(args["text"] as string | undefined)?.toUpperCase()}!` }],
          details: { loud: true },
        };
      }),
      tool("break", () => Promise.reject(new MeshError("unavailable", "no voice"))),
    ]);

  test("that a call enables run, and tell what they were asked and what they gave", async () => {
    const run = start({ input: '/tool shout {"text":"hey"}', options: { tools: ["shout"] } }, undefined, { tools });
    expect(await run.done).toMatchObject({ output: "The tool answered: HEY!", finish_reason: "stop" });
    expect(shape(run.messages)).toEqual([
      "stream_start",
      "message_start",
      expect.stringMatching(/^tool_call \{"id":"\w+","name":"shout","index":0,"type":"function","arguments":""\}$/),
      'tool_call {"arguments":"{\\"text\\""}',
      'tool_call {"arguments":":\\"hey\\"}"}',
      "message_end",
      expect.stringMatching(/^execute .*"tool":"shout".*"input":\{"text":"hey"\},"status":"running"/),
      'execute {"progress":"breathing in"}',
      expect.stringMatching(
        /^execute .*"input":\{"text":"hey"\},"output":"HEY!","details":\{"loud":true\},"status":"completed"/,
      ),
      "message_start",
      'text {"content":"The"}',
      'text {"content":" tool"}',
      'text {"content":" answered:"}',
      'text {"content":" HEY!"}',
      "message_end",
      "stream_end",
    ]);
    const executes = run.messages.filter((message) => message.type === "execute");
    expect(executes.map((message) => message.message_id)).toEqual(["M2", "M2", "M2"]);
    const call = run.messages.find((message) => message.type === "tool_call");
    expect(executes[0]?.props["tool_id"]).toBe(call?.props["id"]);
  });

  test("sum the usage of the turns they cause", async () => {
    const usage = { input: 10, output: 2, cacheRead: 5 };
    const provider = scripted({ calls: [{ name: "shout", arguments: { text: "a" } }], usage }, { text: "b", usage });
    const run = start({ options: { tools: ["shout"] } }, provider, { tools });
    const total = { prompt_tokens: 30, completion_tokens: 4, total_tokens: 34 };
    expect((await run.done).usage).toEqual(total);
    expect(last(run.messages)).toMatchObject({ usage: total });
  });

  test("are offered from the assistant's own list, and a call's list replaces it", async () => {
    const offered = async (options: JsonObject): Promise<unknown> => {
      const provider = scripted({ text: "ok" });
      await start({ assistantId: "handy", options }, provider, { tools }).done;
      return provider.requests[0]?.tools?.map(({ name }) => name);
    };
    expect(await offered({})).toEqual(["break", "shared_state"]);
    expect(await offered({ tools: ["shout"] })).toEqual(["shout", "shared_state"]);
    expect(await offered({ tools: [] })).toBeUndefined();
  });

  test("that fail are told as such, and the model goes on", async () => {
    const run = start({ input: "/tool break", options: { tools: ["break"] } }, undefined, { tools });
    expect((await run.done).output).toContain("no voice");
    const executes = run.messages.filter((message) => message.type === "execute");
    expect(executes.at(-1)?.props).toMatchObject({ status: "error", output: expect.stringContaining("no voice") });
  });

  test.each<[string, JsonObject, string]>([
    [
      "is not known",
      { tools: ["fly"] },
      'there is no tool "fly", which the option "tools" names; there are shout, break, ask_user',
    ],
    ["is no list of names", { tools: "bash" }, "must be a list"],
  ])("of which one %s are refused before the model is asked", async (_why, options, message) => {
    expect((await failure(start({ options }, undefined, { tools }))).message).toContain(message);
  });

  test("called over and over with the same arguments end the run as failed", async () => {
    const provider = new ScriptedProvider(() => ({ calls: [{ name: "shout", arguments: { text: "a" } }] }));
    const error = await failure(start({ options: { tools: ["shout"] } }, provider, { tools }));
    expect(error).toMatchObject({ code: "aborted", message: expect.stringContaining("same arguments") });
  });

  test("with a long output tell a part of it", async () => {
    const long = [tool("shout", async () => ({ content: [{ type: "text", text: "x".repeat(1_000_000) }] }))];
    const run = start({ input: "/tool shout", options: { tools: ["shout"] } }, undefined, {
      tools: () => Promise.resolve(long),
    });
    await run.done;
    const output = run.messages.findLast((message) => message.type === "execute")?.props["output"];
    expect(String(output).length).toBeLessThan(50_000);
    expect(output).toContain("left out");
  });
});

describe("a run that fails", () => {
  test("ends what it was saying, says why, and throws it", async () => {
    const error = { errorClass: "server", message: "connector x: the server failed", retryable: false } as const;
    const run = start({}, scripted({ text: "half", error }));
    const thrown = await failure(run);
    expect(thrown).toBeInstanceOf(ProviderError);
    expect(thrown).toMatchObject({ code: "unavailable", message: error.message });
    expect(shape(run.messages)).toEqual([
      "stream_start",
      "message_start",
      'text {"content":"half"}',
      "message_end",
      'error {"message":"connector x: the server failed","code":"unavailable"}',
      "stream_end",
    ]);
    expect(run.messages.at(3)?.props["data"]).toMatchObject({ status: "error", extra: { content: "half" } });
    expect(last(run.messages)).toMatchObject({ status: "error", error: "connector x: the server failed" });
  });

  test.each<[string, Partial<RunInput>, string, string]>([
    [
      "its assistant is unknown",
      { assistantId: "nobody" },
      "not_found",
      'there is no assistant "nobody"; the app has bare, far, handy, hello, shy',
    ],
    [
      "its input is empty",
      { input: " \n" },
      "invalid_argument",
      "the input is empty; say what the assistant should do",
    ],
    [
      "its connector's protocol is not known",
      { assistantId: "far" },
      "unimplemented",
      "connector far: type sparkle is not supported; use a protocol (openai, responses, anthropic",
    ],
    [
      "its preset does not exist",
      { metadata: { __prompt_preset: "toString" } },
      "not_found",
      'no prompt preset "toString"',
    ],
    ["its connector does not exist", { options: { connector: "none" } }, "not_found", '"none" does not exist'],
    [
      "its connector's variable is not set",
      { assistantId: "far", env: () => undefined },
      "failed_precondition",
      "$ENV.FAR_KEY",
    ],
  ])("because %s still has a whole stream", async (_why, patch, code, message) => {
    const run = start(patch);
    const error = await failure(run);
    expect(error.code).toBe(code);
    expect(error.message).toContain(message);
    expect(run.messages.map((one) => one.props["event"] ?? one.type)).toEqual(["stream_start", "error", "stream_end"]);
  });

  test("in an attempt that is repeated keeps what was said as an error, and ends with the repeated answer only", async () => {
    const error = { errorClass: "server", message: "oops" } as const;
    const run = start({}, scripted({ text: "half", error }, { text: "whole" }), { random: () => 0.5 });
    await run.clock.advance(0);
    await run.clock.advance(1_000);
    expect((await run.done).output).toBe("whole");
    const ends = run.messages.filter((message) => message.props["event"] === "message_end");
    expect(ends.map((end) => end.props["data"])).toMatchObject([
      { message_id: "M1", status: "error", extra: { content: "half" } },
      { message_id: "M2", status: "completed", extra: { content: "whole" } },
    ]);
  });

  test("from a fault of ours shows the run's id and not the fault", async () => {
    const fault = new TypeError("secret path /root/x");
    const provider = scripted({ text: "x", throws: fault }, { throws: fault }, { throws: fault }, { throws: fault });
    const run = start({}, provider);
    for (let i = 0; i < 10; i += 1) await run.clock.advance(5_000);
    expect((await failure(run)).message).toContain("run_1");
    expect(JSON.stringify(run.messages)).not.toContain("secret path");
  });
});

describe("a run that is cancelled", () => {
  test("ends what it was saying as partial and throws cancelled, without an error message", async () => {
    const run = start({ input: "/slow 1h" });
    await run.clock.advance(0);
    await run.clock.advance(150);
    run.abort.abort();
    expect(await failure(run)).toMatchObject({ code: "cancelled", message: "the run was cancelled" });
    expect(shape(run.messages)).toEqual([
      "stream_start",
      "message_start",
      'text {"content":"."}',
      'text {"content":"."}',
      "message_end",
      "stream_end",
    ]);
    expect(run.messages.at(-2)?.props["data"]).toMatchObject({ status: "partial", extra: { content: ".." } });
    expect(last(run.messages)).toMatchObject({ status: "cancelled", duration_ms: 150 });
  });

  test("before it began calls no model", async () => {
    const abort = AbortSignal.abort();
    const messages: OutputMessage[] = [];
    const provider = scripted();
    const ports = { clock: new FakeClock(), providers: new ProviderRegistry([provider]) };
    const done = runAssistant(bareInput, ports, (one) => void messages.push(one), abort);
    await expect(done).rejects.toMatchObject({ code: "cancelled" });
    expect(last(messages)).toMatchObject({ status: "cancelled" });
    expect(provider.requests).toEqual([]);
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
