/** Batches of evals through the whole agent, against a real nats-server and a scripted coordinator. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { bundleApp } from "@mesh/assistants";
import { type TestNats, testNats } from "@mesh/bus/testing";
import { until } from "@mesh/kernel";
import { sequentialIds } from "@mesh/kernel/testing";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";

import { AgentRig, childrenOf, isAlive } from "./testing/agent-rig.ts";
import type { CoordinatorStub } from "./testing/coordinator-stub.ts";
import { ModelServer } from "./testing/model-server.ts";

const HOOKS = `
export function Around(ctx, first, data) { return { cases: first.length, data, chat: ctx.chat_id }; }
export function Check(ctx, results, data) { if (data !== 7 || results[0].id !== "a") throw new Error("mixed up"); }
export function Broken() { throw new Error("no database"); }
export function Forever() { while (true) {} }
export function Before(ctx, test) { ctx.memory.chat.Set("id", test.id); return test.id; }
export function After(ctx, test, result, data) { if (ctx.memory.chat.Get("id") !== data) throw new Error("mixed up"); }
export function Hang(ctx, test) { return ctx.mcp.CallTool("slow", "hang", { dir: test.user }); }
export function Models(ctx, test) { return Process("models.user.Find", 1, {}); }
`;
// A server of tools that says who it is, and answers no call.
const SERVER = `
const { writeFileSync } = require("node:fs");
const say = (id, result) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result }) + "\\n");
let rest = "";
process.stdin.on("data", (part) => {
  const lines = (rest + part).split("\\n");
  rest = lines.pop();
  for (const { id, method, params } of lines.map((line) => JSON.parse(line))) {
    if (method === "initialize")
      say(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "slow", version: "1" } });
    if (method === "tools/list") say(id, { tools: [{ name: "hang", inputSchema: { type: "object" } }] });
    if (method === "tools/call") writeFileSync(params.arguments.dir + "/pid", String(process.pid));
  }
});
process.stdin.on("end", () => undefined);
setInterval(() => undefined, 1000);
`;
const APP = {
  "mcps/slow.mcp.yao": JSON.stringify({ transport: "stdio", command: process.execPath, arguments: ["-e", SERVER] }),
  "app.yao": '{"name":"Test"}',
  "assistants/echo/package.yao": '{"name":"Echo","description":"says it again","connector":"demo"}',
  "assistants/echo/prompts.yml": "- role: system\n  content: Repeat.\n",
  "assistants/echo/src/env_test.ts": HOOKS,
  "evals/files/notes/hello.txt": "hello from a file",
};
const SETTINGS = { agentId: "echo", timeoutMs: 20_000, parallel: 2, device: "laptop", hasPermits: false };

interface Row {
  readonly ordinal: number;
  readonly run: number;
  readonly copy: number;
  readonly result: {
    readonly id: string;
    readonly run: number;
    readonly status: string;
    readonly output: unknown;
    readonly hash: string;
    readonly device?: string;
    readonly cause?: string;
    readonly error?: string;
    readonly warnings?: readonly string[];
  };
}

const ids = sequentialIds();
let nats: TestNats;
let rig: AgentRig;
let stub: CoordinatorStub;
let bundle: string;

beforeAll(async () => {
  nats = await testNats();
});
afterAll(async () => {
  await nats.stop();
});
beforeEach(async () => {
  rig = await AgentRig.open(nats);
  ({ stub } = rig);
  const encoder = new TextEncoder();
  const files = new Map(Object.entries(APP).map(([path, text]) => [path, encoder.encode(text)]));
  bundle = stub.addBundle(bundleApp(files).bytes);
});
afterEach(async () => {
  await rig[Symbol.asyncDispose]();
});

type Settings = Partial<typeof SETTINGS> & Record<string, unknown>;
type Work = Omit<Parameters<CoordinatorStub["work"]>[0], "run_id">;

/** Publishes a batch of any phase; gives the run it is. */
async function send(batch: object, settings: Settings = {}, work: Work = {}): Promise<string> {
  const run_id = ids.next("run");
  stub.batches.set(run_id, { eval_id: "eval_1", nonce: "n", settings: { ...SETTINGS, ...settings }, ...batch });
  await stub.work({ run_id, eval: true, assistant_id: "echo", bundle_digest: bundle, ...work });
  return run_id;
}

function units(cases: readonly object[], runs = 1): object {
  const list = cases.flatMap((_each, index) =>
    Array.from({ length: runs }, (_run, at) => ({ ordinal: 10 + index, run: at + 1, copy: 1, case: index })),
  );
  return { phase: "units", cases, units: list };
}

function rows(runId: string): Row[] {
  const events = stub.run(runId).events.filter(({ kind }) => kind === "eval.result");
  return events.map(({ body }) => JSON.parse(body) as Row);
}

const statuses = (runId: string): Record<string, string> =>
  Object.fromEntries(rows(runId).map(({ result: { id, status } }) => [id, status]));

test("a batch in parts gives each unit's result as an event, with hooks, files and device", async () => {
  await rig.start();
  stub.partChars = 100;
  const cases = [
    { id: "right", input: "/echo x", assert: { type: "contains", value: "x" } },
    { id: "wrong", input: "/echo x", assert: { type: "contains", value: "y" } },
    { id: "hooked", input: "/echo x", before: "env_test.Before", after: "env_test.After" },
    {
      id: "file",
      input: [{ role: "user", content: [{ type: "file", source: "file://notes/hello.txt" }] }],
      assert: { type: "contains", value: "hello from a file" },
    },
    { id: "gone", input: "/fail unavailable gone" },
  ];
  const run = await send(units(cases, 2));
  expect(await stub.end(run)).toMatchObject({ state: "succeeded" });
  const kinds = stub.kinds(run);
  expect(kinds.slice(0, 2)).toEqual(["run.accepted", "run.started"]);
  expect(kinds.filter((kind) => kind === "eval.result")).toHaveLength(10);
  expect(statuses(run)).toEqual({ right: "passed", wrong: "failed", hooked: "passed", file: "passed", gone: "error" });
  const named = rows(run).map(({ ordinal, run: at, copy, result }) =>
    [ordinal, at, copy, result.id, result.run].join(),
  );
  const wanted = cases.flatMap(({ id }, index) => [1, 2].map((at) => [10 + index, at, 1, id, at].join()));
  expect(named.toSorted()).toEqual(wanted.toSorted());
  expect(rows(run).every(({ result }) => result.device === "laptop" && result.warnings === undefined)).toBe(true);
  expect(rows(run).find(({ result }) => result.id === "gone")?.result.cause).toBe("transport");
});

test("a result that is too large for the way is cut, and says so", async () => {
  await rig.start();
  const run = await send(units([{ id: "large", input: `/bytes ${300 * 1024}` }]));
  expect(await stub.end(run)).toMatchObject({ state: "succeeded" });
  const event = stub.run(run).events.find(({ kind }) => kind === "eval.result");
  expect(event?.body.length).toBeLessThan(256 * 1024);
  const [row] = rows(run);
  expect(row?.result).toMatchObject({ status: "passed" });
  expect(String(row?.result.output).length).toBeGreaterThan(1_000);
  expect(row?.result.warnings?.join()).toContain("the output is cut");
});

test("hooks around an eval are batches of their own: data, an error of theirs, a warning", async () => {
  await rig.start();
  const cases = [{ id: "a", input: "x" }];
  const told = async (kind: string, run: string): Promise<unknown> => {
    expect(await stub.end(run)).toMatchObject({ state: "succeeded" });
    return JSON.parse(stub.run(run).events.find((event) => event.kind === kind)?.body ?? "null") as unknown;
  };
  const before = await send({ phase: "before", cases }, { beforeAll: "env_test.Around" });
  expect(await told("eval.before", before)).toEqual({ data: { cases: 1, chat: "test-all-n" } });
  const broken = await send({ phase: "before", cases }, { beforeAll: "env_test.Broken" });
  expect(await told("eval.before", broken)).toEqual({ error: expect.stringMatching(/^Broken failed: no database/) });
  const results = [{ id: "a", run: 1, status: "passed" }];
  const after = await send({ phase: "after", results, data: 7 }, { afterAll: "env_test.Check" });
  expect(await told("eval.after", after)).toEqual({});
  const failing = await send({ phase: "after", results, data: 8 }, { afterAll: "env_test.Check" });
  expect(await told("eval.after", failing)).toEqual({ warning: expect.stringMatching(/^Check failed: mixed up/) });
});

test("a batch that names what the app has not fails as a whole, and so does one that is none", async () => {
  await rig.start();
  const hook = await send(units([{ id: "a", input: "x", before: "none_test.Before" }]));
  expect(await stub.end(hook)).toMatchObject({ state: "failed", error: { code: "invalid_argument" } });
  const agent = await send(units([{ id: "a", input: "x" }]), { agentId: "nobody" });
  expect(await stub.end(agent)).toMatchObject({ state: "failed", error: { code: "not_found" } });
  const escape = [{ role: "user", content: [{ type: "file", source: `file://${join(rig.dataDir, "node.json")}` }] }];
  const outside = await send(units([{ id: "a", input: escape }]));
  expect(JSON.stringify(await stub.end(outside))).toContain("outside of the directory of the cases");
  const none = await send({ phase: "lunch" });
  expect(await stub.end(none)).toMatchObject({ state: "failed", error: { code: "invalid_argument" } });
  expect([hook, agent, outside, none].flatMap(rows)).toEqual([]);
});

test("a hook that never returns ends its case, one that needs a database says so, and the next batch runs", async () => {
  await rig.start();
  const cases = [
    { id: "forever", input: "x", before: "env_test.Forever", timeout: "1s" },
    { id: "models", input: "x", before: "env_test.Models" },
    { id: "fine", input: "/echo x" },
  ];
  const run = await send(units(cases));
  expect(await stub.end(run, 1, 30_000)).toMatchObject({ state: "succeeded" });
  expect(statuses(run)).toEqual({ forever: "error", models: "error", fine: "passed" });
  const errorOf = (id: string): string | undefined => rows(run).find(({ result }) => result.id === id)?.result.error;
  expect(errorOf("forever")).toMatch(/did not return|time|ended/);
  expect(errorOf("models")).toContain("without --nodes");
  const next = await send(units([{ id: "next", input: "/echo x" }]));
  expect(await stub.end(next)).toMatchObject({ state: "succeeded" });
  expect(statuses(next)).toEqual({ next: "passed" });
});

test("cancel stops units at once, without results of theirs, and what was written for them is removed", async () => {
  await rig.start();
  const slow = [
    { id: "done", input: "/echo x" },
    { id: "slow", input: "/slow 60s" },
    { id: "later", input: "/echo x" },
  ];
  const run = await send(units(slow), { parallel: 1 });
  await until(() => rows(run).length === 1, { timeoutMs: 20_000, what: "the first result" });
  const scratch = join(rig.dataDir, "evals", "ws_00000000000000000000000001");
  const hosts = (): readonly string[] => readdirSync(scratch).flatMap((pid) => readdirSync(join(scratch, pid)));
  expect(hosts()).toHaveLength(1);
  stub.command({ $case: "cancel", value: { run_id: run, epoch: 1, why: "user" } });
  expect(await stub.end(run, 1, 4_000)).toMatchObject({ state: "cancelled" });
  expect(statuses(run)).toEqual({ done: "passed" });
  await until(() => hosts().length === 0, { what: "the end of the eval's folder" });
});

test.each(["cancel", "crash"])("what a case has started ends with a %s of its batch", async (how) => {
  const agent = await rig.start();
  const run = await send(units([{ id: "hang", input: "x", before: "env_test.Hang", user: rig.dataDir }]));
  const pid = await until(() => pidIn(join(rig.dataDir, "pid")), {
    timeoutMs: 20_000,
    what: "the server to be called",
  });
  expect(isAlive(pid)).toBe(true);
  if (how === "cancel") stub.command({ $case: "cancel", value: { run_id: run, epoch: 1, why: "user" } });
  else for (const runner of childrenOf(agent)) process.kill(runner, "SIGKILL");
  expect(await stub.end(run)).toMatchObject({ state: how === "cancel" ? "cancelled" : "failed" });
  await until(() => !isAlive(pid), { timeoutMs: 10_000, what: "the end of the server" });
  expect(rows(run)).toEqual([]);
});

function pidIn(path: string): number | undefined {
  try {
    return Number(readFileSync(path, "utf8")) || undefined;
  } catch {
    return undefined;
  }
}

test("a crash of the runner fails the batch with the results it gave, and the agent goes on", async () => {
  const agent = await rig.start();
  const cases = [
    { id: "done", input: "/echo x" },
    { id: "slow", input: "/slow 60s" },
  ];
  const run = await send(units(cases), { parallel: 1 });
  await until(() => rows(run).length === 1, { timeoutMs: 20_000, what: "the first result" });
  const runners = childrenOf(agent);
  for (const pid of runners) process.kill(pid, "SIGKILL");
  expect(await stub.end(run)).toMatchObject({ state: "failed", error: { code: "runner_crashed" } });
  expect(statuses(run)).toEqual({ done: "passed" });
  const next = await send(units([{ id: "next", input: "/echo x" }]));
  expect(await stub.end(next)).toMatchObject({ state: "succeeded" });
  const scratch = join(rig.dataDir, "evals", "ws_00000000000000000000000001");
  // The one who came after has cleared what the dead one left.
  const left = readdirSync(scratch).map(Number);
  expect(left.filter((pid) => runners.includes(pid))).toEqual([]);
  expect(left.every(isAlive)).toBe(true);
});

test("connectors of the work item win, validators come with the framework, and models are called with permits", async () => {
  await rig.start();
  await using models = await ModelServer.open(({ messages }) => {
    const isValidator = messages.some(({ role, content }) => role === "system" && content.includes("You judge"));
    return { text: isValidator ? '{"passed": true, "reason": "it is"}' : "from the workspace" };
  });
  const connector = { type: "openai", model: "m", host: `http://${models.host}`, key: "k" };
  let refused = 2;
  stub.permit = ({ calls }) =>
    refused-- > 0 ? { granted: 0, wait_ms: 30 } : { granted: Math.min(calls, 1), wait_ms: 0 };
  const check = { type: "agent", use: "agents:tests.validator-agent", value: "is said", options: { connector: "own" } };
  const cases = [1, 2, 3].map((n) => ({ id: `c${n}`, input: "x", assert: [check] }));
  const work = { connectors_json: JSON.stringify({ own: connector }) };
  const run = await send(units(cases), { connector: "own", hasPermits: true, parallel: 3 }, work);
  expect(await stub.end(run, 1, 20_000)).toMatchObject({ state: "succeeded" });
  expect(rows(run).map(({ result }) => [result.status, result.output])).toEqual(
    cases.map(() => ["passed", "from the workspace"]),
  );
  expect(models.requests).toHaveLength(6);
  const granted = stub.permitRequests.length - 2;
  expect(granted).toBe(6);
  expect(new Set(stub.permitRequests.map(({ provider, run_id }) => [provider, run_id].join()))).toEqual(
    new Set([`${models.host},${run}`]),
  );
});

test("a provider that says to slow down is told to the coordinator, and is left alone meanwhile", async () => {
  await rig.start();
  const at: number[] = [];
  await using models = await ModelServer.open((_request, index) => {
    at.push(performance.now());
    return index === 0 ? { status: 429, headers: { "retry-after": "1" } } : { text: "at last" };
  });
  const connector = { type: "openai", model: "m", host: `http://${models.host}`, key: "k" };
  const work = { connectors_json: JSON.stringify({ own: connector }) };
  const cases = [1, 2, 3].map((n) => ({ id: `c${n}`, input: "x" }));
  const run = await send(units(cases), { connector: "own", parallel: 1 }, work);
  expect(await stub.end(run, 1, 20_000)).toMatchObject({ state: "succeeded" });
  expect(Object.values(statuses(run))).toEqual(["passed", "passed", "passed"]);
  const [told, ...more] = stub.permitRequests.filter(({ slow_down_ms }) => slow_down_ms > 0);
  expect(more).toEqual([]);
  expect(told).toMatchObject({ provider: models.host, calls: 0, slow_down_ms: 1_000 });
  expect((at[1] ?? 0) - (at[0] ?? 0)).toBeGreaterThan(900);
  // Three cases and a retry pay for at most one question a second.
  expect(stub.permitRequests.length).toBeLessThanOrEqual(4);
});
