/** The official client of OpenAI against `/v1`: answers, streams, functions, errors, aborts and its own retries. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { demoAppDirectory } from "@mesh/assistants";
import { until } from "@mesh/kernel";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { type RunView, TestMesh } from "../harness/test-mesh.ts";

let mesh: TestMesh;
let client: OpenAI;

beforeAll(async () => {
  mesh = await TestMesh.start({ nodes: [{ name: "alpha", slots: 8 }] });
  await mesh.pushApp("demo", demoAppDirectory);
  await pushTools();
  client = openai();
});

afterAll(() => mesh?.stop());

function openai(options: Partial<ConstructorParameters<typeof OpenAI>[0]> = {}): OpenAI {
  return new OpenAI({ baseURL: `${mesh.api.url}/v1`, apiKey: mesh.api.token, maxRetries: 0, ...options });
}

/** Assistants with a tool of the device: one uses it freely, one asks first. */
async function pushTools(): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), "yao-tools-"));
  try {
    const write = (path: string, text: string): void => {
      mkdirSync(join(dir, path, ".."), { recursive: true });
      writeFileSync(join(dir, path), text);
    };
    write("connectors/demo.conn.yao", '{"type": "demo", "options": {"model": "demo"}}');
    for (const [id, options] of [
      ["worker", { tools: ["bash"] }],
      ["asker", { tools: ["bash"], approve: ["bash"] }],
    ] as const) {
      write(`assistants/${id}/package.yao`, JSON.stringify({ name: id, connector: "demo", options }));
      write(`assistants/${id}/prompts.yml`, "- role: system\n  content: Work.\n");
    }
    await mesh.pushApp("tools", dir);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

const say = (content: string): OpenAI.ChatCompletionMessageParam[] => [{ role: "user", content }];

const WEATHER: OpenAI.ChatCompletionTool = {
  type: "function",
  function: {
    name: "weather",
    description: "Tells the weather of a city.",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
};

/** The error a call ended with; fails when it succeeded. */
async function errorOf(call: Promise<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> {
  try {
    await call;
  } catch (error) {
    if (error instanceof OpenAI.APIError) return error as InstanceType<typeof OpenAI.APIError>;
    throw error;
  }
  throw new Error("the call was not refused");
}

async function newestRun(): Promise<RunView> {
  const { runs } = await mesh.api.call<{ runs: RunView[] }>("GET", "/v1/workspaces/default/runs?limit=1");
  return runs[0]!;
}

describe("an answer", () => {
  test("is one object, whose run is named in a header", async () => {
    const { data, response, request_id } = await client.chat.completions
      .create({ model: "hello", messages: say("hi there") })
      .withResponse();
    expect(data).toMatchObject({
      object: "chat.completion",
      model: "hello",
      choices: [
        {
          index: 0,
          message: { role: "assistant", content: "You said: hi there" },
          finish_reason: "stop",
          logprobs: null,
        },
      ],
    });
    expect(data.usage?.total_tokens).toBeGreaterThan(0);
    expect(data.usage?.total_tokens).toBe((data.usage?.prompt_tokens ?? 0) + (data.usage?.completion_tokens ?? 0));
    const run = await mesh.run(response.headers.get("x-yao-run") ?? "");
    expect(run).toMatchObject({ state: "succeeded", input: "hi there" });
    expect(data.id).toBe(`chatcmpl-${run.id.slice(4)}`);
    expect(request_id).toMatch(/^req_/);
    expect(response.headers.get("openai-processing-ms")).toMatch(/^\d+$/);
  });

  test("comes as a stream of chunks, with the usage last where it is asked for", async () => {
    const stream = await client.chat.completions.create({
      model: "counter",
      messages: say("/count 20 every 5ms"),
      stream: true,
      stream_options: { include_usage: true },
    });
    const chunks: OpenAI.ChatCompletionChunk[] = [];
    for await (const chunk of stream) chunks.push(chunk);
    const numbers = Array.from({ length: 20 }, (_, i) => String(i + 1)).join(" ");
    expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join("")).toBe(numbers);
    expect(chunks.length).toBeGreaterThan(3);
    expect(chunks[0]?.choices[0]?.delta).toEqual({ role: "assistant", content: "" });
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: 20 } });
    expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe("stop");
    expect(chunks.slice(0, -1).every(({ usage }) => usage === null)).toBe(true);
    expect(new Set(chunks.map(({ id, created, model }) => `${id} ${created} ${model}`)).size).toBe(1);
  });

  test("of the client's own stream helper is the same as without a stream", async () => {
    const runner = client.chat.completions.stream({ model: "hello", messages: say("/think deep"), stream: true });
    const final = await runner.finalChatCompletion();
    const whole = await client.chat.completions.create({ model: "hello", messages: say("/think deep") });
    expect(final.choices[0]?.message.content).toBe("I thought about: deep");
    expect(whole.choices[0]?.message).toMatchObject({ content: "I thought about: deep", reasoning_content: "deep" });
  });

  test("knows the whole conversation and pictures in it", async () => {
    const pixel =
      "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    const answer = await client.chat.completions.create({
      model: "hello",
      messages: [
        { role: "system", content: "Be short." },
        { role: "user", content: "one" },
        { role: "assistant", content: "two" },
        {
          role: "user",
          content: [
            { type: "text", text: "three" },
            { type: "image_url", image_url: { url: pixel } },
          ],
        },
      ],
      temperature: 0.5,
      max_tokens: 50,
    });
    expect(answer.choices[0]?.message.content).toContain("You said: three");
  });

  test("names the parameters that changed nothing", async () => {
    const { response } = await client.chat.completions
      .create({ model: "hello", messages: say("hi"), logprobs: true, store: false, seed: 1 })
      .withResponse();
    expect(response.headers.get("x-yao-ignored")).toBe("logprobs, store");
  });
});

describe("functions of the client", () => {
  test("are called, and the next request goes on with their results", async () => {
    const messages = say('/tool weather {"city":"Bern"}');
    const first = await client.chat.completions.create({ model: "hello", messages, tools: [WEATHER] });
    const [choice] = first.choices;
    expect(choice?.finish_reason).toBe("tool_calls");
    expect(choice?.message).toMatchObject({
      content: null,
      tool_calls: [{ type: "function", function: { name: "weather", arguments: '{"city":"Bern"}' } }],
    });
    messages.push(choice!.message, {
      role: "tool",
      tool_call_id: choice!.message.tool_calls![0]!.id,
      content: "sunny",
    });
    const second = await client.chat.completions.create({ model: "hello", messages, tools: [WEATHER] });
    expect(second.choices[0]).toMatchObject({
      message: { content: "The tool answered: sunny" },
      finish_reason: "stop",
    });
  });

  test("are driven to the end by the client's own loop", async () => {
    const asked: unknown[] = [];
    const runner = client.chat.completions.runTools({
      model: "hello",
      stream: true,
      messages: say('/tool weather {"city":"Bern"}'),
      tools: [
        {
          type: "function",
          function: {
            name: "weather",
            description: "Tells the weather.",
            parameters: { type: "object", properties: { city: { type: "string" } } },
            parse: JSON.parse,
            function: (args: object) => {
              asked.push(args);
              return "rain";
            },
          },
        },
      ],
    });
    expect(await runner.finalContent()).toBe("The tool answered: rain");
    expect(asked).toEqual([{ city: "Bern" }]);
  });

  test("tools of the device stay hidden", async () => {
    const stream = await client.chat.completions.create({
      model: "worker",
      messages: say('/tool bash {"command":"echo from-the-device"}'),
      stream: true,
    });
    const deltas = [];
    for await (const { choices } of stream) deltas.push(choices[0]?.delta);
    expect(deltas.some((delta) => delta?.tool_calls !== undefined)).toBe(false);
    expect(deltas.map((delta) => delta?.content ?? "").join("")).toContain("from-the-device");
  });
});

describe("a request that cannot be answered", () => {
  test("is refused in the form the client knows, with its kind of error", async () => {
    const unknown = await errorOf(client.chat.completions.create({ model: "nobody", messages: say("x") }));
    expect(unknown).toBeInstanceOf(OpenAI.NotFoundError);
    expect(unknown).toMatchObject({
      status: 404,
      code: "model_not_found",
      param: "model",
      type: "invalid_request_error",
    });
    expect(unknown.requestID).toMatch(/^req_/);
    const several = await errorOf(client.chat.completions.create({ model: "hello", messages: say("x"), n: 2 }));
    expect(several).toMatchObject({ status: 400, param: "n" });
    const none = await errorOf(client.chat.completions.create({ model: "hello", messages: [] }));
    expect(none).toMatchObject({ status: 400, param: "messages" });
    const stranger = await errorOf(
      openai({ apiKey: "yao_x" }).chat.completions.create({ model: "hello", messages: say("x") }),
    );
    expect(stranger).toBeInstanceOf(OpenAI.AuthenticationError);
    expect(stranger).toMatchObject({ code: "invalid_api_key", type: "authentication_error", param: null });
  });

  test("because its run fails is an error that says why, also within a stream", async () => {
    const failing = say("/fail invalid_argument no such thing");
    const whole = await errorOf(client.chat.completions.create({ model: "hello", messages: failing }));
    expect(whole).toMatchObject({ status: 400, code: "invalid_argument" });
    expect(whole.message).toContain("no such thing");
    expect(whole.headers?.get("x-should-retry")).toBe("false");
    expect(whole.headers?.get("x-yao-run")).toMatch(/^run_/);
    const stream = client.chat.completions.create({ model: "hello", messages: failing, stream: true });
    const late = await errorOf(
      (async () => {
        for await (const chunk of await stream) expect(chunk.choices[0]?.finish_reason).not.toBe("stop");
      })(),
    );
    expect(late.code).toBe("invalid_argument");
  });

  test("because its run asks a person says so and names the run, which can be answered", async () => {
    const asking = await errorOf(
      client.chat.completions.create({ model: "asker", messages: say('/tool bash {"command":"echo asked"}') }),
    );
    expect(asking).toMatchObject({ status: 409, code: "needs_input" });
    const { yao } = asking.error as { yao: { run: string; pending: { id: string; tool: string }[] } };
    expect(yao.pending).toMatchObject([{ tool: "bash" }]);
    await mesh.api.call("POST", `/v1/runs/${yao.run}/answer`, { call_id: yao.pending[0]?.id, decision: "approve" });
    expect((await mesh.ended(yao.run)).output).toContain("asked");
  });
});

describe("a client that goes away", () => {
  test("cancels its run, in a stream and while it waits", async () => {
    const stream = await client.chat.completions.create({ model: "counter", messages: say("/slow 60s"), stream: true });
    for await (const chunk of stream) if ((chunk.choices[0]?.delta.content ?? "") !== "") break;
    const { id } = await newestRun();
    expect((await mesh.ended(id)).state).toBe("cancelled");
    const abort = new AbortController();
    const waiting = client.chat.completions
      .create({ model: "counter", messages: say("/slow 61s") }, { signal: abort.signal })
      .catch((error: unknown) => error);
    const run = await until(async () => {
      const newest = await newestRun();
      return newest.input === "/slow 61s" && newest.state === "running" ? newest : undefined;
    });
    abort.abort();
    expect(await waiting).toBeInstanceOf(OpenAI.APIUserAbortError);
    expect((await mesh.ended(run.id)).state).toBe("cancelled");
  });

  test("with an idempotency key comes back for the same answer", async () => {
    const headers = { "idempotency-key": "come-back" };
    const body = { model: "counter", messages: say("/count 40 every 20ms") };
    const first = await client.chat.completions.create({ ...body, stream: true }, { headers });
    for await (const chunk of first) if ((chunk.choices[0]?.delta.content ?? "") !== "") break;
    const { data, response } = await client.chat.completions.create(body, { headers }).withResponse();
    expect(response.headers.get("idempotency-replayed")).toBe("true");
    expect(data.choices[0]?.message.content).toBe(Array.from({ length: 40 }, (_, i) => String(i + 1)).join(" "));
    const other = await errorOf(client.chat.completions.create({ ...body, messages: say("else") }, { headers }));
    expect(other.status).toBe(422);
  });
});

test("models are the assistants, under one name for each", async () => {
  const ids: string[] = [];
  for await (const model of client.models.list()) ids.push(model.id);
  expect(ids).toEqual(expect.arrayContaining(["hello", "counter"]));
  await mesh.api.call("POST", "/v1/workspaces", { name: "blue" });
  await mesh.pushApp("demo", demoAppDirectory, "blue");
  const all = (await client.models.list()).data;
  expect(all.map(({ id }) => id)).toEqual(expect.arrayContaining(["hello", "blue/hello"]));
  expect(await client.models.retrieve("blue/hello")).toMatchObject({ id: "blue/hello", owned_by: "blue" });
  expect((await errorOf(client.models.retrieve("blue/nobody"))).code).toBe("model_not_found");
  const answer = await client.chat.completions.create({ model: "blue/hello", messages: say("hi") });
  expect(answer.choices[0]?.message.content).toBe("You said: hi");
});

test("a token with a small quota is told so, and the client's own retries get through", async () => {
  const { secret } = await mesh.api.call<{ secret: string }>("POST", "/v1/tokens", {
    name: "small",
    scopes: ["runs"],
    rate_per_minute: 60,
  });
  const plain = openai({ apiKey: secret });
  const seen: number[] = [];
  const spend = async (): Promise<never> => {
    for (let i = 0; i < 70; i += 1) {
      const { response } = await plain.models.list().withResponse();
      seen.push(Number(response.headers.get("x-ratelimit-remaining-requests")));
    }
    throw new Error("70 requests were answered");
  };
  const refused = await errorOf(spend());
  expect(refused).toMatchObject({ status: 429, code: "rate_limit_exceeded" });
  expect(seen.every((left, i) => i === 0 || left <= (seen[i - 1] ?? 0))).toBe(true);
  expect(refused.headers?.get("retry-after")).toMatch(/^[1-9]/);
  expect(refused.headers?.get("ratelimit-policy")).toBe('"requests";q=60;w=60');
  const patient = await openai({ apiKey: secret, maxRetries: 4 }).models.list();
  expect(patient.data.length).toBeGreaterThan(0);
});
