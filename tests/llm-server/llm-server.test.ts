/** The scripted server itself: it must do exactly what its script says, or tests that use it prove nothing. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { join } from "node:path";

import { until } from "@mesh/kernel";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { type LlmServer, startLlmServer } from "./index.ts";

let llm: LlmServer;

beforeEach(async () => {
  llm = await startLlmServer({ models: ["a", "b"] });
});

afterEach(() => llm.stop());

function ask(body: object, url = llm.url): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, { method: "POST", body: JSON.stringify(body) });
}

const HELLO = { model: "a", messages: [{ role: "user", content: "hello" }] };

test("streams the exact bytes of the protocol", async () => {
  llm.enqueue({ text: ["Hi"], usage: { prompt_tokens: 1, completion_tokens: 2 } });
  const answer = await ask({ ...HELLO, stream: true, stream_options: { include_usage: true } });
  expect(answer.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
  const head = '"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"a"';
  expect(await answer.text()).toBe(
    [
      `data: {${head},"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`,
      `data: {${head},"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}]}`,
      `data: {${head},"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`,
      `data: {${head},"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}`,
      "data: [DONE]",
      "",
    ].join("\n\n"),
  );
});

test("answers whole when it is not asked to stream", async () => {
  llm.enqueue({ text: "Hi", thinking: "hm", toolCalls: [{ name: "add", arguments: ["{", "}"] }] });
  const answer = (await (await ask(HELLO)).json()) as { choices: unknown[] };
  expect(answer.choices).toEqual([
    {
      index: 0,
      message: {
        role: "assistant",
        content: "Hi",
        reasoning_content: "hm",
        tool_calls: [{ id: "call_1", type: "function", function: { name: "add", arguments: "{}" } }],
      },
      finish_reason: "tool_calls",
    },
  ]);
});

test("echoes at first, then follows queue, rules and default in this order", async () => {
  const say = async (model: string): Promise<unknown> => {
    const { choices } = (await (await ask({ ...HELLO, model })).json()) as {
      choices: { message: { content: string } }[];
    };
    return choices[0]?.message.content;
  };
  expect(await say("a")).toBe("You said: hello");
  llm.default({ text: "default" });
  llm.on("b", { text: "rule" });
  llm.on((request) => request.text.includes("never"), { text: "never" });
  llm.enqueue({ text: "first" }, (request) => ({ text: `for ${request.model}` }));
  expect(llm.queued).toBe(2);
  expect([await say("b"), await say("b"), await say("b"), await say("a")]).toEqual([
    "first",
    "for b",
    "rule",
    "default",
  ]);
});

test("lists its models", async () => {
  const models = (await (await fetch(`${llm.url}/v1/models`)).json()) as { data: { id: string }[] };
  expect(models.data.map((model) => model.id)).toEqual(["a", "b"]);
});

test("fails as told, with status, headers and body", async () => {
  llm.enqueue({ status: 429, headers: { "retry-after": "3" }, body: "slow down" }, { status: 500 });
  const first = await ask(HELLO);
  expect([first.status, first.headers.get("retry-after"), await first.text()]).toEqual([429, "3", "slow down"]);
  expect(await (await ask(HELLO)).json()).toMatchObject({ error: { message: "scripted failure 500" } });
});

test("refuses a wrong key, a body that is not JSON and an unknown path", async () => {
  const locked = await startLlmServer({ key: "k" });
  expect((await ask(HELLO, locked.url)).status).toBe(401);
  await locked.stop();
  expect((await fetch(`${llm.url}/v1/chat/completions`, { method: "POST", body: "x" })).status).toBe(400);
  expect((await fetch(`${llm.url}/v2`)).status).toBe(404);
});

test("waits where it is told to", async () => {
  llm.enqueue({ text: ["a", "b"], headersMs: 30, firstByteMs: 30, betweenMs: 10 });
  const from = performance.now();
  await (await ask({ ...HELLO, stream: true })).text();
  // Four events have three gaps; a millisecond of slack for timers that round down.
  expect(performance.now() - from).toBeGreaterThanOrEqual(30 + 30 + 3 * 10 - 2);
});

describe("a connection", () => {
  test.each(["close", "reset"] as const)("is broken by %s in the middle of the body", async (ending) => {
    llm.enqueue({ text: "a b c", cutAfterBytes: 50, ending });
    const answer = await ask({ ...HELLO, stream: true });
    await expect(answer.text()).rejects.toThrow();
    await until(() => llm.requests[0]?.wasAborted);
  });

  test("is ended by stop, also while the server waits", async () => {
    llm.enqueue({ headersMs: 3_600_000 });
    const answer = ask(HELLO);
    answer.catch(() => undefined);
    await until(() => llm.requests.length === 1);
    await llm.stop();
    await expect(answer).rejects.toThrow();
  });
});

test("runs as a process that prints its URL and stops when told", async () => {
  const main = join(import.meta.dirname, "main.ts");
  const child = spawn(process.execPath, ["--import", "tsx", main, "--port", "0"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const [url] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
    expect(await (await ask(HELLO, url)).json()).toMatchObject({ object: "chat.completion" });
    child.kill("SIGTERM");
    expect(await once(child, "exit")).toEqual([0, null]);
  } finally {
    child.kill("SIGKILL");
  }
});
