/** One run from its creation to its last event, over real processes: two coordinators and one device. */

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import { demoAppDirectory } from "@mesh/assistants";
import { until } from "@mesh/kernel";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { refusalOf, type SeenEvent } from "../harness/api-client.ts";
import { type RunView, TestMesh } from "../harness/test-mesh.ts";
import { type LlmServer, startLlmServer } from "../llm-server/index.ts";

const DEVICE = "alpha";
let mesh: TestMesh;
let llm: LlmServer;

beforeAll(async () => {
  [mesh, llm] = await Promise.all([
    TestMesh.start({ coordinators: 2, nodes: [{ name: DEVICE, slots: 4 }] }),
    startLlmServer({ key: "right" }),
  ]);
  await mesh.pushApp("demo", demoAppDirectory);
});

afterAll(async () => {
  await Promise.all([mesh?.stop(), llm?.stop()]);
});

/** Text of the deltas of a stream, in the order they came. */
function spoken(events: readonly SeenEvent[]): string {
  return events
    .flatMap(({ data }) => (data["delta"] === true ? [(data["props"] as { content: string }).content] : []))
    .join("");
}

/** The lifecycle event of this name inside the output stream. */
function lifecycle(events: readonly SeenEvent[], name: string): Record<string, unknown> | undefined {
  for (const { data } of events) {
    const props = data["props"] as { event?: string; data?: Record<string, unknown> } | undefined;
    if (data["type"] === "event" && props?.event === name) return props.data;
  }
  return undefined;
}

/** Creates a run that says something for so long, and waits until it has begun to speak. */
async function speakingRun(time: string, more: Record<string, unknown> = {}): Promise<RunView> {
  const run = await mesh.createRun({ assistant: "slow", input: `/slow ${time}`, ...more });
  await until(async () => spoken(await mesh.api.pages(run.id)).length > 0, {
    timeoutMs: 30_000,
    what: "the first words",
  });
  return run;
}

describe("the life of a run", () => {
  test("a run of a pushed app streams its output in order and ends with what it said", async () => {
    const run = await mesh.createRun({ assistant: "counter", input: "/count 20 every 20ms" });
    const events = await mesh.api.follow(run.id);
    const kinds = events.map(({ kind }) => kind);
    expect(kinds.slice(0, 4)).toEqual(["run.queued", "run.placed", "run.accepted", "run.started"]);
    expect(kinds.slice(4, -1).every((kind) => kind === "message")).toBe(true);
    expect(kinds.at(-1)).toBe("run.finished");
    const counted = Array.from({ length: 20 }, (_, i) => i + 1).join(" ");
    expect(spoken(events)).toBe(counted);
    expect(lifecycle(events, "message_end")).toMatchObject({ status: "completed", extra: { content: counted } });
    expect(lifecycle(events, "stream_start")).toMatchObject({ assistant: { id: "counter" } });
    expect(lifecycle(events, "stream_end")).toMatchObject({ status: "completed" });
    const ended = await mesh.run(run.id);
    expect(ended).toMatchObject({ state: "succeeded", node: DEVICE, epoch: 1, attempt: 1, output: counted });
    expect(ended.last_seq).toBe(events.length);
    expect(ended.placement?.summary).toContain(DEVICE);
  });

  test("a long answer reaches the reader in pieces while it is being said, not at its end", async () => {
    const run = await mesh.createRun({ assistant: "slow", input: "/slow 2s" });
    const seenAt: number[] = [];
    await mesh.api.follow(run.id, { onEvent: ({ data }) => data["delta"] === true && seenAt.push(performance.now()) });
    expect(seenAt.length).toBeGreaterThan(5);
    expect((seenAt.at(-1) ?? 0) - (seenAt[0] ?? 0)).toBeGreaterThan(1_000);
  });

  test("a model that fails makes the run fail with the model's words, and nothing of a stack", async () => {
    const run = await mesh.createRun({ assistant: "hello", input: "/fail unavailable the model is asleep" });
    const events = await mesh.api.follow(run.id);
    const ended = await mesh.run(run.id);
    expect(ended).toMatchObject({ state: "failed", error: { code: "unavailable" }, output: "" });
    expect(ended.error?.message).toContain("the model is asleep");
    expect(lifecycle(events, "stream_end")).toMatchObject({ status: "error" });
    expect(JSON.stringify(events)).not.toMatch(/\.[jt]s:\d+|node_modules/);
  });
});

describe("cancelling", () => {
  test("a run that is speaking ends as cancelled within seconds, and its runner goes on serving", async () => {
    const run = await speakingRun("60s");
    const runners = mesh.node(DEVICE).process.childPids;
    expect(runners.length).toBeGreaterThan(0);
    const askedAt = performance.now();
    await mesh.api.call("POST", `/v1/runs/${run.id}/cancel`);
    const events = await mesh.api.follow(run.id, { timeoutMs: 10_000 });
    expect(performance.now() - askedAt).toBeLessThan(5_000);
    expect(events.at(-1)).toMatchObject({ kind: "run.finished", data: { state: "cancelled" } });
    expect(await mesh.run(run.id)).toMatchObject({ state: "cancelled", cancel_requested: true });
    expect(events.filter(({ kind }) => kind === "run.cancelling")).toHaveLength(1);
    const next = await mesh.createRun({ assistant: "hello", input: "/echo still here" });
    expect(await mesh.ended(next.id)).toMatchObject({ state: "succeeded", output: "still here" });
    expect(mesh.node(DEVICE).process.childPids).toEqual(runners);
  });

  test("cancelling again, or after the end, changes nothing", async () => {
    const run = await mesh.createRun({ assistant: "hello", input: "/echo done" });
    const ended = await mesh.ended(run.id);
    const { run: after } = await mesh.api.call<{ run: RunView }>("POST", `/v1/runs/${run.id}/cancel`);
    expect(after).toEqual(ended);
  });
});

describe("retrying", () => {
  test("an ended run starts again as a new run with the same input", async () => {
    const first = await mesh.createRun({ assistant: "hello", input: "/fail once more" });
    await mesh.ended(first.id);
    const { run: second } = await mesh.api.call<{ run: RunView }>("POST", `/v1/runs/${first.id}/retry`);
    expect(second).toMatchObject({ retry_of: first.id, input: "/fail once more" });
    expect(second.id).not.toBe(first.id);
    expect(await mesh.ended(second.id)).toMatchObject({ state: "failed", error: { code: "unavailable" } });
  });

  test("a run that goes on is not retried: the answer says to cancel it first", async () => {
    const run = await speakingRun("60s");
    const refusal = await refusalOf(mesh.api.call("POST", `/v1/runs/${run.id}/retry`));
    expect(refusal).toMatchObject({ status: 409, problem: { code: "failed_precondition" } });
    expect(refusal.problem.detail).toContain(`yao runs cancel ${run.id}`);
    await mesh.api.call("POST", `/v1/runs/${run.id}/cancel`);
    await mesh.ended(run.id);
  });
});

describe("a tool", () => {
  test("of the call runs in the workspace's directory on the device, and its result reaches model and reader", async () => {
    const run = await mesh.createRun({
      assistant: "hello",
      input: '/tool bash {"command":"echo found > here.txt; pwd"}',
      options: { tools: ["bash"] },
    });
    const events = await mesh.api.follow(run.id);
    const ended = await mesh.run(run.id);
    expect(ended.state).toBe("succeeded");
    const dir = ended.output.split("\n").find((line) => line.startsWith("/")) ?? "";
    expect(dirname(dir)).toBe(join(mesh.node(DEVICE).dataDir, "workspaces"));
    expect(readFileSync(join(dir, "here.txt"), "utf8")).toBe("found\n");
    const executes = events.map(({ data }) => data).filter((message) => message["type"] === "execute");
    expect(executes.map((message) => (message["props"] as { status: string }).status)).toEqual([
      "running",
      "completed",
    ]);
    expect(executes[1]?.["props"]).toMatchObject({ tool: "bash", details: { exit_code: 0 } });
  });

  test("is not there for a call that does not name it", async () => {
    const run = await mesh.createRun({ assistant: "hello", input: '/tool bash {"command":"id"}' });
    expect((await mesh.ended(run.id)).output).toContain("no tools were offered");
  });

  test("dies with its children and theirs when the run is cancelled, also those that left its group", async () => {
    const command = "sleep 300.25 & setsid sleep 300.25 & (sleep 300.25 & wait) & sleep 300.25";
    const run = await mesh.createRun({
      assistant: "hello",
      input: `/tool bash ${JSON.stringify({ command })}`,
      options: { tools: ["bash"] },
    });
    const alive = (): number[] => processesOf("sleep 300.25");
    await until(() => alive().length >= 4, { timeoutMs: 20_000, what: "the command and its children" });
    const askedAt = performance.now();
    await mesh.api.call("POST", `/v1/runs/${run.id}/cancel`);
    expect(await mesh.ended(run.id, 10_000)).toMatchObject({ state: "cancelled" });
    expect(performance.now() - askedAt).toBeLessThan(5_000);
    await until(() => alive().length === 0, { timeoutMs: 5_000, what: "the end of every process" });
  });
});

test("a run that takes longer than its time-out fails, and says how long it had", async () => {
  const run = await mesh.createRun({ assistant: "slow", input: "/slow 60s", timeout_seconds: 1 });
  const ended = await mesh.ended(run.id, 20_000);
  expect(ended).toMatchObject({ state: "failed", error: { code: "timeout" } });
  expect(ended.error?.message).toContain("1 s");
});

describe("an idempotency key", () => {
  test("makes concurrent repetitions of a request one run", async () => {
    const wish = { assistant: "hello", input: "/echo once" };
    const send = (): Promise<RunView> => mesh.createRun(wish, { "idempotency-key": "key-1" });
    const runs = await Promise.all([send(), send(), send()]);
    expect(new Set(runs.map(({ id }) => id)).size).toBe(1);
    await mesh.ended(runs[0]!.id);
    expect((await send()).id).toBe(runs[0]!.id);
    const { runs: all } = await mesh.api.call<{ runs: RunView[] }>("GET", "/v1/workspaces/default/runs?limit=200");
    expect(all.filter(({ input }) => input === wish.input)).toHaveLength(1);
  });

  test("used for another request is refused", async () => {
    const key = { "idempotency-key": "key-2" };
    await mesh.createRun({ assistant: "hello", input: "/echo first" }, key);
    const refusal = await refusalOf(mesh.createRun({ assistant: "hello", input: "/echo second" }, key));
    expect(refusal).toMatchObject({ status: 422, problem: { code: "already_exists" } });
    expect(refusal.problem.detail).toContain("use a new key");
  });
});

describe("reading", () => {
  test("JSON pages of any size hold the same events as the stream", async () => {
    const run = await mesh.createRun({ assistant: "counter", input: "/count 30 every 10ms" });
    const streamed = await mesh.api.follow(run.id);
    expect(streamed.length).toBeGreaterThan(8);
    expect(await mesh.api.pages(run.id, 3)).toEqual(streamed);
    expect(await mesh.api.pages(run.id, 1000)).toEqual(streamed);
  });

  test("a reader that was cut in the middle goes on behind its Last-Event-ID, without loss or duplicates", async () => {
    const run = await mesh.createRun({ assistant: "counter", input: "/count 60 every 20ms" });
    const before: SeenEvent[] = [];
    for await (const event of mesh.api.stream(run.id)) {
      before.push(event);
      if (before.length === 8) break;
    }
    expect((await mesh.run(run.id)).state).toBe("running");
    const after: SeenEvent[] = [];
    for await (const event of mesh.api.stream(run.id, 8)) after.push(event);
    expect([...before, ...after]).toEqual(await mesh.api.pages(run.id));
    expect(after[0]?.seq).toBe(9);
  });

  test("a cursor at the end of an ended run gets 204, which stops an EventSource; one behind the end is refused", async () => {
    const run = await mesh.createRun({ assistant: "hello", input: "hi" });
    const { last_seq } = await mesh.ended(run.id);
    const events = (cursor: number): Promise<Response> =>
      fetch(`${mesh.api.url}/v1/runs/${run.id}/events`, {
        headers: {
          authorization: `Bearer ${mesh.api.token}`,
          accept: "text/event-stream",
          "last-event-id": String(cursor),
        },
      });
    expect((await events(last_seq)).status).toBe(204);
    const running = await speakingRun("30s");
    const path = `/v1/runs/${running.id}/events`;
    const refusal = await refusalOf(
      mesh.api.call("GET", path, undefined, { accept: "text/event-stream", "last-event-id": "9999" }),
    );
    expect(refusal).toMatchObject({ status: 400, problem: { code: "out_of_range" } });
    await mesh.api.call("POST", `/v1/runs/${running.id}/cancel`);
  });

  test("a run created at one coordinator is followed live at the other", async () => {
    const other = mesh.apiAt(1);
    expect(other.url).not.toBe(mesh.api.url);
    const run = await mesh.createRun({ assistant: "slow", input: "/slow 2s" });
    const seenAt: number[] = [];
    const [here, there] = await Promise.all([
      mesh.api.follow(run.id),
      other.follow(run.id, { onEvent: ({ data }) => data["delta"] === true && seenAt.push(performance.now()) }),
    ]);
    expect(there).toEqual(here);
    // Live: hints cross the replicas; without them the reader would only look once a second.
    const gaps = seenAt.slice(1).map((at, i) => at - seenAt[i]!);
    expect(gaps.toSorted((a, b) => a - b)[Math.floor(gaps.length / 2)]).toBeLessThan(400);
  });

  test("a run is cancelled at the other coordinator than the one that created it", async () => {
    const run = await speakingRun("60s");
    await mesh.apiAt(1).call("POST", `/v1/runs/${run.id}/cancel`);
    expect(await mesh.ended(run.id, 5_000)).toMatchObject({ state: "cancelled" });
  });
});

test("kill -9 of a runner ends the commands of its tools", async () => {
  const command = "sleep 301.5 & (sleep 301.5 & wait)";
  const input = `/tool bash ${JSON.stringify({ command })}`;
  const run = await mesh.createRun({ assistant: "hello", input, options: { tools: ["bash"] } });
  const alive = (): number[] => processesOf("sleep 301.5");
  await until(() => alive().length >= 3, { timeoutMs: 20_000, what: "the command and its children" });
  for (const pid of mesh.node(DEVICE).process.childPids) process.kill(pid, "SIGKILL");
  expect(await mesh.ended(run.id, 10_000)).toMatchObject({ state: "failed", error: { code: "runner_crashed" } });
  await until(() => alive().length === 0, { timeoutMs: 5_000, what: "the end of every process" });
});

test("kill -9 of a runner fails its run with runner_crashed; the next run gets a new runner", async () => {
  const run = await speakingRun("60s");
  const agent = mesh.node(DEVICE).process;
  const [runner] = agent.childPids;
  process.kill(runner!, "SIGKILL");
  const ended = await mesh.ended(run.id, 10_000);
  expect(ended).toMatchObject({ state: "failed", error: { code: "runner_crashed" } });
  expect(ended.error?.message).toContain("yao runs retry");
  const events = await mesh.api.follow(run.id);
  expect(spoken(events)).toMatch(/^\.+$/);
  const next = await mesh.createRun({ assistant: "hello", input: "/echo again" });
  expect(await mesh.ended(next.id)).toMatchObject({ state: "succeeded", output: "again" });
  expect(agent.childPids).not.toContain(runner);
});

describe("a connector of the workspace", () => {
  test("gets the prompts with the run's metadata and the system's values in them, and its key", async () => {
    const dir = appDirectory({
      "assistants/guide/package.yao": '{ "name": "Guide", "connector": "scripted" }',
      "assistants/guide/prompts.yml":
        "- role: system\n  content: |\n    About $CTX.topic for $CTX.user.name in $CTX.LOCALE as $CTX.ASSISTANT_NAME, on $SYS.DATE; $CTX.absent.\n",
    });
    await mesh.pushApp("guide", dir);
    await mesh.api.call("PUT", "/v1/workspaces/default/connectors/scripted", {
      type: "openai",
      model: "scripted-1",
      host: llm.url,
      key: "right",
    });
    llm.on("scripted-1", { text: "All about tides" });
    const metadata = { topic: "tides", "user.name": "Ada", locale: "en-us", ASSISTANT_NAME: "Mallory" };
    const run = await mesh.createRun({ assistant: "guide", input: "Tell me", metadata });
    expect(await mesh.ended(run.id)).toMatchObject({ state: "succeeded", output: "All about tides" });
    const seen = llm.requests.at(-1)!;
    expect(seen.headers["authorization"]).toBe("Bearer right");
    const [system, user] = seen.json!["messages"] as { role: string; content: string }[];
    expect(system?.content).toMatch(/^About tides for Ada in en-us as Guide, on \d{4}-\d\d-\d\d; \.\s*$/);
    expect(user).toEqual({ role: "user", content: "Tell me" });
    expect(JSON.stringify(await mesh.api.pages(run.id))).not.toContain("right");
  });

  test.each([
    ["a NUL", "before\u0000after", "before\ufffdafter"],
    ["half a character", "before\ud83dafter", "before\ufffdafter"],
  ])("that says %s, which no database holds, still leads to an end", async (_what, text, kept) => {
    llm.enqueue({ text: [text] });
    const run = await mesh.createRun({ assistant: "guide", input: "Say something odd" });
    expect(await mesh.ended(run.id, 15_000)).toMatchObject({ state: "succeeded", output: kept });
  });

  test("that fails with such a text makes the run fail with what can be kept of it", async () => {
    llm.enqueue({ status: 400, body: JSON.stringify({ error: { message: "odd \u0000 \ud83d words" } }) });
    const run = await mesh.createRun({ assistant: "guide", input: "Fail oddly" });
    const ended = await mesh.ended(run.id, 15_000);
    expect(ended).toMatchObject({ state: "failed", error: { message: expect.stringContaining("odd") as string } });
  });

  test("aborts its request when the run is cancelled", async () => {
    llm.enqueue({ text: ["one"], finishReason: null, usage: null, endMarker: false, ending: "hang" });
    const run = await mesh.createRun({ assistant: "guide", input: "Tell me slowly" });
    await until(async () => spoken(await mesh.api.pages(run.id)) === "one", {
      timeoutMs: 20_000,
      what: "the first word",
    });
    await mesh.api.call("POST", `/v1/runs/${run.id}/cancel`);
    expect(await mesh.ended(run.id, 10_000)).toMatchObject({ state: "cancelled" });
    await until(() => llm.requests.at(-1)?.wasAborted, { what: "the model's connection to end" });
  });
});

/** Process ids whose command line holds this text. */
function processesOf(text: string): number[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const line = readFileSync(`/proc/${name}/cmdline`, "utf8").replaceAll("\0", " ");
      return line.includes(text) ? [Number(name)] : [];
    } catch {
      return [];
    }
  });
}

function appDirectory(files: Readonly<Record<string, string>>): string {
  const root = join(mesh.dir, "app");
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}
