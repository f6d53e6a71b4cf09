import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import { systemClock, until } from "@mesh/kernel";
import { FakeClock } from "@mesh/kernel/testing";
import { afterEach, beforeEach, expect, test } from "vitest";

import { Client } from "../client/client.ts";
import { McpBridge } from "./mcp-bridge.ts";

interface Seen {
  readonly message: { readonly id?: number; readonly method?: string };
  readonly headers: IncomingMessage["headers"];
  readonly response: ServerResponse;
  isClosed: boolean;
}

const PATH = "/v1/workspaces/w/assistants/a/mcp";
let server: ReturnType<typeof createServer>;
let seen: Seen[];
let url: string;
let answer: (request: Seen) => void;

beforeEach(async () => {
  seen = [];
  answer = ({ message, response }) => {
    if (message.id === undefined) response.writeHead(202).end();
    else json(response, { jsonrpc: "2.0", id: message.id, result: { of: message.method } });
  };
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const message = JSON.parse(Buffer.concat(chunks).toString()) as Seen["message"];
      const each: Seen = { message, headers: request.headers, response, isClosed: false };
      response.on("close", () => (each.isClosed = true));
      seen.push(each);
      answer(each);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

function json(response: ServerResponse, body: object, headers: Record<string, string> = {}): void {
  response.writeHead(200, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
}

function bridge(node?: string, clock: FakeClock | typeof systemClock = systemClock) {
  const out: Record<string, unknown>[] = [];
  const warnings: string[] = [];
  const made = new McpBridge(
    {
      client: new Client(clock, { url, token: "secret" }),
      clock,
      write: (message) => {
        expect(message).not.toContain("\n");
        out.push(JSON.parse(message) as Record<string, unknown>);
      },
      warn: (text) => warnings.push(text),
    },
    { path: PATH, ...(node === undefined ? {} : { node }) },
  );
  const take = (message: object): Promise<void> => made.take(JSON.stringify({ jsonrpc: "2.0", ...message }));
  return { bridge: made, take, out, warnings };
}

test("requests go on with the token, the device and what initialize agreed on", async () => {
  answer = ({ message, response }) => {
    if (message.method === "initialize") {
      const result = { protocolVersion: "2025-11-25" };
      json(response, { jsonrpc: "2.0", id: 0, result }, { "mcp-session-id": "s1" });
    } else json(response, { jsonrpc: "2.0", id: message.id, result: {} });
  };
  const { take, out } = bridge("laptop");
  // Sent at once, as clients in a hurry do.
  await Promise.all([take({ id: 0, method: "initialize" }), take({ id: 1, method: "tools/list" })]);
  expect(out.map(({ id }) => id)).toEqual([0, 1]);
  expect(seen[0]?.headers).toMatchObject({ authorization: "Bearer secret", "yao-node": "laptop" });
  expect(seen[0]?.headers["mcp-session-id"]).toBeUndefined();
  expect(seen[1]?.headers).toMatchObject({ "mcp-session-id": "s1", "mcp-protocol-version": "2025-11-25" });
});

test("what a stream brings is passed on as it comes, one message a line", async () => {
  const { take, out } = bridge();
  answer = ({ response }) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(
      'id: 1\ndata:\n\n: ping\n\nevent: message\ndata: {"jsonrpc":"2.0",\ndata: "method":"notifications/progress"}\n\n',
    );
  };
  const done = take({ id: 1, method: "tools/call" });
  await until(() => out.length === 1, { what: "progress" });
  expect(out).toEqual([{ jsonrpc: "2.0", method: "notifications/progress" }]);
  seen[0]!.response.end('data: {"jsonrpc":"2.0","id":1,"result":{}}\n\n');
  await done;
  expect(out.at(-1)).toEqual({ jsonrpc: "2.0", id: 1, result: {} });
  expect(out).toHaveLength(2);
});

test("a cancelled request is not answered, and its connection is closed", async () => {
  const { take, out } = bridge();
  answer = ({ response }) => response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
  const [first, second] = [take({ id: 1, method: "tools/call" }), take({ id: 2, method: "tools/call" })];
  await until(() => seen.length === 2, { what: "both calls" });
  await take({ method: "notifications/cancelled", params: { requestId: 9 } });
  await take({ method: "notifications/cancelled", params: { requestId: 1 } });
  await first;
  const [one, two] = [seen.find(({ message }) => message.id === 1), seen.find(({ message }) => message.id === 2)];
  await until(() => one?.isClosed, { what: "the connection to close" });
  expect(two?.isClosed).toBe(false);
  expect(seen).toHaveLength(2);
  two!.response.end('data: {"jsonrpc":"2.0","id":2,"result":{}}\n\n');
  await second;
  expect(out.map(({ id }) => id)).toEqual([2]);
});

test("a request that cannot be answered gets an error that says what to do", async () => {
  const { take, out, warnings } = bridge();
  answer = ({ message, response }) => {
    if (message.method === "refused") {
      const problem = { status: 401, code: "unauthenticated", detail: "this API token is unknown" };
      response.writeHead(401, { "content-type": "application/problem+json" }).end(JSON.stringify(problem));
    } else if (message.method === "cut") {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(": ping\n\n", () => response.destroy());
    } else response.writeHead(200, { "content-type": "text/event-stream" }).end();
  };
  await take({ id: 1, method: "refused" });
  await take({ id: 2, method: "cut" });
  await take({ id: 3, method: "ended" });
  await take({ method: "refused" });
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await take({ id: 4, method: "gone" });
  expect(out.map(({ id, error }) => [id, (error as { message: string }).message])).toEqual([
    [1, expect.stringMatching(/unknown.*yao login/)],
    [2, expect.stringMatching(/failed|no answer/)],
    [3, expect.stringContaining("call again")],
    [4, expect.stringMatching(/yao (up|doctor)/)],
  ]);
  expect(warnings).toEqual([expect.stringContaining("yao login")]);
});

test("a coordinator that goes silent is given up after three missed signs of life", async () => {
  const clock = new FakeClock();
  const { take, out } = bridge(undefined, clock);
  answer = ({ response }) => response.writeHead(200, { "content-type": "text/event-stream" }).write(": ping\n\n");
  const done = take({ id: 1, method: "tools/call" });
  await until(() => seen.length === 1, { what: "the call" });
  await clock.advance(46_000);
  await done;
  expect(out).toEqual([expect.objectContaining({ id: 1, error: expect.objectContaining({ code: -32_000 }) })]);
  expect(JSON.stringify(out)).toContain("went silent");
});

test.each([
  ["no JSON", "{", -32_700],
  ["a number", "7", -32_600],
  ["an empty batch", "[]", -32_600],
  ["null", "null", -32_600],
])("%s is refused and sent nowhere", async (_what, line, code) => {
  const { bridge: made, out } = bridge();
  await made.take(line);
  expect(out).toEqual([{ jsonrpc: "2.0", id: null, error: { code, message: expect.any(String) } }]);
  expect(seen).toEqual([]);
});

test("more than 256 open requests are refused, and all end when the client goes", async () => {
  const { bridge: made, take, out } = bridge();
  answer = ({ response }) => response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
  const taken = Array.from({ length: 257 }, (_, id) => take({ id, method: "tools/call" }));
  await taken.at(-1);
  expect(out).toEqual([expect.objectContaining({ id: 256 })]);
  made.stop();
  await Promise.all(taken);
  expect(out).toHaveLength(1);
});
