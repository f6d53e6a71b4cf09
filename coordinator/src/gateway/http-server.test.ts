import { connect } from "node:net";

import { MeshError, until } from "@mesh/kernel";
import { createLogger } from "@mesh/observability";
import { describe, expect, test } from "vitest";

import { hasScope, SCOPES } from "../auth/caller.ts";
import { OPERATIONS } from "./operations.ts";
import { revisionConflict } from "../board/revision.ts";
import { callerWith, startGateway } from "./testing/running-gateway.ts";
import { scriptedApi } from "./testing/scripted-api.ts";

const RUN_PATH = "/v1/workspaces/default/runs";
const json = (body: unknown): RequestInit => ({
  method: "POST",
  headers: { "content-type": "application/json" },
  body: typeof body === "string" ? body : JSON.stringify(body),
});

async function problemOf(response: Response): Promise<Record<string, unknown>> {
  expect(response.headers.get("content-type")).toContain("application/problem+json");
  const problem = (await response.json()) as Record<string, unknown>;
  expect(problem).toMatchObject({
    type: expect.stringMatching(/^\/v1\/problems\//),
    title: expect.any(String),
    status: response.status,
    detail: expect.any(String),
    code: expect.any(String),
    request_id: response.headers.get("x-request-id"),
  });
  return problem;
}

/** A request that reaches the handler of an operation. */
function sample(operation: (typeof OPERATIONS)[number]): readonly [path: string, init: RequestInit] {
  const path = operation.path.replace("{name}", "NAME").replaceAll(/\{\w+\}/g, "x");
  const bodies: Record<string, unknown> = {
    joinNode: { token: "t", nkey: "U", signature: "s" },
    renewNode: { nkey: "U", at_ms: 1, signature: "s" },
    createRun: { assistant: "a" },
    planEval: { workspace: "x" },
    createEval: { workspace: "x", assistant: "a" },
    answerRun: { call_id: "c", decision: "approve" },
    createWorkspace: { name: "w" },
    putMember: { role: "viewer" },
    putConnector: { type: "openai" },
    createToken: { name: "t" },
    changePassword: { password: "ten or more" },
    putSecret: { value: "v" },
    createBoard: { name: "b" },
    moveTask: { column: "c" },
    updateTasks: { action: "archive" },
    putSchedule: { schedule: { cron: "0 9 * * *" } },
    previewSchedule: { cron: "0 9 * * *" },
    markInbox: { state: "read" },
    moveFile: { path: "a", to: "b" },
    copyFile: { path: "a", to_node: "n" },
    runShare: { input: "hi" },
    createWebhook: { url: "https://example.com/" },
    putPushSubscription: { endpoint: "https://example.com/1", p256dh: "p", auth: "a" },
  };
  const queries: Record<string, string> = {
    listEvals: "?workspace=x",
    readFile: "?path=a",
    writeFile: "?path=a",
    deleteFile: "?path=a",
    searchDocuments: "?query=a",
    uploadDocument: "?name=a",
    createUpload: "?name=a",
  };
  const query = queries[operation.method] ?? "";
  if (operation.rawBody !== undefined) {
    return [
      `${path}${query}`,
      { method: operation.verb, headers: { "content-type": "application/octet-stream" }, body: "bundle" },
    ];
  }
  if (operation.verb === "GET" || operation.verb === "DELETE") return [`${path}${query}`, { method: operation.verb }];
  return [path, { ...json(bodies[operation.method] ?? {}), method: operation.verb }];
}

/** Every operation, and every scope of each: more than the usual limit of a test on a busy machine. */
const MATRIX = { timeout: 60_000 };

describe("every operation over HTTP", () => {
  const unary = OPERATIONS.filter(({ streaming }) => !streaming);

  test("reaches its handler with the whole message and the caller", MATRIX, async () => {
    const { api, calls } = scriptedApi();
    await using gateway = await startGateway({ api });
    for (const operation of unary) {
      const [path, init] = sample(operation);
      const response = await gateway.fetch(path, init);
      expect([operation.method, response.status]).toEqual([operation.method, operation.successStatus]);
      expect(await response.json()).toBeTypeOf("object");
      expect(calls.at(-1)).toMatchObject({ method: operation.method, call: { transport: "http" } });
    }
  });

  test(
    "needs a token with the scope of the row, and passes with it: all scopes against all operations",
    MATRIX,
    async () => {
      const { api, calls } = scriptedApi();
      const callers = new Map(SCOPES.map((scope) => [scope as string, callerWith([scope])]));
      await using gateway = await startGateway({ api, callers });
      for (const operation of unary) {
        const [path, init] = sample(operation);
        for (const token of ["", "wrong", ...SCOPES]) {
          const before = calls.length;
          const response = await gateway.fetch(path, { ...init, token });
          await response.arrayBuffer();
          const allowed =
            (operation.scope === "none" && !(operation.mayHaveCaller === true && token === "wrong")) ||
            SCOPES.some((scope) => scope === token && hasScope([scope], operation.scope as never));
          const expected = allowed ? operation.successStatus : token === "" || token === "wrong" ? 401 : 403;
          expect([operation.method, token, response.status]).toEqual([operation.method, token, expected]);
          expect([operation.method, token, calls.length - before]).toEqual([operation.method, token, allowed ? 1 : 0]);
        }
      }
    },
  );
});

describe("input", () => {
  test("path, query and header reach the fields they stand for", async () => {
    const { api, calls } = scriptedApi();
    await using gateway = await startGateway({ api });
    await gateway.fetch(`${RUN_PATH}?limit=7&state=running`);
    expect(calls.at(-1)?.request).toMatchObject({ workspace: "default", limit: 7, state: "running" });
    await gateway.fetch("/v1/workspaces/default?force=true", { method: "DELETE" });
    expect(calls.at(-1)?.request).toEqual({ workspace: "default", force: true });
    const init = json({ assistant: "a" });
    await gateway.fetch(RUN_PATH, { ...init, headers: { ...(init.headers as object), "idempotency-key": "k1" } });
    expect(calls.at(-1)?.request).toMatchObject({ assistant: "a", idempotency_key: "k1" });
    await gateway.fetch("/v1/workspaces/a%20b%2Fc");
    expect(calls.at(-1)?.request).toEqual({ workspace: "a b/c" });
  });

  test("a run takes its locale from Accept-Language, unless its metadata names one", async () => {
    const { api, calls } = scriptedApi();
    await using gateway = await startGateway({ api });
    const metadataOf = async (body: object, language: string): Promise<unknown> => {
      const init = json({ assistant: "a", ...body });
      const headers = { ...(init.headers as object), "accept-language": language };
      expect((await gateway.fetch(RUN_PATH, { ...init, headers })).status).toBe(201);
      return (calls.at(-1)?.request as { metadata?: unknown } | undefined)?.metadata;
    };
    expect(await metadataOf({}, "en;q=0.5, de-AT")).toEqual({ locale: "de-at" });
    expect(await metadataOf({ metadata: { chat_id: "c" } }, "de")).toEqual({ chat_id: "c", locale: "de" });
    expect(await metadataOf({ metadata: { locale: "fr" } }, "de")).toEqual({ locale: "fr" });
    expect(await metadataOf({ metadata: { chat_id: "c" } }, "*")).toEqual({ chat_id: "c" });
    expect(await metadataOf({}, "!!, ;;q")).toBeUndefined();
    const refused = json({ assistant: "a", metadata: "text" });
    const headers = { ...(refused.headers as object), "accept-language": "de" };
    expect((await gateway.fetch(RUN_PATH, { ...refused, headers })).status).toBe(400);
    await gateway.fetch(RUN_PATH, { headers: { "accept-language": "de" } });
    expect(calls.at(-1)?.request).not.toHaveProperty("metadata");
  });

  test.each([
    ["an unknown field", RUN_PATH, json({ assistant: "a", nod: 1 }), "nod"],
    ["an unknown query parameter", `${RUN_PATH}?limitt=1`, {}, "limitt"],
    ["a query parameter on a POST", `${RUN_PATH}?assistant=a`, json({ assistant: "a" }), "assistant"],
    ["a number that is none", `${RUN_PATH}?limit=many`, {}, "limit"],
    ["a number out of range", `${RUN_PATH}?limit=201`, {}, "limit"],
    ["a repeated parameter", `${RUN_PATH}?state=running&state=queued`, {}, "state"],
    ["a body that contradicts the path", RUN_PATH, json({ workspace: "other", assistant: "a" }), "workspace"],
    ["a list as body", RUN_PATH, json([1]), ""],
  ])("%s is a 400 that names the field", async (_title, path, init, field) => {
    const { api, calls } = scriptedApi();
    await using gateway = await startGateway({ api });
    const response = await gateway.fetch(path, init);
    expect(response.status).toBe(400);
    const problem = await problemOf(response);
    expect(problem["errors"]).toEqual(expect.arrayContaining([expect.objectContaining({ field })]));
    expect(calls).toEqual([]);
  });

  test.each([
    ["broken JSON", json("{"), 400, "invalid_argument"],
    ["a body of 1 MB and more", json({ input: "x".repeat(1_100_000) }), 413, "resource_exhausted"],
    ["a form", { method: "POST", body: new URLSearchParams({ a: "b" }) }, 415, "invalid_argument"],
  ])("%s is a problem", async (_title, init, status, code) => {
    await using gateway = await startGateway({ api: scriptedApi().api });
    const response = await gateway.fetch(RUN_PATH, init);
    expect(response.status).toBe(status);
    expect(await problemOf(response)).toMatchObject({ code });
  });

  test("a bundle may have more than 1 MB, not more than 33", async () => {
    const { api, calls } = scriptedApi();
    await using gateway = await startGateway({ api });
    const push = (bytes: number): Promise<Response> =>
      gateway.fetch("/v1/workspaces/default/apps/demo/versions", {
        method: "POST",
        headers: { "content-type": "application/octet-stream" },
        body: Buffer.alloc(bytes),
      });
    expect((await push(2_000_000)).status).toBe(201);
    expect((calls[0]!.request as { bundle: Buffer }).bundle.length).toBe(2_000_000);
    const refused = await push(34 * 1024 * 1024);
    expect(refused.status).toBe(413);
    expect(calls.length).toBe(1);
  });

  test("a body is not read before its sender is known", async () => {
    await using gateway = await startGateway({ api: scriptedApi().api });
    const socket = connect(gateway.httpPort, "127.0.0.1");
    let answer = "";
    socket.on("data", (data) => (answer += data.toString()));
    socket.write(
      "POST /v1/workspaces/default/apps/demo/versions HTTP/1.1\r\nHost: x\r\nContent-Type: application/octet-stream\r\nContent-Length: 30000000\r\n\r\n",
    );
    await until(() => answer.includes("401 Unauthorized"));
    socket.destroy();
  });
});

describe("errors", () => {
  test("an unknown path is 404, a known path with another verb 405 that names the right ones", async () => {
    await using gateway = await startGateway({ api: scriptedApi().api });
    const missing = await gateway.fetch("/v2/nothing");
    expect(missing.status).toBe(404);
    await problemOf(missing);
    const wrong = await gateway.fetch("/v1/nodes/laptop", { method: "POST" });
    expect(wrong.status).toBe(405);
    expect((await problemOf(wrong))["detail"]).toContain("GET or PATCH or DELETE");
  });

  test("what a handler throws keeps its code and details", async () => {
    const { api } = scriptedApi({
      getRun: () => Promise.reject(new MeshError("not_found", "run x was not found")),
      pushApp: () =>
        Promise.reject(new MeshError("invalid_argument", "bad", { details: { problems: [{ file: "a" }] } })),
    });
    await using gateway = await startGateway({ api });
    const missing = await gateway.fetch("/v1/runs/x");
    expect(missing.status).toBe(404);
    expect(await problemOf(missing)).toMatchObject({ code: "not_found", detail: "run x was not found" });
    const push = await gateway.fetch("/v1/workspaces/w/apps/a/versions", {
      method: "POST",
      headers: { "content-type": "application/octet-stream" },
      body: "x",
    });
    expect((await problemOf(push))["details"]).toEqual({ problems: [{ file: "a" }] });
  });

  test("the text of an internal error stays in the log, under the id the client got", async () => {
    const lines: string[] = [];
    const log = createLogger({ name: "t", level: "error", destination: { write: (line) => lines.push(line) } });
    const { api } = scriptedApi({
      getRun: () => Promise.reject(new TypeError("secret detail of the inside")),
    });
    await using gateway = await startGateway({ api, log });
    const response = await gateway.fetch("/v1/runs/x");
    expect(response.status).toBe(500);
    const text = await response.text();
    expect(text).not.toContain("secret detail");
    expect(text).not.toContain("    at ");
    expect(lines.join("")).toContain("secret detail");
    expect(lines.join("")).toContain(response.headers.get("x-request-id"));
  });

  test("a handler that ignores its signal is answered for at the deadline of its client's patience: 504", async () => {
    const { FakeClock } = await import("@mesh/kernel/testing");
    const clock = new FakeClock();
    const { api, calls } = scriptedApi({ getRun: () => new Promise(() => undefined) });
    await using gateway = await startGateway({ api, clock });
    const pending = gateway.fetch("/v1/runs/x");
    await until(() => calls.length === 1);
    await clock.advance(30_000);
    const response = await pending;
    expect(response.status).toBe(504);
    expect(calls[0]?.call.signal.aborted).toBe(true);
    const stopped = gateway.stop();
    await clock.advance(1_000);
    await stopped;
  });

  test("the signal of a call aborts when its client goes away", async () => {
    const { api, calls } = scriptedApi({ getRun: () => new Promise(() => undefined) });
    await using gateway = await startGateway({ api });
    const leave = new AbortController();
    const pending = gateway.fetch("/v1/runs/x", { signal: leave.signal });
    await until(() => calls.length === 1);
    leave.abort();
    await expect(pending).rejects.toThrow();
    await until(() => calls[0]?.call.signal.aborted);
  });

  test("bytes that are not HTTP get a problem too", async () => {
    await using gateway = await startGateway({ api: scriptedApi().api });
    const socket = connect(gateway.httpPort, "127.0.0.1");
    let answer = "";
    socket.on("data", (data) => (answer += data.toString()));
    socket.write("this is not http\r\n\r\n");
    await until(() => socket.readyState !== "open" && answer.length > 0);
    expect(answer).toMatch(/^HTTP\/1.1 400/);
    expect(answer).toContain("application/problem+json");
  });
});

describe("conventions", () => {
  test("answers carry a request id and security headers, and no server header", async () => {
    await using gateway = await startGateway({ api: scriptedApi().api });
    for (const path of ["/healthz", "/v1/runs/x", "/nowhere"]) {
      const { headers } = await gateway.fetch(path);
      expect(headers.get("x-request-id")).toMatch(/^req_/);
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("content-security-policy")).toContain("default-src 'none'");
      expect(headers.get("server")).toBeNull();
      expect(headers.get("x-powered-by")).toBeNull();
      expect(headers.get("access-control-allow-origin")).toBeNull();
    }
  });

  test("a token has its own budget, told in headers; beyond it 429 with Retry-After", async () => {
    const callers = new Map([
      ["a", callerWith(["read"])],
      ["b", callerWith(["runs"])],
    ]);
    await using gateway = await startGateway({
      api: scriptedApi().api,
      callers,
      config: { rate: { perMinute: 60, burst: 2 } },
    });
    const first = await gateway.fetch("/v1/runs/x", { token: "a" });
    expect(first.headers.get("ratelimit-limit")).toBe("2");
    expect(first.headers.get("ratelimit-remaining")).toBe("1");
    expect((await gateway.fetch("/v1/runs/x", { token: "a" })).status).toBe(200);
    const third = await gateway.fetch("/v1/runs/x", { token: "a" });
    expect(third.status).toBe(429);
    expect(third.headers.get("retry-after")).toBe("1");
    expect(third.headers.get("ratelimit-remaining")).toBe("0");
    expect(await problemOf(third)).toMatchObject({ code: "resource_exhausted" });
    expect((await gateway.fetch("/v1/runs/x", { token: "b" })).status).toBe(200);
  });

  test("guessing tokens is limited per address", async () => {
    await using gateway = await startGateway({
      api: scriptedApi().api,
      config: { rate: { perMinute: 60, burst: 2 } },
    });
    const statuses: number[] = [];
    for (let i = 0; i < 3; i += 1) statuses.push((await gateway.fetch("/v1/runs/x", { token: `guess${i}` })).status);
    expect(statuses).toEqual([401, 401, 429]);
  });

  test("health, readiness and metrics tell the state; readiness gives the reasons", async () => {
    let ok = true;
    await using gateway = await startGateway({
      api: scriptedApi().api,
      ready: () => (ok ? { ok, reasons: [] } : { ok, reasons: ["NATS is not connected"] }),
    });
    expect((await gateway.fetch("/healthz", { token: "" })).status).toBe(200);
    expect((await gateway.fetch("/readyz", { token: "" })).status).toBe(200);
    ok = false;
    const response = await gateway.fetch("/readyz", { token: "" });
    expect(response.status).toBe(503);
    expect(await response.json()).toEqual({ status: "not ready", reasons: ["NATS is not connected"] });
    await gateway.fetch("/v1/runs/x");
    const metrics = await gateway.fetch("/metrics", { token: "" });
    expect(await metrics.text()).toContain('yao_http_request_seconds_count{operation="getRun",status="200"} 1');
    const proxied = await gateway.fetch("/metrics", { token: "", headers: { "x-forwarded-for": "203.0.113.1" } });
    expect(proxied.status).toBe(401);
  });

  test("a taken port is an error that names the port and the option", async () => {
    await using gateway = await startGateway({ api: scriptedApi().api });
    await expect(startGateway({ api: scriptedApi().api, config: { httpPort: gateway.httpPort } })).rejects.toThrow(
      /cannot listen for HTTP on 127.0.0.1:\d+.*YAO_HTTP_PORT/,
    );
  });
});

test("what was refused for good says so to clients that send a conflict again by themselves", async () => {
  const { api } = scriptedApi({
    updateTask: () => Promise.reject(revisionConflict("task", 3, { task: { revision: 4, title: "Hers" } })),
  });
  await using gateway = await startGateway({ api });
  const response = await gateway.fetch("/v1/tasks/T-1", {
    method: "PATCH",
    body: JSON.stringify({ title: "His", revision: 3 }),
    headers: { "content-type": "application/json" },
  });
  expect([response.status, response.headers.get("x-should-retry")]).toEqual([409, "false"]);
  expect(await response.json()).toMatchObject({
    code: "aborted",
    details: { code: "revision_conflict", task: { revision: 4, title: "Hers" } },
  });
});
