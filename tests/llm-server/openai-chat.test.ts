/** The OpenAI protocol over a real connection. */

import { type Clock, MeshError, systemClock, until } from "@mesh/kernel";
import { FakeClock } from "@mesh/kernel/testing";
import {
  type AssistantMessage,
  type Connector,
  connectorModel,
  createProviders,
  ProviderError,
  type StreamEvent,
  streamWithRetry,
} from "@mesh/llm";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { type LlmServer, type Reply, startLlmServer } from "./index.ts";

const KEY = "sk-very-secret-key";
let llm: LlmServer;

beforeEach(async () => {
  llm = await startLlmServer({ key: KEY });
});

afterEach(() => llm.stop());

interface Run {
  readonly events: StreamEvent[];
  readonly abort: AbortController;
  readonly done: Promise<AssistantMessage>;
}

interface Start {
  readonly clock?: Clock;
  /** Asked again after failures that a repeat can help. */
  readonly isRepeated?: boolean;
}

function start({ clock = systemClock, isRepeated = false }: Start = {}, patch: Partial<Connector> = {}): Run {
  const events: StreamEvent[] = [];
  const abort = new AbortController();
  const ask = async (): Promise<AssistantMessage> => {
    const { model, defaults } = connectorModel({
      id: "openai.mini",
      type: "openai",
      model: "gpt-mini",
      host: llm.url,
      key: KEY,
      options: {},
      ...patch,
    });
    const hello = { role: "user", content: [{ type: "text", text: "hello" }], timestamp: 0 } as const;
    const config = { ...defaults, model, systemPrompt: "", messages: [hello] };
    const provider = createProviders({ clock, env: {} }).resolve(model.api);
    const sink = (event: StreamEvent): void => void events.push(event);
    if (!isRepeated) return provider.stream(config, sink, abort.signal);
    const message = await streamWithRetry({ provider, config, sink, signal: abort.signal }, { clock, random: () => 0 });
    if (message.stopReason !== "error" && message.stopReason !== "aborted") return message;
    const errorClass = message.stopReason === "aborted" ? "aborted" : "server";
    throw new ProviderError({ errorClass, message: message.errorMessage ?? "" });
  };
  const done = ask();
  done.catch(() => undefined);
  return { events, abort, done };
}

async function failure(run: Run): Promise<MeshError> {
  const error: unknown = await run.done.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof MeshError) return error;
  throw new Error(`did not fail with a MeshError but with ${String(error)}`);
}

function text(events: readonly StreamEvent[]): string {
  return events.map((event) => (event.type === "textDelta" ? event.delta : "")).join("");
}

describe("an answer", () => {
  test("streams as it is said, with thinking, tool calls and usage", async () => {
    llm.enqueue({
      thinking: "hm",
      text: ["Good ", "day"],
      toolCalls: [{ name: "add", arguments: ['{"a"', ":1}"] }],
      usage: { prompt_tokens: 7, completion_tokens: 3 },
    });
    const run = start();
    const message = await run.done;
    expect(run.events.filter((event) => event.type.endsWith("Delta"))).toEqual([
      { type: "thinkingDelta", contentIndex: 0, delta: "hm" },
      { type: "textDelta", contentIndex: 1, delta: "Good " },
      { type: "textDelta", contentIndex: 1, delta: "day" },
      { type: "toolCallDelta", contentIndex: 2, id: "call_1", name: "add", delta: "" },
      { type: "toolCallDelta", contentIndex: 2, id: "call_1", name: "add", delta: '{"a"' },
      { type: "toolCallDelta", contentIndex: 2, id: "call_1", name: "add", delta: ":1}" },
    ]);
    expect(message).toMatchObject({ stopReason: "toolUse", usage: { input: 7, output: 3 } });
    expect(message.content.at(-1)).toMatchObject({ type: "toolCall", id: "call_1", name: "add", arguments: { a: 1 } });
    expect(llm.requests[0]).toMatchObject({
      path: "/v1/chat/completions",
      json: { model: "gpt-mini", stream: true, stream_options: { include_usage: true } },
      wasAnswered: true,
      wasAborted: false,
    });
  });

  const shapes: readonly [string, Reply][] = [
    ["byte by byte", { chunkBytes: 1 }],
    ["in pieces of 3 bytes with CRLF and comments", { chunkBytes: 3, crlf: true, comments: true }],
    ["without its end marker", { endMarker: false }],
    ["without a finish reason", { finishReason: null }],
    ["and resets the connection after its end", { ending: "reset" }],
    ["and keeps the connection open after its end", { ending: "hang" }],
  ];
  test.each(shapes)("is whole when it comes %s", async (_how, shape) => {
    llm.enqueue({ text: "Grüß dich 👋", ...shape });
    const run = start();
    await run.done;
    expect(text(run.events)).toBe("Grüß dich 👋");
    expect(await run.done).toMatchObject({ stopReason: "stop" });
  });

  test("is seen piece by piece, before the rest has been sent", async () => {
    llm.enqueue({ text: ["one ", "two"], ending: "hang", endMarker: false, finishReason: null });
    const run = start();
    await until(() => text(run.events) === "one two");
    run.abort.abort();
    expect((await failure(run)).code).toBe("cancelled");
  });

  test("is read from a server that does not stream", async () => {
    llm.enqueue({ body: JSON.stringify({ choices: [{ message: { content: "whole" }, finish_reason: "stop" }] }) });
    const run = start();
    await run.done;
    expect(text(run.events)).toBe("whole");
  });

  test("gives its connection back for the next call", async () => {
    llm.default({ text: "ok" });
    for (let i = 0; i < 10; i += 1) await start().done;
    // Two, because the client hands a connection back a moment after its body has ended.
    expect(llm.connections).toBeLessThanOrEqual(2);
  });
});

describe("an abort", () => {
  test("closes the connection of a stream, and the server sees it", async () => {
    llm.enqueue({ text: "never ends", endMarker: false, finishReason: null, ending: "hang" });
    const run = start();
    await until(() => text(run.events) !== "");
    run.abort.abort();
    expect(await failure(run)).toMatchObject({ code: "cancelled", message: "the model call was cancelled" });
    await until(() => llm.requests[0]?.wasAborted, { what: "the server to see the abort" });
  });

  test("before the answer closes the connection too", async () => {
    llm.enqueue({ headersMs: 60_000 });
    const run = start();
    await until(() => llm.requests.length === 1);
    run.abort.abort();
    expect((await failure(run)).code).toBe("cancelled");
    await until(() => llm.requests[0]?.wasAborted);
  });

  test("before the call sends nothing", async () => {
    const run = start();
    run.abort.abort();
    expect((await failure(run)).code).toBe("cancelled");
    expect(run.events.map((event) => event.type)).toEqual(["error"]);
    expect(llm.requests).toEqual([]);
  });

  test("ends the wait before a retry", async () => {
    const clock = new FakeClock();
    llm.default({ status: 503 });
    const run = start({ clock, isRepeated: true });
    await until(() => run.events.some((event) => event.type === "retry"));
    run.abort.abort();
    expect((await failure(run)).code).toBe("cancelled");
    expect(llm.requests).toHaveLength(1);
  });
});

describe("a failing server", () => {
  test.each([
    [401, "unauthenticated", "the key was refused; set it with `yao connector add openai.mini --key-env NAME`"],
    [403, "permission_denied", "the key was refused"],
    [404, "not_found", 'model "gpt-mini" or the address http://127.0.0.1'],
    [400, "invalid_argument", "the request was refused (HTTP 400)"],
    [402, "resource_exhausted", "no credit left"],
  ])("that answers %i is asked once: %s", async (status, code, message) => {
    llm.default({ status, body: JSON.stringify({ error: { message: "because" } }) });
    const error = await failure(start());
    expect(error.code).toBe(code);
    expect(error.message).toContain("connector openai.mini: ");
    expect(error.message).toContain(message);
    expect(error.details).toMatchObject({ connector: "openai.mini", status });
    expect(llm.requests).toHaveLength(1);
  });

  test("that redirects is not followed, so that the key stays where it belongs", async () => {
    llm.default({ status: 307, headers: { location: `${llm.url}/elsewhere/chat/completions` } });
    expect((await failure(start())).message).toBe(
      `connector openai.mini: ${llm.url} redirects elsewhere (HTTP 307); set its host to the final address`,
    );
    // Once more for the status, and never at the other place.
    expect(llm.requests).toHaveLength(2);
  });

  test("that wants a key says so when there is none", async () => {
    const { message } = await failure(start({}, { key: "" }));
    expect(message).toContain("a key is needed; set it with `yao connector add openai.mini --key-env NAME`");
  });

  test("never gets its text into the error beyond 500 characters, nor the key, nor line breaks", async () => {
    llm.default({ status: 400, body: `you sent\n${KEY} ${"x".repeat(5000)}` });
    const { message } = await failure(start());
    expect(message.length).toBeLessThanOrEqual(500);
    expect(message).toContain("you sent ***");
    expect(message).not.toContain(KEY);
  });

  test("that fails with a web page is quoted by the page's title", async () => {
    llm.default({ status: 400, body: "<html><title>Bad Gateway</title><body>long</body></html>" });
    expect((await failure(start())).message).toBe(
      "connector openai.mini: the request was refused (HTTP 400); the server said: Bad Gateway",
    );
  });

  test.each([
    ["a 503", { status: 503 }],
    ["a 429", { status: 429 }],
    ["a reset connection", { ending: "reset", cutAfterBytes: 0 }],
    ["a stream cut before it said anything", { cutAfterBytes: 20, ending: "close" }],
    [
      "an overloaded error inside the stream",
      { body: 'data: {"error":{"type":"overloaded_error","message":"x"}}\n\n' },
    ],
  ] as const)("is asked again after %s, with growing waits, at most 3 times", async (_what, reply) => {
    const clock = new FakeClock();
    llm.enqueue(reply, reply, { text: "at last" });
    const run = start({ clock, isRepeated: true });
    await until(async () => {
      await clock.advance(250);
      return llm.requests.length >= 3;
    });
    await run.done;
    expect(text(run.events)).toBe("at last");
  });

  test("is given up after 4 attempts", async () => {
    const clock = new FakeClock();
    llm.default({ status: 500 });
    const run = start({ clock, isRepeated: true });
    let ended = false;
    run.done.catch(() => (ended = true));
    await until(async () => {
      await clock.advance(1000);
      return ended;
    });
    expect((await failure(run)).message).toContain("the server failed (HTTP 500); try again later");
    expect(llm.requests).toHaveLength(4);
  });

  test("says how long to wait, and is waited for exactly that long", async () => {
    const clock = new FakeClock();
    llm.enqueue({ status: 429, headers: { "retry-after": "7" } }, { text: "ok" });
    const run = start({ clock, isRepeated: true });
    await until(() => run.events.some((event) => event.type === "retry"));
    const startedMs = clock.now();
    await until(async () => {
      await clock.advance(100);
      return llm.requests.length === 2;
    });
    await run.done;
    expect(text(run.events)).toBe("ok");
    expect(clock.now() - startedMs).toBeGreaterThanOrEqual(7000);
  });

  test("that asks for a long wait says how long", async () => {
    llm.default({ status: 429, headers: { "retry-after": "60" } });
    const error = await failure(start());
    expect(error.code).toBe("resource_exhausted");
    expect(error.details).toMatchObject({ retry_after_ms: 60_000 });
  });

  test("whose quota is used up is not asked again", async () => {
    llm.default({
      status: 429,
      body: '{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}',
    });
    expect((await failure(start({ isRepeated: true }))).message).toContain("quota");
    expect(llm.requests).toHaveLength(1);
  });

  test.each([
    ["closes", { ending: "close" }],
    ["resets", { ending: "reset" }],
  ] as const)("that %s the connection in the middle keeps what was said", async (_what, ending) => {
    llm.enqueue({ text: ["one ", "two"], finishReason: null, endMarker: false, ...ending });
    const run = start();
    const error = await failure(run);
    expect(error.code).toBe("unavailable");
    expect(error.message).toContain("connector openai.mini: ");
    expect(text(run.events)).toBe("one two");
    expect(llm.requests).toHaveLength(1);
  });

  test("that is not there says where it was looked for", async () => {
    await llm.stop();
    const clock = new FakeClock();
    const run = start({ clock });
    let ended = false;
    run.done.catch(() => (ended = true));
    await until(async () => {
      await clock.advance(1000);
      return ended;
    });
    const error = await failure(run);
    expect(error.code).toBe("unavailable");
    expect(error.message).toBe(
      `connector openai.mini: no connection to ${llm.url} (ECONNREFUSED); check its host and your network`,
    );
  });
});

describe("a silent server", () => {
  async function expire(reply: Reply, ms: number, patch: Partial<Connector> = {}): Promise<MeshError> {
    const clock = new FakeClock();
    llm.enqueue(reply);
    const run = start({ clock }, patch);
    await until(() => llm.requests.length === 1 && (reply.text === undefined || text(run.events) !== ""));
    await clock.advance(ms - 1);
    await clock.advance(1);
    return failure(run);
  }

  test.each([
    ["never answers", { headersMs: 600_000 }, 120_000, "did not answer for 120 s"],
    ["answers and sends no byte", { firstByteMs: 600_000 }, 120_000, "for 120 s"],
    [
      "stops in the middle",
      { text: "a", finishReason: null, endMarker: false, ending: "hang" },
      90_000,
      "sent nothing for 90 s",
    ],
  ] as const)("that %s is left after a while", async (_what, reply, ms, message) => {
    const error = await expire(reply, ms);
    expect(error.code).toBe("deadline_exceeded");
    expect(error.message).toContain(message);
    await until(() => llm.requests[0]?.wasAborted);
    expect(llm.requests).toHaveLength(1);
  });

  test("is given the time that its connector says", async () => {
    const error = await expire({ headersMs: 600_000 }, 5000, { options: { timeouts: { first_byte: "5s" } } });
    expect(error.message).toBe("connector openai.mini: the server did not answer for 5 s");
  });

  test("that keeps saying a little is left after the time for the whole call", async () => {
    const error = await expire({ text: Array.from({ length: 10_000 }, () => "x "), betweenMs: 5 }, 600_000, {
      options: { timeouts: { idle: "1h", progress: "1h" } },
    });
    expect(error.code).toBe("deadline_exceeded");
    expect(error.message).toContain("took longer than 600 s");
  });

  test("cannot be given a time-out that is no duration", async () => {
    const error = await failure(start({}, { options: { timeouts: { idle: "soon" } } }));
    expect(error.message).toBe("connector openai.mini: timeouts.idle must be a duration such as 90s or 5m");
    expect(llm.requests).toEqual([]);
  });
});
