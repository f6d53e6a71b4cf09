/** The handler behind a real HTTP server. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import { systemClock, until } from "@mesh/kernel";
import { expect, test } from "vitest";

import { McpClients } from "./clients.ts";
import { serveNodeRequest } from "./node-http.ts";
import { listenHttp } from "./testing/http-listener.ts";
import { httpOf, offerFixture } from "./testing/offer-fixture.ts";

const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
const callOf = (name: string): string =>
  JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name } });

test("our client and our server meet over HTTP, each caller in a session of its own", async () => {
  const { definition } = offerFixture();
  const listener = await listenHttp(() => httpOf(definition, { sessions: "kept" }));
  const clients = new McpClients<string>({
    clock: systemClock,
    // The token stands for the caller.
    fetch: (input, init) => {
      const who = new Headers(init?.headers).get("authorization")?.replace("Bearer ", "") ?? "";
      return fetch(input, { ...init, headers: { ...Object.fromEntries(new Headers(init?.headers)), "x-caller": who } });
    },
    callProcess: () => Promise.resolve(null),
    env: {},
    clientInfo: { name: "test", version: "1" },
  });
  try {
    const names = ["ada", "bob"].map((name) =>
      clients
        .get({ id: "remote", transport: "http", url: listener.url, authorization_token: name })
        .callTool("whoami", {}, { caller: "run" }),
    );
    expect(await Promise.all(names)).toEqual(["ada", "bob"]);
  } finally {
    await clients.close();
    await listener.close();
  }
});

test("a client that hangs up cancels its call", async () => {
  const { definition, seen } = offerFixture();
  const listener = await listenHttp(() => httpOf(definition));
  try {
    const stop = new AbortController();
    const response = await fetch(listener.url, { method: "POST", headers, body: callOf("wait"), signal: stop.signal });
    expect(response.status).toBe(200);
    await until(() => seen.waiting[0], { what: "the call" });
    stop.abort();
    await until(() => seen.waiting[0]?.aborted, { what: "its cancellation" });
  } finally {
    await listener.close();
  }
});

test("a body the embedder has already parsed is taken as it is", async () => {
  const { definition } = offerFixture();
  const http = httpOf(definition);
  const server = createServer((request, response) => {
    request.resume();
    void serveNodeRequest(http, { request, response }, "ada", JSON.parse(callOf("whoami")));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  try {
    const { port } = server.address() as AddressInfo;
    const response = await fetch(`http://127.0.0.1:${port}//evil.example/mcp`, {
      method: "POST",
      headers,
      body: "ignored",
    });
    expect(await response.text()).toContain('"text":"ada"');
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

test("a body over the bound is refused however it is sent", async () => {
  const { definition } = offerFixture();
  const listener = await listenHttp(() => httpOf(definition, { maxBodyBytes: 1000 }));
  try {
    const chunks = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new Uint8Array(600)),
    });
    const init: RequestInit = { method: "POST", headers, body: chunks };
    const chunked = await fetch(listener.url, Object.assign(init, { duplex: "half" })).then(
      (response) => response.status,
      () => 413, // The connection was closed while the body was still being sent.
    );
    expect(chunked).toBe(413);
    expect((await fetch(listener.url, { method: "POST", headers, body: "x".repeat(2000) })).status).toBe(413);
    expect((await fetch(listener.url, { method: "POST", headers, body: callOf("whoami") })).status).toBe(200);
  } finally {
    await listener.close();
  }
});
