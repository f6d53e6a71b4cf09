// @vitest-environment node
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import { afterEach, expect, test, vi } from "vitest";

import { endpoint, queryOf, setCsrfToken, setOnUnauthenticated } from "./client.ts";
import { ApiError } from "./error.ts";

const open: (() => void)[] = [];
afterEach(() => {
  for (const close of open.splice(0)) close();
  vi.unstubAllGlobals();
});

/** A server that answers everything the same; relative addresses go there, as in a browser. */
async function server(status: number, body: string, type = "application/problem+json") {
  const seen: { url: string; headers: Record<string, unknown>; body: string }[] = [];
  const http = createServer((request, response) => {
    let text = "";
    request.on("data", (piece: Buffer) => (text += piece.toString()));
    request.on("end", () => {
      seen.push({ url: request.url ?? "", headers: request.headers, body: text });
      response.writeHead(status, { "content-type": type, "x-request-id": "req_9" }).end(body);
    });
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const base = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const original = fetch;
  vi.stubGlobal("fetch", (path: string, init: RequestInit) => original(new URL(path, base), init));
  open.push(() => http.close());
  return seen;
}

interface Move {
  readonly task: string;
  readonly column: string;
  readonly limit: number;
}

const move = endpoint<Move, { ok?: boolean }>()("POST", "/v1/tasks/{task}/move");
const list = endpoint<Move, object>()("GET", "/v1/tasks/{task}");

test("A1 A3 fields fill the path, the rest is the body, with the CSRF token and the key", async () => {
  const seen = await server(200, '{"ok":true}', "application/json");
  setCsrfToken("token-1");
  expect(await move({ task: "a/b", column: "x" }, { idempotencyKey: "k1" })).toEqual({ ok: true });
  await list({ task: "t", column: "y", limit: 5 });
  expect(seen[0]).toMatchObject({
    url: "/v1/tasks/a%2Fb/move",
    body: '{"column":"x"}',
    headers: { "x-csrf-token": "token-1", "idempotency-key": "k1" },
  });
  expect(seen[1]).toMatchObject({ url: "/v1/tasks/t?column=y&limit=5" });
  expect(seen[1]?.headers["x-csrf-token"]).toBeUndefined();
});

test("A2 a problem keeps its code, request id, fields and details; an expired session is told", async () => {
  const problem = {
    code: "unauthenticated",
    detail: "log in",
    errors: [{ field: "name", message: "too long" }],
    details: { a: 1 },
  };
  await server(401, JSON.stringify(problem));
  const told = vi.fn();
  setOnUnauthenticated(told);
  const error = await move({ task: "t" }).catch((thrown: unknown) => ApiError.from(thrown));
  expect(error).toMatchObject({
    status: 401,
    code: "unauthenticated",
    message: "log in",
    requestId: "req_9",
    fields: [{ field: "name", message: "too long" }],
    details: { a: 1 },
  });
  expect(told).toHaveBeenCalledOnce();
});

test("A2 a proxy's page and a server that is away are errors with words, too", async () => {
  await server(502, "<html>Bad gateway</html>", "text/html");
  await expect(move({ task: "t" })).rejects.toMatchObject({ status: 502, code: "unavailable", requestId: "req_9" });
  vi.stubGlobal("fetch", () => Promise.reject(new TypeError("fetch failed")));
  await expect(move({ task: "t" })).rejects.toMatchObject({ status: 0, code: "unavailable", isRetryable: true });
});

test("what is empty is left out of a query", () => {
  expect(queryOf({ a: "", b: 0, c: false, d: undefined, e: "x y", f: 3, g: true })).toBe("?e=x+y&f=3&g=true");
});
