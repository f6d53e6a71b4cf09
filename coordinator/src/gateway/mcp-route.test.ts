import { until } from "@mesh/kernel";
import { FakeClock } from "@mesh/kernel/testing";
import { Assistant, type CreateRunRequest, type FollowRunResponse, Run, RunEvent } from "@mesh/proto";
import { expect, test } from "vitest";

import { McpFlights } from "./mcp-flight.ts";
import type { Call } from "./operation.ts";
import { scriptedApi } from "./testing/scripted-api.ts";
import { callerWith, type RunningGateway, startGateway } from "./testing/running-gateway.ts";

const PATH = "/v1/workspaces/w/assistants/helper/mcp";
const TOOLS = [
  {
    server: "files.local",
    tool: "read",
    description: "Reads a file",
    input_schema: {
      type: "object",
      properties: { path: { type: "string" }, lines: { type: "integer" } },
      required: ["path"],
    },
  },
  { server: "files.local", tool: "fail", input_schema: { type: "object" } },
  { server: "files.local", tool: "photo", input_schema: {} },
];

type Script = readonly (readonly [kind: string, data: Record<string, unknown>])[];
const message = (type: string, props: Record<string, unknown>): Script[number] => ["message", { type, props }];
const finished = (state: string, more: Record<string, unknown> = {}): Script[number] => [
  "run.finished",
  { state, ...more },
];
const told = (next: unknown): Script[number] =>
  message("event", { event: "stream_end", data: { metadata: { finish_reason: "stop", next } } });

/** A gateway whose runs follow a script chosen by what the run is asked; an empty script never ends. */
async function start(scriptOf: (request: CreateRunRequest) => Script, clock?: FakeClock) {
  const runs: CreateRunRequest[] = [];
  const cancelled: string[] = [];
  async function* follow(request: { run: string }, call: Call): AsyncGenerator<FollowRunResponse> {
    const wish = runs[Number(request.run.slice(4))]!;
    const script = wish.options?.["tool_list"] === true ? [told(TOOLS), finished("succeeded")] : scriptOf(wish);
    for (const [i, [kind, data]] of script.entries()) {
      yield { event: RunEvent.fromPartial({ run_id: request.run, seq: i + 1, kind, data }) };
    }
    if (script.at(-1)?.[0] === "run.finished") return;
    await new Promise<void>((resolve) => call.signal.addEventListener("abort", () => resolve(), { once: true }));
  }
  const { api, calls } = scriptedApi({
    getAssistant: () =>
      Promise.resolve({ assistant: Assistant.fromPartial({ id: "helper", name: "Helper", app: "a", app_version: 3 }) }),
    createRun: (request: CreateRunRequest) => {
      runs.push(request);
      return Promise.resolve({ run: Run.fromPartial({ id: `run_${runs.length - 1}` }) });
    },
    cancelRun: ({ run }: { run: string }) => {
      cancelled.push(run);
      return Promise.resolve({ run: Run.fromPartial({ id: run }) });
    },
    followRun: follow,
  });
  const callers = new Map([
    ["admin", callerWith(["admin"])],
    ["runs", callerWith(["runs"])],
    ["read", callerWith(["read"])],
  ]);
  const gateway = await startGateway({ api, callers, ...(clock === undefined ? {} : { clock }) });
  return { gateway, runs, cancelled, calls };
}

interface Reply {
  readonly result?: { readonly [key: string]: unknown };
  readonly error?: { readonly code: number; readonly message: string };
}

interface Sent {
  readonly id?: number;
  readonly headers?: Record<string, string>;
  readonly token?: string;
  readonly query?: string;
  readonly signal?: AbortSignal;
}

function post(gateway: RunningGateway, body: unknown, sent: Sent = {}): Promise<Response> {
  return gateway.fetch(PATH + (sent.query ?? ""), {
    method: "POST",
    body: typeof body === "string" ? body : JSON.stringify(body),
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...sent.headers,
    },
    ...(sent.token === undefined ? {} : { token: sent.token }),
    ...(sent.signal === undefined ? {} : { signal: sent.signal }),
  });
}

/** All messages of an answer. */
async function messagesOf(response: Response): Promise<Record<string, unknown>[]> {
  const text = await response.text();
  if (!(response.headers.get("content-type") ?? "").startsWith("text/event-stream")) return [JSON.parse(text)];
  return [...text.matchAll(/^data: (\{.*\})$/gm)].map(([, data]) => JSON.parse(data!) as Record<string, unknown>);
}

async function request(gateway: RunningGateway, method: string, params: object, sent: Sent = {}): Promise<Reply> {
  const response = await post(gateway, { jsonrpc: "2.0", id: sent.id ?? 1, method, params }, sent);
  return (await messagesOf(response)).at(-1) as Reply;
}

const call = (name: string, args: object = {}): object => ({ name, arguments: args });
const initialize = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } };

test("the tools of an assistant are listed under names every client accepts, with the assistant itself as ask", async () => {
  const { gateway, runs } = await start(() => []);
  await using _ = gateway;
  const { result } = await request(gateway, "tools/list", {});
  const tools = result?.["tools"] as { name: string; inputSchema: object }[];
  expect(tools.map(({ name }) => name)).toEqual([
    "ask",
    "files_local__fail",
    "files_local__photo",
    "files_local__read",
  ]);
  expect(tools.at(-1)).toMatchObject({ description: "Reads a file", inputSchema: { required: ["path"] } });
  expect(tools[2]).toMatchObject({ description: "photo of files.local", inputSchema: { type: "object" } });
  expect(runs).toHaveLength(1);
  expect(runs[0]).toMatchObject({ assistant: "helper", options: { tool_list: true }, on_lost: "fail" });
});

test("a list is asked of a device once for a while, and again after that and for another device", async () => {
  const clock = new FakeClock();
  const { gateway, runs } = await start(() => [], clock);
  await using _ = gateway;
  await Promise.all([request(gateway, "tools/list", {}), request(gateway, "tools/list", {})]);
  expect(runs).toHaveLength(1);
  await request(gateway, "tools/list", {}, { headers: { "yao-node": "laptop" } });
  await request(gateway, "tools/list", {}, { query: "?node=laptop" });
  expect(runs.map(({ requirements }) => requirements?.node)).toEqual(["", "laptop"]);
  await clock.advance(31_000);
  await request(gateway, "tools/list", {});
  expect(runs).toHaveLength(3);
});

test("a call is a run of that tool; its text and its value are the answer", async () => {
  const script = (): Script => [
    ["run.placed", { node: "laptop" }],
    message("execute", { tool: "read", status: "running" }),
    message("execute", { tool: "read", status: "completed", output: '{"a": 1}' }),
    told({ a: 1 }),
    finished("succeeded", { output: '{"a": 1}' }),
  ];
  const { gateway, runs } = await start(script);
  await using _ = gateway;
  const { result } = await request(gateway, "tools/call", call("files_local__read", { path: "x" }));
  expect(result).toEqual({ content: [{ type: "text", text: '{"a": 1}' }], structuredContent: { a: 1 } });
  expect(runs.at(-1)?.options).toEqual({
    tool_call: { server: "files.local", tool: "read", arguments: { path: "x" } },
  });
});

test("pictures come as pictures, and a long text comes whole though the run's output was cut", async () => {
  const long = "x".repeat(300_000);
  const { gateway } = await start(({ options }) => {
    const { tool } = options!["tool_call"] as { tool: string };
    return tool === "photo"
      ? [told([{ type: "image", data: "AAAA", mimeType: "image/png" }, "a cat"]), finished("succeeded")]
      : [
          message("execute", { status: "completed", output: long }),
          finished("succeeded", { output: long.slice(0, 1000), output_truncated: true }),
        ];
  });
  await using _ = gateway;
  const photo = await request(gateway, "tools/call", call("files_local__photo"));
  expect(photo.result?.["content"]).toEqual([
    { type: "image", data: "AAAA", mimeType: "image/png" },
    { type: "text", text: "a cat" },
  ]);
  const text = await request(gateway, "tools/call", call("files_local__read", { path: "x" }));
  expect(text.result?.["content"]).toEqual([{ type: "text", text: long }]);
});

test("progress is told to a client that wants it", async () => {
  const script: Script = [
    ["run.queued", { reason: "waiting for a free slot" }],
    ["run.placed", { node: "laptop" }],
    message("execute", { tool: "read", status: "running" }),
    message("loading", { message: "half way" }),
    finished("succeeded"),
  ];
  const { gateway } = await start(() => script);
  await using _ = gateway;
  const params = { ...call("files_local__read", { path: "x" }), _meta: { progressToken: "p" } };
  const response = await post(gateway, { jsonrpc: "2.0", id: 1, method: "tools/call", params });
  const messages = await messagesOf(response);
  const told = messages.slice(0, -1).map(({ params: p }) => p as { progress: number; message: string });
  expect(told.map(({ message }) => message)).toEqual([
    "waiting for a free slot",
    "placed on laptop",
    "tool read",
    "half way",
  ]);
  expect(told.map(({ progress }) => progress)).toEqual([1, 2, 3, 4]);
});

test("a tool that fails is an answer with its words", async () => {
  const { gateway } = await start(() => [
    message("execute", { tool: "fail", status: "error", output: "disk on fire" }),
    finished("failed", { error: { code: "failed_precondition", message: "disk on fire" } }),
  ]);
  await using _ = gateway;
  const { result } = await request(gateway, "tools/call", call("files_local__fail"));
  expect(result).toEqual({ content: [{ type: "text", text: "disk on fire" }], isError: true });
});

test.each([
  ["queue_expired", "it waited too long (waiting for device laptop)", /no device took it within 30 s.*yao node list/],
  ["device_lost", "device laptop went away while it held this run", /laptop went away.*yao runs show run_1/],
  ["internal", "the run failed inside the runner", /the run failed inside the runner.*yao runs show run_1/],
])("a run that came to nothing with %s says what to do", async (code, text, says) => {
  const { gateway } = await start(() => [finished("failed", { error: { code, message: text } })]);
  await using _ = gateway;
  const reply = await request(gateway, "tools/call", call("files_local__read", { path: "x" }));
  expect(JSON.stringify(reply)).toMatch(says);
});

test("wrong arguments name the field and start no run; an unknown tool is refused", async () => {
  const { gateway, runs } = await start(() => []);
  await using _ = gateway;
  const wrong = await request(gateway, "tools/call", call("files_local__read", { path: "x", lines: "many" }));
  expect(wrong.result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining("lines") }] });
  const unknown = await request(gateway, "tools/call", call("files_local__nothing"));
  expect(unknown.error).toMatchObject({ code: -32_602, message: expect.stringContaining("files_local__nothing") });
  const long = await request(gateway, "tools/call", call("files_local__fail", { text: "x".repeat(60_000) }));
  expect(JSON.stringify(long)).toContain("larger than 60 KB");
  expect(runs.every(({ options }) => options?.["tool_list"] === true)).toBe(true);
});

test("ask is a run of the assistant itself; one that asks back is left waiting and says how to answer", async () => {
  const { gateway, runs, cancelled } = await start(({ input }) =>
    input === "hello"
      ? [finished("succeeded", { output: "Good morning" })]
      : [["run.asked", { pending: [{ id: "c", text: "Which colour?" }] }]],
  );
  await using _ = gateway;
  const hello = await request(gateway, "tools/call", call("ask", { message: "hello" }));
  expect(hello.result).toEqual({ content: [{ type: "text", text: "Good morning" }] });
  expect(runs.at(-1)).toMatchObject({ input: "hello", options: {} });
  const asks = await request(gateway, "tools/call", call("ask", { message: "paint" }));
  expect(asks.result?.["isError"]).toBe(true);
  expect(JSON.stringify(asks.result)).toMatch(/Which colour\?.*yao runs answer run_2/);
  expect(cancelled).toEqual([]);
});

test("a client that goes away cancels its run", async () => {
  const { gateway, runs, cancelled } = await start(() => [["run.started", {}]]);
  await using _ = gateway;
  const gone = new AbortController();
  const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params: call("files_local__fail") };
  const response = post(gateway, message, { signal: gone.signal }).then((answer) => answer.text());
  await until(() => runs.length === 2, { what: "the run" });
  gone.abort();
  await expect(response).rejects.toThrow();
  await until(() => cancelled.length === 1, { what: "the cancellation" });
  expect(cancelled).toEqual(["run_1"]);
});

test("a client cancels one of its requests by id, and nobody else's", async () => {
  const { gateway, runs, cancelled } = await start(() => [["run.started", {}]]);
  await using _ = gateway;
  const opened = await post(gateway, { jsonrpc: "2.0", id: 0, method: "initialize", params: initialize });
  const session = opened.headers.get("mcp-session-id") ?? "";
  expect(session).not.toBe("");
  await opened.text();
  const headers = { "mcp-session-id": session, "mcp-protocol-version": "2025-11-25" };
  const running = request(gateway, "tools/call", call("files_local__fail"), { id: 7, headers });
  await until(() => runs.length === 2, { what: "the run" });
  const cancel = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 7 } };
  const foreign = [
    post(gateway, cancel, { headers: { "mcp-session-id": "another" } }),
    post(gateway, cancel, { headers, token: "runs" }),
    post(gateway, { ...cancel, params: { requestId: "7" } }, { headers }),
  ];
  for (const { status } of await Promise.all(foreign)) expect(status).toBe(202);
  expect(cancelled).toEqual([]);
  expect((await post(gateway, cancel, { headers })).status).toBe(202);
  await until(() => cancelled.length === 1, { what: "the cancellation" });
  await running;
});

test("without a valid token, with another scope or from a page nothing is answered", async () => {
  const { gateway, runs } = await start(() => []);
  await using _ = gateway;
  const list = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} };
  const statuses = await Promise.all([
    post(gateway, list, { token: "" }),
    post(gateway, list, { token: "wrong" }),
    post(gateway, list, { token: "read" }),
    post(gateway, list, { headers: { origin: "https://evil.example" } }),
    post(gateway, list, { headers: { origin: `${gateway.url}0` } }),
    post(gateway, list, { token: "runs" }),
    post(gateway, list, { headers: { origin: gateway.url } }),
  ]);
  expect(statuses.map(({ status }) => status)).toEqual([401, 401, 403, 403, 403, 200, 200]);
  expect(await statuses[2]!.json()).toMatchObject({
    code: "permission_denied",
    detail: expect.stringContaining("runs"),
  });
  expect(runs).toHaveLength(1);
});

test.each([
  ["no JSON", "{", {}, 400],
  ["nothing", "", {}, 400],
  ["another type", "{}", { "content-type": "text/plain" }, 415],
  ["bytes", "{}", { "content-type": "application/octet-stream" }, 415],
  ["a message that is none", '"hello"', {}, 400],
  ["more than 1 MB", JSON.stringify({ text: "x".repeat(1_100_000) }), {}, 413],
  ["a client that takes no stream", "{}", { accept: "text/html" }, 406],
  ["an unknown protocol", '{"jsonrpc":"2.0","id":1,"method":"ping"}', { "mcp-protocol-version": "1999" }, 400],
  ["a long name of a device", "{}", { "yao-node": "n".repeat(201) }, 400],
] as const)("%s is refused", async (_what, body, headers, status) => {
  const { gateway, runs } = await start(() => []);
  await using _ = gateway;
  const response = await post(gateway, body, { headers });
  expect(response.status).toBe(status);
  // Refused before a byte of the body is read.
  if (status === 415) expect(response.headers.get("content-type")).toContain("problem+json");
  expect(await response.text()).not.toMatch(/\.[jt]s:\d+/);
  expect(runs).toHaveLength(0);
});

test("streams from the server are not offered, and sessions need no end", async () => {
  const { gateway } = await start(() => []);
  await using _ = gateway;
  for (const method of ["GET", "DELETE"]) {
    const response = await gateway.fetch(PATH, { method, headers: { accept: "text/event-stream" } });
    expect([method, response.status, response.headers.get("allow")]).toEqual([method, 405, "POST"]);
  }
});

test("a request that has ended cannot be cancelled and leaves nothing behind", () => {
  const flights = new McpFlights();
  const owner = { tokenId: "t", session: "s" };
  const first = flights.enter(owner, [1, 2]);
  const second = flights.enter(owner, [2]);
  first.leave();
  expect(flights.size).toBe(1);
  flights.cancel(owner, 1);
  expect(first.signal.aborted).toBe(false);
  flights.cancel(owner, 2);
  expect(second.signal.aborted).toBe(true);
  second.leave();
  expect(flights.size).toBe(0);
});
