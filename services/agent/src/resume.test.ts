import { systemClock, until } from "@mesh/kernel";
import { afterEach, describe, expect, test } from "vitest";

import type { Checkpoint } from "./loop-config.ts";
import { messageText, userMessage } from "./message.ts";
import { type RunState, readRunState } from "./run-state.ts";
import { bench, ScriptedProvider, scriptedTool, transcriptFaults } from "./testing/index.ts";

afterEach(() => {
  expect(transcriptFaults()).toEqual([]);
});

/** What another process would read. */
function throughDisk(state: RunState): RunState {
  return readRunState(JSON.stringify(state));
}

function counted(name: string, change: object = {}): { ran: unknown[]; tool: ReturnType<typeof scriptedTool> } {
  const ran: unknown[] = [];
  return {
    ran,
    tool: scriptedTool(
      name,
      (args) => {
        ran.push(args);
        return `${name} did ${JSON.stringify(args)}`;
      },
      change,
    ),
  };
}

describe("approval", () => {
  const calls = [
    { name: "free", arguments: { n: 1 } },
    { name: "guarded", arguments: { n: 2 } },
    { name: "free", arguments: { n: 3 } },
  ];

  test("one of three parallel calls waits, the others run once, and the run goes on elsewhere when approved", async () => {
    const free = counted("free");
    const guarded = counted("guarded", { needsApproval: true });
    const tools = [free.tool, guarded.tool];
    const first = bench(new ScriptedProvider({ calls }), { tools });
    const paused = await first.start("x");
    expect(paused.end).toEqual({ kind: "waiting" });
    expect(paused.waiting).toEqual([
      {
        toolCallId: "call_2",
        toolName: "guarded",
        args: { n: 2 },
        need: "approval",
        reason: "guarded needs your approval",
      },
    ]);
    expect(first.types().slice(-1)).toEqual(["agentWaiting"]);
    expect(free.ran).toHaveLength(2);
    expect(guarded.ran).toHaveLength(0);

    const second = bench(new ScriptedProvider({ text: "done" }), { tools });
    const ended = await second.resume(throughDisk(paused.state), { call_2: { kind: "approve" } });
    expect(ended.end).toEqual({ kind: "completed" });
    expect(free.ran).toHaveLength(2);
    expect(guarded.ran).toEqual([{ n: 2 }]);
    expect(second.history.map((message) => message.role)).toEqual([
      "user",
      "assistant",
      "toolResult",
      "toolResult",
      "toolResult",
      "assistant",
    ]);
    expect(ended.messages).toEqual(second.history);
    expect(ended.stats.turns).toBe(2);
    const all = [...first.types(), ...second.types()];
    for (const what of ["turn", "message", "toolExecution"]) {
      expect(all.filter((type) => type === `${what}Start`).length).toBe(
        all.filter((type) => type === `${what}End`).length,
      );
    }
    expect(all.filter((type) => type === "agentStart")).toHaveLength(1);
  });

  test("a denial is a result that the model reads", async () => {
    const guarded = counted("guarded", { needsApproval: (args: Record<string, unknown>) => args["n"] === 2 });
    const first = bench(new ScriptedProvider({ calls: [calls[1]!] }), { tools: [guarded.tool] });
    const { state } = await first.start("x");
    const second = bench(new ScriptedProvider({ text: "ok" }), { tools: [guarded.tool] });
    await second.resume(throughDisk(state), { call_1: { kind: "deny", reason: "too risky" } });
    expect(messageText(second.history[2]!)).toBe("Tool call denied: too risky");
    expect(guarded.ran).toEqual([]);
  });

  test("edited arguments are validated and judged again, and then run", async () => {
    const guarded = counted("guarded", {
      needsApproval: true,
      parameters: { type: "object", properties: { n: { type: "number" } } },
    });
    const seen: unknown[] = [];
    const config = {
      tools: [guarded.tool],
      middleware: [
        {
          beforeTool: (request: { readonly args: unknown }) => {
            seen.push(request.args);
            return { kind: "allow" } as const;
          },
        },
      ],
    };
    const { state } = await bench(new ScriptedProvider({ calls: [calls[1]!] }), config).start("x");
    const bad = bench(new ScriptedProvider({ text: "." }), config);
    await bad.resume(throughDisk(state), { call_1: { kind: "edit", args: { n: "x" } } });
    expect(messageText(bad.history[2]!)).toContain("do not match");
    const good = bench(new ScriptedProvider({ text: "." }), config);
    await good.resume(throughDisk(state), { call_1: { kind: "edit", args: { n: 7 } } });
    expect(guarded.ran).toEqual([{ n: 7 }]);
    expect(seen).toEqual([{ n: 2 }, { n: 7 }]);
  });

  test("a gate may ask, and an answer to some calls leaves the others waiting", async () => {
    const free = counted("free");
    const ask = { kind: "ask", reason: "sure?" } as const;
    const config = { tools: [free.tool], middleware: [{ beforeTool: () => ask }] };
    const first = await bench(new ScriptedProvider({ calls: [calls[0]!, calls[2]!] }), config).start("x");
    expect(first.waiting.map((call) => call.reason)).toEqual(["sure?", "sure?"]);
    const second = bench(new ScriptedProvider({ text: "." }), config);
    const half = await second.resume(throughDisk(first.state), { call_2: { kind: "approve" } });
    expect(half.end.kind).toBe("waiting");
    expect(half.waiting.map((call) => call.toolCallId)).toEqual(["call_1"]);
    const third = bench(new ScriptedProvider({ text: "." }), config);
    const done = await third.resume(throughDisk(half.state), { call_1: { kind: "deny" } });
    expect(done.end.kind).toBe("completed");
    expect(free.ran).toEqual([{ n: 3 }]);
  });

  test("a tool without code waits for the application's result", async () => {
    const external = { name: "browser", description: "", parameters: { type: "object" } };
    const config = { tools: [external] };
    const { state, waiting } = await bench(
      new ScriptedProvider({ calls: [{ name: "browser" }, { name: "browser" }] }),
      config,
    ).start("x");
    expect(waiting.map((call) => call.need)).toEqual(["external", "external"]);
    const next = bench(new ScriptedProvider({ text: "." }), config);
    const content = [{ type: "text", text: "clicked" }] as const;
    await next.resume(throughDisk(state), {
      call_1: { kind: "result", content },
      call_2: { kind: "result", content, isError: true },
    });
    expect(next.history.slice(2, 4)).toMatchObject([{ isError: false }, { isError: true }]);
  });

  test("in order, nothing passes a call that waits", async () => {
    const free = counted("free");
    const guarded = counted("guarded", { needsApproval: true });
    const config = { tools: [free.tool, guarded.tool], toolStrategy: "sequential" } as const;
    const { state } = await bench(new ScriptedProvider({ calls }), config).start("x");
    expect(free.ran).toEqual([{ n: 1 }]);
    const next = bench(new ScriptedProvider({ text: "." }), config);
    await next.resume(throughDisk(state), { call_2: { kind: "approve" } });
    expect(free.ran).toEqual([{ n: 1 }, { n: 3 }]);
  });

  test("cancelling the resumed run answers what still waits", async () => {
    const guarded = counted("guarded", { needsApproval: true });
    const { state } = await bench(new ScriptedProvider({ calls: [calls[1]!] }), { tools: [guarded.tool] }).start("x");
    const next = bench(new ScriptedProvider({ text: "." }), { tools: [guarded.tool] });
    next.stop.abort();
    const ended = await next.resume(throughDisk(state));
    expect(ended.end).toEqual({ kind: "cancelled" });
    expect(ended.waiting).toEqual([]);
    expect(guarded.ran).toEqual([]);
  });

  test("an answer to a call that does not wait, or to a run that ended, is refused", async () => {
    const run = bench(new ScriptedProvider({ text: "." }));
    const { state } = await run.start("x");
    await expect(run.resume(state)).rejects.toThrow("has ended");
    const guarded = counted("guarded", { needsApproval: true });
    const paused = await bench(new ScriptedProvider({ calls: [calls[1]!] }), { tools: [guarded.tool] }).start("x");
    await expect(run.resume(paused.state, { nope: { kind: "approve" } })).rejects.toThrow("waiting: call_1");
  });
});

describe("a lost process", () => {
  async function killedDuring(change: object): Promise<{ states: RunState[]; ran: unknown[]; tool: never }> {
    const states: RunState[] = [];
    const tool = counted("t", change);
    const run = bench(new ScriptedProvider({ calls: [{ name: "t", arguments: { n: 1 } }] }, { text: "." }), {
      tools: [tool.tool],
      onCheckpoint: (checkpoint: Checkpoint) => {
        if (checkpoint.reason === "toolStart") states.push(throughDisk(checkpoint.state()));
      },
    });
    await run.start("x");
    return { states, ran: tool.ran, tool: tool.tool as never };
  }

  test("a call that was running is not run again; the model is told that its outcome is unknown", async () => {
    const { states, ran, tool } = await killedDuring({});
    const next = bench(new ScriptedProvider({ text: "." }), { tools: [tool] });
    await next.resume(states[0]!);
    expect(ran).toHaveLength(1);
    expect(messageText(next.history[2]!)).toContain("outcome is unknown");
    expect(next.types()).not.toContain("toolExecutionStart");
    expect(next.types()).toContain("toolExecutionEnd");
  });

  test("a repeatable call that was running is run again", async () => {
    const { states, ran, tool } = await killedDuring({ repeatable: true });
    const next = bench(new ScriptedProvider({ text: "." }), { tools: [tool] });
    await next.resume(states[0]!);
    expect(ran).toHaveLength(2);
  });

  test("any saved turn can be continued, with counters, queued messages and limits as they were", async () => {
    const states: RunState[] = [];
    const tool = counted("t");
    let n = 0;
    const script = (): object => ({ calls: [{ name: "t", arguments: { n: (n += 1) } }], usage: { input: 10 } });
    const config = {
      tools: [tool.tool],
      limits: { maxTurns: 5, maxTokens: 1e9, maxDurationMs: 1e9 },
      onCheckpoint: (checkpoint: Checkpoint) => {
        if (checkpoint.reason === "turn") states.push(throughDisk(checkpoint.state()));
      },
    };
    await bench(new ScriptedProvider(script), config).start("x");
    expect(states).toHaveLength(5);
    const saved = { ...states[2]!, inbox: [userMessage("by the way", 1)] };
    const next = bench(new ScriptedProvider(script), config);
    const ended = await next.resume(throughDisk(saved));
    expect(ended.stats.turns).toBe(5);
    expect(ended.stats.usage.input).toBe(50);
    expect(next.history.map(messageText)).toContain("by the way");
    expect(ended.state.counters.seq).toBeGreaterThan(saved.counters.seq);
  });

  test("a run that cannot be saved stops before it runs another tool", async () => {
    const tool = counted("t");
    const run = bench(new ScriptedProvider({ calls: [{ name: "t" }] }, { text: "." }), {
      tools: [tool.tool],
      onCheckpoint: () => Promise.reject(new Error("disk full")),
    });
    const ended = await run.start("x");
    expect(tool.ran).toEqual([]);
    expect(ended.end).toMatchObject({ kind: "failed" });
  });

  test.each([
    ["not JSON", "{", "not JSON"],
    ["another version", '{"version":2}', "version 2"],
    ["no history", '{"version":1,"runId":"r"}', '"history"'],
    ["a pending call that is none", '{"version":1,"runId":"r","history":[],"pending":[{}]}', "pending[0]"],
    ["an index past the history", '{"version":1,"runId":"r","history":[],"pending":[],"produced":[3]}', "message 3"],
  ])("a saved run with %s is refused by name", (_what, json, text) => {
    expect(() => readRunState(json)).toThrow(text);
  });
});

test("a cancelled run waits for nothing, also while many calls run", async () => {
  const tool = scriptedTool("t", async (_args, signal) => {
    await systemClock.sleep(60_000, signal);
    return "";
  });
  const calls = Array.from({ length: 16 }, () => ({ name: "t" }));
  const run = bench(new ScriptedProvider({ calls }), { tools: [tool] });
  const running = run.start("x");
  await until(() => run.types().filter((type) => type === "toolExecutionStart").length === 16, { everyMs: 1 });
  run.stop.abort();
  await running;
  expect(run.types().filter((type) => type === "toolExecutionEnd")).toHaveLength(16);
});
