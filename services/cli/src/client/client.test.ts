import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

import { systemClock } from "@mesh/kernel";
import { afterEach, beforeEach, expect, test } from "vitest";

import { StubGateway } from "../testing/stub-gateway.ts";
import { apiPath, Client } from "./client.ts";

let gateway: StubGateway;

beforeEach(async () => {
  gateway = await new StubGateway().start();
});
afterEach(() => gateway.stop());

const client = (token?: string): Client => new Client(systemClock, { url: gateway.url, token });

test("values in paths are escaped", () => {
  expect(apiPath`/v1/nodes/${"a/../b c"}/drain`).toBe("/v1/nodes/a%2F..%2Fb%20c/drain");
});

test("a problem's detail is the message, its code the code", async () => {
  gateway.route("GET", "/v1/x", () => ({
    status: 409,
    json: { code: "already_exists", detail: "the name is taken; choose another" },
  }));
  await expect(client("t").get("/v1/x")).rejects.toMatchObject({
    code: "already_exists",
    message: "the name is taken; choose another",
  });
});

test("an internal error names its request, so that it can be found in the log", async () => {
  gateway.route("GET", "/v1/x", () => ({
    status: 500,
    json: { code: "internal", detail: "something failed", request_id: "req_7" },
  }));
  await expect(client("t").get("/v1/x")).rejects.toMatchObject({
    message: "something failed (request req_7) — see the coordinator's log",
  });
});

test("without a token a refusal says to log in", async () => {
  gateway.route("GET", "/v1/x", () => ({ status: 401, json: { code: "unauthenticated", detail: "no token" } }));
  await expect(client().get("/v1/x")).rejects.toMatchObject({
    message: `not logged in at ${gateway.url} — log in with \`yao login ${gateway.url} --token T\``,
  });
});

test("an answer that is not JSON says that this is no coordinator", async () => {
  const server = createServer((_request, response) => response.end("<html>"));
  const url = await listen(server);
  await expect(new Client(systemClock, { url }).get("/v1/x")).rejects.toMatchObject({
    message: `${url} did not answer with JSON — check that this is the address of a coordinator`,
  });
  server.close();
});

test("a redirect is refused, so that the token stays with the coordinator", async () => {
  const seen: (string | undefined)[] = [];
  const thief = createServer((request, response) => {
    seen.push(request.headers.authorization);
    response.end("{}");
  });
  const target = await listen(thief);
  const server = createServer((_request, response) => response.writeHead(307, { location: target }).end());
  const url = await listen(server);
  await expect(new Client(systemClock, { url, token: "secret" }).get("/v1/x")).rejects.toMatchObject({
    code: "unavailable",
  });
  expect(seen).toEqual([]);
  thief.close();
  server.close();
});

test("a coordinator that does not answer in time is an error with advice", async () => {
  const server = createServer(() => undefined);
  const url = await listen(server);
  await expect(new Client(systemClock, { url }).get("/v1/x", { timeoutMs: 50 })).rejects.toMatchObject({
    code: "deadline_exceeded",
    message: `the coordinator at ${url} gave no answer in 0.05 s — try again, or run \`yao doctor\``,
  });
  server.closeAllConnections();
  server.close();
});

test("a port that fetch refuses is named", async () => {
  await expect(new Client(systemClock, { url: "http://127.0.0.1:6000" }).get("/v1/x")).rejects.toMatchObject({
    code: "invalid_argument",
    message: "web clients refuse to use port 6000 — choose another with --port",
  });
});

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
