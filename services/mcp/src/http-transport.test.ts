import { FakeClock } from "@mesh/kernel/testing";
import { expect, test } from "vitest";

import { McpClients } from "./clients.ts";
import type { McpServerConfig } from "./server-config.ts";

const config: McpServerConfig = {
  id: "web",
  transport: "http",
  url: "https://mcp.test/path?key=secret",
  timeout: "30s",
};
const options = { caller: "run" };

type Answer = (
  request: { readonly id: number; readonly method: string },
  init: RequestInit,
) => Response | Promise<Response>;

/** A server that lists the tool `go` and answers calls of it with `call`. */
function over(
  call: Answer,
  settings: Partial<McpServerConfig> = {},
): {
  readonly go: () => Promise<unknown>;
  readonly clock: FakeClock;
  readonly requests: { readonly url: string; readonly init: RequestInit }[];
} {
  const clock = new FakeClock();
  const requests: { url: string; init: RequestInit }[] = [];
  const fetch = async (input: unknown, init: RequestInit = {}): Promise<Response> => {
    requests.push({ url: String(input), init });
    if (init.method !== "POST") return new Response(null, { status: 405 });
    const request = JSON.parse(init.body as string) as { id: number; method: string };
    if (request.method === "initialize") {
      const result = {
        protocolVersion: "2025-06-18",
        capabilities: { tools: {} },
        serverInfo: { name: "s", version: "1" },
      };
      return json(request.id, result);
    }
    if (request.method === "tools/list") {
      return json(request.id, { tools: [{ name: "go", inputSchema: { type: "object" } }] });
    }
    return request.method === "tools/call" ? call(request, init) : new Response(null, { status: 202 });
  };
  const clients = new McpClients<string>(
    {
      clock,
      fetch: fetch as typeof globalThis.fetch,
      callProcess: () => Promise.resolve(null),
      env: {},
      clientInfo: { name: "test", version: "1" },
    },
    { maxMessageBytes: 100_000 },
  );
  const client = clients.get({ ...config, ...settings });
  return { go: () => client.callTool("go", {}, options), clock, requests };
}

function json(id: number, result: unknown): Response {
  return Response.json({ jsonrpc: "2.0", id, result });
}

function events(...parts: readonly string[]): Response {
  return new Response(parts.join(""), { headers: { "content-type": "text/event-stream" } });
}

function text(value: string): object {
  return { content: [{ type: "text", text: value }] };
}

/** The error of a call whose end needs the clock to move. */
async function failureOf(setup: ReturnType<typeof over>, untilMs: number): Promise<Error & { readonly code?: string }> {
  const end: { failure?: Error } = {};
  const failing = setup.go().then(
    (value) => {
      end.failure = new Error(`it answered ${JSON.stringify(value)}`);
    },
    (error: Error) => {
      end.failure = error;
    },
  );
  for (let at = 0; at < untilMs && end.failure === undefined; at += 10) await setup.clock.advance(10);
  await failing;
  return end.failure!;
}

test("an answer comes as JSON or as an event", async () => {
  expect(await over(({ id }) => json(id, text("plain"))).go()).toBe("plain");
  const event = (id: number): string => JSON.stringify({ jsonrpc: "2.0", id, result: text("event") });
  expect(await over(({ id }) => events(": hi\n\n", `event: message\ndata: ${event(id)}\n\n`)).go()).toBe("event");
});

test("H1: a stream that ends without the answer fails the call at once", async () => {
  const failure = await failureOf(
    over(() => events(": hello\n\n")),
    1000,
  );
  expect(failure).toMatchObject({ code: "unavailable", message: expect.stringMatching(/connection was lost|died/) });
});

test("H1: a connection that breaks in the middle fails the call at once", async () => {
  const breaking = (): Response => {
    const body = new ReadableStream({
      pull: (controller) => controller.error(new TypeError("terminated", { cause: new Error("ECONNRESET") })),
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  };
  expect(await failureOf(over(breaking), 1000)).toMatchObject({
    code: "unavailable",
    message: expect.stringContaining("terminated"),
  });
});

test("H4: an answer or an event without an end is cut off", async () => {
  const endless = (type: string, piece: string) => (): Response => {
    let sent = 0;
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        sent += 1;
        if (sent > 10_000) controller.close();
        else controller.enqueue(new TextEncoder().encode(piece));
      },
    });
    return new Response(body, { headers: { "content-type": type } });
  };
  const long = await failureOf(over(endless("application/json", "x".repeat(1000))), 1000);
  expect(long.message).toContain("the answer is longer than 100000 bytes");
  const lines = await failureOf(over(endless("text/event-stream", `data: ${"x".repeat(1000)}\n`)), 1000);
  expect(lines.message).toContain("an event is longer than 100000 bytes");
});

test("many events on one stream are not one long one", async () => {
  const note = `data: ${JSON.stringify({ jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data: "x".repeat(1000) } })}\n\n`;
  const setup = over(({ id }) => {
    const answer = JSON.stringify({ jsonrpc: "2.0", id, result: text("after all") });
    return events(...Array.from({ length: 500 }, () => note), `data: ${answer}\r\n\r\n`);
  });
  expect(await setup.go()).toBe("after all");
});

test("refusals are told apart, name the place without its query, and say what to check", async () => {
  const refusal = async (status: number): Promise<Error> =>
    failureOf(
      over(() => new Response("no", { status })),
      1000,
    );
  expect(await refusal(401)).toMatchObject({
    code: "unauthenticated",
    message: expect.stringContaining('Check "authorization_token"'),
  });
  expect(await refusal(403)).toMatchObject({ code: "permission_denied" });
  expect(await refusal(404)).toMatchObject({
    code: "not_found",
    message: expect.stringContaining("https://mcp.test/path: "),
  });
  expect(await refusal(429)).toMatchObject({ code: "resource_exhausted" });
  expect(await refusal(500)).toMatchObject({ code: "unavailable" });
  for (const status of [401, 404, 500]) expect((await refusal(status)).message).not.toContain("secret");
});

test("the token is sent as a bearer token, once, and to no other origin", async () => {
  const bare = over(({ id }) => json(id, text("ok")), { authorization_token: "t0ken" });
  await bare.go();
  const given = over(({ id }) => json(id, text("ok")), { authorization_token: "Bearer t0ken" });
  await given.go();
  for (const { init } of [...bare.requests, ...given.requests]) {
    expect(new Headers(init.headers).get("authorization")).toBe("Bearer t0ken");
  }
  const moved = over(() => new Response(null, { status: 307, headers: { location: "https://evil.test/" } }), {
    authorization_token: "t0ken",
  });
  expect((await failureOf(moved, 1000)).message).toContain("evil.test");
  expect(moved.requests.filter(({ url }) => url.startsWith("https://evil.test"))).toEqual([]);
});

test("H3: a server that does not answer fails the call at its time, and the request does not stay open", async () => {
  const signals: (AbortSignal | null | undefined)[] = [];
  const setup = over((_request, { signal }) => {
    signals.push(signal);
    return new Promise(() => undefined);
  });
  expect(await failureOf(setup, 40_000)).toMatchObject({
    code: "deadline_exceeded",
    message: expect.stringContaining("did not answer within 30 s"),
  });
  expect(signals.map((signal) => signal?.aborted)).toEqual([true]);
});

test("H3: a stream whose call was cancelled is closed", async () => {
  const signals: (AbortSignal | null | undefined)[] = [];
  const setup = over((_request, { signal }) => {
    signals.push(signal);
    return new Response(new ReadableStream(), { headers: { "content-type": "text/event-stream" } });
  });
  expect(await failureOf(setup, 40_000)).toMatchObject({ code: "deadline_exceeded" });
  expect(signals.map((signal) => signal?.aborted)).toEqual([true]);
});

test("what is no JSON, no MCP or of another type is an error of the call", async () => {
  const failing = async (response: () => Response): Promise<Error> => failureOf(over(response), 1000);
  expect((await failing(() => new Response("<html>", { headers: { "content-type": "text/html" } }))).message).toMatch(
    /content type/,
  );
  expect(await failing(() => new Response("{", { headers: { "content-type": "application/json" } }))).toBeInstanceOf(
    Error,
  );
  expect(await failing(() => Response.json({ hello: "world" }))).toBeInstanceOf(Error);
});
