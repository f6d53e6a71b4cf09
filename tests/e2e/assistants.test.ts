/** Assistants with hooks, tools, memory, chats and data, over real processes: one coordinator, two devices. */

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { until } from "@mesh/kernel";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type { SeenEvent } from "../harness/api-client.ts";
import { type RunView, TestMesh } from "../harness/test-mesh.ts";

const HOOKS = (body: string): string => `import { agent, Process } from "@yao/runtime";\n${body}`;

const FILES: Readonly<Record<string, string>> = {
  "assistants/remember/package.yao": '{"name":"Remember"}',
  "assistants/remember/src/index.ts": HOOKS(`
    export function Next(ctx: agent.Context, payload: agent.Payload): agent.Next {
      return { data: {
        user: ctx.memory.user.Incr("n"), team: ctx.memory.team.Incr("n"),
        chat: ctx.memory.chat ? ctx.memory.chat.Push("said", [payload.messages.at(-1).content]) : null,
        store: Process("stores.cache.Push", "all", 1),
        before: payload.messages.length,
      } };
    }`),
  "assistants/shop/package.yao": '{"name":"Shop","db":{"models":["order"]},"mcp":{"servers":["orders"]}}',
  "assistants/shop/models/order.mod.yao": JSON.stringify({
    name: "Order",
    table: { name: "order" },
    columns: [
      { name: "id", type: "ID", primary: true },
      { name: "no", type: "string", length: 40, unique: true },
      { name: "note", type: "text", nullable: true },
    ],
    option: { timestamps: true, soft_deletes: true },
  }),
  "assistants/shop/mcps/orders.mcp.yao":
    '{"label":"Orders","transport":"process","tools":{"create":"models.agents.shop.order.Create","find":"agents.shop.order.Find"}}',
  "assistants/shop/mapping/orders/schemes/create.in.yao":
    '{"type":"object","properties":{"no":{"type":"string"}},"required":["no"],"x-process-args":[":arguments"]}',
  "assistants/shop/mapping/orders/schemes/find.in.yao":
    '{"type":"object","properties":{"no":{"type":"string"}},"required":["no"],"x-process-args":["$args.no"]}',
  "assistants/shop/src/order.ts": HOOKS(`
    export function Find(no: string, ctx: agent.Context) {
      const rows = Process("models.agents.shop.order.Get", { wheres: [{ column: "no", value: no }] });
      return { found: rows.length, by: ctx.assistant_id };
    }`),
  "assistants/shop/src/index.ts": HOOKS(`
    export function Next(ctx: agent.Context, { messages }: agent.Payload): agent.Next {
      const no = messages.at(-1).content;
      ctx.mcp.CallTool("orders", "create", { no, note: "a large teapot" });
      const found = ctx.mcp.CallTool("orders", "find", { no });
      const search = ctx.search.DB("teapot");
      const trace = ctx.trace.Add({ no }, { label: "Order" });
      trace.Complete(found);
      console.log("ordered", no);
      let twice = "";
      try { Process("models.agents.shop.order.Create", { no }); } catch (e) { twice = e.message; }
      return { data: { found, hits: search.items.length, error: search.error ?? null, twice } };
    }`),
  "assistants/busy/package.yao": '{"name":"Busy"}',
  "assistants/busy/src/index.ts": HOOKS(`
    export function Create(ctx: agent.Context, messages: agent.Message[]): agent.Create {
      const text = messages.at(-1).content as string;
      if (text === "loop") { ctx.Send("looping"); while (true) {} }
      if (text === "fill") { const all = []; for (;;) all.push(new Array(1e6).fill(1.5)); }
      if (text === "send") { for (let i = 0; i < 1e6; i++) ctx.Send("x" + i); }
      if (text === "escape") {
        const tries = [
          () => (this as any).constructor.constructor("return process")(),
          () => (ctx.Send as any).constructor("return process")(),
          () => (0, eval)("process"),
          () => ctx.workspace.ReadFile("../../../etc/passwd"),
        ];
        return { delegate: { agent_id: "told", messages: [{ role: "user", content: JSON.stringify(tries.map((t) => { try { return String(t()); } catch (e) { return "refused"; } })) }] } };
      }
      return null;
    }`),
  "assistants/told/package.yao": '{"name":"Told"}',
  "assistants/told/src/index.ts": HOOKS(
    `export function Next(ctx: agent.Context, p: agent.Payload) { return { data: p.messages.at(-1).content }; }`,
  ),
};

let mesh: TestMesh;
let dir: string;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "yao-app-"));
  for (const [path, text] of Object.entries(FILES)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), text);
  }
  mesh = await TestMesh.start({
    nodes: [
      { name: "one", slots: 8 },
      { name: "two", slots: 8 },
    ],
  });
  await mesh.pushApp("app", dir);
});

afterAll(async () => {
  await mesh?.stop();
  rmSync(dir, { recursive: true, force: true });
});

async function ended(
  assistant: string,
  input: string,
  more: Record<string, unknown> = {},
): Promise<[RunView, readonly SeenEvent[]]> {
  const run = await mesh.createRun({ assistant, input, ...more });
  const events = await mesh.api.follow(run.id);
  return [await mesh.run(run.id), events];
}

/** What the Next hook of a run returned as its data. */
async function dataOf(assistant: string, input: string, more: Record<string, unknown> = {}): Promise<unknown> {
  const [run, events] = await ended(assistant, input, more);
  expect([run.state, run.error]).toEqual(["succeeded", undefined]);
  return nextOf(events);
}

function nextOf(events: readonly SeenEvent[]): unknown {
  for (const { data } of events) {
    const props = data["props"] as { event?: string; data?: { metadata?: { next?: unknown } } } | undefined;
    if (props?.event === "stream_end") return props.data?.metadata?.next;
  }
  return undefined;
}

describe("state of a workspace", () => {
  test("memory, stores and chats are the same on every device", async () => {
    const chat = { metadata: { chat_id: "c1" } };
    const first = await dataOf("remember", "hello", { ...chat, node: "one" });
    expect(first).toEqual({ user: 1, team: 1, chat: 1, store: 1, before: 1 });
    expect(await dataOf("remember", "again", { ...chat, node: "two" })).toEqual({
      user: 2,
      team: 2,
      chat: 2,
      store: 2,
      before: 2,
    });
    expect(await dataOf("remember", "alone", { node: "one" })).toEqual({
      user: 3,
      team: 3,
      chat: null,
      store: 3,
      before: 1,
    });
  });

  test("models are tables that hooks, tools and searches share; mistakes are errors the hook can catch", async () => {
    const [run, events] = await ended("shop", "A-1");
    expect([run.state, run.error]).toEqual(["succeeded", undefined]);
    expect(nextOf(events)).toMatchObject({
      found: { found: 1, by: "shop" },
      hits: 1,
      error: null,
      twice: expect.stringMatching(/no|unique|exists/i) as unknown,
    });
    expect(events.filter(({ kind }) => kind === "trace").map(({ data }) => data["type"])).toEqual([
      "node_start",
      "node_complete",
      "complete",
    ]);
    expect(events.filter(({ kind }) => kind === "log").map(({ data }) => data["text"])).toEqual(["ordered A-1"]);
  });

  test("another workspace with the same app sees nothing of it", async () => {
    await mesh.api.call("POST", "/v1/workspaces", { name: "other" });
    await mesh.pushApp("app", dir, "other");
    const inOther = { workspace: "other" };
    expect(await dataOf("remember", "hello", { ...inOther, metadata: { chat_id: "c1" } })).toMatchObject({
      user: 1,
      team: 1,
      chat: 1,
      store: 1,
      before: 1,
    });
    expect(await dataOf("shop", "A-1", inOther)).toMatchObject({ found: { found: 1 } });
  });
});

describe("a hostile hook", () => {
  test("that never ends is ended with file and line, and its device serves others meanwhile", async () => {
    const stuck = await mesh.createRun({ assistant: "busy", input: "loop", node: "one" });
    await until(async () => (await mesh.api.pages(stuck.id)).some(({ data }) => data["type"] === "text"));
    expect(await dataOf("told", "still here", { node: "one" })).toBe("still here");
    await mesh.api.call("POST", `/v1/runs/${stuck.id}/cancel`, {});
    await until(async () => (await mesh.run(stuck.id)).state === "cancelled", { timeoutMs: 15_000 });
  });

  test("that fills its memory fails alone", async () => {
    const [run] = await ended("busy", "fill", { node: "one" });
    expect(run.state).toBe("failed");
    expect(run.error?.message).toMatch(/memory/i);
    expect(await dataOf("told", "fine", { node: "one" })).toBe("fine");
  });

  test("that sends without end is stopped at a bound", async () => {
    const [run] = await ended("busy", "send", { node: "two" });
    expect(run.state).toBe("failed");
    expect(run.error?.message).toMatch(/send|operations/i);
  });

  test("gets neither the process nor a file outside of its folder", async () => {
    expect(JSON.parse((await dataOf("busy", "escape")) as string)).toEqual([
      "refused",
      "refused",
      "refused",
      "refused",
    ]);
  });
});

test("a runner killed in the middle of a hook ends the run with a clear error, and the next run is fine", async () => {
  const run = await mesh.createRun({ assistant: "busy", input: "loop", node: "two" });
  await until(async () => (await mesh.api.pages(run.id)).some(({ data }) => data["type"] === "text"));
  const node = mesh.nodes.get("two");
  const children = readFileSync(`/proc/${node?.process.pid}/task/${node?.process.pid}/children`, "utf8")
    .trim()
    .split(" ");
  for (const pid of children)
    if (readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("runner")) process.kill(Number(pid), "SIGKILL");
  await until(async () => (await mesh.run(run.id)).state === "failed", { timeoutMs: 30_000 });
  expect((await mesh.run(run.id)).error?.code).toBe("runner_crashed");
  expect(await dataOf("told", "next", { node: "two" })).toBe("next");
});
