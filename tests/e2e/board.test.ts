/** The board over real processes: a task is made by talking, worked on by a device, asked, answered, and seen in the feed. */

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { until } from "@mesh/kernel";
import type { InboxEntry, Task, TaskMessage } from "@mesh/proto";
import { openStore } from "@mesh/store";
import { afterAll, beforeAll, expect, test } from "vitest";

import { ApiClient } from "../harness/api-client.ts";
import { TestMesh } from "../harness/test-mesh.ts";
import { YaoHome } from "./yao-command.ts";

let mesh: TestMesh;
let other: ApiClient;

beforeAll(async () => {
  mesh = await TestMesh.start({ coordinators: 2, nodes: [{ name: "alpha", slots: 2 }] });
  other = mesh.apiAt(1);
  await mesh.pushApp("work", workApp());
});

afterAll(async () => {
  await mesh?.stop();
});

/** An app whose one assistant may ask and write files. */
function workApp(): string {
  const dir = join(mesh.dir, "work");
  const assistant = join(dir, "assistants", "worker");
  mkdirSync(assistant, { recursive: true });
  const options = { tools: ["ask_user", "write_file"] };
  writeFileSync(join(assistant, "package.yao"), JSON.stringify({ name: "Worker", connector: "demo", options }));
  writeFileSync(join(assistant, "prompts.yml"), '- role: system\n  content: "You work."\n');
  return dir;
}

const LIMIT_MS = 20_000;

interface FeedEvent {
  readonly seq: number;
  readonly kind: string;
  readonly object: string;
  readonly data: Task;
}

/** Follows the feed of the default workspace at a replica, however often that is cut off. */
class FeedFollower {
  readonly events: FeedEvent[] = [];
  readonly #stop = new AbortController();
  readonly #api: ApiClient;
  #cursor: number;

  constructor(api: ApiClient, after: number) {
    this.#api = api;
    this.#cursor = after;
    void this.#run();
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) await this.#read().catch(() => undefined);
  }

  async #read(): Promise<void> {
    const response = await fetch(`${this.#api.url}/v1/workspaces/default/feed`, {
      headers: {
        authorization: `Bearer ${this.#api.token}`,
        accept: "text/event-stream",
        "last-event-id": String(this.#cursor),
      },
      signal: this.#stop.signal,
    });
    let text = "";
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk).toString();
      const frames = text.split("\n\n");
      text = frames.pop() ?? "";
      for (const frame of frames) {
        const data = /^data: (.*)$/m.exec(frame)?.[1];
        if (data === undefined || !frame.startsWith("id: ")) continue;
        const event = JSON.parse(data) as FeedEvent;
        this.events.push(event);
        this.#cursor = event.seq;
      }
    }
  }

  states(task: string): string[] {
    const states = this.events.filter(({ object }) => object === task).map(({ data }) => data.run_state);
    return states.filter((state, i) => state !== states[i - 1]);
  }

  stop(): void {
    this.#stop.abort();
  }
}

async function task(ref: string, api = other): Promise<Task> {
  return (await api.call<{ task: Task }>("GET", `/v1/tasks/${ref}`)).task;
}

async function untilTask(ref: string, fits: (task: Task) => boolean): Promise<Task> {
  let last: Task | undefined;
  const look = async (): Promise<Task | undefined> => {
    last = await task(ref).catch(() => undefined);
    return last !== undefined && fits(last) ? last : undefined;
  };
  try {
    return await until(look, { timeoutMs: LIMIT_MS, everyMs: 50 });
  } catch (error) {
    throw new Error(`task ${ref} was last seen as ${JSON.stringify(last)}`, { cause: error });
  }
}

const create = async (body: object): Promise<Task> =>
  (await other.call<{ task: Task }>("POST", "/v1/workspaces/default/tasks", body)).task;

test("a task made by talking is worked on, asks, survives the leader's death, is answered and shows in the feed", async () => {
  const { feed_seq: from } = await other.call<{ feed_seq: number }>("GET", "/v1/workspaces/default/tasks");
  const follower = new FeedFollower(other, from);
  const made = await create({ message: '/tool ask_user {"question": "Which hotel?"}', title: "Book", start: true });
  const asking = await untilTask(made.id, ({ run_state }) => run_state === "waiting");
  expect([asking.pending.map(({ text }) => text), asking.category]).toEqual([["Which hotel?"], "in_progress"]);
  await mesh.coordinators[0]?.kill();
  const answer = await other.call<{ effect: string }>("POST", `/v1/tasks/${made.key}/messages`, { text: "The second" });
  expect(answer.effect).toBe("answered");
  // The device reaches NATS through this replica.
  await mesh.restartCoordinator(0);
  await untilTask(made.id, ({ run_state, category }) => run_state === "succeeded" && category === "in_review");
  const { messages } = await other.call<{ messages: TaskMessage[] }>("GET", `/v1/tasks/${made.id}/messages`);
  const said = messages.map(({ role, message }) => `${role} ${message?.["type"]}`);
  expect(said.filter((each) => each === "assistant question" || each === "user text")).toEqual([
    "user text",
    "assistant question",
    "user text",
  ]);
  expect(messages.map(({ seq }) => seq)).toEqual(messages.map((_, i) => i + 1));
  await until(() => follower.states(made.id).at(-1) === "succeeded", { timeoutMs: 20_000, what: "the feed's end" });
  // The feed tells of objects as they are when it gets to them: states that were over by then are left out, none comes out of order.
  const order = ["idle", "queued", "running", "waiting", "queued", "running", "succeeded"];
  let at = 0;
  for (const state of follower.states(made.id)) {
    const found = order.indexOf(state, at);
    expect([state, found]).not.toEqual([state, -1]);
    at = found + 1;
  }
  expect(at).toBe(order.length);
  expect(follower.events.map(({ seq }) => seq)).toEqual(follower.events.map((_, i) => from + i + 1));
  follower.stop();
  const { entries } = await other.call<{ entries: InboxEntry[] }>("GET", "/v1/inbox");
  expect(entries.filter(({ task_id: id }) => id === made.id).map(({ kind }) => kind)).toEqual(["done"]);
});

test("files that its runs write are what came of a task, and a task that waits for it starts by itself", async () => {
  const first = await create({
    message: '/tool write_file {"path": "docs/plan.md", "content": "# Plan"}',
    start: true,
  });
  const second = await create({ message: "/echo shipped", blocked_by: [first.key], start: true });
  const done = await untilTask(second.id, ({ run_state, last_line }) => run_state === "succeeded" && last_line !== "");
  expect(done.last_line).toBe("shipped");
  expect((await task(first.id)).outputs).toMatchObject([{ kind: "file", target: "docs/plan.md", node: "alpha" }]);
});

test("the history of the model is the conversation of the task, whoever of the workspace talks", async () => {
  const wish = { name: "mia", user: "mia", scopes: ["tasks"] };
  const { secret } = await other.call<{ secret: string }>("POST", "/v1/tokens", wish);
  await other.call("PUT", "/v1/workspaces/default/members/mia", { role: "member" });
  const mia = new ApiClient(other.url, secret);
  const made = await create({ message: "my name is Ada", start: true });
  await untilTask(made.id, ({ run_state }) => run_state === "succeeded");
  await mia.call("POST", `/v1/tasks/${made.id}/messages`, { text: "and I am Mia" });
  await untilTask(made.id, ({ run_state, attempts }) => run_state === "succeeded" && attempts === 2);
  await using store = openStore({ url: mesh.postgres.url, maxConnections: 1 });
  const rows = await store.sql<{ user_id: string; chat_id: string; body: string }[]>`
    SELECT user_id, chat_id, body FROM chat_messages WHERE chat_id = ${made.id} ORDER BY seq`;
  expect(rows.map(({ user_id: owner }) => owner)).toEqual(Array(4).fill(made.id));
  expect(
    rows
      .map(({ body }) => body)
      .filter((body) => body.includes('"user"'))
      .join(" "),
  ).toMatch(/Ada.*Mia/);
});

test("what is said while a run is at work is read by that run, once; what comes too late starts the next one", async () => {
  const made = await create({ message: "/slow 4s", start: true });
  await untilTask(made.id, ({ run_state }) => run_state === "running");
  const path = `/v1/tasks/${made.id}/messages`;
  expect(await other.call("POST", path, { text: "/echo heard" })).toMatchObject({ effect: "queued" });
  const done = await untilTask(made.id, ({ run_state, last_line }) => run_state === "succeeded" && last_line !== "");
  expect([done.last_line, done.attempts]).toEqual(["heard", 1]);
  await other.call("POST", path, { text: "/echo later" });
  await untilTask(made.id, ({ last_line, run_state }) => run_state === "succeeded" && last_line === "later");
  const { messages } = await other.call<{ messages: TaskMessage[] }>("GET", path);
  const runs = messages.filter(({ role }) => role === "user").map((message) => message.run_id);
  expect([new Set(runs.slice(0, 2)).size, new Set(runs).size, (await task(made.id)).attempts]).toEqual([1, 2, 2]);
});

test("files that go with a message are read by the model", async () => {
  const notes = Buffer.from("The harbour master is called Marie.");
  const { upload } = await other.call<{ upload: string }>(
    "POST",
    "/v1/workspaces/default/uploads?name=notes.txt",
    notes,
  );
  const made = await create({ message: "/echo who is it?", uploads: [upload], start: true });
  const { run_id: run } = await untilTask(made.id, ({ run_state }) => run_state === "succeeded");
  expect((await other.call<{ run: { output: string } }>("GET", `/v1/runs/${run}`)).run.output).toContain(
    "is called Marie",
  );
});

test("a device that stops enters the feed", { timeout: 180_000 }, async () => {
  const { feed_seq: from } = await other.call<{ feed_seq: number }>("GET", "/v1/workspaces/default/tasks");
  const follower = new FeedFollower(other, from);
  await mesh.addNode({ name: "beta" });
  const statuses = (): string[] =>
    follower.events
      .filter(({ kind, data }) => kind === "node.changed" && (data as unknown as { name: string }).name === "beta")
      .map(({ data }) => (data as unknown as { status: string }).status);
  await until(() => statuses().includes("online"), { timeoutMs: 60_000, what: "beta online in the feed" });
  await mesh.node("beta").process.stop();
  await until(() => statuses().at(-1) === "offline", { timeoutMs: 60_000, what: "beta offline in the feed" });
  follower.stop();
});

test("the command line makes, watches, answers and lists tasks", async () => {
  await using home = new YaoHome();
  const env = { YAO_URL: other.url, YAO_TOKEN: other.token };
  const yao = (...args: string[]): ReturnType<YaoHome["run"]> => home.run(args, { env });
  const echoed = await yao("task", "add", "/echo good morning", "--start");
  expect([echoed.code, echoed.stdout.trim()]).toEqual([0, "good morning"]);
  const asked = await yao("task", "add", '/tool ask_user {"question": "Tea?"}', "--title", "Drinks", "--start");
  expect([asked.code, asked.stderr.includes("Tea?")]).toEqual([3, true]);
  const found = JSON.parse((await yao("task", "list", "--state", "waiting", "--json")).stdout) as { tasks: Task[] };
  expect(found.tasks.map(({ title }) => title)).toEqual(["Drinks"]);
  const [drinks] = found.tasks;
  const inbox = JSON.parse((await yao("inbox", "--kind", "needs_input", "--json")).stdout) as { entries: InboxEntry[] };
  expect(inbox.entries.map(({ task_key: key }) => key)).toEqual([drinks?.key]);
  const answered = await yao("task", "input", drinks?.key ?? "", "Coffee", "--follow");
  expect(answered.code).toBe(0);
  expect((await yao("task", "move", drinks?.key ?? "", "done")).code).toBe(0);
  expect((await yao("task", "show", drinks?.key ?? "")).stdout).toContain("done");
  const stale = await yao("task", "show", "T-9999");
  expect([stale.code, stale.stderr]).toEqual([1, expect.stringContaining("was not found")]);
  expect((await yao("task", "schedule", drinks?.key ?? "", "* * *")).stderr).toContain("five fields");
});
