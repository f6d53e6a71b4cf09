import { FakeClock } from "@mesh/kernel/testing";
import { describe, expect, test } from "vitest";

// Loaded with its first call otherwise, and the clock of these tests does not wait for that.
import "./completions.ts";
import type { AssistantMessage } from "./message.ts";
import type { RetryConfig, StreamConfig, StreamEvent, Timeouts } from "./provider.ts";
import { createProviders } from "./providers.ts";
import { type ErrorClass, ProviderError } from "./provider-error.ts";
import { DEFAULT_RETRY, delayOf, streamWithRetry } from "./stream-with-retry.ts";
import { callOf, said } from "./testing/index.ts";

const encoder = new TextEncoder();
const HELLO = 'data: {"id":"c","choices":[{"index":0,"delta":{"content":"Hello"}}]}\n\n';
const STOP = 'data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n';

type Answer = (clock: FakeClock) => Response | Promise<Response>;

interface Call {
  readonly clock: FakeClock;
  readonly events: StreamEvent[];
  readonly requests: () => number;
  readonly abort: AbortController;
  readonly message: Promise<AssistantMessage>;
}

function call(answers: readonly Answer[], more: Partial<StreamConfig> = {}, random = 0.5): Call {
  const clock = new FakeClock();
  const events: StreamEvent[] = [];
  const abort = new AbortController();
  let requests = 0;
  const send: typeof fetch = async () => {
    requests += 1;
    return (answers[requests - 1] ?? answers.at(-1)!)(clock);
  };
  const config = callOf({ api: "openai-completions", baseUrl: "http://x" }, [said("Hi")], {
    apiKey: "sk-12345678",
    ...more,
  });
  const provider = createProviders({ clock, fetch: send }).resolve("openai-completions");
  const message = streamWithRetry(
    { provider, config, sink: (event) => events.push(event), signal: abort.signal },
    { clock, random: () => random },
  );
  return { clock, events, requests: () => requests, abort, message };
}

const whole =
  (text: string): Answer =>
  () =>
    new Response(text);
const status =
  (code: number, headers: Record<string, string> = {}): Answer =>
  () =>
    new Response("x", { status: code, headers });
const never: Answer = () => new Promise<Response>(() => undefined);

/** A body that sends `parts` and then nothing, and never ends; it ignores cancellation. */
function silent(...parts: readonly string[]): Answer {
  return () =>
    new Response(
      new ReadableStream({ start: (controller) => parts.forEach((part) => controller.enqueue(encoder.encode(part))) }),
    );
}

/** Lets time pass in steps, and what streams do in between. */
async function pass(clock: FakeClock, ms: number): Promise<void> {
  const end = clock.monotonic() + ms;
  for (;;) {
    for (let turn = 0; turn < 4; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    const leftMs = end - clock.monotonic();
    if (leftMs <= 0) return;
    await clock.advance(Math.min(leftMs, 250));
  }
}

async function settle(made: Call, ms = 120_000): Promise<AssistantMessage> {
  const state = { isSettled: false };
  void made.message.then(() => (state.isSettled = true));
  for (let passed = 0; passed < ms && !state.isSettled; passed += 250) await pass(made.clock, 250);
  return made.message;
}

describe("retries", () => {
  test("each failed attempt is closed before a retry event announces the next; deltas are never mixed", async () => {
    const made = call([whole(HELLO), whole(HELLO + STOP)]);
    expect(await settle(made)).toMatchObject({ stopReason: "stop", content: [{ text: "Hello" }] });
    expect(made.events.map((event) => event.type)).toEqual([
      "start",
      "textDelta",
      "error",
      "retry",
      "start",
      "textDelta",
      "done",
    ]);
    expect(made.events[3]).toMatchObject({ attempt: 1, maxAttempts: 4, delayMs: 1000, errorClass: "network" });
  });

  test("three repeats, then the failure is the message, with what was said", async () => {
    const made = call([whole(HELLO)]);
    expect(await settle(made)).toMatchObject({
      stopReason: "error",
      errorClass: "network",
      content: [{ text: "Hello" }],
    });
    expect(made.requests()).toBe(4);
  });

  test.each<[number, number]>([
    [400, 1],
    [401, 1],
    [404, 1],
    [408, 2],
    [409, 2],
    [429, 2],
    [500, 2],
    [502, 2],
    [503, 2],
    [504, 2],
    [529, 2],
  ])("status %i is asked %i times", async (code, requests) => {
    const made = call([status(code), whole(HELLO + STOP)]);
    await settle(made);
    expect(made.requests()).toBe(requests);
  });

  test("no repeats when they are off", async () => {
    const made = call([status(500)], { retry: { maxRetries: 0 } });
    await settle(made);
    expect(made.requests()).toBe(1);
  });

  test("an abort during the wait ends at once as aborted and keeps what was said", async () => {
    const made = call([whole(HELLO)]);
    await pass(made.clock, 10);
    made.abort.abort();
    expect(await made.message).toMatchObject({ stopReason: "aborted", content: [{ text: "Hello" }] });
    expect(made.requests()).toBe(1);
  });

  test("all attempts together stay within the total time", async () => {
    const made = call([never], { timeouts: { firstByteMs: 10_000, totalMs: 25_000 } });
    const start = made.clock.now();
    let endedAt = 0;
    void made.message.then(() => (endedAt = made.clock.now()));
    expect(await settle(made)).toMatchObject({ stopReason: "error", errorClass: "timeout" });
    expect(endedAt - start).toBeLessThanOrEqual(25_000);
    expect(made.requests()).toBe(3);
  });
});

describe("delays", () => {
  const retry: RetryConfig = DEFAULT_RETRY;
  const failed = (retryAfterMs?: number): ProviderError =>
    new ProviderError({
      errorClass: "rateLimit",
      message: "x",
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    });

  test("grow by the factor up to the largest, with a fifth of jitter either way", () => {
    expect([1, 2, 3, 6, 10].map((attempt) => delayOf(failed(), attempt, retry, () => 0.5))).toEqual([
      1000, 2000, 4000, 30_000, 30_000,
    ]);
    expect(delayOf(failed(), 1, retry, () => 0)).toBe(800);
    expect(delayOf(failed(), 1, retry, () => 1)).toBe(1200);
  });

  test.each<[Record<string, string>, number]>([
    [{ "retry-after": "7" }, 7000],
    [{ "retry-after": "0.5" }, 500],
    [{ "retry-after-ms": "250", "retry-after": "7" }, 250],
    [{ "retry-after": "-3" }, 1000],
    [{ "retry-after": "soon" }, 1000],
    [{ "retry-after": "86400" }, 30_000],
    [{ "retry-after": new Date(1_700_000_000_000 + 9000).toUTCString() }, 9000],
  ])("the server's %j means %i ms", async (headers, delayMs) => {
    const made = call([status(429, headers), whole(HELLO + STOP)]);
    await settle(made);
    expect(made.events.find((event) => event.type === "retry")).toMatchObject({ delayMs });
  });
});

describe("time-outs", () => {
  const LIMITS: Timeouts = {
    firstByteMs: 1000,
    idleMs: 2000,
    progressMs: 5000,
    attemptMs: 20_000,
    totalMs: 60_000,
    drainMs: 300,
  };
  const once = { retry: { maxRetries: 0 }, timeouts: LIMITS };

  test.each<[string, Answer, number, string]>([
    ["no answer at all", never, 1000, "did not answer"],
    ["headers and then no body", silent(), 1000, "did not answer"],
    ["silence after some text", silent(HELLO), 2000, "sent nothing"],
  ])("%s ends after its own time, although the server ignores the abort", async (_what, answer, ms, text) => {
    const made = call([answer], once);
    await pass(made.clock, ms - 1);
    expect(made.events.some((event) => event.type === "error")).toBe(false);
    await pass(made.clock, 1);
    expect(await made.message).toMatchObject({
      stopReason: "error",
      errorClass: "timeout",
      errorMessage: expect.stringContaining(text),
    });
  });

  test("silence ends in its own time also when the first byte was allowed more", async () => {
    const made = call([silent(HELLO)], { ...once, timeouts: { ...LIMITS, firstByteMs: 20_000 } });
    await pass(made.clock, 2250);
    expect(await made.message).toMatchObject({ errorClass: "timeout" });
  });

  test("keep-alives alone do not count as an answer", async () => {
    const made = call([dripping(": ping\n\n")], once);
    expect(await settle(made, 6000)).toMatchObject({
      errorClass: "timeout",
      errorMessage: expect.stringContaining("kept the connection alive"),
    });
  });

  test("an answer without end is bounded by the time of an attempt", async () => {
    const made = call([dripping(HELLO)], once);
    expect(await settle(made, 21_000)).toMatchObject({
      errorClass: "timeout",
      errorMessage: expect.stringContaining("took longer than 20 s"),
    });
  });

  test("a complete answer is given although its connection stays open", async () => {
    const made = call([silent(HELLO, STOP)], once);
    expect(await settle(made, 300)).toMatchObject({ stopReason: "stop" });
  });

  test("a wall clock that jumps changes nothing", async () => {
    const made = call([silent(HELLO)], once);
    made.clock.now = () => 0;
    await pass(made.clock, 1999);
    expect(made.events.some((event) => event.type === "error")).toBe(false);
  });

  function dripping(text: string): Answer {
    return (clock) =>
      new Response(
        new ReadableStream({
          async pull(controller) {
            await clock.sleep(100);
            controller.enqueue(encoder.encode(text));
          },
        }),
      );
  }
});

describe("aborts", () => {
  test.each<[string, Answer]>([
    ["before the headers", never],
    ["before the body", silent()],
    ["in the middle of the body", silent(HELLO)],
    ["while the answer drains", silent(HELLO, STOP)],
  ])("%s settle at once as aborted", async (_when, answer) => {
    const made = call([answer]);
    await pass(made.clock, 1);
    const start = performance.now();
    made.abort.abort(new Error("enough"));
    expect(await made.message).toMatchObject({ stopReason: "aborted", errorClass: "aborted" });
    expect(performance.now() - start).toBeLessThan(20);
    expect(made.requests()).toBe(1);
  });

  test("a signal that is aborted already sends nothing", async () => {
    const clock = new FakeClock();
    const provider = createProviders({ clock, fetch: () => Promise.reject(new Error("must not be called")) }).resolve(
      "openai-completions",
    );
    const config = callOf({ api: "openai-completions", baseUrl: "http://x" }, [said("Hi")]);
    const message = await streamWithRetry(
      { provider, config, sink: () => undefined, signal: AbortSignal.abort() },
      { clock, random: () => 0 },
    );
    expect(message).toMatchObject({ stopReason: "aborted" });
  });
});

test.each<[string, Partial<StreamConfig>, ErrorClass]>([
  ["a bad address", { model: callOf({ api: "openai-completions", baseUrl: "nonsense" }, []).model }, "config"],
  ["a bad key", { apiKey: "a\nb" }, "auth"],
  ["a schema that is no JSON", { tools: [{ name: "t", description: "", parameters: { x: 1n as never } }] }, "config"],
])("%s is a message as well, and nothing is sent", async (_what, more, errorClass) => {
  const made = call([whole(HELLO + STOP)], more);
  expect(await settle(made)).toMatchObject({ stopReason: "error", errorClass });
  expect(made.requests()).toBe(0);
});

test("one line without an end is bounded", async () => {
  const chunk = encoder.encode("x".repeat(1024 * 1024));
  let sent = 0;
  const endless: Answer = () =>
    new Response(
      new ReadableStream({
        pull(controller) {
          sent += 1;
          controller.enqueue(sent === 1 ? encoder.encode("data: ") : chunk);
        },
      }),
    );
  const made = call([endless], { retry: { maxRetries: 0 } });
  expect(await made.message).toMatchObject({ stopReason: "error", errorClass: "protocol" });
  expect(sent).toBeLessThan(40);
});

test.each([
  ["left alone after an answer that was read to its end", HELLO + STOP, false],
  ["aborted when the rest of a body is not wanted", `<html>${" ".repeat(70_000)}`, true],
])("the signal of the request is %s", async (_title, text, isAborted) => {
  const clock = new FakeClock();
  let signal: AbortSignal | null | undefined;
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(encoder.encode(text));
      if (!isAborted) controller.close();
    },
  });
  const send: typeof fetch = (_url, init) => {
    signal = init?.signal;
    return Promise.resolve(new Response(body));
  };
  const provider = createProviders({ clock, fetch: send }).resolve("openai-completions");
  const config = callOf({ api: "openai-completions", baseUrl: "http://x" }, [said("Hi")], { retry: { maxRetries: 0 } });
  const stop = new AbortController();
  await streamWithRetry({ provider, config, sink: () => undefined, signal: stop.signal }, { clock, random: () => 0.5 });
  expect(signal?.aborted).toBe(isAborted);
});
