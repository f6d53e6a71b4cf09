import { type AppFiles, loadApp } from "@mesh/assistants";
import type { JsonObject } from "@mesh/kernel";
import { MeshError } from "@mesh/kernel";
import { FakeClock } from "@mesh/kernel/testing";
import { type ChatEvent, type ChatRequest, type Connector, createChatRegistry, type StreamChat } from "@mesh/llm";
import { describe, expect, test } from "vitest";

import type { OutputMessage, RunOutcome } from "./message.ts";
import { runAssistant } from "./run-assistant.ts";
import type { RunInput } from "./run-input.ts";

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

interface Run {
  readonly messages: OutputMessage[];
  readonly clock: FakeClock;
  readonly abort: AbortController;
  readonly done: Promise<RunOutcome>;
}

function start(patch: Partial<RunInput> = {}, chat?: StreamChat): Run {
  const clock = new FakeClock(START);
  const registry = createChatRegistry({ clock });
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
  const ports = { clock, chat: chat === undefined ? registry : () => chat };
  const done = runAssistant(input, ports, (message) => void messages.push(message), abort.signal);
  done.catch(() => undefined);
  return { messages, clock, abort, done };
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

function scripted(events: readonly ChatEvent[], error?: MeshError): StreamChat {
  return async function* scriptedChat() {
    yield* events;
    if (error !== undefined) throw error;
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
    expect(outcome).toEqual({ output: "You said: hi there", finish_reason: "stop", usage });
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
    const run = start(
      {},
      scripted([
        { kind: "text", text: "Let me see" },
        { kind: "tool_call", index: 0, id: "a", name: "add", arguments: '{"x"' },
        { kind: "tool_call", index: 1, id: "b", name: "sub", arguments: "{}" },
        { kind: "tool_call", index: 0, arguments: ":1}" },
        { kind: "finish", reason: "tool_calls" },
      ]),
    );
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
    const run = start(
      {},
      scripted([
        { kind: "text", text: "cut o" },
        { kind: "finish", reason: "length" },
      ]),
    );
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

  test("waits for each message to be taken before it asks the model for more", async () => {
    const taken: string[] = [];
    const chat: StreamChat = async function* chat() {
      taken.push("asked");
      yield { kind: "text", text: "a" };
      taken.push("asked");
      yield { kind: "finish", reason: "stop" };
    };
    const { clock, messages } = start();
    const input: RunInput = {
      app,
      assistantId: "hello",
      input: "x",
      options: {},
      metadata: {},
      context: { runId: "r", workspaceId: "w", userId: "u", timezone: "UTC" },
      connectors: new Map(),
      env: () => undefined,
    };
    const emit = async (message: OutputMessage): Promise<void> => {
      await new Promise((resolve) => setImmediate(resolve));
      if (message.type === "text") taken.push("took");
    };
    await runAssistant(input, { clock, chat: () => chat }, emit, new AbortController().signal);
    expect(messages.length).toBeGreaterThan(0);
    expect(taken).toEqual(["asked", "took", "asked"]);
  });
});

describe("what the model is told", () => {
  async function told(patch: Partial<RunInput>): Promise<{ connector: Connector; request: ChatRequest }> {
    const calls: { connector: Connector; request: ChatRequest }[] = [];
    const chat: StreamChat = async function* chat(connector, request) {
      calls.push({ connector, request });
      yield { kind: "finish", reason: "stop" };
    };
    await start(patch, chat).done;
    const [call] = calls;
    if (call === undefined) throw new Error("the model was not called");
    return call;
  }

  test("is the global prompts, the assistant's with their variables, then the input", async () => {
    const { request } = await told({ metadata: { mood: "good" } });
    expect(request.messages).toEqual([
      { role: "system", content: "Global." },
      { role: "system", content: "In ws_1 for user_1, mood good, year 2023, here." },
      { role: "user", content: "hi there" },
    ]);
  });

  test("follows the preset and the switch for global prompts of the call's metadata", async () => {
    const { request } = await told({ metadata: { __prompt_preset: "short", __disable_global_prompts: true } });
    expect(request.messages[0]).toEqual({ role: "system", content: "Be short." });
  });

  test("never takes from metadata who is calling", async () => {
    const { request } = await told({ metadata: { WORKSPACE_ID: "ws_other", USER_ID: "admin", mood: "x" } });
    expect(request.messages[1]?.content).toContain("In ws_1 for user_1, mood x");
  });

  test("takes the call's options before the assistant's, and its model before the connector's", async () => {
    const { connector, request } = await told({ options: { temperature: 1, model: "other", top_p: 0.5 } });
    expect(request.options).toMatchObject({ temperature: 1, max_tokens: 100, top_p: 0.5 });
    expect(connector).toMatchObject({ id: "demo", model: "other" });
  });

  test("goes to the connector that the call names", async () => {
    const connectors = new Map([["mine", { type: "openai", model: "m", key: "k", host: "http://x" }]]);
    const { connector } = await told({ options: { connector: "mine" }, connectors });
    expect(connector).toMatchObject({ id: "mine", type: "openai", model: "m", key: "k", host: "http://x" });
  });
});

describe("a run that fails", () => {
  test("ends what it was saying, says why, and throws it", async () => {
    const error = new MeshError("unavailable", "connector x: the server failed");
    const run = start({}, scripted([{ kind: "text", text: "half" }], error));
    expect(await failure(run)).toBe(error);
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
      'there is no assistant "nobody"; the app has bare, far, hello',
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
      "connector type sparkle is not supported; use openai, anthropic, gemini, vertex, azure, bedrock or the name of a vendor",
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

  test("from a fault of ours shows the run's id and not the fault", async () => {
    const chat: StreamChat = async function* chat() {
      yield { kind: "text", text: "x" };
      throw new TypeError("secret path /root/x");
    };
    const run = start({}, chat);
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
    const chat = (): StreamChat => {
      throw new Error("called");
    };
    const input: RunInput = {
      app,
      assistantId: "hello",
      input: "x",
      options: {},
      metadata: {},
      context: { runId: "r", workspaceId: "w", userId: "u" },
      connectors: new Map(),
      env: () => undefined,
    };
    const done = runAssistant(input, { clock: new FakeClock(), chat }, (one) => void messages.push(one), abort);
    await expect(done).rejects.toMatchObject({ code: "cancelled" });
    expect(last(messages)).toMatchObject({ status: "cancelled" });
  });
});

test("an assistant without prompts and MCP servers calls no model, and says so", async () => {
  const run = start({ assistantId: "bare" });
  expect(await run.done).toEqual({ output: "", finish_reason: "skipped", usage: undefined });
  expect(last(run.messages)).toMatchObject({
    status: "completed",
    metadata: { finish_reason: "skipped", note: "the assistant has no prompts, so no model was called" },
  });
});
