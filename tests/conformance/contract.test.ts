/** What programs may rely on: keys that make repeating harmless, limits that are told, webhooks that arrive, slow readers. */

import { connect } from "node:net";

import { demoAppDirectory } from "@mesh/assistants";
import { until } from "@mesh/kernel";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { type Problem, refusalOf } from "../harness/api-client.ts";
import { type RunView, TestMesh } from "../harness/test-mesh.ts";
import { WebhookReceiver } from "./webhook-receiver.ts";

let mesh: TestMesh;

beforeAll(async () => {
  mesh = await TestMesh.start({
    nodes: [{ name: "alpha", slots: 8 }],
    env: { YAO_WEBHOOK_ALLOW: "127.0.0.0/8", YAO_RATE_LIMIT: "100000" },
  });
  await mesh.pushApp("demo", demoAppDirectory);
});

afterAll(() => mesh?.stop());

interface Posted {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, unknown> & Problem;
}

async function post(path: string, body: unknown, key: string, token = mesh.api.token): Promise<Posted> {
  const response = await fetch(`${mesh.api.url}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json", "idempotency-key": key },
    body: JSON.stringify(body),
  });
  return { status: response.status, headers: response.headers, body: (await response.json()) as Posted["body"] };
}

const RUNS = "/v1/workspaces/default/runs";

describe("an idempotency key", () => {
  test("makes one run of a hundred posts at once", async () => {
    const wish = { assistant: "hello", input: "once", requirements: { labels: { no: "where" } } };
    const answers = await Promise.all(Array.from({ length: 100 }, () => post(RUNS, wish, "hundred")));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    expect(new Set(answers.map(({ body }) => (body["run"] as RunView).id)).size).toBe(1);
    const fresh = answers.filter(({ headers }) => headers.get("idempotency-replayed") === null);
    expect(fresh.length).toBe(1);
    const { runs } = await mesh.api.call<{ runs: RunView[] }>("GET", `${RUNS}?limit=200`);
    expect(runs.filter(({ input }) => input === "once").length).toBe(1);
  });

  test("makes one token of a hundred posts at once; those that come while it is made are told to try again", async () => {
    const wish = { name: "once", scopes: ["read"] };
    const answers = await Promise.all(Array.from({ length: 100 }, () => post("/v1/tokens", wish, "hundred")));
    const secrets = answers.filter(({ status }) => status === 201).map(({ body }) => body["secret"]);
    expect(secrets.length).toBeGreaterThan(0);
    expect(new Set(secrets).size).toBe(1);
    for (const { status, headers, body } of answers.filter((each) => each.status !== 201)) {
      expect([status, body.code, headers.get("x-should-retry")]).toEqual([409, "aborted", "true"]);
      expect(headers.get("retry-after")).toBe("1");
    }
    const again = await post("/v1/tokens", wish, "hundred");
    expect([again.status, again.headers.get("idempotency-replayed"), again.body["secret"]]).toEqual([
      201,
      "true",
      secrets[0],
    ]);
    const { tokens } = await mesh.api.call<{ tokens: { name: string }[] }>("GET", "/v1/tokens");
    expect(tokens.filter(({ name }) => name === "once").length).toBe(1);
  });

  test("with another body is refused with 422, and is another key for another token", async () => {
    for (const [path, one, other] of [
      [RUNS, { assistant: "hello", input: "a" }, { assistant: "hello", input: "b" }],
      ["/v1/tokens", { name: "a", scopes: ["read"] }, { name: "b", scopes: ["read"] }],
      ["/v1/workspaces", { name: "once-a" }, { name: "once-b" }],
    ] as const) {
      expect((await post(path, one, "mixed")).status).toBe(201);
      const refused = await post(path, other, "mixed");
      expect([path, refused.status, refused.body.type]).toEqual([path, 422, "/v1/problems/already_exists"]);
    }
    const made = await mesh.api.call<{ secret: string }>("POST", "/v1/tokens", { name: "c", scopes: ["tokens"] });
    const theirs = await post("/v1/tokens", { name: "b", scopes: ["tokens"] }, "mixed", made.secret);
    expect(theirs.status).toBe(201);
  });

  test("of a refused call is free for the next one", async () => {
    const taken = await post("/v1/workspaces", { name: "default" }, "retry");
    expect([taken.status, taken.body.code]).toEqual([409, "already_exists"]);
    const again = await post("/v1/workspaces", { name: "default" }, "retry");
    expect(again.status).toBe(409);
    expect((await post("/v1/workspaces", { name: "fresh" }, "retry")).status).toBe(201);
  });
});

test("limits are told with every answer, and a refusal says when to come back and where its kind is explained", async () => {
  const { secret } = await mesh.api.call<{ secret: string }>("POST", "/v1/tokens", {
    name: "few",
    scopes: ["read"],
    rate_per_minute: 5,
  });
  const ask = (): Promise<Response> =>
    fetch(`${mesh.api.url}/v1/whoami`, { headers: { authorization: `Bearer ${secret}` } });
  const left: number[] = [];
  for (let i = 0; i < 5; i += 1) {
    const { status, headers } = await ask();
    expect(status).toBe(200);
    expect(headers.get("ratelimit-policy")).toBe('"requests";q=5;w=60');
    left.push(Number(/^"requests";r=(\d+);t=\d+$/.exec(headers.get("ratelimit") ?? "")?.[1]));
    expect(headers.get("ratelimit-remaining")).toBe(String(left.at(-1)));
  }
  expect(left).toEqual([4, 3, 2, 1, 0]);
  const refused = await ask();
  const problem = (await refused.json()) as Problem;
  expect([refused.status, problem.type]).toEqual([429, "/v1/problems/resource_exhausted"]);
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
  const explained = await fetch(new URL(problem.type ?? "", refused.url));
  expect(await explained.json()).toMatchObject({ status: 429, code: "resource_exhausted" });
});

describe("a webhook", () => {
  const HOOKS = "/v1/workspaces/default/webhooks";

  test("is told of a run that ended, failed or asks, with what the library of Standard Webhooks verifies", async () => {
    await using receiver = await WebhookReceiver.start();
    const { webhook, secret } = await mesh.api.call<{ webhook: { id: string }; secret: string }>("POST", HOOKS, {
      url: receiver.url,
    });
    const good = await mesh.createRun({ assistant: "hello", input: "hi" });
    const bad = await mesh.createRun({ assistant: "hello", input: "/fail invalid_argument no" });
    const asks = await mesh.createRun({
      assistant: "hello",
      input: '/tool bash {"command":"true"}',
      options: { tools: ["bash"], approve: ["bash"] },
    });
    const expected = [
      `run.succeeded ${good.id} succeeded`,
      `run.failed ${bad.id} failed`,
      `run.waiting ${asks.id} waiting`,
    ];
    const told = (): string[] =>
      receiver.received.map(({ body, headers }) => {
        const { type, data } = new Webhook(secret).verify(body, { ...headers }) as {
          type: string;
          data: { run: { id: string; state: string } };
        };
        return `${type} ${data.run.id} ${data.run.state}`;
      });
    await until(() => expected.every((line) => told().includes(line)), { timeoutMs: 30_000, what: "three messages" });
    expect(Math.max(...receiver.received.map(({ body }) => body.length))).toBeLessThan(20_000);
    await mesh.api.call("POST", `/v1/runs/${asks.id}/cancel`, {});
    await mesh.api.call("DELETE", `${HOOKS}/${webhook.id}`);
  });

  test("is told at least once, also when the coordinator is killed in between", async () => {
    await using receiver = await WebhookReceiver.start();
    receiver.status = 0;
    await mesh.api.call("POST", HOOKS, { url: receiver.url, events: ["run.succeeded"] });
    const run = await mesh.createRun({ assistant: "hello", input: "hi" });
    await until(() => receiver.received.length >= 1, { timeoutMs: 30_000, what: "the first attempt" });
    await mesh.coordinators[0]?.kill();
    receiver.status = 200;
    await mesh.restartCoordinator();
    await until(() => receiver.received.length >= 2, { timeoutMs: 40_000, what: "the second attempt" });
    const ids = receiver.received.map(({ headers }) => headers["webhook-id"]);
    expect(new Set(ids).size).toBe(1);
    expect(receiver.received.at(-1)?.body).toContain(run.id);
  });

  test("cannot be made to call what only the coordinator reaches", async () => {
    for (const url of ["https://169.254.169.254/latest/meta-data", "http://10.0.0.1/", "https://[fd00::1]/"]) {
      expect((await refusalOf(mesh.api.call("POST", HOOKS, { url }))).problem.detail).toContain("YAO_WEBHOOK_ALLOW");
    }
  });
});

async function openStreams(): Promise<number> {
  const text = await (await fetch(`${mesh.api.url}/metrics`)).text();
  return Number(/^yao_open_streams (\d+)/m.exec(text)?.[1]);
}

test("a reader that takes nothing is cut and comes back by its cursor, while a fast one sees all at once", async () => {
  const run = await mesh.createRun({ assistant: "hello", input: `/bytes ${12 * 1024 * 1024}` });
  const { hostname, port } = new URL(mesh.api.url);
  const slow = connect(Number(port), hostname);
  let isCut = false;
  let bytes = 0;
  slow.on("data", (part: Buffer) => (bytes += part.length));
  slow.pause();
  slow.on("close", () => (isCut = true));
  slow.on("error", () => undefined);
  slow.write(
    `GET /v1/runs/${run.id}/events HTTP/1.1\r\nhost: x\r\naccept: text/event-stream\r\nauthorization: Bearer ${mesh.api.token}\r\n\r\n`,
  );
  const fast = await mesh.api.follow(run.id, { timeoutMs: 60_000 });
  expect(fast.at(-1)?.kind).toBe("run.finished");
  // It still takes nothing, and holds nothing at the coordinator any more.
  await until(async () => (await openStreams()) === 0, { timeoutMs: 40_000, what: "the end of the slow stream" });
  slow.resume();
  await until(() => isCut, { what: "the end of the slow connection" });
  expect(bytes).toBeLessThan(12 * 1024 * 1024);
  const log = await mesh.api.follow(run.id);
  expect(log.map(({ seq }) => seq)).toEqual(fast.map(({ seq }) => seq));
});
