/** Runs that die at the worst moment, and misuse of what was saved: nothing is run, asked or lost that must not be. */

import { expect, test, afterEach } from "vitest";
import { systemClock } from "@mesh/kernel";

import { Agent } from "./agent.ts";
import type { Checkpoint, LoopConfig } from "./loop-config.ts";
import { messageText, userMessage } from "./message.ts";
import { type RunState, readRunState } from "./run-state.ts";
import {
  bench,
  historyFaults,
  ScriptedProvider,
  type ScriptedStep,
  scriptedModel,
  scriptedTool,
  transcriptFaults,
} from "./testing/index.ts";

afterEach(() => {
  expect(transcriptFaults()).toEqual([]);
});

/** Collects what a process that dies right after each save would leave. */
function saved(): { readonly states: RunState[]; readonly onCheckpoint: (checkpoint: Checkpoint) => Promise<void> } {
  const states: RunState[] = [];
  return {
    states,
    onCheckpoint: async (checkpoint) => {
      states.push(readRunState(JSON.stringify(checkpoint.state())));
      await Promise.resolve();
    },
  };
}

const CALLS = [
  { name: "act", arguments: { n: 1 } },
  { name: "act", arguments: { n: 2 } },
  { name: "act", arguments: { n: 3 } },
];

test.each<[string, Partial<LoopConfig>, readonly ScriptedStep[]]>([
  ["cut by the output limit", {}, [{ calls: CALLS, stopReason: "length" }, { text: "ok" }]],
  [
    "stopped as a loop",
    { loopThreshold: 1 },
    [{ calls: CALLS.slice(0, 1) }, { calls: [...CALLS.slice(0, 1), ...CALLS.slice(1)] }],
  ],
])("calls of a response that was %s are run by no later process", async (_what, change, steps) => {
  const { states, onCheckpoint } = saved();
  const ran: unknown[] = [];
  const tool = scriptedTool("act", (args) => {
    ran.push(args);
    return "done";
  });
  await bench(new ScriptedProvider(...steps), { tools: [tool], onCheckpoint, ...change }).start("x");
  const before = ran.length;
  for (const state of states.filter(({ status }) => status !== "ended")) {
    const isAbandoning = state.pending.some((each) => each.isError === true);
    if (!isAbandoning) continue;
    ran.length = 0;
    await bench(new ScriptedProvider({ text: "ok" }), { tools: [tool] }).resume(state);
    expect(ran).toEqual([]);
  }
  expect(before).toBeLessThan(2);
});

test("calls of a cancelled run are run by no later process", async () => {
  const { states, onCheckpoint } = saved();
  const ran: unknown[] = [];
  const stop: { abort?: () => void } = {};
  const tool = scriptedTool("act", (args) => {
    ran.push(args);
    stop.abort?.();
    return "done";
  });
  const first = bench(new ScriptedProvider({ calls: CALLS }), {
    tools: [tool],
    onCheckpoint,
    toolStrategy: "sequential",
  });
  stop.abort = () => first.stop.abort();
  expect((await first.start("x")).end.kind).toBe("cancelled");
  expect(ran).toHaveLength(1);
  const abandoning = states.filter(
    ({ status, pending }) => status === "running" && pending.filter((each) => each.isError === true).length > 0,
  );
  expect(abandoning.length).toBeGreaterThan(0);
  for (const state of abandoning) {
    await bench(new ScriptedProvider({ text: "ok" }), { tools: [tool] }).resume(state);
    expect(ran).toHaveLength(1);
  }
});

test("a run saved after its last answer ends without asking the model again", async () => {
  const { states, onCheckpoint } = saved();
  await bench(new ScriptedProvider({ text: "the answer" }), { onCheckpoint }).start("x");
  const last = states.findLast(({ status }) => status === "running");
  const provider = new ScriptedProvider({ text: "a second answer" });
  const resumed = bench(provider);
  const { end, messages } = await resumed.resume(last as RunState);
  expect(end).toEqual({ kind: "completed" });
  expect(provider.requests).toHaveLength(0);
  expect(messages.map((message) => message.role)).toEqual(["user", "assistant"]);
});

test("a mistyped answer leaves the run waiting, to be answered again", async () => {
  const tool = scriptedTool("act", () => "done", { needsApproval: true });
  const provider = new ScriptedProvider({ calls: CALLS.slice(0, 1) }, { text: "ok" });
  const agent = new Agent({ model: scriptedModel(), provider, clock: systemClock, tools: [tool] });
  await agent.prompt("x").result;
  await expect(agent.resume({ typo: { kind: "approve" } }).result).rejects.toThrow("typo");
  expect(agent.waiting.map((call) => call.toolCallId)).toEqual(["call_1"]);
  expect((await agent.resume({ call_1: { kind: "approve" } }).result).end).toEqual({ kind: "completed" });
  expect(historyFaults(agent.messages)).toEqual([]);
});

test("a repair hook that throws leaves no call without a result", async () => {
  const run = bench(new ScriptedProvider({ calls: [{ name: "nobody" }] }, { text: "ok" }), {
    repairToolCall: () => {
      throw new Error("hook broke");
    },
  });
  const { end } = await run.start("x");
  expect(end).toEqual({ kind: "completed" });
  expect(historyFaults(run.history)).toEqual([]);
});

test("a compaction that parts calls from their results cannot break a history", async () => {
  const tool = scriptedTool("act", () => "done");
  const run = bench(new ScriptedProvider({ calls: CALLS.slice(0, 1) }, { text: "ok" }), {
    tools: [tool],
    compaction: { compact: (history) => history.filter((message) => message.role !== "toolResult") },
  });
  await run.start("x");
  expect(historyFaults(run.history)).toEqual([]);
});

test("a message of the user's that came while a call waited stands behind its result", async () => {
  const tool = scriptedTool("act", () => "done", { needsApproval: true });
  const paused = await bench(new ScriptedProvider({ calls: CALLS.slice(0, 1) }), { tools: [tool] }).start("x");
  const state = readRunState(JSON.stringify(paused.state));
  const queue = [userMessage("hurry", 0)];
  const resumed = bench(new ScriptedProvider({ text: "ok" }), { tools: [tool], pollSteering: () => queue.splice(0) });
  await resumed.resume(state, { call_1: { kind: "deny" } });
  expect(resumed.history.map((message) => message.role)).toEqual([
    "user",
    "assistant",
    "toolResult",
    "user",
    "assistant",
  ]);
  expect(messageText(resumed.history[3] as never)).toBe("hurry");
});

test("a result that nobody asked for enters neither as a prompt nor through a queue", async () => {
  const stray = {
    role: "toolResult",
    toolCallId: "c9",
    toolName: "act",
    content: [],
    isError: false,
    timestamp: 0,
  } as const;
  const agent = new Agent({
    model: scriptedModel(),
    provider: new ScriptedProvider({ text: "ok" }),
    clock: systemClock,
  });
  await expect(agent.prompt([stray, userMessage("x", 0)]).result).rejects.toThrow("cannot start with a toolResult");
  expect(agent.messages).toEqual([]);
  agent.steer(stray);
  await agent.prompt("x").result;
  expect(agent.messages.map((message) => message.role)).toEqual(["user", "assistant"]);
});

test("a result of thousands of short texts is as bounded as one of a long text", async () => {
  const line = "x".repeat(99);
  const content = Array.from({ length: 20_000 }, () => ({ type: "text", text: line }) as const);
  const run = bench(new ScriptedProvider({ calls: CALLS.slice(0, 1) }, { text: "ok" }), {
    tools: [scriptedTool("act", () => ({ content }))],
  });
  await run.start("x");
  const result = run.history.find((message) => message.role === "toolResult");
  expect(messageText(result as never).length).toBeLessThan(800_000);
});
