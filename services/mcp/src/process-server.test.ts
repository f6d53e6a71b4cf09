import type { Json } from "@mesh/kernel";
import { expect, test } from "vitest";

import type { McpServerConfig } from "./server-config.ts";
import { processFixture } from "./testing/process-fixture.ts";

const options = { caller: "run-1" };
const echo: McpServerConfig = {
  id: "agents.demo.echo",
  transport: "process",
  tools: { echo: "scripts.Echo", add: "scripts.Add", plain: "scripts.Plain", none: "scripts.None", bad: "scripts.Bad" },
  resources: { info: "scripts.Info", health: "scripts.Health", user: "scripts.User" },
  prompts: { greet: "scripts.Greet", made: "scripts.Made" },
  mapping: {
    tools: {
      echo: {
        input: {
          type: "object",
          description: "Echoes",
          properties: { message: { type: "string" } },
          required: ["message"],
          "x-process-args": [":arguments"],
        },
        samples: [{ name: "simple", input: { message: "hi" } }, { name: "second" }],
      },
      add: { input: { type: "object" }, processArgs: ["$args.left", "$right.value", 10, "$args.missing"] },
    },
    resources: {
      info: {
        uri: "echo://info",
        name: "Info",
        mimeType: "application/json",
        processArgs: [],
        samples: [{ name: "r" }],
      },
      health: { uri: "echo://health?check={check}", processArgs: ["$query.check", ":uri"] },
      user: { uri: "echo://users/{id}", processArgs: ["$uri.id", ":parameters"] },
    },
    prompts: {
      greet: {
        description: "Greets",
        arguments: [{ name: "who", required: true }],
        messages: [{ role: "user", content: { type: "text", text: "Hello {{who}}{{#if loud}}!{{/if}}" } }],
      },
      short: { template: "Just {{who}}" },
    },
  },
};

function fixture(): ReturnType<typeof processFixture> {
  return processFixture({
    "scripts.Echo": ([args]) => ({ echo: (args as { message: string }).message }),
    "scripts.Add": (args) => args,
    "scripts.Plain": () => "just text",
    "scripts.None": () => undefined,
    "scripts.Bad": () => {
      throw new Error("disk full");
    },
    "scripts.Info": () => ({ version: "1" }),
    "scripts.Health": (args) => args,
    "scripts.User": (args) => args,
    "scripts.Made": ([args]) => [{ role: "assistant", content: "made" }, JSON.stringify(args)],
  });
}

test("a tool is listed with its schema, without the keys only we read", async () => {
  const client = fixture().clients.get(echo);
  const { tools } = await client.list("tools", options);
  expect(tools.map(({ name }) => name)).toEqual(["echo", "add", "plain", "none", "bad"]);
  expect(tools[0]).toMatchObject({ description: "Echoes", inputSchema: { type: "object", required: ["message"] } });
  expect(tools[0]?.inputSchema).not.toHaveProperty("x-process-args");
  expect(tools[2]?.inputSchema).toEqual({ type: "object" });
});

test("arguments reach the process as its mapping says, and the caller with them", async () => {
  const { clients, calls } = fixture();
  const client = clients.get(echo);
  expect(await client.callTool("echo", { message: "hi" }, options)).toEqual({ echo: "hi" });
  expect(await client.callTool("add", { left: 1, right: { value: 2 } }, options)).toEqual([1, 2, 10, null]);
  await client.callTool("plain", { any: true }, { caller: "run-2" });
  expect(calls.map(({ args, caller }) => ({ args, caller }))).toEqual([
    { args: [{ message: "hi" }], caller: "run-1" },
    { args: [1, 2, 10, null], caller: "run-1" },
    { args: [{ any: true }], caller: "run-2" },
  ]);
});

test("a result becomes text and comes back as what it was; nothing is the empty text", async () => {
  const client = fixture().clients.get(echo);
  expect(await client.callTool("plain", undefined, options)).toBe("just text");
  expect(await client.callTool("none", {}, options)).toBe("");
  expect(await client.callToolRaw("echo", { message: "x" }, options)).toEqual({
    content: [{ type: "text", text: '{"echo":"x"}' }],
  });
});

test("what a process throws is the tool's error, not the call's", async () => {
  const client = fixture().clients.get(echo);
  expect(await client.callToolRaw("bad", {}, options)).toEqual({
    isError: true,
    content: [{ type: "text", text: "Error executing tool bad: disk full" }],
  });
});

test("wrong arguments, an unknown tool and arguments that are no object are refused before the process is called", async () => {
  const { clients, calls } = fixture();
  const client = clients.get(echo);
  await expect(client.callTool("echo", { message: 1 }, options)).rejects.toMatchObject({
    code: "invalid_argument",
    message: /tool "echo" are wrong: message: /,
  });
  await expect(client.callTool("nope", {}, options)).rejects.toMatchObject({
    code: "not_found",
    message: /there is no tool "nope"; it has echo, add, plain/,
  });
  await expect(client.callTool("constructor", {}, options)).rejects.toMatchObject({ code: "not_found" });
  await expect(client.callTool("echo", "text", options)).rejects.toMatchObject({ code: "invalid_argument" });
  expect(calls).toEqual([]);
});

test("a call ends at its time and with its caller, whether or not the process listens", async () => {
  const { clients, clock } = processFixture({ slow: () => new Promise(() => undefined) });
  const client = clients.get({ id: "s", transport: "process", tools: { slow: "slow" }, timeout: "5s" });
  const late = expect(client.callTool("slow", {}, options)).rejects.toMatchObject({ code: "deadline_exceeded" });
  await clock.advance(1);
  await clock.advance(5000);
  await late;
  const stop = new AbortController();
  const cancelled = expect(client.callTool("slow", {}, { ...options, signal: stop.signal })).rejects.toMatchObject({
    code: "cancelled",
  });
  await clock.advance(1);
  stop.abort();
  await cancelled;
});

test("resources are listed, and read with what their URIs say", async () => {
  const client = fixture().clients.get(echo);
  expect((await client.list("resources", options)).resources.map(({ uri }) => uri)).toEqual(["echo://info"]);
  expect(
    (await client.list("resourceTemplates", options)).resourceTemplates.map(({ uriTemplate }) => uriTemplate),
  ).toEqual(["echo://health?check={check}", "echo://users/{id}"]);
  const read = async (uri: string): Promise<Json> => {
    const { contents } = await client.readResource(uri, options);
    return JSON.parse(contents[0]?.text ?? "") as Json;
  };
  expect(await read("echo://info")).toEqual({ version: "1" });
  expect(await read("echo://health?check=all")).toEqual(["all", "echo://health?check=all"]);
  expect(await read("echo://health")).toEqual([null, "echo://health"]);
  expect(await read("echo://users/7")).toEqual(["7", { id: "7" }]);
  await expect(client.readResource("echo://other", options)).rejects.toMatchObject({ code: "not_found" });
});

test("prompts come from templates, or from processes", async () => {
  const client = fixture().clients.get(echo);
  expect((await client.list("prompts", options)).prompts.map(({ name }) => name)).toEqual(["greet", "made", "short"]);
  expect(await client.getPrompt("greet", { who: "Ada", loud: "1" }, options)).toEqual({
    description: "Greets",
    messages: [{ role: "user", content: { type: "text", text: "Hello Ada!" } }],
  });
  expect((await client.getPrompt("short", { who: "Ada" }, options)).messages[0]?.content).toEqual({
    type: "text",
    text: "Just Ada",
  });
  expect((await client.getPrompt("made", { a: 1 }, options)).messages).toEqual([
    { role: "assistant", content: { type: "text", text: "made" } },
    { role: "user", content: { type: "text", text: '{"a":1}' } },
  ]);
  await expect(client.getPrompt("nope", {}, options)).rejects.toMatchObject({ code: "not_found" });
});

test("samples are listed and taken by index", () => {
  const client = fixture().clients.get(echo);
  expect(client.listSamples("tool", "echo").samples).toHaveLength(2);
  expect(client.getSample("tool", "echo", 0)).toMatchObject({ name: "simple", input: { message: "hi" } });
  expect(client.getSample("resource", "info", 0)).toEqual({ name: "r" });
  expect(client.listSamples("tool", "constructor").samples).toEqual([]);
  expect(() => client.getSample("tool", "echo", 2)).toThrow(/has 2 samples/);
  expect(() => client.listSamples("model", "echo")).toThrow(/"tool" or a "resource"/);
});

test("equal configurations share a client, another secret is another server", () => {
  const { clients } = fixture();
  const config: McpServerConfig = { id: "x", transport: "http", url: "http://h/", authorization_token: "a" };
  expect(clients.get({ ...config })).toBe(clients.get(config));
  expect(clients.get({ ...config, authorization_token: "b" })).not.toBe(clients.get(config));
});

test("a configuration that cannot work says what to change", async () => {
  const { clients, clock } = fixture();
  const reasonOf = async (config: object): Promise<string> => {
    const refused = Promise.resolve()
      .then(() => clients.get({ id: "x", ...config } as McpServerConfig).list("tools", options))
      .then(String, (error: Error) => error.message);
    await clock.advance(1);
    return refused;
  };
  expect(await reasonOf({ transport: "stdio" })).toMatch(/"command" is missing/);
  expect(await reasonOf({ transport: "http" })).toMatch(/"url" is missing/);
  expect(await reasonOf({ transport: "sse", url: "ftp://h" })).toMatch(/only http: and https:/);
  expect(await reasonOf({ transport: "carrier-pigeon" })).toMatch(/must be process, stdio, http or sse/);
  expect(await reasonOf({ transport: "process", timeout: "soon" })).toMatch(/"timeout" is "soon"; write a duration/);
});
