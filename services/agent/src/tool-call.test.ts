import { systemClock } from "@mesh/kernel";
import { afterEach, describe, expect, test } from "vitest";

import { messageText, userMessage } from "./message.ts";
import { bench, ScriptedProvider, scriptedTool, transcriptFaults } from "./testing/index.ts";
import type { AgentTool } from "./tool.ts";

afterEach(() => {
  expect(transcriptFaults()).toEqual([]);
});

const add: AgentTool = scriptedTool("add", (args) => String(Number(args["a"]) + Number(args["b"])));

describe("tools", () => {
  const slow = (ms: number): AgentTool =>
    scriptedTool("slow", async (_args, signal) => {
      await systemClock.sleep(ms, signal);
      return "ok";
    });

  test("parallel calls overlap and their results keep the order of the calls", async () => {
    const order: string[] = [];
    const wait = scriptedTool("wait", async (args) => {
      await systemClock.sleep(Number(args["ms"]));
      order.push(String(args["ms"]));
      return String(args["ms"]);
    });
    const calls = [40, 5, 20].map((ms) => ({ name: "wait", arguments: { ms } }));
    const run = bench(new ScriptedProvider({ calls }, { text: "." }), { tools: [wait] });
    await run.start("x");
    expect(order).toEqual(["5", "20", "40"]);
    const results = run.history.filter((message) => message.role === "toolResult").map(messageText);
    expect(results).toEqual(["40", "5", "20"]);
  });

  test("sequential calls stop for a message that arrives between them; the rest is skipped with both events", async () => {
    const queue = [[], [userMessage("wait!", 1)]];
    const calls = [{ name: "slow" }, { name: "slow" }];
    const run = bench(new ScriptedProvider({ calls }, { text: "." }), {
      tools: [slow(0)],
      toolStrategy: "sequential",
      pollSteering: () => queue.shift() ?? [],
    });
    await run.start("x");
    const skipped = run.events.filter((event) => event.type === "toolExecutionStart" && event.args === null);
    expect(skipped).toHaveLength(1);
    expect(run.history.map((message) => message.role)).toEqual([
      "user",
      "assistant",
      "toolResult",
      "toolResult",
      "user",
      "assistant",
    ]);
  });

  test("a batch of zero works as a batch of one", async () => {
    let running = 0;
    let most = 0;
    const tool = scriptedTool("t", async () => {
      running += 1;
      most = Math.max(most, running);
      await systemClock.sleep(1);
      running -= 1;
      return "ok";
    });
    const calls = [{ name: "t" }, { name: "t" }, { name: "t" }];
    await bench(new ScriptedProvider({ calls }, { text: "." }), { tools: [tool], toolStrategy: { batch: 0 } }).start(
      "x",
    );
    expect(most).toBe(1);
  });

  test.each([
    [
      "throws before it returns a promise",
      () => {
        throw new Error("sync");
      },
      "sync",
    ],
    ["throws a string", () => Promise.reject("just text"), "just text"],
    ["throws nothing", () => Promise.reject(undefined), "undefined"],
    ["throws an object that has no text", () => Promise.reject(Object.create(null)), "without saying why"],
    ["returns no content", () => Promise.resolve({ nope: 1 }), "is broken"],
  ])("a tool that %s is an error result and the run goes on", async (_what, execute, text) => {
    const tool = { name: "bad", description: "", parameters: { type: "object" }, execute } as unknown as AgentTool;
    const run = bench(new ScriptedProvider({ calls: [{ name: "bad" }] }, { text: "." }), { tools: [tool] });
    expect((await run.start("x")).end).toEqual({ kind: "completed" });
    const result = run.history.find((message) => message.role === "toolResult");
    expect(result).toMatchObject({ isError: true });
    expect(messageText(result!)).toContain(text);
  });

  test("an unknown tool is an error result that names a near one", async () => {
    const run = bench(new ScriptedProvider({ calls: [{ name: "Add" }] }, { text: "." }), { tools: [add] });
    await run.start("x");
    expect(messageText(run.history[2]!)).toContain("Did you mean add");
    expect(run.types().filter((type) => type.startsWith("toolExecution"))).toEqual([
      "toolExecutionStart",
      "toolExecutionEnd",
    ]);
  });

  test("a repair hook may rename a call", async () => {
    const run = bench(new ScriptedProvider({ calls: [{ name: "ADD", arguments: { a: 1, b: 1 } }] }, { text: "." }), {
      tools: [add],
      repairToolCall: (call) => ({ ...call, name: call.name.toLowerCase() }),
    });
    await run.start("x");
    expect(messageText(run.history[2]!)).toBe("2");
  });

  test("arguments that do not match the schema never reach the tool, and the model is told where", async () => {
    let ran = 0;
    const tool = scriptedTool("t", () => String((ran += 1)), {
      parameters: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
    });
    const run = bench(new ScriptedProvider({ calls: [{ name: "t", arguments: { n: "1" } }] }, { text: "." }), {
      tools: [tool],
    });
    await run.start("x");
    expect(ran).toBe(0);
    expect(messageText(run.history[2]!)).toContain("/n");
  });

  test("a schema that is not JSON Schema is said to be one, and the run goes on", async () => {
    const tool = scriptedTool("t", () => "ran", { parameters: { type: "thing" } });
    const run = bench(new ScriptedProvider({ calls: [{ name: "t" }] }, { text: "." }), { tools: [tool] });
    expect((await run.start("x")).end.kind).toBe("completed");
    expect(messageText(run.history[2]!)).toContain("not JSON Schema");
  });

  test("malformed and cut calls are answered and never run", async () => {
    let ran = 0;
    const tool = scriptedTool("t", () => String((ran += 1)));
    const malformed = { kind: "invalid", reason: "the arguments are not JSON", raw: "{" } as const;
    const provider = new ScriptedProvider(
      { calls: [{ name: "t", malformed }] },
      { calls: [{ name: "t" }, { name: "t" }], stopReason: "length" },
      { text: "." },
    );
    const run = bench(provider, { tools: [tool] });
    await run.start("x");
    expect(ran).toBe(0);
    expect(run.history.filter((message) => message.role === "toolResult" && message.isError)).toHaveLength(3);
  });

  test("reports after the end of a call are dropped", async () => {
    let late: (() => void) | undefined;
    const tool: AgentTool = {
      ...add,
      execute: (_args, context) => {
        context.onUpdate({ content: [{ type: "text", text: "early" }] });
        context.onProgress("half");
        late = () => context.onProgress("late");
        return Promise.resolve({ content: [] });
      },
    };
    const run = bench(new ScriptedProvider({ calls: [{ name: "add" }] }, { text: "." }), { tools: [tool] });
    await run.start("x");
    late?.();
    expect(run.types().filter((type) => type === "progressMessage" || type === "toolExecutionUpdate")).toEqual([
      "toolExecutionUpdate",
      "progressMessage",
    ]);
  });

  test("a 2 MB result is cut in the history and whole in the event", async () => {
    const tool = scriptedTool("big", () => "x".repeat(2_000_000));
    const run = bench(new ScriptedProvider({ calls: [{ name: "big" }] }, { text: "." }), { tools: [tool] });
    await run.start("x");
    const end = run.events.find((event) => event.type === "toolExecutionEnd");
    expect(end?.type === "toolExecutionEnd" && end.result.content[0]).toMatchObject({ text: "x".repeat(2_000_000) });
    expect(messageText(run.history[2]!).length).toBeLessThan(200_001);
  });

  test("images of a result are bounded in the history, also of a tool that pages its own output, and whole in the event", async () => {
    const image = { type: "image", data: "AAAA", mimeType: "image/png" } as const;
    const tool = scriptedTool("shoot", () => ({ content: Array.from({ length: 1000 }, () => image) }), {
      maxOutputLines: Infinity,
    });
    const run = bench(new ScriptedProvider({ calls: [{ name: "shoot" }] }, { text: "." }), { tools: [tool] });
    await run.start("x");
    const end = run.events.find((event) => event.type === "toolExecutionEnd");
    expect(end?.type === "toolExecutionEnd" && end.result.content).toHaveLength(1000);
    expect(run.history[2]?.role === "toolResult" && run.history[2].content).toHaveLength(11);
    expect(messageText(run.history[2]!)).toContain("990 of 1000 images left out");
  });
});
