import { systemClock, until } from "@mesh/kernel";
import { afterEach, describe, expect, test } from "vitest";

import { Budget } from "./budget.ts";
import { type Extension, type RunEnd, type RunHooks, sharedHooks } from "./extension.ts";
import type { LoopConfig } from "./loop-config.ts";
import { messageText } from "./message.ts";
import { subAgentTool } from "./sub-agent.ts";
import {
  bench,
  ScriptedProvider,
  scriptedModel,
  scriptedTool,
  settlesAtOnce,
  transcriptFaults,
} from "./testing/index.ts";

afterEach(() => {
  expect(transcriptFaults()).toEqual([]);
});

const echo = scriptedTool("echo", (args) => JSON.stringify(args));
const oneCall = { calls: [{ name: "echo", arguments: { n: 1 } }] };

function required(name: string, hooks: RunHooks, change: Partial<Extension> = {}): Extension {
  return { ...sharedHooks(name, hooks), mode: "required", ...change };
}

describe("order and decisions", () => {
  test("extensions are asked in order, inherited first, and a denial is what the model reads", async () => {
    const asked: string[] = [];
    const judge = (name: string): Extension =>
      sharedHooks(name, {
        beforeTool: () => {
          asked.push(name);
          return name === "own" ? { kind: "deny", reason: "not today" } : { kind: "allow" };
        },
      });
    const run = bench(new ScriptedProvider(oneCall, { text: "." }), {
      tools: [echo],
      ancestry: { depth: 1, inherited: [judge("inherited")] },
      treeExtensions: [judge("tree")],
      extensions: [judge("own"), judge("never")],
    });
    await run.start("x");
    expect(asked).toEqual(["inherited", "tree", "own"]);
    expect(messageText(run.history[2]!)).toBe("Tool call denied: not today");
  });

  test("who rechecks judges what a later one rewrote", async () => {
    const judged: unknown[] = [];
    const strict: Extension = {
      ...sharedHooks("strict", {
        beforeTool: (call) => {
          judged.push(call.args["n"]);
          return call.args["n"] === 2 ? { kind: "deny", reason: "two" } : { kind: "allow" };
        },
      }),
      rechecksModifiedCalls: true,
    };
    const rewrite = sharedHooks("rewrite", { beforeTool: () => ({ kind: "modify", args: { n: 2 } }) });
    const run = bench(new ScriptedProvider(oneCall, { text: "." }), { tools: [echo], extensions: [strict, rewrite] });
    await run.start("x");
    expect(judged).toEqual([1, 2]);
    expect(messageText(run.history[2]!)).toContain("two");
  });

  test("the start event carries rewritten arguments", async () => {
    const run = bench(new ScriptedProvider(oneCall, { text: "." }), {
      tools: [echo],
      middleware: [{ beforeTool: () => ({ kind: "modify", args: { n: 9 } }) }],
    });
    await run.start("x");
    expect(run.events.find((event) => event.type === "toolExecutionStart")).toMatchObject({ args: { n: 9 } });
  });

  test("rewritten arguments must match the schema as well", async () => {
    let ran = 0;
    const tool = scriptedTool("echo", () => String((ran += 1)), {
      parameters: { type: "object", properties: { n: { type: "number" } } },
    });
    const run = bench(new ScriptedProvider(oneCall, { text: "." }), {
      tools: [tool],
      middleware: [{ beforeTool: () => ({ kind: "modify", args: { n: "nine" } }) }],
    });
    await run.start("x");
    expect(ran).toBe(0);
    expect(messageText(run.history[2]!)).toContain("do not match");
  });

  test("a gate that throws denies", async () => {
    const run = bench(new ScriptedProvider(oneCall, { text: "." }), {
      tools: [echo],
      middleware: [
        {
          beforeTool: () => {
            throw new Error("oops");
          },
        },
      ],
    });
    await run.start("x");
    expect(messageText(run.history[2]!)).toContain("the gate failed: oops");
  });

  test("notes reach the request only, at its end, before the same stored history", async () => {
    const provider = new ScriptedProvider(oneCall, { text: "." });
    const run = bench(provider, {
      tools: [echo],
      extensions: [sharedHooks("notes", { beforeModel: ({ turn }) => ({ kind: "pass", note: `turn ${turn}` }) })],
    });
    await run.start("x");
    expect(provider.requests.map((request) => messageText(request.messages.at(-1)!))).toEqual(["xturn 0", "turn 1"]);
    expect(run.history.map(messageText).join()).not.toContain("turn 0");
  });

  test("a stop before the model leaves a marker and a closed turn", async () => {
    const provider = new ScriptedProvider({ text: "." });
    const run = bench(provider, {
      extensions: [sharedHooks("stopper", { beforeModel: () => ({ kind: "stop", reason: "enough" }) })],
    });
    expect((await run.start("x")).end).toEqual({ kind: "stopped", reason: "enough" });
    expect(provider.requests).toHaveLength(0);
    expect(run.types().slice(-2)).toEqual(["turnEnd", "agentEnd"]);
  });

  test("wishes to go on are one message, three times at most; then a required one fails the run", async () => {
    const wish: RunHooks = { onStop: () => ({ kind: "continue", text: "check again" }) };
    const advisory = bench(new ScriptedProvider(() => ({ text: "done" })), { extensions: [sharedHooks("a", wish)] });
    expect((await advisory.start("x")).end).toEqual({ kind: "completed" });
    expect(advisory.history.filter((message) => message.role === "user")).toHaveLength(4);
    const both = bench(new ScriptedProvider(() => ({ text: "done" })), {
      extensions: [sharedHooks("a", wish), required("b", wish)],
    });
    expect((await both.start("x")).end).toMatchObject({ kind: "failed", extension: "b" });
    expect(messageText(both.history[2]!)).toBe(
      "[Extension message: a] check again\n[Extension message: b] check again",
    );
  });
});

describe("tool output", () => {
  test("a filter edits what the model and the events see, and nothing is shown before", async () => {
    const tool = {
      ...echo,
      execute: (_args: object, context: { onProgress(text: string): void }) => {
        context.onProgress("secret");
        return Promise.resolve({ content: [{ type: "text", text: "secret" }] as const });
      },
    };
    const filter: Extension = {
      ...sharedHooks("filter", {
        afterTool: () => ({ output: { content: [{ type: "text", text: "***" }] }, isError: false }),
      }),
      filtersToolOutput: true,
    };
    const run = bench(new ScriptedProvider(oneCall, { text: "." }), { tools: [tool], extensions: [filter] });
    await run.start("x");
    expect(JSON.stringify(run.events)).not.toContain("secret");
    expect(messageText(run.history[2]!)).toBe("***");
  });

  test("a filter that fails withholds the output", async () => {
    const filter: Extension = {
      ...sharedHooks("filter", { afterTool: () => Promise.reject(new Error("x")) }),
      filtersToolOutput: true,
    };
    const run = bench(new ScriptedProvider(oneCall, { text: "." }), { tools: [echo], extensions: [filter] });
    await run.start("x");
    expect(messageText(run.history[2]!)).toContain("withheld");
  });
});

describe("failures", () => {
  test("a required extension that cannot start fails the run once, and those that started still finish", async () => {
    const ends: RunEnd[] = [];
    const fine = sharedHooks("fine", { finish: (end) => void ends.push(end) });
    const broken: Extension = { name: "broken", mode: "required", startRun: () => Promise.reject(new Error("no")) };
    const provider = new ScriptedProvider({ text: "." });
    const run = bench(provider, { extensions: [fine, broken] });
    const result = await run.start("x");
    expect(result.end).toMatchObject({ kind: "failed", extension: "broken" });
    expect(ends).toHaveLength(1);
    expect(provider.requests).toHaveLength(0);
    expect(run.history.filter((message) => message.role === "assistant")).toHaveLength(1);
  });

  test("an advisory extension that cannot start is skipped", async () => {
    const broken: Extension = { name: "broken", mode: "advisory", startRun: () => Promise.reject(new Error("no")) };
    expect((await bench(new ScriptedProvider({ text: "." }), { extensions: [broken] }).start("x")).end.kind).toBe(
      "completed",
    );
  });

  test("a failure recorded while tools run keeps later calls from starting and ends the run", async () => {
    let ran = 0;
    const tool = scriptedTool("t", () => String((ran += 1)));
    const watcher = required("watcher", {
      onEvent: (event) => {
        if (event.type === "toolExecutionEnd") throw new Error("saw it");
      },
    });
    const run = bench(new ScriptedProvider({ calls: [{ name: "t" }, { name: "t" }, { name: "t" }] }), {
      tools: [tool],
      toolStrategy: "sequential",
      extensions: [watcher],
    });
    const result = await run.start("x");
    expect(ran).toBe(1);
    expect(result.end).toMatchObject({ kind: "failed", extension: "watcher" });
    expect(messageText(run.history[3]!)).toContain("required extension");
  });

  test("a failure found only at the end still fails the run", async () => {
    let isOver = false;
    const late = required("late", {
      onEvent: (event) => {
        isOver ||= event.type === "turnEnd";
      },
      takeFailure: () => (isOver ? "late news" : undefined),
    });
    expect((await bench(new ScriptedProvider({ text: "." }), { extensions: [late] }).start("x")).end).toMatchObject({
      kind: "failed",
      error: "late news",
    });
  });

  test.each(["beforeModel", "beforeTool", "onStop", "tools", "onInput"] as const)(
    "cancellation does not wait for %s",
    async (hook) => {
      let isCalled = false;
      const hanging = sharedHooks("hanging", {
        [hook]: () => {
          isCalled = true;
          return new Promise(() => undefined);
        },
      });
      const run = bench(new ScriptedProvider(oneCall, { text: "." }), { tools: [echo], extensions: [hanging] });
      const running = run.start("x");
      await until(() => isCalled, { everyMs: 1 });
      expect(await settlesAtOnce(run.stop, running)).toBe(true);
      const { end } = await running;
      expect(end.kind).toBe(hook === "onStop" ? "completed" : "cancelled");
    },
  );
});

describe("tools of a run", () => {
  test("an extension offers its tools to the run it belongs to, not to the runs below it", async () => {
    const offering = sharedHooks("offering", { tools: () => [scriptedTool("extra", () => "")] });
    const named = async (config: Partial<LoopConfig>): Promise<string[] | undefined> => {
      const provider = new ScriptedProvider({ text: "." });
      await bench(provider, config).start("x");
      return provider.requests[0]?.tools?.map((tool) => tool.name);
    };
    expect(await named({ treeExtensions: [offering] })).toEqual(["extra"]);
    expect(await named({ ancestry: { depth: 1, inherited: [offering] } })).toBeUndefined();
  });

  test("sourced tools are sorted, so another order of an equal set leaves the request as it is", async () => {
    const tools = ["b", "a", "c"].map((name) => scriptedTool(name, () => ""));
    const requests = [tools, tools.toReversed()].map(async (list) => {
      const provider = new ScriptedProvider({ text: "." });
      await bench(provider, { tools: [echo], toolSources: [{ tools: () => list }] }).start("x");
      return JSON.stringify(provider.requests[0]?.tools);
    });
    const [one, other] = await Promise.all(requests);
    expect(one).toBe(other);
    expect(one).toContain('"echo"');
  });

  test("a static tool keeps its name, a source that throws contributes nothing, and each drop is logged", async () => {
    const lines: string[] = [];
    const provider = new ScriptedProvider({ text: "." });
    const broken = {
      tools: (): never => {
        throw new Error("sync");
      },
    };
    await bench(provider, {
      tools: [echo],
      toolSources: [broken, { tools: () => [scriptedTool("echo", () => "other")] }],
      log: (_level, message) => void lines.push(message),
    }).start("x");
    expect(provider.requests[0]?.tools).toHaveLength(1);
    expect(lines).toEqual(["tool source failed", "tool dropped: its name is taken"]);
  });
});

describe("budget", () => {
  const priced = scriptedModel({ cost: { input: 4000, output: 0, cacheRead: 0, cacheWrite: 0 } });
  const looping = (): ScriptedProvider =>
    new ScriptedProvider(() => ({ calls: [{ name: "echo", arguments: { r: Math.random() } }], usage: { input: 1 } }));
  const config = { model: priced, tools: [echo] };

  test("three turns of 0.004 exhaust 0.01 before the fourth", async () => {
    const run = bench(looping(), { ...config, extensions: [new Budget({ limitUsd: 0.01 })] });
    const result = await run.start("x");
    expect(result.stats.turns).toBe(3);
    expect(result.end).toMatchObject({ kind: "stopped" });
  });

  test("usage without a price stops a budget that cannot be kept", async () => {
    const run = bench(looping(), { tools: [echo], extensions: [new Budget({ limitUsd: 1 })] });
    expect((await run.start("x")).stats.turns).toBe(1);
  });

  test("a child counts once, whether the budget serves it or not", async () => {
    for (const isTree of [true, false]) {
      const budget = new Budget({ limitUsd: 100, isAcrossRuns: true });
      const child = subAgentTool({
        name: "child",
        description: "",
        clock: systemClock,
        model: priced,
        provider: new ScriptedProvider({ text: "a", usage: { input: 2 } }),
      });
      const provider = new ScriptedProvider(
        { calls: [{ name: "child", arguments: { task: "t" } }], usage: { input: 1 } },
        { text: ".", usage: { input: 1 } },
      );
      const own: Partial<LoopConfig> = isTree ? { treeExtensions: [budget] } : { extensions: [budget] };
      const result = await bench(provider, { model: priced, tools: [child], ...own }).start("x");
      expect(budget.spentUsd()).toBeCloseTo(0.016);
      expect(result.stats.subAgents).toMatchObject({ runs: 1, costUsd: 0.008 });
    }
  });

  test("a limit that is no number is refused", () => {
    expect(() => new Budget({ limitUsd: Number.NaN })).toThrow("makes no sense");
  });
});
