import { systemClock, until } from "@mesh/kernel";
import { FakeClock } from "@mesh/kernel/testing";
import type { StreamProvider } from "@mesh/llm";
import { afterEach, describe, expect, test } from "vitest";

import type { AgentEvent } from "./event.ts";
import type { LoopConfig } from "./loop-config.ts";
import { CANCELLED_MARKER, LIMIT_STOP_PREFIX, LOOP_STOP_PREFIX, NUDGE_PREFIX } from "./marker.ts";
import { type AgentMessage, messageText, userMessage } from "./message.ts";
import { continueRun, startRun } from "./run.ts";
import { bench, ScriptedProvider, scriptedTool, settlesAtOnce, transcriptFaults } from "./testing/index.ts";
import { type AgentTool, CANCELLED_TEXT } from "./tool.ts";

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

describe("cancellation", () => {
  const ignoring = scriptedTool("ignoring", () => new Promise<string>(() => undefined));

  async function abortWhen(run: ReturnType<typeof bench>, when: () => boolean): Promise<boolean> {
    const running = run.start("x");
    await until(when, { everyMs: 1 });
    const isAtOnce = await settlesAtOnce(run.stop, running);
    await running;
    return isAtOnce;
  }

  test("settles at once while a tool ignores its signal; the finished result is kept", async () => {
    const calls = [{ name: "add", arguments: { a: 1, b: 1 } }, { name: "ignoring" }];
    const run = bench(new ScriptedProvider({ calls }), { tools: [add, ignoring] });
    const isAtOnce = await abortWhen(run, () => run.types().includes("toolExecutionEnd"));
    expect(isAtOnce).toBe(true);
    const results = run.history.filter((message) => message.role === "toolResult");
    expect(results.map((result) => result.isError)).toEqual([false, true]);
    expect(messageText(run.history.at(-1)!)).toBe(CANCELLED_MARKER);
  });

  test("settles at once while the provider ignores its signal, and keeps what was said", async () => {
    const run = bench(new ScriptedProvider({ text: "half", ignoresAbort: true }));
    const isAtOnce = await abortWhen(run, () => run.types().includes("messageUpdate"));
    expect(isAtOnce).toBe(true);
    expect(run.history.at(-1)).toMatchObject({ stopReason: "aborted", content: [{ type: "text", text: "half" }] });
    expect(run.types().slice(-3)).toEqual(["messageEnd", "turnEnd", "agentEnd"]);
  });

  test("whatever a provider says after the cancellation reaches nobody", async () => {
    let talk: (() => void) | undefined;
    const provider = new ScriptedProvider({ text: "half", ignoresAbort: true });
    const talking: StreamProvider = {
      protocol: "demo",
      stream: (config, sink, signal) => {
        talk = () => sink({ type: "textDelta", contentIndex: 0, delta: "late" });
        return provider.stream(config, sink, signal);
      },
    };
    const run = bench(provider, { provider: talking });
    await abortWhen(run, () => run.types().includes("messageUpdate"));
    talk?.();
    expect(run.types().at(-1)).toBe("agentEnd");
    expect(JSON.stringify(run.history)).not.toContain("late");
  });

  test("in the pause before a retry it ends as aborted and onError stays silent", async () => {
    const errors: string[] = [];
    const run = bench(new ScriptedProvider({ error: { errorClass: "rateLimit", message: "slow down" } }), {
      onError: (error) => void errors.push(error),
    });
    const isAtOnce = await abortWhen(run, () => run.types().includes("providerRetry"));
    expect(isAtOnce).toBe(true);
    expect(run.history.at(-1)).toMatchObject({ stopReason: "aborted" });
    expect(errors).toEqual([]);
  });

  test("settles in under 20 ms, measured at its fastest of ten", async () => {
    const times: number[] = [];
    for (let round = 0; round < 10; round += 1) {
      const run = bench(new ScriptedProvider({ calls: [{ name: "ignoring" }] }), { tools: [ignoring] });
      const running = run.start("x");
      await until(() => run.types().includes("toolExecutionStart"), { everyMs: 1 });
      const startMs = systemClock.monotonic();
      run.stop.abort();
      await running;
      times.push(systemClock.monotonic() - startMs);
    }
    expect(Math.min(...times)).toBeLessThan(20);
  });

  test.each<[string, Partial<LoopConfig>]>([
    ["onCheckpoint", { onCheckpoint: () => new Promise(() => undefined) }],
    ["afterTurn", { afterTurn: () => new Promise(() => undefined) }],
    ["both", { onCheckpoint: () => new Promise(() => undefined), afterTurn: () => new Promise(() => undefined) }],
  ])(
    "settles in the 10 ms that callbacks have together although %s hangs, with all of it told",
    async (_what, hooks) => {
      const clock = new FakeClock();
      let reached = 0;
      const watched = Object.fromEntries(
        Object.entries(hooks).map(([name, hang]) => [name, () => ((reached += 1), (hang as () => unknown)())]),
      );
      const run = bench(new ScriptedProvider({ calls: [{ name: "add" }] }, { text: "." }), {
        tools: [add],
        clock,
        ...watched,
      });
      const state = { isSettled: false };
      const running = run.start("x").finally(() => (state.isSettled = true));
      await until(() => reached > 0, { everyMs: 1 });
      await clock.advance(60_000);
      expect(state.isSettled).toBe(false);
      run.stop.abort();
      await clock.advance(10);
      await until(() => state.isSettled, { everyMs: 1, timeoutMs: 2000 });
      expect((await running).end.kind).toBe("cancelled");
      expect(run.types().at(-1)).toBe("agentEnd");
    },
  );

  test("before the first request the opened turn is closed and nothing is asked", async () => {
    const provider = new ScriptedProvider({ text: "x" });
    const run = bench(provider);
    run.stop.abort();
    const result = await run.start("x");
    expect(result.end).toEqual({ kind: "cancelled" });
    expect(provider.requests).toHaveLength(0);
    expect(run.types()).toEqual(["agentStart", "turnStart", "messageStart", "messageEnd", "turnEnd", "agentEnd"]);
  });

  test("by one call's gate stops all calls of the response before any of them starts", async () => {
    let ran = 0;
    const tool = scriptedTool("t", () => String((ran += 1)));
    const run = bench(new ScriptedProvider({ calls: [{ name: "t" }, { name: "t" }] }), {
      tools: [tool],
      middleware: [
        {
          beforeTool: async (request) => {
            await systemClock.sleep(request.id === "call_2" ? 5 : 0);
            if (request.id === "call_2") run.stop.abort();
            return { kind: "allow" };
          },
        },
      ],
    });
    await run.start("x");
    expect(ran).toBe(0);
    expect(run.types().filter((type) => type === "toolExecutionEnd")).toHaveLength(2);
    const results = run.history.filter((message) => message.role === "toolResult").map(messageText);
    expect(results).toEqual([CANCELLED_TEXT, CANCELLED_TEXT]);
  });

  test("a tool that fails because it was interrupted is cancelled, not failed", async () => {
    const tool = scriptedTool("t", async (_args, signal) => {
      await systemClock.sleep(10_000, signal);
      throw new Error("interrupted system call");
    });
    const run = bench(new ScriptedProvider({ calls: [{ name: "t" }] }), { tools: [tool] });
    await abortWhen(run, () => run.types().includes("toolExecutionStart"));
    expect(messageText(run.history[2]!)).toContain("cancelled");
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

describe("failures of the provider", () => {
  test("a final failure is a message that keeps what was said, and follow-ups stay in their queue", async () => {
    let polled = 0;
    const provider = new ScriptedProvider({
      text: "half",
      usage: { input: 7 },
      error: { errorClass: "auth", message: "bad key" },
    });
    const run = bench(provider, { pollFollowUps: () => ((polled += 1), []) });
    const result = await run.start("x");
    expect(result.end).toEqual({ kind: "failed", error: "bad key" });
    expect(run.history.at(-1)).toMatchObject({
      stopReason: "error",
      errorMessage: "bad key",
      usage: { input: 7 },
      content: [{ text: "half" }],
    });
    expect(polled).toBe(0);
  });

  test("a repeated attempt is closed as an error and followed by a retry event", async () => {
    const provider = new ScriptedProvider(
      { text: "ha", error: { errorClass: "network", message: "reset", retryAfterMs: 1 } },
      { text: "hello" },
    );
    const run = bench(provider);
    await run.start("x");
    const ends = run.events.filter(
      (event): event is Extract<AgentEvent, { type: "messageEnd" }> => event.type === "messageEnd",
    );
    expect(ends.map(({ message }) => (message.role === "assistant" ? message.stopReason : "user"))).toEqual([
      "user",
      "error",
      "stop",
    ]);
    expect(run.events.find((event) => event.type === "providerRetry")).toMatchObject({
      attempt: 1,
      errorClass: "network",
    });
    expect(run.history).toHaveLength(2);
  });

  test("what a repeated attempt cost is in the run's usage, and no turn of its own", async () => {
    const failed = { errorClass: "server", message: "empty", isFinished: true, retryAfterMs: 1 } as const;
    const run = bench(
      new ScriptedProvider({ usage: { input: 7, output: 2 }, error: failed }, { text: "hello", usage: { input: 7 } }),
    );
    const { stats } = await run.start("x");
    expect(stats).toMatchObject({ turns: 1, usage: { input: 14, output: 2 } });
  });

  test("an error turn with calls runs none of them", async () => {
    let ran = 0;
    const run = bench(
      new ScriptedProvider({ calls: [{ name: "t" }], error: { errorClass: "protocol", message: "cut" } }),
      {
        tools: [scriptedTool("t", () => String((ran += 1)))],
      },
    );
    await run.start("x");
    expect(ran).toBe(0);
  });

  test("a refusal ends the turn like a stop, keeps its explanation, and runs none of its calls", async () => {
    let ran = 0;
    const provider = new ScriptedProvider({
      text: "no",
      calls: [{ name: "t" }],
      stopReason: "refusal",
      errorMessage: "policy",
    });
    const run = bench(provider, { tools: [scriptedTool("t", () => String((ran += 1)))] });
    expect((await run.start("x")).end).toEqual({ kind: "completed" });
    expect(ran).toBe(0);
    expect(run.history.at(-1)).toMatchObject({ stopReason: "refusal", errorMessage: "policy" });
  });

  test("a provider that throws something else is an error message, not a rejection", async () => {
    const run = bench(new ScriptedProvider({ throws: "what" }), { retry: { maxRetries: 0 } });
    expect((await run.start("x")).end.kind).toBe("failed");
  });

  test("a provider without events still gives start and end", async () => {
    const run = bench(new ScriptedProvider({ text: "x", isSilent: true }));
    await run.start("x");
    expect(run.types().slice(4, 6)).toEqual(["messageStart", "messageEnd"]);
  });
});
