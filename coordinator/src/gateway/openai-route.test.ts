import { CreateRunResponse, GetAssistantResponse, ListWorkspacesResponse, Run } from "@mesh/proto";
import { until } from "@mesh/kernel";
import { FakeClock } from "@mesh/kernel/testing";
import { expect, test } from "vitest";

import { startGateway } from "./testing/running-gateway.ts";
import { scriptedApi, ScriptedRun } from "./testing/scripted-api.ts";

const BODY = { model: "writer", messages: [{ role: "user", content: "hi" }] };

/** Handlers of a workspace with one assistant, whose runs are `run`. */
function apiOf(run: ScriptedRun): ReturnType<typeof scriptedApi> {
  return scriptedApi({
    ...run.handlers,
    listWorkspaces: () =>
      Promise.resolve(
        ListWorkspacesResponse.fromPartial({ workspaces: [{ id: "ws_1", name: "default", is_default: true }] }),
      ),
    getAssistant: () => Promise.resolve(GetAssistantResponse.fromPartial({ assistant: { id: "writer" } })),
    createRun: () =>
      Promise.resolve(CreateRunResponse.fromPartial({ run: Run.fromPartial({ id: run.id, created_at: "" }) })),
  });
}

const post = (body: unknown, headers: Record<string, string> = {}): RequestInit => ({
  method: "POST",
  headers: { "content-type": "application/json", ...headers },
  body: typeof body === "string" ? body : JSON.stringify(body),
});
const say = (run: ScriptedRun, content: string): void =>
  run.emit("message", { type: "text", delta: true, message_id: "M1", props: { content } });

/** The payloads of a stream, [DONE] included, and its comments. */
function payloads(text: string): { data: string[]; comments: string[] } {
  const lines = text.split("\n");
  const after = (prefix: string): string[] =>
    lines.filter((line) => line.startsWith(prefix)).map((line) => line.slice(prefix.length));
  return { data: after("data: "), comments: after(": ") };
}

test("C3 a stream that the gateway's stop cuts ends with an error and [DONE], and its run is cancelled", async () => {
  const run = new ScriptedRun();
  const { api, calls } = apiOf(run);
  const gateway = await startGateway({ api });
  const response = await gateway.fetch("/v1/chat/completions", post({ ...BODY, stream: true }));
  say(run, "Hel");
  await until(() => run.followers > 0);
  const stopped = gateway.stop();
  const { data } = payloads(await response.text());
  await stopped;
  expect(data.at(-1)).toBe("[DONE]");
  expect(JSON.parse(data.at(-2) ?? "")).toMatchObject({
    error: { code: "unavailable", type: "server_error", param: null },
    choices: [{ finish_reason: "error", delta: {} }],
  });
  expect(data.some((line) => line.includes('"finish_reason":"stop"'))).toBe(false);
  expect(calls.filter(({ method }) => method === "cancelRun").length).toBe(1);
});

test("C3 a run that fails after its first word ends the stream with its reason; before it, the answer has a status", async () => {
  const failed = { state: "failed", error: { code: "resource_exhausted", message: "slow down" } };
  const late = new ScriptedRun();
  await using one = await startGateway({ api: apiOf(late).api });
  const response = await one.fetch("/v1/chat/completions", post({ ...BODY, stream: true }));
  say(late, "Hel");
  late.emit("run.finished", failed);
  const { data } = payloads(await response.text());
  expect(response.status).toBe(200);
  expect(response.headers.get("x-yao-run")).toBe(late.id);
  expect(data.at(-1)).toBe("[DONE]");
  expect(JSON.parse(data.at(-2) ?? "")).toMatchObject({
    error: { code: "resource_exhausted", yao: { run: late.id } },
    choices: [{ finish_reason: "error" }],
  });
  const early = new ScriptedRun();
  early.emit("run.finished", failed);
  await using two = await startGateway({ api: apiOf(early).api, clock: new FakeClock() });
  const refused = await two.fetch("/v1/chat/completions", post({ ...BODY, stream: true }));
  expect([refused.status, refused.headers.get("x-should-retry")]).toEqual([429, "false"]);
});

test("a stream begins within 200 ms and is never silent for longer than 15 s", async () => {
  const clock = new FakeClock();
  const run = new ScriptedRun();
  await using gateway = await startGateway({ api: apiOf(run).api, clock });
  const pending = gateway.fetch("/v1/chat/completions", post({ ...BODY, stream: true }));
  await until(() => run.followers > 0);
  await clock.advance(200);
  const response = await pending;
  expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
  expect(response.headers.get("x-accel-buffering")).toBe("no");
  await clock.advance(31_000);
  say(run, "x");
  run.emit("run.finished", { state: "succeeded", output: "x" });
  const { comments, data } = payloads(await response.text());
  expect(comments).toEqual(["ok", "hb", "hb"]);
  expect(data.at(-1)).toBe("[DONE]");
});

test("C1 whatever is wrong with a request, the answer has the envelope with all four keys", async () => {
  await using gateway = await startGateway({ api: apiOf(new ScriptedRun()).api });
  const path = "/v1/chat/completions";
  const refusals: readonly (readonly [number, Promise<Response>])[] = [
    [401, gateway.fetch(path, { ...post(BODY), token: "" })],
    [400, gateway.fetch(path, post("{"))],
    [400, gateway.fetch(path, post(""))],
    [400, gateway.fetch(path, post([]))],
    [400, gateway.fetch(path, post(BODY, { "idempotency-key": "x".repeat(201) }))],
    [413, gateway.fetch(path, post({ ...BODY, messages: [{ role: "user", content: "x".repeat(1_100_000) }] }))],
    [415, gateway.fetch(path, { method: "POST", headers: { "content-type": "text/plain" }, body: "x" })],
    [404, gateway.fetch(path, post({ ...BODY, model: "nowhere/writer" }))],
    [404, gateway.fetch("/v1/models/nowhere/writer")],
  ];
  for (const [status, request] of refusals) {
    const response = await request;
    const body = (await response.json()) as { error: Record<string, unknown> };
    expect([status, response.status], JSON.stringify(body)).toEqual([status, status]);
    expect(Object.keys(body.error)).toEqual(expect.arrayContaining(["message", "type", "param", "code"]));
    expect(response.headers.get("x-request-id")).toMatch(/^req_/);
    expect(response.headers.get("x-should-retry")).toBe("false");
  }
});
