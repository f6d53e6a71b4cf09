/** Servers and adapters that behave badly in ways of their own. */

import { systemClock } from "@mesh/kernel";
import { expect, test } from "vitest";

import { parseArguments } from "./answer-block.ts";
import { createProviders } from "./providers.ts";
import { ProviderError } from "./provider-error.ts";
import type { StreamConfig, StreamEvent, StreamProvider } from "./provider.ts";
import { streamWithRetry } from "./stream-with-retry.ts";
import { type WireCase, wireCases, wireModel } from "./testing/index.ts";

const DEPS = { clock: systemClock, random: () => 0.5 };

function configOf(change: Partial<StreamConfig> = {}): StreamConfig {
  return {
    model: wireModel("openai-completions", "http://localhost:9"),
    systemPrompt: "",
    messages: [{ role: "user", content: [{ type: "text", text: "Hi" }], timestamp: 0 }],
    retry: { maxRetries: 0 },
    ...change,
  };
}

async function answerTo(body: string, change: Partial<StreamConfig> = {}) {
  const events: StreamEvent[] = [];
  let requests = 0;
  const fetch = () => {
    requests += 1;
    return Promise.resolve(new Response(body, { headers: { "content-type": "text/event-stream" } }));
  };
  const provider = createProviders({ clock: systemClock, fetch }).resolve("openai-completions");
  const call = { provider, config: configOf(change), sink: (event: StreamEvent) => void events.push(event) };
  const message = await streamWithRetry({ ...call, signal: new AbortController().signal }, DEPS);
  return { message, events, requests };
}

test("a call that was only named when a proxy closed the cut stream with [DONE] does not run without arguments", async () => {
  const named = { index: 0, id: "c1", type: "function", function: { name: "wipe", arguments: "" } };
  const chunk = JSON.stringify({ choices: [{ index: 0, delta: { tool_calls: [named] } }] });
  const { message } = await answerTo(`data: ${chunk}\n\ndata: [DONE]\n\n`);
  expect(message).toMatchObject({ stopReason: "error", errorClass: "network" });
  expect(message.content.filter((part) => part.type === "toolCall")).toEqual([]);
});

test("arguments too deep to be written as JSON again are malformed, not a history that can never be sent", () => {
  const deep = (levels: number): string => `{"a":${"[".repeat(levels)}${"]".repeat(levels)}}`;
  expect(parseArguments(deep(100_000))).toBeUndefined();
  expect(parseArguments(deep(100))).toBeDefined();
  expect(parseArguments(JSON.stringify({ code: "[".repeat(100_000) }))).toBeDefined();
});

test("an answer that was told as done is kept when its provider fails while tidying up: nothing is billed twice", async () => {
  let calls = 0;
  const good = await answerTo(
    `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: "Hello" }, finish_reason: "stop" }] })}\n\n`,
  );
  const provider: StreamProvider = {
    protocol: "openai-completions",
    stream: (_config, sink) => {
      calls += 1;
      sink({ type: "start", message: { ...good.message, content: [] } });
      sink({ type: "done", message: good.message });
      return Promise.reject(new Error("socket closed"));
    },
  };
  const config = configOf({ retry: { maxRetries: 3, firstDelayMs: 1 } });
  const call = { provider, config, sink: () => undefined, signal: new AbortController().signal };
  expect(await streamWithRetry(call, DEPS)).toEqual(good.message);
  expect(calls).toBe(1);
});

test("one event of endless many lines is bounded", async () => {
  const line = new TextEncoder().encode(`data: ${"x".repeat(1000)}\n`.repeat(1000));
  let sent = 0;
  const fetch = () =>
    Promise.resolve(
      new Response(
        new ReadableStream({
          pull(controller) {
            sent += 1;
            controller.enqueue(line);
          },
        }),
      ),
    );
  const provider = createProviders({ clock: systemClock, fetch }).resolve("openai-completions");
  const call = { provider, config: configOf(), sink: () => undefined, signal: new AbortController().signal };
  expect(await streamWithRetry(call, DEPS)).toMatchObject({ stopReason: "error", errorClass: "protocol" });
  expect(sent).toBeLessThan(40);
});

test.each<[string, Partial<StreamConfig>, string, string]>([
  ["a key in a line that is not JSON", { apiKey: "sk-secret-12345" }, "sk-secret-12345", ""],
  [
    "the value of a header with a scheme of its own",
    {
      model: {
        ...wireModel("openai-completions", "http://localhost:9"),
        headers: { authorization: "Basic dXNlcjpwYXNzd29yZA==" },
      },
    },
    "dXNlcjpwYXNzd29yZA==",
    "",
  ],
])("%s is in no warning and no error", async (_what, change, secret) => {
  const said = JSON.stringify({ choices: [{ index: 0, delta: { content: "Hello" }, finish_reason: "stop" }] });
  const answered = await answerTo(`data: bad key ${secret}\n\ndata: ${said}\n\n`, change);
  expect(answered.events.map((event) => event.type)).toContain("warning");
  expect(JSON.stringify(answered.events)).not.toContain(secret);
  const refused = await answerTo(`data: ${JSON.stringify({ error: { message: `bad key ${secret}` } })}\n\n`, change);
  expect(refused.message.stopReason).toBe("error");
  expect(JSON.stringify(refused.message)).not.toContain(secret);
});

test.each<[string, Record<string, string>]>([
  ["a key pair", { AWS_ACCESS_KEY_ID: "AKIDEXAMPLE1", AWS_SECRET_ACCESS_KEY: "secret/secret/secret" }],
  [
    "a temporary pair",
    { AWS_ACCESS_KEY_ID: "ASIAEXAMPLE1", AWS_SECRET_ACCESS_KEY: "secret/secret", AWS_SESSION_TOKEN: "token+token" },
  ],
  ["a Bedrock key", { AWS_BEARER_TOKEN_BEDROCK: "bedrock-api-key-12345" }],
])("%s that Bedrock reads from the environment is in no error, whatever its server quotes", async (_what, keys) => {
  const quoted = JSON.stringify({ message: `The request signed by ${Object.values(keys).join(", ")} was refused` });
  const events: StreamEvent[] = [];
  const sent: string[] = [];
  for (const status of [200, 400, 403, 500]) {
    const fetch: typeof globalThis.fetch = (_url, init) => {
      sent.push(new Headers(init?.headers).get("authorization") ?? "");
      return Promise.resolve(new Response(quoted, { status }));
    };
    const env = { AWS_REGION: "us-east-1", ...keys };
    const provider = createProviders({ clock: systemClock, fetch, env }).resolve("bedrock-converse-stream");
    const config = configOf({ model: wireModel("bedrock-converse-stream", "http://localhost:9") });
    const call = { provider, config, sink: (event: StreamEvent) => void events.push(event) };
    const message = await streamWithRetry({ ...call, signal: new AbortController().signal }, DEPS);
    expect(message.errorMessage).toContain("signed by ***");
    for (const secret of Object.values(keys)) expect(JSON.stringify([message, ...events])).not.toContain(secret);
  }
  expect(sent).toHaveLength(4);
  expect(sent.every((authorization) => authorization !== "")).toBe(true);
});

test("a password in an address is in no error", async () => {
  const provider = createProviders({ clock: systemClock }).resolve("openai-completions");
  const config = configOf({ model: wireModel("openai-completions", "http://user:passw0rd@localhost:9") });
  const call = { provider, config, sink: () => undefined, signal: new AbortController().signal };
  const message = await streamWithRetry(call, DEPS);
  expect(message.stopReason).toBe("error");
  expect(JSON.stringify(message)).not.toContain("passw0rd");
});

test("an error object after the end of an answer does not make it an error that is paid for again", async () => {
  const said = JSON.stringify({ choices: [{ index: 0, delta: { content: "Hello" }, finish_reason: "stop" }] });
  const late = JSON.stringify({ error: { message: "upstream closed", code: 502 } });
  const { message, requests } = await answerTo(`data: ${said}\n\ndata: ${late}\n\n`, {
    retry: { maxRetries: 2, firstDelayMs: 1 },
  });
  expect(message.stopReason).toBe("stop");
  expect(requests).toBe(1);
  expect(message).not.toBeInstanceOf(ProviderError);
});

const USELESS = (["google-generative-ai", "bedrock-converse-stream"] as const).flatMap((protocol) =>
  wireCases(protocol)
    .filter((wire) => ["malformed-call", "empty-stop"].includes(wire.name))
    .map((wire) => [protocol, wire.title, wire] as const),
);

async function answerOf(wires: readonly WireCase[]) {
  const [first] = wires;
  const left = [...wires];
  const events: StreamEvent[] = [];
  const fetch = () => Promise.resolve(new Response(Uint8Array.from(left.shift()?.body ?? [])));
  const protocol = first?.protocol ?? "demo";
  const provider = createProviders({ clock: systemClock, fetch, env: { AWS_REGION: "us-east-1" } }).resolve(protocol);
  const config = configOf({
    model: wireModel(protocol, "http://localhost:9"),
    apiKey: "AKIDEXAMPLE:secret-secret",
    retry: { maxRetries: 5, firstDelayMs: 1 },
  });
  const sink = (event: StreamEvent) => void events.push(event);
  const message = await streamWithRetry({ provider, config, sink, signal: new AbortController().signal }, DEPS);
  return { message, asked: wires.length - left.length, retries: events.filter((event) => event.type === "retry") };
}

test.each(USELESS)(
  "an answer of %s that was paid for and is of no use (%s) is asked for once more, with its cost told, and then is an error",
  async (protocol, _title, wire) => {
    const whole = wireCases(protocol).find((each) => each.name === "whole") as WireCase;
    const cured = await answerOf([wire, whole]);
    expect(cured.message.stopReason).toBe("stop");
    expect(cured.retries).toMatchObject([{ attempt: 1, usage: { input: 5 } }]);
    const given = await answerOf([wire, wire, whole, whole]);
    expect(given.message).toMatchObject({ stopReason: "error", usage: { input: 5 } });
    expect(given.asked).toBe(2);
    expect(given.retries).toHaveLength(1);
  },
);
