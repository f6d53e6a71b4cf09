import { until } from "@mesh/kernel";
import { FakeClock } from "@mesh/kernel/testing";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { expect, test } from "vitest";

import { createMcpServer } from "./server.ts";
import { clientsOver, fetchOf, httpOf, offerFixture, streamPair } from "./testing/offer-fixture.ts";

const URL_TEXT = "http://localhost/mcp";
const options = { caller: "run" };

async function sdkClient(fetch: typeof globalThis.fetch): Promise<Client> {
  const client = new Client({ name: "sdk", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(new URL(URL_TEXT), { fetch }));
  return client;
}

function post(body: unknown, headers: Record<string, string> = {}): Request {
  return new Request(URL_TEXT, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "raw", version: "1" } },
};

test.each(["none", "kept", "resumable"] as const)("the SDK's client uses our server, sessions %s", async (sessions) => {
  const { definition } = offerFixture();
  const http = httpOf(definition, { sessions });
  const client = await sdkClient(fetchOf(http, "ada"));
  expect(client.getInstructions()).toBe("Add numbers.");
  expect((await client.listTools()).tools.map(({ name }) => name)).toContain("add");
  expect(await client.callTool({ name: "add", arguments: { a: 1, b: 2 } })).toEqual({
    content: [{ type: "text", text: "3" }],
  });
  const seen: number[] = [];
  await client.callTool({ name: "count" }, undefined, { onprogress: ({ progress }) => seen.push(progress) });
  expect(seen).toEqual([1, 2, 3]);
  await client.close();
  await http.close();
});

test("our client uses our server", async () => {
  const { definition } = offerFixture();
  const http = httpOf(definition, { sessions: "kept" });
  const clients = clientsOver(fetchOf(http, "ada"));
  const client = clients.get({ id: "remote", transport: "http", url: URL_TEXT });
  expect(await client.callTool("add", { a: 1, b: 2 }, options)).toBe(3);
  await expect(client.callTool("add", { a: 1 }, options)).rejects.toMatchObject({ code: "invalid_argument" });
  await clients.close();
  await http.close();
});

test("our client initializes again when the server has forgotten its session, and the call is made once more", async () => {
  const { definition, seen } = offerFixture();
  let http = httpOf(definition, { sessions: "kept" });
  const clients = clientsOver((input, init) => fetchOf(http, "ada")(input, init));
  const client = clients.get({ id: "remote", transport: "http", url: URL_TEXT });
  await client.callTool("whoami", {}, options);
  await http.close();
  http = httpOf(definition, { sessions: "kept" });
  expect(await client.callTool("whoami", {}, options)).toBe("ada");
  expect(seen.callers).toHaveLength(2);
  await clients.close();
  await http.close();
});

test("V1: each request is served for the caller it came from", async () => {
  const { definition } = offerFixture();
  const http = httpOf(definition);
  for (const caller of ["ada", "bob"]) {
    const client = await sdkClient(fetchOf(http, caller));
    expect(await client.callTool({ name: "whoami" })).toMatchObject({ content: [{ text: caller }] });
    await client.close();
  }
});

test("W3: a session does not exist for anybody but the caller who opened it", async () => {
  const { definition, seen } = offerFixture();
  const http = httpOf(definition, { sessions: "kept" });
  const opened = await http.handle(post(initialize), "ada");
  await opened.text();
  const session = { "mcp-session-id": opened.headers.get("mcp-session-id")! };
  const call = { jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "whoami" } };
  expect((await http.handle(post(call, session), "bob")).status).toBe(404);
  expect((await http.handle(new Request(URL_TEXT, { method: "DELETE", headers: session }), "bob")).status).toBe(404);
  expect(seen.callers).toEqual([]);
  expect(await (await http.handle(post(call, session), "ada")).text()).toContain('"text":"ada"');
  expect((await http.handle(post(call), "ada")).status).toBe(400);
  await http.close();
});

test("W3: sessions are bounded, and one nobody uses ends", async () => {
  const clock = new FakeClock();
  const { definition } = offerFixture();
  const http = httpOf(definition, { sessions: "kept", maxSessions: 2, sessionIdleMs: 1000 }, clock);
  const open = async (): Promise<string> => {
    const response = await http.handle(post(initialize), "ada");
    await response.text();
    return response.headers.get("mcp-session-id") ?? String(response.status);
  };
  const isKnown = async (id: string): Promise<boolean> => {
    const ping = post({ jsonrpc: "2.0", id: 9, method: "ping" }, { "mcp-session-id": id });
    const response = await http.handle(ping, "ada");
    await response.text();
    return response.status === 200;
  };
  const first = await open();
  await clock.advance(1);
  const second = await open();
  await clock.advance(1);
  const third = await open();
  expect([await isKnown(first), await isKnown(second), await isKnown(third)]).toEqual([false, true, true]);
  await clock.advance(2000);
  expect([await isKnown(second), await isKnown(third)]).toEqual([false, false]);
  // Sessions with an open stream are in use and make no room.
  const streams = [];
  for (const id of [await open(), await open()]) {
    const headers = { accept: "text/event-stream", "mcp-session-id": id };
    streams.push(await http.handle(new Request(URL_TEXT, { headers }), "ada"));
  }
  await clock.advance(2000);
  expect(await open()).toBe("503");
  for (const stream of streams) await stream.body?.cancel();
  await http.close();
});

test("W1: pages of other origins and unknown hosts are refused before the body is read", async () => {
  const { definition } = offerFixture();
  const http = httpOf(definition, { allowedOrigins: ["https://console"], allowedHosts: ["localhost"] });
  const statusOf = async (headers: Record<string, string>): Promise<number> =>
    (await http.handle(post("not json", { host: "localhost", ...headers }), "ada")).status;
  expect(await statusOf({ origin: "https://evil" })).toBe(403);
  expect(await statusOf({ origin: "null" })).toBe(403);
  expect(await statusOf({ host: "evil.example" })).toBe(403);
  expect(await statusOf({ origin: "https://console" })).toBe(400);
});

test("W2: long bodies, bodies that are no JSON and unknown versions are refused", async () => {
  const { definition } = offerFixture();
  const http = httpOf(definition, { maxBodyBytes: 1000 });
  const statusOf = async (request: Request): Promise<number> => (await http.handle(request, "ada")).status;
  expect(await statusOf(post("x".repeat(2000)))).toBe(413);
  expect(await statusOf(post({ ...initialize, id: "y".repeat(2000) }))).toBe(413);
  expect(await statusOf(post("{"))).toBe(400);
  expect(await statusOf(post({ hello: "world" }))).toBe(400);
  const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
  expect(await statusOf(post(ping, { "mcp-protocol-version": "1999-01-01" }))).toBe(400);
  expect(await statusOf(post(ping, { "content-type": "text/plain" }))).toBe(415);
  expect(await statusOf(post(ping, { accept: "application/json" }))).toBe(406);
  expect(await statusOf(new Request(URL_TEXT, { headers: { accept: "text/event-stream" } }))).toBe(405);
  expect(await statusOf(new Request(URL_TEXT, { method: "DELETE" }))).toBe(405);
});

test.each(["none", "kept"] as const)("W4: a client that goes away cancels its call, sessions %s", async (sessions) => {
  const { definition, seen } = offerFixture();
  const http = httpOf(definition, { sessions });
  const headers: Record<string, string> = {};
  if (sessions === "kept") {
    const opened = await http.handle(post(initialize), "ada");
    await opened.text();
    headers["mcp-session-id"] = opened.headers.get("mcp-session-id")!;
  }
  const call = { jsonrpc: "2.0", id: 5, method: "tools/call", params: { name: "wait" } };
  const response = await http.handle(post(call, headers), "ada");
  await until(() => seen.waiting[0], { what: "the call" });
  expect(seen.waiting[0]?.aborted).toBe(false);
  await response.body?.cancel();
  await until(() => seen.waiting[0]?.aborted, { what: "its cancellation" });
  await http.close();
});

test("W4: a resumable stream goes on where it broke, more than once, without the messages of other streams", async () => {
  const { definition, seen } = offerFixture();
  const http = httpOf(definition, { sessions: "resumable" });
  const opened = await http.handle(
    post({ ...initialize, params: { ...initialize.params, protocolVersion: "2025-11-25" } }),
    "ada",
  );
  await opened.text();
  const headers = { "mcp-session-id": opened.headers.get("mcp-session-id")!, "mcp-protocol-version": "2025-11-25" };
  const call = { jsonrpc: "2.0", id: 5, method: "tools/call", params: { name: "hold" } };
  const broken = await http.handle(post(call, headers), "ada");
  const reader = broken.body!.getReader();
  const first = new TextDecoder().decode((await reader.read()).value);
  const eventId = /^id: (.*)$/m.exec(first)?.[1] ?? "";
  await reader.cancel();
  // Another stream of the same session ends in between.
  const ping = await http.handle(post({ jsonrpc: "2.0", id: 6, method: "ping" }, headers), "ada");
  await ping.text();
  const resume = (): Promise<Response> =>
    http.handle(
      new Request(URL_TEXT, { headers: { ...headers, accept: "text/event-stream", "last-event-id": eventId } }),
      "ada",
    );
  await (await resume()).body?.cancel();
  const last = await resume();
  seen.release[0]?.();
  const rest = await last.text();
  expect(rest).toContain('"text":"held"');
  expect(rest).not.toContain('"id":6');
  const forged = new Request(URL_TEXT, {
    headers: { ...headers, accept: "text/event-stream", "last-event-id": "_GET_stream.1" },
  });
  expect((await http.handle(forged, "ada")).status).toBe(400);
  await http.close();
});

test("V2: wrong arguments and failures are answers, an unknown tool is an error, internal texts stay inside", async () => {
  const { definition, seen } = offerFixture();
  const client = await sdkClient(fetchOf(httpOf(definition), "ada"));
  expect(await client.callTool({ name: "add", arguments: { a: 1 } })).toMatchObject({
    isError: true,
    content: [{ text: expect.stringMatching(/arguments are wrong: .*"b"/) }],
  });
  expect(seen.callers).toEqual([]);
  expect(await client.callTool({ name: "fail" })).toMatchObject({
    isError: true,
    content: [{ text: "the printer is out of paper" }],
  });
  const secret = await client.callTool({ name: "secret" });
  expect(secret.isError).toBe(true);
  expect(JSON.stringify(secret)).not.toContain("hunter2");
  await expect(client.callTool({ name: "nope" })).rejects.toMatchObject({
    code: -32_602,
    message: /Unknown tool: nope/,
  });
  await expect(client.listPrompts()).rejects.toMatchObject({ code: -32_601 });
  await client.close();
});

test("V3: a cancelled request aborts what serves it", async () => {
  const { definition, seen } = offerFixture();
  const http = httpOf(definition, { sessions: "kept" });
  const clients = clientsOver(fetchOf(http, "ada"));
  const client = clients.get({ id: "remote", transport: "http", url: URL_TEXT });
  const stop = new AbortController();
  const call = client.callTool("wait", {}, { ...options, signal: stop.signal });
  call.catch(() => undefined);
  await until(() => seen.waiting[0], { what: "the call" });
  stop.abort();
  await expect(call).rejects.toMatchObject({ code: "cancelled" });
  await until(() => seen.waiting[0]?.aborted, { what: "its cancellation" });
  await clients.close();
  await http.close();
});

test("one client is served over streams until its input ends, and what is still running is cancelled", async () => {
  const { definition, seen } = offerFixture();
  const { ours, theirs } = streamPair();
  const served = createMcpServer(definition).stdio(ours, "ada", new AbortController().signal);
  const client = new Client({ name: "sdk", version: "1" });
  await client.connect(new StdioServerTransport(theirs.input, theirs.output));
  expect(await client.callTool({ name: "whoami" })).toMatchObject({ content: [{ text: "ada" }] });
  theirs.output.write("no json\n");
  expect(await client.callTool({ name: "add", arguments: { a: 2, b: 2 } })).toMatchObject({ content: [{ text: "4" }] });
  client.callTool({ name: "wait" }).catch(() => undefined);
  await until(() => seen.waiting[0], { what: "the call" });
  theirs.output.end();
  await served;
  expect(seen.waiting[0]?.aborted).toBe(true);
});

test("serving over streams ends with its signal", async () => {
  const stop = new AbortController();
  const served = createMcpServer(offerFixture().definition).stdio(streamPair().ours, "ada", stop.signal);
  stop.abort();
  await served;
});
