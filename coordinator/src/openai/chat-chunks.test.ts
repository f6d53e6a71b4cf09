import { RunEvent } from "@mesh/proto";
import { describe, expect, test } from "vitest";

import { type ChatChunk, chatChunks, type ChatHead, type ChatStep } from "./chat-chunks.ts";
import { chatCompletion } from "./chat-completion.ts";
import { failureOf } from "./chat-failure.ts";
import { toOpenAi } from "./openai-error.ts";

const HEAD: ChatHead = {
  id: "chatcmpl-1",
  created: 1_700_000_000,
  model: "writer",
  includesUsage: false,
  functions: new Set(["weather"]),
};

type Part = readonly [kind: string, data: Record<string, unknown>];

const lifecycle = (event: string, data: object): Part => ["message", { type: "event", props: { event, data } }];
const begin = (id: string, type: string, more = {}): Part =>
  lifecycle("message_start", { message_id: id, type, ...more });
const end = (id: string, type: string, content: string, more = {}): Part =>
  lifecycle("message_end", { message_id: id, type, status: "completed", extra: { content }, ...more });
const piece = (id: string, type: string, content: string, more = {}): Part => [
  "message",
  { type, delta: true, message_id: id, props: { content }, ...more },
];
const streamEnd = (finish_reason: string): Part => lifecycle("stream_end", { metadata: { finish_reason } });
const finished = (data: object = {}): Part => [
  "run.finished",
  { state: "succeeded", output: "", usage: { prompt_tokens: 9, completion_tokens: 12, total_tokens: 21 }, ...data },
];
const call = (id: string, name: string, args: string, status = "completed"): readonly Part[] => [
  begin(id, "tool_call", { tool_call: { id: `call_${id}`, name, index: 0 } }),
  ["message", { type: "tool_call", delta: true, message_id: id, props: { arguments: args } }],
  end(id, "tool_call", args, { status, tool_call: { id: `call_${id}`, name, index: 0, arguments: args } }),
];

function read(parts: readonly Part[], head: Partial<ChatHead> = {}): ChatStep[] {
  const reader = chatChunks({ ...HEAD, ...head });
  return parts.flatMap(([kind, data], i) =>
    reader(RunEvent.fromPartial({ run_id: "run_1", seq: i + 1, epoch: 1, at: "", kind, data })),
  );
}

/** Deltas, finish reasons and usage, one line each, as a reader of the stream sees them. */
function told(parts: readonly Part[], head: Partial<ChatHead> = {}): string[] {
  return read(parts, head).map((step) => {
    if (step.kind === "end") return "end";
    if (step.kind === "failure") return `failure ${JSON.stringify(step.failure)}`;
    const [choice] = step.chunk.choices;
    if (choice === undefined) return `usage ${step.chunk.usage?.total_tokens}`;
    return choice.finish_reason === null ? JSON.stringify(choice.delta) : `finish ${choice.finish_reason}`;
  });
}

const ROLE = '{"role":"assistant","content":""}';
const HELLO = [
  ["run.queued", {}],
  ["run.placed", { node: "n" }],
  ["run.started", {}],
  lifecycle("stream_start", {}),
  begin("M1", "text"),
  piece("M1", "text", "Hel"),
  piece("M1", "text", "lo"),
  end("M1", "text", "Hello"),
  streamEnd("stop"),
  finished({ output: "Hello" }),
] as const satisfies readonly Part[];

describe("a run's log as chunks", () => {
  test("W1 a text: the role, its pieces, one finish reason; byte for byte as it stands on the wire", () => {
    const chunks = read(HELLO).flatMap((step) => (step.kind === "chunk" ? [JSON.stringify(step.chunk)] : []));
    const base = '"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"writer"';
    const chunk = (delta: string, reason: string): string =>
      `{${base},"choices":[{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${reason}}]}`;
    expect(chunks).toEqual([
      chunk(ROLE, "null"),
      chunk('{"content":"Hel"}', "null"),
      chunk('{"content":"lo"}', "null"),
      chunk("{}", '"stop"'),
    ]);
  });

  test("W1 the usage is the last chunk where it is asked for, and null on all others", () => {
    const steps = read(HELLO, { includesUsage: true });
    const usages = steps.flatMap((step) => (step.kind === "chunk" ? [step.chunk.usage] : []));
    expect(usages.slice(0, -1)).toEqual([null, null, null, null]);
    expect(usages.at(-1)).toEqual({
      prompt_tokens: 9,
      completion_tokens: 12,
      total_tokens: 21,
      prompt_tokens_details: { cached_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 0 },
    });
    expect(told(HELLO, { includesUsage: true }).slice(-3)).toEqual(["finish stop", "usage 21", "end"]);
  });

  test("W2 thoughts are reasoning_content; device tools, other agents and other kinds of messages are hidden", () => {
    const parts: readonly Part[] = [
      begin("M1", "thinking"),
      piece("M1", "thinking", "hm"),
      end("M1", "thinking", "hm"),
      ...call("M2", "bash", '{"command":"ls"}'),
      ["message", { type: "execute", message_id: "M3", props: { tool: "bash", output: "secret" } }],
      ["message", { type: "text", message_id: "M4", thread_id: "T1", props: { content: "inner" } }],
      lifecycle("message_end", { message_id: "M5", thread_id: "T1", type: "text", extra: { content: "inner" } }),
      ["message", { type: "loading", message_id: "M6", props: { message: "…" } }],
      ["trace", { node: 1 }],
      ["log", { text: "x" }],
      piece("M7", "text", "Done."),
      end("M7", "text", "Done."),
      streamEnd("stop"),
      finished(),
    ];
    expect(told(parts)).toEqual([ROLE, '{"reasoning_content":"hm"}', '{"content":"Done."}', "finish stop", "end"]);
  });

  test("two texts are two paragraphs, and a message of a hook that comes whole is one of them", () => {
    const parts: readonly Part[] = [
      piece("M1", "text", "One."),
      ["message", { type: "text", message_id: "M2", props: { content: "Two." } }],
      ["message", { type: "text", message_id: "M2", props: { content: "Changed." } }],
      end("M2", "text", "Two."),
      finished(),
    ];
    expect(told(parts)).toEqual([ROLE, '{"content":"One."}', '{"content":"\\n\\nTwo."}', "finish stop", "end"]);
  });

  test("W3 calls of the request's functions come whole and numbered; half a call of a failed answer does not count", () => {
    const parts: readonly Part[] = [
      ...call("A", "weather", '{"ci', "error"),
      ...call("B", "weather", '{"city":"Bern"}'),
      ...call("C", "bash", "{}"),
      ...call("D", "weather", ""),
      streamEnd("tool_calls"),
      finished(),
    ];
    const toolCall = (index: number, id: string, args: string): string =>
      JSON.stringify({
        tool_calls: [{ index, id, type: "function", function: { name: "weather", arguments: args } }],
      });
    expect(told(parts)).toEqual([
      ROLE,
      toolCall(0, "call_B", '{"city":"Bern"}'),
      toolCall(1, "call_D", "{}"),
      "finish tool_calls",
      "end",
    ]);
  });

  test("a model that only used tools of the device has not called the client's: the run's own output is the answer", () => {
    const parts = [...call("C", "bash", "{}"), streamEnd("tool_calls"), finished({ output: '{"n":1}' })];
    expect(told(parts)).toEqual([ROLE, '{"content":"{\\"n\\":1}"}', "finish stop", "end"]);
  });

  test.each([
    ["length", "length"],
    ["stopped", "length"],
    ["content_filter", "content_filter"],
    ["skipped", "stop"],
    ["something new", "stop"],
  ])("the reason %s of a run is the finish reason %s", (reason, expected) => {
    expect(told([piece("M1", "text", "x"), streamEnd(reason), finished()])).toContain(`finish ${expected}`);
  });

  test("where deltas were dropped, the end of the message tells what is missing", () => {
    const snapshot: Part = ["snapshot", { from_seq: 1, to_seq: 3, messages: [{ type: "text", message_id: "M1" }] }];
    expect(told([snapshot, end("M1", "text", "Hello"), finished()])).toContain('{"content":"Hello"}');
    const half = [piece("M1", "text", "Hel"), snapshot, end("M1", "text", "Hello"), finished()];
    expect(told(half)).toEqual([ROLE, '{"content":"Hel"}', '{"content":"lo"}', "finish stop", "end"]);
  });

  test("bodies that are no messages of ours change nothing", () => {
    const odd: readonly Part[] = [
      ["message", {}],
      ["message", { type: "text", props: null, message_id: 7 }],
      ["message", { type: "event", props: { event: "message_end", data: { type: "text", extra: 1 } } }],
      lifecycle("stream_end", { metadata: 1 }),
      finished({ usage: { prompt_tokens: "9", completion_tokens: -1 }, output: 5 }),
    ];
    expect(told(odd)).toEqual([ROLE, "finish stop", "end"]);
  });
});

describe("W4 a run without an answer", () => {
  const failure = (parts: readonly Part[]): ReturnType<typeof toOpenAi> => {
    const last = read(parts).at(-1);
    if (last?.kind !== "failure") throw new Error("no failure");
    return toOpenAi(failureOf(last.failure), "req_1");
  };

  test("never has a finish reason", () => {
    for (const state of ["failed", "cancelled", "lost"]) {
      const parts = [piece("M1", "text", "Hel"), finished({ state, error: { code: "x", message: "y" } })];
      expect(told(parts).some((line) => line.startsWith("finish"))).toBe(false);
      expect(read(parts).at(-1)?.kind).toBe("failure");
    }
  });

  test("because it asks says what, and names the run", () => {
    const pending = [{ id: "call_1", kind: "approval", tool: "bash", text: "" }];
    expect(failure([["run.asked", { pending }]])).toMatchObject({
      status: 409,
      headers: { "x-should-retry": "false", "x-yao-run": "run_1" },
      body: {
        error: {
          type: "invalid_request_error",
          code: "needs_input",
          param: null,
          message: expect.stringContaining("may it use bash?"),
          yao: { run: "run_1", pending },
        },
      },
    });
  });

  test.each([
    ["invalid_argument", 400, false],
    ["out_of_range", 400, false],
    ["resource_exhausted", 429, false],
    ["unauthenticated", 502, false],
    ["unavailable", 503, false],
    ["deadline_exceeded", 504, false],
    ["timeout", 504, false],
    ["runner_crashed", 500, true],
    ["queue_expired", 503, true],
  ])("because of %s is status %d, and says whether another try may help: %s", (code, status, retries) => {
    const answer = failure([finished({ state: "failed", error: { code, message: "why" } })]);
    expect(answer.status).toBe(status);
    expect(answer.headers["x-should-retry"]).toBe(String(retries));
    expect(Object.keys(answer.body.error)).toEqual(["message", "type", "param", "code", "yao"]);
    expect(answer.body.error.message).toContain("why");
  });
});

test("the chunks put together are the answer without a stream", () => {
  const parts: readonly Part[] = [
    piece("M1", "thinking", "hm"),
    piece("M2", "text", "Hel"),
    piece("M2", "text", "lo"),
    ...call("B", "weather", "{}"),
    streamEnd("tool_calls"),
    finished(),
  ];
  const steps = read(parts);
  const chunks = steps.flatMap((step): ChatChunk[] => (step.kind === "chunk" ? [step.chunk] : []));
  const last = steps.at(-1);
  expect(last?.kind === "end" ? chatCompletion(HEAD, chunks, last.usage) : undefined).toMatchObject({
    object: "chat.completion",
    choices: [
      {
        message: {
          role: "assistant",
          content: "Hello",
          refusal: null,
          reasoning_content: "hm",
          tool_calls: [{ id: "call_B", type: "function", function: { name: "weather", arguments: "{}" } }],
        },
        finish_reason: "tool_calls",
      },
    ],
    usage: { total_tokens: 21 },
  });
});
