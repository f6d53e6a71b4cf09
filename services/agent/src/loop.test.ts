import { systemClock, until } from "@mesh/kernel";
import { FakeClock } from "@mesh/kernel/testing";
import { afterEach, describe, expect, test } from "vitest";

import { LIMIT_STOP_PREFIX, LOOP_STOP_PREFIX, NUDGE_PREFIX } from "./marker.ts";
import { type AgentMessage, messageText, userMessage } from "./message.ts";
import { continueRun, startRun } from "./run.ts";
import { bench, ScriptedProvider, scriptedTool, transcriptFaults } from "./testing/index.ts";
import type { AgentTool } from "./tool.ts";

afterEach(() => {
  expect(transcriptFaults()).toEqual([]);
});

const add: AgentTool = scriptedTool("add", (args) => String(Number(args["a"]) + Number(args["b"])));

describe("turns", () => {
  test("a text answer is one request, with events in the contract's order", async () => {
    const run = bench(new ScriptedProvider({ text: ["he", "llo"] }));
    const result = await run.start("hi");
    expect(run.types()).toEqual([
      "agentStart",
      "turnStart",
      "messageStart",
      "messageEnd",
      "messageStart",
      "messageUpdate",
      "messageUpdate",
      "messageEnd",
      "turnEnd",
      "agentEnd",
    ]);
    expect(result.end).toEqual({ kind: "completed" });
    expect(result.messages.map((message) => message.role)).toEqual(["user", "assistant"]);
    expect(run.history).toEqual(result.messages);
  });

  test("a call is run, its result sent back, and the run ends on the text", async () => {
    const provider = new ScriptedProvider({ calls: [{ name: "add", arguments: { a: 2, b: 3 } }] }, { text: "5" });
    const run = bench(provider, { tools: [add] });
    const result = await run.start("2+3?");
    expect(provider.requests).toHaveLength(2);
    expect(run.types().slice(6)).toEqual([
      "messageEnd",
      "toolExecutionStart",
      "toolExecutionEnd",
      "messageStart",
      "messageEnd",
      "turnEnd",
      "turnStart",
      "messageStart",
      "messageUpdate",
      "messageEnd",
      "turnEnd",
      "agentEnd",
    ]);
    expect(messageText(run.history.at(-2)!)).toBe("5");
    expect(result.stats.turns).toBe(2);
  });

  test("text beside a call does not end the run", async () => {
    const run = bench(new ScriptedProvider({ text: "let me see", calls: [{ name: "add" }] }, { text: "done" }), {
      tools: [add],
    });
    expect((await run.start("x")).stats.turns).toBe(2);
  });

  test("a constant response id across turns loses no message", async () => {
    const run = bench(
      new ScriptedProvider({ responseId: "same", calls: [{ name: "add" }] }, { responseId: "same", text: "answer" }),
      { tools: [add] },
    );
    await run.start("x");
    expect(messageText(run.history.at(-1)!)).toBe("answer");
  });

  test("one id for two calls is made two, each with its own result", async () => {
    const calls = [
      { id: "c", name: "add", arguments: { a: 1, b: 1 } },
      { id: "c", name: "add", arguments: { a: 2, b: 2 } },
    ];
    const run = bench(new ScriptedProvider({ calls }, { calls: [{ id: "c", name: "add" }] }, { text: "ok" }), {
      tools: [add],
    });
    await run.start("x");
    const ids = run.history.flatMap((message) => (message.role === "toolResult" ? [message.toolCallId] : []));
    expect(ids).toEqual(["c", "c_2", "c_3"]);
  });

  test("continuing an empty history, or one that the model ended, is refused before any request", async () => {
    const provider = new ScriptedProvider({ text: "x" });
    const { config, stop } = bench(provider);
    const sink = (): void => undefined;
    await expect(continueRun(config, { history: [], sink, signal: stop.signal })).rejects.toThrow("history is empty");
    const run = bench(new ScriptedProvider({ text: "x" }));
    await run.start("x");
    await expect(continueRun(config, { history: run.history, sink, signal: stop.signal })).rejects.toThrow(
      "spoken last",
    );
    expect(provider.requests).toHaveLength(0);
  });

  test("an abandoned call in an old history is answered before it is sent", async () => {
    const provider = new ScriptedProvider({ text: "fine" });
    const { config, stop } = bench(provider);
    const first = bench(new ScriptedProvider({ calls: [{ name: "add" }] }, { text: "." }), { tools: [add] });
    await first.start("x");
    const history: AgentMessage[] = first.history.slice(0, 2);
    await startRun([userMessage("go on", 1)], config, { history, sink: () => undefined, signal: stop.signal });
    expect(history.map((message) => message.role)).toEqual(["user", "assistant", "toolResult", "user", "assistant"]);
    expect(provider.faults).toEqual([]);
  });

  test("an application's messages stay in the history and out of requests", async () => {
    const provider = new ScriptedProvider({ text: "x" });
    const { config, stop } = bench(provider);
    const history: AgentMessage[] = [];
    const note: AgentMessage = { role: "extension", kind: "note", data: { a: 1 } };
    await startRun([note, userMessage("hi", 1)], config, { history, sink: () => undefined, signal: stop.signal });
    expect(history[0]).toEqual(note);
    expect(provider.requests[0]?.messages.map((message) => message.role)).toEqual(["user"]);
  });

  test("a callback that throws ends the run as failed with an error message, never as a silent answer", async () => {
    const run = bench(new ScriptedProvider({ text: "x" }), {
      beforeTurn: () => {
        throw new Error("boom");
      },
    });
    const result = await run.start("x");
    expect(result.end).toEqual({ kind: "failed", error: "boom" });
    expect(run.history.at(-1)).toMatchObject({ role: "assistant", stopReason: "error", errorMessage: "boom" });
    expect(run.types().filter((type) => type === "turnStart")).toHaveLength(1);
    expect(run.types().filter((type) => type === "turnEnd")).toHaveLength(1);
  });
});

describe("limits and loops", () => {
  test("the turn limit ends the run with a marker and a closed turn", async () => {
    const run = bench(new ScriptedProvider(() => ({ calls: [{ name: "add", arguments: { a: Math.random() } }] })), {
      tools: [add],
      limits: { maxTurns: 3, maxTokens: 1e9, maxDurationMs: 1e9 },
    });
    const result = await run.start("x");
    expect(result.stats.turns).toBe(3);
    expect(messageText(run.history.at(-1)!)).toContain(LIMIT_STOP_PREFIX);
    expect(run.types().filter((type) => type === "turnStart").length).toBe(
      run.types().filter((type) => type === "turnEnd").length,
    );
  });

  test("cached tokens count towards the token limit", async () => {
    const run = bench(
      new ScriptedProvider(() => ({
        calls: [{ name: "add", arguments: { a: Math.random() } }],
        usage: { cacheRead: 60 },
      })),
      { tools: [add], limits: { maxTurns: 99, maxTokens: 100, maxDurationMs: 1e9 } },
    );
    expect((await run.start("x")).stats.turns).toBe(2);
  });

  test("a repeated call is answered with a nudge after its results, then with a stop", async () => {
    const run = bench(new ScriptedProvider(() => ({ calls: [{ name: "add", arguments: { b: 1, a: 1 } }] })), {
      tools: [add],
    });
    const result = await run.start("x");
    const loops = run.events.filter((event) => event.type === "loopDetected");
    expect(loops).toMatchObject([{ aborted: false, repetitions: 3 }, { aborted: true }]);
    const nudge = run.history.findIndex((message) => messageText(message).startsWith(NUDGE_PREFIX));
    expect(run.history[nudge - 1]?.role).toBe("toolResult");
    expect(messageText(run.history.at(-1)!)).toContain(LOOP_STOP_PREFIX);
    expect(result.end.kind).toBe("stopped");
  });

  test("a pause comes before every turn but the first, and cancellation ends it", async () => {
    const clock = new FakeClock();
    const steps = [{ calls: [{ name: "add", arguments: { a: 1 } }] }, { calls: [{ name: "add" }] }, { text: "." }];
    const run = bench(new ScriptedProvider(...steps), { tools: [add], turnDelayMs: 1000, clock });
    const startMs = clock.now();
    const running = run.start("x");
    await until(async () => (await clock.advance(100), run.types().includes("agentEnd")), { everyMs: 0 });
    expect((await running).stats.turns).toBe(3);
    expect(clock.now() - startMs).toBeGreaterThanOrEqual(2000);
    expect(clock.now() - startMs).toBeLessThan(2600);
  });
});

test("a wall clock that jumps neither ends a run nor breaks its history", async () => {
  let now = 1e12;
  const clock = { ...systemClock, now: () => (now -= 3_600_000) };
  const run = bench(new ScriptedProvider({ calls: [{ name: "add" }] }, { text: "." }), { tools: [add], clock });
  expect((await run.start("x")).end).toEqual({ kind: "completed" });
});
