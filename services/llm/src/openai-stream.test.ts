import { MeshError } from "@mesh/kernel";
import { array, assert, asyncProperty, nat } from "fast-check";
import { describe, expect, test } from "vitest";

import type { ChatEvent } from "./chat.ts";
import { type OpenAiStreamOptions, parseOpenAiStream } from "./openai-stream.ts";

const encoder = new TextEncoder();

async function* cut(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let i = 0; i < bytes.length; i += size) yield bytes.subarray(i, i + size);
}

async function parse(body: string, size = 1_000_000, options: OpenAiStreamOptions = {}): Promise<ChatEvent[]> {
  return collect(parseOpenAiStream(cut(encoder.encode(body), size), options));
}

async function collect(events: AsyncIterable<ChatEvent>, into: ChatEvent[] = []): Promise<ChatEvent[]> {
  for await (const event of events) into.push(event);
  return into;
}

async function failure(body: string, size?: number, options?: OpenAiStreamOptions): Promise<MeshError> {
  try {
    await parse(body, size, options);
  } catch (error) {
    if (error instanceof MeshError) return error;
    throw error;
  }
  throw new Error("did not fail");
}

function chunk(delta: object, finish: string | null = null, extra: object = {}): string {
  return `data: ${JSON.stringify({ id: "c", choices: [{ index: 0, delta, finish_reason: finish }], ...extra })}\n\n`;
}

const DONE = "data: [DONE]\n\n";
const STOP = chunk({}, "stop");
const USAGE = `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 } })}\n\n`;
const HELLO = chunk({ role: "assistant", content: "Grüß " }) + chunk({ content: "dich 👋" });

const HELLO_EVENTS: readonly ChatEvent[] = [
  { kind: "text", text: "Grüß " },
  { kind: "text", text: "dich 👋" },
  { kind: "finish", reason: "stop", usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 } },
];

describe("a good stream", () => {
  test("is text, then one finish with the usage that came after the reason", async () => {
    expect(await parse(HELLO + STOP + USAGE + DONE)).toEqual(HELLO_EVENTS);
  });

  test.each([1, 2, 3, 7, 64])(
    "reads the same in pieces of %i bytes, with CRLF, comments and split characters",
    async (size) => {
      const body = (": ping\n\n" + HELLO + ": ping\n\n" + STOP + USAGE + DONE).replaceAll("\n", "\r\n");
      expect(await parse(body, size)).toEqual(HELLO_EVENTS);
    },
  );

  test("reads the same however it is cut (property)", async () => {
    const body = encoder.encode("\uFEFF" + HELLO + chunk({ reasoning_content: "hm" }) + STOP + DONE);
    const whole = await collect(parseOpenAiStream(cut(body, body.length)));
    await assert(
      asyncProperty(array(nat(body.length), { maxLength: 12 }), async (points) => {
        const edges = [0, ...points.toSorted((a, b) => a - b), body.length];
        const pieces = edges.slice(1).map((edge, i) => body.subarray(edges[i], edge));
        expect(await collect(parseOpenAiStream(toAsync(pieces)))).toEqual(whole);
      }),
      { numRuns: 100 },
    );
  });

  test("needs no [DONE] after a finish reason, and keeps usage that follows", async () => {
    expect(await parse(HELLO + STOP + USAGE)).toEqual(HELLO_EVENTS);
  });

  test("needs no finish reason before [DONE]", async () => {
    expect((await parse(HELLO + USAGE + DONE)).at(-1)).toEqual(HELLO_EVENTS.at(-1));
  });

  test("needs no blank line after its last event", async () => {
    expect(await parse((HELLO + STOP + USAGE + DONE).trimEnd())).toEqual(HELLO_EVENTS);
  });

  test("reads thinking under both names, once when both are sent", async () => {
    const events = await parse(
      chunk({ reasoning_content: "a" }) +
        chunk({ reasoning: "b" }) +
        chunk({ reasoning: "c", reasoning_content: "c" }) +
        STOP,
    );
    expect(events.filter((event) => event.kind === "thinking").map((event) => event.text)).toEqual(["a", "b", "c"]);
  });

  test("reads content given as a list of parts", async () => {
    const content = [
      { type: "thinking", thinking: [{ type: "text", text: "hm" }] },
      { type: "text", text: "yes" },
    ];
    expect(await parse(chunk({ content }) + STOP)).toEqual([
      { kind: "thinking", text: "hm" },
      { kind: "text", text: "yes" },
      { kind: "finish", reason: "stop" },
    ]);
  });

  test.each([
    ["length", "length"],
    ["content_filter", "content_filter"],
    ["function_call", "tool_calls"],
    ["eos", "stop"],
  ])("reports finish reason %s as %s", async (given, reported) => {
    expect((await parse(chunk({ content: "x" }) + chunk({}, given) + DONE)).at(-1)).toMatchObject({ reason: reported });
  });

  test("ignores null errors, unknown fields, other choices and bytes after [DONE]", async () => {
    const odd = `event: chunk\nid: 1\nretry: 5\nodd: field\ndata: ${JSON.stringify({
      error: null,
      choices: [{ index: 1, delta: { content: "other" } }],
    })}\n\n`;
    expect(await parse(odd + HELLO + STOP + USAGE + DONE + chunk({ content: "late" }) + "garbage")).toEqual(
      HELLO_EVENTS,
    );
  });

  test("is complete once it said why it stopped: a connection lost later changes nothing", async () => {
    async function* lost(): AsyncGenerator<Uint8Array> {
      yield encoder.encode(HELLO + STOP + USAGE);
      throw new TypeError("terminated");
    }
    expect(await collect(parseOpenAiStream(lost()))).toEqual(HELLO_EVENTS);
  });

  test("tells when it is complete, so that nobody waits long for its end", async () => {
    const told: string[] = [];
    await parse(HELLO + STOP + USAGE + DONE, 1, { onComplete: (by) => told.push(by) });
    expect(told).toEqual(["reason", "done"]);
  });
});

describe("tool calls", () => {
  const calls = (events: readonly ChatEvent[]): Record<number, { id: string; name: string; args: string }> => {
    const found: Record<number, { id: string; name: string; args: string }> = {};
    for (const event of events) {
      if (event.kind !== "tool_call") continue;
      const call = (found[event.index] ??= { id: "", name: "", args: "" });
      call.id ||= event.id ?? "";
      call.name ||= event.name ?? "";
      call.args += event.arguments;
    }
    return found;
  };
  const tool = (value: object): string => chunk({ tool_calls: [value] });

  test("are put together from interleaved pieces", async () => {
    const events = await parse(
      tool({ index: 0, id: "a", function: { name: "add", arguments: "" } }) +
        tool({ index: 1, id: "b", function: { name: "sub", arguments: '{"x"' } }) +
        tool({ index: 0, function: { arguments: "{}" } }) +
        tool({ index: 1, function: { arguments: ":1}" } }) +
        chunk({}, "tool_calls") +
        DONE,
    );
    expect(calls(events)).toEqual({
      0: { id: "a", name: "add", args: "{}" },
      1: { id: "b", name: "sub", args: '{"x":1}' },
    });
    expect(events.at(-1)).toEqual({ kind: "finish", reason: "tool_calls" });
  });

  test("survive null arguments, a missing index, and a stop that should be tool_calls", async () => {
    const events = await parse(
      tool({ id: "a", function: { name: "add", arguments: null } }) +
        tool({ function: { arguments: '{"x":1}' } }) +
        tool({ id: "b", function: { name: "sub", arguments: {} } }) +
        STOP,
    );
    expect(calls(events)).toEqual({
      0: { id: "a", name: "add", args: '{"x":1}' },
      1: { id: "b", name: "sub", args: "{}" },
    });
    expect(events.at(-1)).toMatchObject({ reason: "tool_calls" });
  });

  test("are kept apart when a vendor gives all of them index 0", async () => {
    const events = await parse(
      tool({ index: 0, id: "a", function: { name: "add", arguments: "{}" } }) +
        tool({ index: 0, id: "b", function: { name: "add", arguments: "[]" } }) +
        STOP,
    );
    expect(calls(events)).toEqual({ 0: { id: "a", name: "add", args: "{}" }, 1: { id: "b", name: "add", args: "[]" } });
  });

  test("stay two when a vendor gives both the same id", async () => {
    const events = await parse(
      tool({ index: 0, id: "a", function: { name: "add", arguments: "{}" } }) +
        tool({ index: 1, id: "a", function: { name: "sub", arguments: "[]" } }) +
        STOP,
    );
    expect(Object.keys(calls(events))).toEqual(["0", "1"]);
  });

  test("stay one when an empty delta for the same index follows a complete call", async () => {
    const events = await parse(
      tool({ index: 0, id: "a", function: { name: "add", arguments: "{}" } }) +
        tool({ index: 0, function: { arguments: "" } }) +
        STOP,
    );
    expect(calls(events)).toEqual({ 0: { id: "a", name: "add", args: "{}" } });
  });
});

describe("a server that does not stream", () => {
  test("is read from its JSON", async () => {
    const body = JSON.stringify({
      choices: [
        {
          message: {
            role: "assistant",
            reasoning_content: "hm",
            content: "Hello",
            tool_calls: [{ id: "a", function: { name: "add", arguments: "{}" } }],
          },
          finish_reason: "tool_calls",
        },
      ],
      usage: { prompt_tokens: 1, completion_tokens: 1 },
    });
    expect(await parse(body, 5)).toEqual([
      { kind: "thinking", text: "hm" },
      { kind: "text", text: "Hello" },
      { kind: "tool_call", index: 0, id: "a", name: "add", arguments: "{}" },
      { kind: "finish", reason: "tool_calls", usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } },
    ]);
  });

  test("fails when the JSON is something else", async () => {
    expect((await failure('{"hello":"world"}')).message).toContain("is not a chat completion");
    expect((await failure('{"choices":[{"mess')).code).toBe("unavailable");
  });
});

describe("a bad stream", () => {
  test.each([
    ["nothing at all", ""],
    ["blank lines only", "\n\n\n"],
    ["[DONE] only", DONE],
    ["text and no end", HELLO],
    ["half a line", HELLO + 'data: {"choices":[{"del'],
    ["comments only", ": ping\n\n: ping\n\n"],
  ])("of %s is unavailable, never a success", async (_what, body) => {
    const error = await failure(body);
    expect(error.code).toBe("unavailable");
    expect(error.details).toMatchObject({ retry: true });
  });

  test("hands on what came before it was cut", async () => {
    const events: ChatEvent[] = [];
    await expect(collect(parseOpenAiStream(cut(encoder.encode(HELLO), 9)), events)).rejects.toThrow("cut off");
    expect(events).toEqual(HELLO_EVENTS.slice(0, 2));
  });

  test.each([
    [{ message: "Overloaded", type: "overloaded_error" }, "resource_exhausted", true],
    [{ message: "slow down", code: "rate_limit_exceeded" }, "resource_exhausted", true],
    [{ message: "pay", code: "insufficient_quota", type: "insufficient_quota" }, "resource_exhausted", false],
    [{ message: "no", code: "invalid_api_key", type: "invalid_request_error" }, "unauthenticated", false],
    [{ message: "what", code: "model_not_found", type: "invalid_request_error" }, "not_found", false],
    [
      { message: "too long", code: "context_length_exceeded", type: "invalid_request_error" },
      "invalid_argument",
      false,
    ],
    [{ message: "boom", code: 502 }, "unavailable", true],
    ["plain words", "unavailable", false],
  ])("with the error %j inside fails as %s", async (given, code, retry) => {
    const error = await failure(`${HELLO}data: ${JSON.stringify({ error: given })}\n\n${DONE}`);
    expect(error.code).toBe(code);
    expect(error.details).toMatchObject({ retry });
    expect(error.message).toBe(typeof given === "string" ? given : given.message);
  });

  test("fails when a model stops with an error", async () => {
    expect((await failure(HELLO + chunk({}, "error") + DONE)).code).toBe("unavailable");
  });

  test("with a line that is not JSON says so", async () => {
    const error = await failure(`${HELLO}data: {oops}\n\n${STOP}${DONE}`);
    expect(error.code).toBe("data_loss");
    expect(error.message).toBe("the server sent a line that is not JSON: {oops}");
  });

  test("that is a web page names the page and what to check", async () => {
    expect((await failure("<!doctype html><html><title>Sign in</title>", 3)).message).toBe(
      'the server answered with a web page ("Sign in") instead of a completion; check the connector\'s host',
    );
  });

  test.each(["data: ", "{", "<"])("of one endless line starting with %j is bounded", async (start) => {
    let sent = 0;
    async function* endless(): AsyncGenerator<Uint8Array> {
      yield encoder.encode(start);
      for (;;) {
        sent += 1000;
        yield encoder.encode("x".repeat(1000));
      }
    }
    const events = parseOpenAiStream(endless(), { maxLineChars: 50_000 });
    await expect(collect(events)).rejects.toMatchObject({ code: "resource_exhausted" });
    expect(sent).toBeLessThanOrEqual(52_000);
  });

  test("of endless small events is bounded", async () => {
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (;;) yield encoder.encode(HELLO);
    }
    const events = parseOpenAiStream(endless(), { maxBytes: 50_000 });
    await expect(collect(events)).rejects.toMatchObject({ code: "resource_exhausted" });
  });
});

async function* toAsync<T>(items: Iterable<T>): AsyncGenerator<T> {
  yield* items;
}
