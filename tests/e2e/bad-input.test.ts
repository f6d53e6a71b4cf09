/** Whatever is wrong with a request: a clear refusal that says what to do, no stack trace, and nothing half done. */

import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

import { type ServiceError, status as GRPC } from "@grpc/grpc-js";
import { bundleApp, demoAppDirectory } from "@mesh/assistants";
import { MeshError } from "@mesh/kernel";
import { joinNode } from "@mesh/node-agent";
import { silentLogger } from "@mesh/observability";
import { CreateRunRequest, RunServiceService } from "@mesh/proto";
import { openStore, type Store } from "@mesh/store";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { ApiClient, ApiProblem, refusalOf } from "../harness/api-client.ts";
import { type RunView, TestMesh } from "../harness/test-mesh.ts";
import { type LlmServer, startLlmServer } from "../llm-server/index.ts";
import { BAD_REQUESTS, json, run, type Sent, UNKNOWN_RUN } from "./bad-request.ts";
import { callGrpc } from "./grpc-call.ts";

const TRACE = /\n\s+at |node_modules|\.[jt]s:\d+|file:\/\/|Error:/;
let mesh: TestMesh;
let llm: LlmServer;
let store: Store;

beforeAll(async () => {
  [mesh, llm] = await Promise.all([TestMesh.start({ nodes: [{ name: "alpha" }] }), startLlmServer()]);
  await mesh.pushApp("demo", demoAppDirectory);
  store = openStore({ url: mesh.postgres.url });
});

afterAll(async () => {
  await store?.close();
  await Promise.all([mesh?.stop(), llm?.stop()]);
});

/** How many rows each table holds, without those that devices and the feed write at their own pace. */
async function rowCounts(): Promise<Record<string, number>> {
  const tables = await store.sql<{ name: string }[]>`
    SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' AND tablename !~ '^(feed_|file_indexes$)' ORDER BY tablename`;
  const counts: Record<string, number> = {};
  for (const { name } of tables) {
    const [row] = await store.sql<{ count: number }[]>`SELECT count(*)::int AS count FROM ${store.sql(name)}`;
    counts[name] = row?.count ?? -1;
  }
  return counts;
}

/** Runs `attempt`; fails when it left anything behind in the database. */
async function leavingNothing<T>(attempt: () => Promise<T>): Promise<T> {
  const before = await rowCounts();
  const result = await attempt();
  expect(await rowCounts()).toEqual(before);
  return result;
}

/** The refusal of a raw request, after a look at everything that all refusals share. */
async function refused({ method, path, body, headers = {} }: Sent): Promise<ApiProblem> {
  const response = await fetch(mesh.api.url + path, {
    method,
    headers: {
      authorization: `Bearer ${mesh.api.token}`,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    ...(body === undefined ? {} : { body }),
  });
  const text = await response.text();
  expect(response.status, text).toBeGreaterThanOrEqual(400);
  expect(response.headers.get("content-type")).toMatch(/^application\/problem\+json(;|$)/);
  expect(text).not.toMatch(TRACE);
  const problem = JSON.parse(text) as ApiProblem["problem"];
  expect(problem).toMatchObject({ status: response.status, type: `/v1/problems/${problem.code}` });
  expect(problem.title).toBeTruthy();
  expect(problem.request_id).toBe(response.headers.get("x-request-id"));
  return new ApiProblem(response.status, problem);
}

describe("refused, with nothing left behind:", () => {
  test.each(BAD_REQUESTS)("%s", async (_what, sent, answer, says) => {
    const { status, problem } = await leavingNothing(() => refused(sent));
    expect(`${status} ${problem.code}`).toBe(answer);
    expect(problem.detail).toMatch(says);
  });

  test("a run of another workspace, whatever is asked of it", async () => {
    await mesh.api.call("POST", "/v1/workspaces", { name: "blue" });
    const { secret } = await mesh.api.call<{ secret: string }>("POST", "/v1/tokens", {
      name: "bob",
      user: "bob",
      scopes: ["read", "runs"],
      workspace_ids: ["blue"],
    });
    const bob = new ApiClient(mesh.api.url, secret);
    const theirs = await mesh.createRun({ assistant: "slow", input: "/slow 60s" });
    await mesh.until(theirs.id, ({ state }) => state === "running");
    for (const [method, path] of [
      ["GET", ""],
      ["GET", "/events"],
      ["POST", "/cancel"],
      ["POST", "/retry"],
    ] as const) {
      const refusal = await refusalOf(bob.call(method, `/v1/runs/${theirs.id}${path}`));
      expect(refusal).toMatchObject({ status: 404, problem: { code: "not_found" } });
      expect(refusal.problem.detail).toContain("yao runs list");
    }
    expect(await mesh.run(theirs.id)).toMatchObject({ state: "running", cancel_requested: false });
    await mesh.api.call("POST", `/v1/runs/${theirs.id}/cancel`);
    await mesh.ended(theirs.id);
  });

  test("several findings at once, each with its field", async () => {
    const refusal = await refused(
      run({ assistant: 7, timeout_seconds: -1, requirements: { labels: { "?": "x" } }, nod: 1 }),
    );
    expect(refusal.problem.errors?.map(({ field }) => field).toSorted()).toEqual([
      "assistant",
      "nod",
      "requirements.labels.?",
      "timeout_seconds",
    ]);
  });
});

describe("gRPC refuses with the same words as HTTP:", () => {
  const create = (more: Parameters<typeof CreateRunRequest.fromPartial>[0]): [string, unknown] => [
    "createRun",
    CreateRunRequest.fromPartial({ workspace: "default", assistant: "hello", ...more }),
  ];
  const badLabel = { requirements: { labels: { "bad key!": "x" } } };
  const longInput = { input: "x".repeat(300_000) };

  test.each<readonly [string, readonly [string, unknown], Sent, number]>([
    [
      "an unknown workspace",
      create({ workspace: "nowhere" }),
      json("POST", "/v1/workspaces/nowhere/runs", { assistant: "hello" }),
      GRPC.NOT_FOUND,
    ],
    ["a bad label", create(badLabel), run(badLabel), GRPC.INVALID_ARGUMENT],
    ["an oversized input", create(longInput), run(longInput), GRPC.INVALID_ARGUMENT],
    [
      "an unknown run",
      ["cancelRun", { run: UNKNOWN_RUN }],
      { method: "POST", path: `/v1/runs/${UNKNOWN_RUN}/cancel` },
      GRPC.NOT_FOUND,
    ],
  ])("%s", async (_what, [method, request], sent, code) => {
    const target = { address: mesh.grpcAddress, token: mesh.api.token };
    const failure = await leavingNothing(() =>
      callGrpc(target, { service: RunServiceService, method }, request).then(
        () => undefined,
        (thrown: ServiceError) => thrown,
      ),
    );
    expect(failure).toMatchObject({ code, details: (await refused(sent)).problem.detail });
    expect(failure?.details).not.toMatch(TRACE);
  });
});

describe("a join token", () => {
  const newToken = async (): Promise<string> =>
    (await mesh.api.call<{ token: string }>("POST", "/v1/node-tokens", {})).token;
  const join_ = (token: string, dataDir: string): Promise<unknown> =>
    joinNode({ url: mesh.api.url, token, name: "newcomer", labels: {}, dataDir, log: silentLogger });
  const emptyDir = (): string => mkdtempSync(join(mesh.dir, "device-"));

  async function refusedJoin(token: string): Promise<MeshError> {
    const dataDir = emptyDir();
    const error = await leavingNothing(() =>
      join_(token, dataDir).then(
        () => undefined,
        (thrown: unknown) => thrown,
      ),
    );
    expect(error).toBeInstanceOf(MeshError);
    expect(existsSync(join(dataDir, "node.json"))).toBe(false);
    expect((error as MeshError).message).toContain("yao node token create");
    return error as MeshError;
  }

  test("that was used already is refused", async () => {
    const token = await newToken();
    await join_(token, emptyDir());
    expect(await refusedJoin(token)).toMatchObject({
      code: "unauthenticated",
      message: expect.stringContaining("was used already") as string,
    });
  });

  test("that has expired is refused", async () => {
    const token = await newToken();
    await store.sql`UPDATE join_tokens SET expires_at = now() - interval '1 second' WHERE uses_left > 0`;
    expect(await refusedJoin(token)).toMatchObject({
      code: "unauthenticated",
      message: expect.stringContaining("has expired") as string,
    });
  });

  test("that was never made is refused", async () => {
    const token = `yj_${"x".repeat(32)}`;
    expect(await refusedJoin(token)).toMatchObject({
      code: "unauthenticated",
      message: expect.stringContaining("is not known") as string,
    });
  });

  test("that is no token is refused before anything is sent", async () => {
    expect(await refusedJoin("let me in")).toMatchObject({ code: "invalid_argument" });
  });

  test("lets exactly as many devices in as it has uses, also when they come at once", async () => {
    const { token } = await mesh.api.call<{ token: string }>("POST", "/v1/node-tokens", { uses: 2 });
    const results = await Promise.allSettled(Array.from({ length: 5 }, () => join_(token, emptyDir())));
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(2);
  });

  test("that another device's key signed is refused", async () => {
    const token = await newToken();
    const body = { token, nkey: `U${"A".repeat(55)}`, signature: "AAAA", name: "forger", protocol: 1 };
    const refusal = await leavingNothing(() => refused(json("POST", "/v1/nodes/join", body)));
    expect(refusal).toMatchObject({ status: 401, problem: { code: "unauthenticated" } });
    expect(refusal.problem.detail).toContain("did not prove that it holds its key");
  });

  test("that is wrong ends the agent's process with one line and no stack trace", async () => {
    const dataDir = emptyDir();
    const { code, output } = await runAgent({
      YAO_NODE_DATA: dataDir,
      YAO_NODE_URL: mesh.api.url,
      YAO_NODE_TOKEN: `yj_${"x".repeat(32)}`,
      YAO_NODE_LOG_LEVEL: "error",
    });
    expect(code).toBe(1);
    expect(output.trim().split("\n")).toHaveLength(1);
    expect(output).toMatch(/^yao node: .*join token is not known; make a new one with: yao node token create/);
    expect(existsSync(join(dataDir, "node.json"))).toBe(false);
  });
});

describe("an app", () => {
  const GOOD = '{ "name": "Good" }';
  const push = async (files: Readonly<Record<string, string>>): Promise<ApiProblem> => {
    const { bytes } = bundleApp(new Map(Object.entries(files).map(([path, text]) => [path, Buffer.from(text)])));
    return leavingNothing(() =>
      refused({
        method: "POST",
        path: "/v1/workspaces/default/apps/broken/versions",
        body: Buffer.from(bytes),
        headers: { "content-type": "application/octet-stream" },
      }),
    );
  };

  test("with a prompts file that is not YAML is refused with file and line, and no part of it is kept", async () => {
    const refusal = await push({
      "assistants/good/package.yao": GOOD,
      "assistants/good/prompts.yml": "- role: system\n  content: fine\n",
      "assistants/odd/package.yao": '{ "name": "Odd" }',
      "assistants/odd/prompts.yml": "- role: system\n  content: fine\n- role: [unclosed\n  content: no\n",
    });
    expect(refusal).toMatchObject({ status: 400, problem: { code: "invalid_argument" } });
    expect(refusal.problem.detail).toMatch(
      /^the app has problems: assistants\/odd\/prompts\.yml:[345]: not YAML: .*yao app check DIR$/,
    );
    const problems = refusal.problem.details?.["problems"] as {
      file: string;
      line: number;
      severity: string;
      message: string;
    }[];
    expect(problems).toContainEqual(
      expect.objectContaining({
        file: "assistants/odd/prompts.yml",
        severity: "error",
        line: expect.any(Number) as number,
      }),
    );
    const { apps } = await mesh.api.call<{ apps: { name: string }[] }>("GET", "/v1/workspaces/default/apps");
    expect(apps.map(({ name }) => name)).not.toContain("broken");
    expect(await refusalOf(mesh.createRun({ assistant: "good", input: "hi" }))).toMatchObject({ status: 404 });
  });

  test("with a package file that is not JSON is refused with file and line", async () => {
    const refusal = await push({ "assistants/odd/package.yao": '{\n  "name": "Odd",\n  "tags": [oops]\n}\n' });
    expect(refusal.problem.detail).toContain("assistants/odd/package.yao:3");
  });

  test("with nothing in it is refused, and told what an app looks like", async () => {
    const refusal = await push({ "README.md": "nothing here" });
    expect(refusal.problem.detail).toContain("an app has files such as assistants/hello/package.yao");
  });

  test("whose assistant belongs to another app is refused", async () => {
    const refusal = await push({ "assistants/hello/package.yao": GOOD });
    expect(refusal).toMatchObject({ status: 409, problem: { code: "already_exists" } });
    expect(refusal.problem.detail).toContain("assistant hello belongs to app demo");
  });
});

describe("a connector without a key", () => {
  async function failedRun(name: string, connector: string, files: Readonly<Record<string, string>>): Promise<RunView> {
    const dir = join(mesh.dir, `app-${name}`);
    const all = {
      [`assistants/${name}/package.yao`]: JSON.stringify({ name, connector }),
      [`assistants/${name}/prompts.yml`]: "- role: system\n  content: be brief\n",
      ...files,
    };
    for (const [path, text] of Object.entries(all)) {
      mkdirSync(dirname(join(dir, path)), { recursive: true });
      writeFileSync(join(dir, path), text);
    }
    await mesh.pushApp(name, dir);
    const { id } = await mesh.createRun({ assistant: name, input: "hi" });
    const ended = await mesh.ended(id);
    expect(ended).toMatchObject({ state: "failed", error: { code: "failed_precondition" }, output: "" });
    expect(JSON.stringify(await mesh.api.pages(id))).not.toMatch(/\\n\s+at |node_modules|\.[jt]s:\d+/);
    return ended;
  }

  test("whose variable has no value fails the run with the variable's name and the command that helps", async () => {
    const file = {
      label: "GPT",
      type: "openai",
      options: { model: "gpt-x", proxy: llm.url, key: "$ENV.MISSING_API_KEY" },
    };
    const run_ = await failedRun("keyless", "acme.gpt", { "connectors/acme/gpt.conn.yao": JSON.stringify(file) });
    expect(run_.error?.message).toContain("$ENV.MISSING_API_KEY");
    expect(run_.error?.message).toContain("yao connector add acme.gpt --key-env MISSING_API_KEY");
    expect(llm.requests).toHaveLength(0);
  });

  test("that was added without one fails the run with the command that adds it", async () => {
    await mesh.api.call("PUT", "/v1/workspaces/default/connectors/bare", { type: "openai", model: "m", host: llm.url });
    const run_ = await failedRun("bare-user", "bare", {});
    expect(run_.error?.message).toContain("connector bare has no key");
    expect(run_.error?.message).toContain("yao connector add bare --key-env BARE_API_KEY");
    expect(llm.requests).toHaveLength(0);
  });

  test("that does not exist fails the run with those there are", async () => {
    const run_ = await mesh.createRun({ assistant: "hello", input: "hi", options: { connector: "nowhere" } });
    const ended = await mesh.ended(run_.id);
    expect(ended).toMatchObject({ state: "failed", error: { code: "not_found" } });
    expect(ended.error?.message).toMatch(/"nowhere" does not exist; there are .*demo/);
  });
});

function runAgent(env: Readonly<Record<string, string>>): Promise<{ code: number | null; output: string }> {
  const entry = resolve(import.meta.dirname, "../../node-agent/dist/main.js");
  return new Promise((done) => {
    const child = execFile(
      process.execPath,
      [entry],
      { env: { PATH: process.env["PATH"] ?? "", ...env }, timeout: 30_000 },
      (_error, stdout, stderr) => done({ code: child.exitCode, output: stdout + stderr }),
    );
  });
}
