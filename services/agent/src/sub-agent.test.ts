import { systemClock, until } from "@mesh/kernel";
import { afterEach, describe, expect, test } from "vitest";

import { messageText } from "./message.ts";
import { SharedState } from "./shared-state.ts";
import { subAgentTool, type SubAgentOptions } from "./sub-agent.ts";
import { subAgentStats } from "./sub-agent-stats.ts";
import {
  type Bench,
  bench,
  ScriptedProvider,
  type ScriptedStep,
  scriptedModel,
  scriptedTool,
  settlesAtOnce,
  transcriptFaults,
} from "./testing/index.ts";

afterEach(() => {
  expect(transcriptFaults()).toEqual([]);
});

const echo = scriptedTool("echo", () => "ok");

function childOf(provider: ScriptedProvider, change: Partial<SubAgentOptions> = {}): ReturnType<typeof subAgentTool> {
  return subAgentTool({
    name: "helper",
    description: "helps",
    clock: systemClock,
    model: scriptedModel(),
    provider,
    tools: [echo],
    ...change,
  });
}

function parentOf(child: ReturnType<typeof subAgentTool>, args: Record<string, unknown> = { task: "do it" }): Bench {
  return bench(new ScriptedProvider({ calls: [{ name: "helper", arguments: args }] }, { text: "." }), {
    tools: [child],
  });
}

async function resultOf(...steps: ScriptedStep[]): Promise<{ text: string; isError: boolean }> {
  const parent = parentOf(childOf(new ScriptedProvider(...steps)));
  await parent.start("x");
  const result = parent.history[2]!;
  return { text: messageText(result), isError: result.role === "toolResult" && result.isError };
}

describe("what comes back", () => {
  test("the text of the last answer that has one", async () => {
    expect(await resultOf({ text: "found it", calls: [{ name: "echo" }] }, { text: "" })).toEqual({
      text: "found it",
      isError: false,
    });
    expect(await resultOf({ thinking: "hm" })).toMatchObject({ text: expect.stringContaining("without an answer") });
  });

  test("a failure, a refusal and a repeated call are failed calls", async () => {
    expect(await resultOf({ error: { errorClass: "auth", message: "bad key" } })).toMatchObject({ isError: true });
    expect(await resultOf({ text: "no", stopReason: "refusal" })).toMatchObject({ isError: true });
    const looping = Array.from({ length: 6 }, () => ({ calls: [{ name: "echo" }] }));
    expect(await resultOf(...looping)).toMatchObject({
      isError: true,
      text: expect.stringContaining("times in a row"),
    });
  });

  test("a turn limit is partial work that says so", async () => {
    const provider = new ScriptedProvider({ text: "half", calls: [{ name: "echo" }] }, { text: "." });
    const parent = parentOf(childOf(provider, { limits: { maxTurns: 1, maxTokens: 1e9, maxDurationMs: 1e9 } }));
    await parent.start("x");
    expect(messageText(parent.history[2]!)).toMatch(/^half\n\n\[Agent stopped: limit\]/);
    expect(parent.history[2]).toMatchObject({ isError: false });
  });

  test("a task that filters reject fails the call; no task is an argument error", async () => {
    const child = childOf(new ScriptedProvider(), { inputFilters: [() => ({ kind: "reject", reason: "nope" })] });
    const parent = parentOf(child);
    await parent.start("x");
    expect(messageText(parent.history[2]!)).toContain("nope");
    const empty = parentOf(childOf(new ScriptedProvider()), { task: "  " });
    await empty.start("x");
    expect(messageText(empty.history[2]!)).toContain('"task"');
  });
});

test("spend reaches the parent in its own bucket, also when the delegation fails, and stands on the end event", async () => {
  const model = scriptedModel({ cost: { input: 1_000_000, output: 0, cacheRead: 0, cacheWrite: 0 } });
  const provider = new ScriptedProvider(
    { calls: [{ name: "echo" }], usage: { input: 3 } },
    { error: { errorClass: "auth", message: "x" }, usage: { input: 2 } },
  );
  const parent = parentOf(childOf(provider, { model }));
  const result = await parent.start("x");
  expect(result.stats.subAgents).toMatchObject({ costUsd: 5, runs: 1, usage: { input: 5 } });
  expect(result.stats.usage.input).toBe(0);
  const end = parent.events.find((event) => event.type === "toolExecutionEnd");
  expect(end?.type === "toolExecutionEnd" && subAgentStats(end.result)?.costUsd).toBe(5);
});

test("text, calls and progress of the child are updates of the call; nothing else leaks", async () => {
  const tool = scriptedTool("echo", () => "ok");
  const child = childOf(new ScriptedProvider({ text: "thinking aloud", calls: [{ name: "echo" }] }, { text: "bye" }), {
    tools: [tool],
  });
  const parent = parentOf(child);
  await parent.start("x");
  const updates = parent.events.flatMap((event) =>
    event.type === "toolExecutionUpdate"
      ? [messageText({ role: "user", content: event.partialResult.content, timestamp: 0 })]
      : [],
  );
  expect(updates).toEqual(["thinking aloud", "helper calls echo", "bye"]);
  expect(parent.types().filter((type) => type === "agentStart")).toHaveLength(1);
});

test("cancelling the parent cancels the child's tool and still reports what the child spent", async () => {
  let isTold = false;
  const slow = scriptedTool("echo", async (_args, signal) => {
    await systemClock.sleep(60_000, signal);
    isTold = signal.aborted;
    return "";
  });
  const child = childOf(new ScriptedProvider({ calls: [{ name: "echo" }], usage: { input: 3 } }), { tools: [slow] });
  const parent = parentOf(child);
  const running = parent.start("x");
  await until(() => parent.types().includes("toolExecutionUpdate"), { everyMs: 1 });
  expect(await settlesAtOnce(parent.stop, running)).toBe(true);
  const result = await running;
  await until(() => isTold, { everyMs: 1 });
  expect(result.stats.subAgents.usage.input).toBe(3);
  expect(parent.history[2]).toMatchObject({ isError: true });
});

test("children of one response run at the same time", async () => {
  let running = 0;
  let most = 0;
  const slow = scriptedTool("echo", async () => {
    running += 1;
    most = Math.max(most, running);
    await systemClock.sleep(2);
    running -= 1;
    return "";
  });
  const steps = (request: { messages: readonly unknown[] }): ScriptedStep =>
    request.messages.length === 1 ? { calls: [{ name: "echo" }] } : { text: "done" };
  const child = childOf(new ScriptedProvider(steps), { tools: [slow] });
  const calls = [1, 2, 3].map((n) => ({ name: "helper", arguments: { task: `t${n}` } }));
  await bench(new ScriptedProvider({ calls }, { text: "." }), { tools: [child] }).start("x");
  expect(most).toBe(3);
});

test("delegation ends at its depth", async () => {
  const provider: ScriptedProvider = new ScriptedProvider((request) =>
    request.messages.length === 1 ? { calls: [{ name: "helper", arguments: { task: "deeper" } }] } : { text: "back" },
  );
  const tools: ReturnType<typeof childOf>[] = [];
  const child = childOf(provider, { tools, maxDepth: 3 });
  tools.push(child);
  await parentOf(child).start("x");
  // The fourth level was refused, so three children asked twice each.
  expect(provider.requests).toHaveLength(6);
  expect(JSON.stringify(provider.requests)).toContain("nested 3 deep");
});

test("the child's prompt is its own, then skills, then what the shared state holds, without stashed output", async () => {
  const state = new SharedState();
  await state.set("plan", "x".repeat(2000));
  await state.set("tool-out-1", "hidden");
  const provider = new ScriptedProvider({ text: "." });
  const skills = [{ name: "a<b", description: "d", path: "/s/SKILL.md", metadata: {} }];
  await parentOf(childOf(provider, { systemPrompt: "base", skills, sharedState: state })).start("x");
  const prompt = provider.requests[0]!.systemPrompt;
  expect(prompt).toMatch(/^base\n\nSkills are[\s\S]*<name>a&lt;b<\/name>[\s\S]*\n\n## Shared state\n/);
  expect(prompt).toContain("plan (2 KB)");
  expect(prompt).not.toContain("tool-out");
  expect(provider.requests[0]!.tools?.map((tool) => tool.name)).toEqual(["echo", "shared_state"]);
});
