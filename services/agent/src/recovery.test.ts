import { until } from "@mesh/kernel";
import { FakeClock } from "@mesh/kernel/testing";
import { afterEach, describe, expect, test } from "vitest";

import { compactHistory, type ContextConfig, contextBudget } from "./compaction.ts";
import { LlmCompaction, type LlmCompactionOptions, transcriptOf } from "./llm-compaction.ts";
import { BRIEFING_PREFIX } from "./marker.ts";
import { type AgentMessage, messageText, userMessage } from "./message.ts";
import {
  bench,
  historyFaults,
  ScriptedProvider,
  scriptedModel,
  scriptedTool,
  transcriptFaults,
  type ScriptedStep,
} from "./testing/index.ts";
import { historyTokens } from "./token.ts";

afterEach(() => {
  expect(transcriptFaults()).toEqual([]);
});

const overflow = { error: { errorClass: "overflow", message: "prompt is too long" } } as const;
const big = scriptedTool("big", () => "some words here\n".repeat(190));
const oneBig = { calls: [{ name: "big" }] };

describe("an overflow", () => {
  test("compacts once, asks once more, and tells both", async () => {
    const provider = new ScriptedProvider(oneBig, overflow, { text: "ok" });
    const run = bench(provider, { tools: [big] });
    expect((await run.start("x")).end.kind).toBe("completed");
    expect(run.types().filter((type) => type === "contextCompacted" || type === "providerRetry")).toEqual([
      "providerRetry",
      "contextCompacted",
    ]);
    const [before, after] = provider.requests.slice(1).map((request) => historyTokens(request.messages));
    expect(after).toBeLessThan(before!);
  });

  test("that compaction does not cure ends the run with the error", async () => {
    const provider = new ScriptedProvider(oneBig, overflow, overflow, { text: "never" });
    const run = bench(provider, { tools: [big] });
    expect((await run.start("x")).end).toEqual({ kind: "failed", error: "prompt is too long" });
    expect(provider.requests).toHaveLength(3);
  });

  test("of a history that cannot shrink is not sent again", async () => {
    const provider = new ScriptedProvider(overflow, { text: "never" });
    expect((await bench(provider).start("x")).end.kind).toBe("failed");
    expect(provider.requests).toHaveLength(1);
  });

  test("is cured only so often in one run", async () => {
    let asked = 0;
    const provider = new ScriptedProvider(() => {
      asked += 1;
      return asked % 2 === 0 ? overflow : { calls: [{ name: "big", arguments: { asked } }] };
    });
    const run = bench(provider, { tools: [big], maxOverflowRecoveries: 2 });
    expect((await run.start("x")).end.kind).toBe("failed");
    expect(run.events.filter((event) => event.type === "contextCompacted")).toHaveLength(2);
  });

  test("is the error where compaction is off", async () => {
    const provider = new ScriptedProvider(oneBig, overflow);
    expect((await bench(provider, { tools: [big], context: null }).start("x")).end.kind).toBe("failed");
  });
});

describe("a strategy of the application", () => {
  test("is asked before each request; what it changes is counted, what it leaves is not", async () => {
    let isFirst = true;
    const compaction = {
      compact: (history: readonly AgentMessage[]) => {
        if (isFirst) return history;
        return history.map((message) => (message.role === "toolResult" ? { ...message, content: [] } : message));
      },
    };
    const tool = scriptedTool("big", () => ((isFirst = false), "words ".repeat(50)));
    const run = bench(new ScriptedProvider(oneBig, { text: "." }), { tools: [tool], compaction });
    const { stats } = await run.start("x");
    expect(stats.compactions).toBe(1);
    expect(run.events.find((event) => event.type === "contextCompacted")).toMatchObject({ method: "custom" });
  });

  test("that throws is replaced by the tiered one", async () => {
    const compaction = {
      compact: (): never => {
        throw new Error("bug");
      },
    };
    expect((await bench(new ScriptedProvider({ text: "." }), { compaction }).start("x")).end.kind).toBe("completed");
  });
});

describe("briefings", () => {
  const config: ContextConfig = {
    maxTokens: 1000,
    reserveTokens: 0,
    keepRecent: 4,
    keepFirst: 2,
    toolOutputLines: 50,
    targetRatio: 0.7,
  };
  const cost = { input: 1_000_000, output: 0, cacheRead: 0, cacheWrite: 0 };

  function strategyOf(
    change: Partial<LlmCompactionOptions>,
    ...steps: readonly (ScriptedStep | (() => ScriptedStep))[]
  ): { strategy: LlmCompaction; provider: ScriptedProvider; lines: string[] } {
    const provider = new ScriptedProvider(...steps);
    const lines: string[] = [];
    const strategy = new LlmCompaction({
      clock: new FakeClock(),
      model: scriptedModel({ cost }),
      provider,
      log: (_level, message) => void lines.push(message),
      ...change,
    });
    return { strategy, provider, lines };
  }

  /** A sound conversation of so many exchanges, each of about 20 tokens. */
  function conversation(exchanges: number): AgentMessage[] {
    return Array.from({ length: exchanges }, (_, index): AgentMessage[] => [
      userMessage(`question ${index} ${"word ".repeat(6)}`, index),
      {
        role: "assistant",
        content: [{ type: "text", text: `answer ${index} ${"word ".repeat(6)}` }],
        stopReason: "stop",
        model: "m",
        provider: "p",
        usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 },
        timestamp: index,
      },
    ]).flat();
  }
  const small = conversation(20);
  const nearly = conversation(26);
  const over = conversation(40);

  test("are asked for early, alone, and used only when the history is over its budget", async () => {
    const { strategy, provider } = strategyOf({}, { text: "They talked.", usage: { input: 3 } });
    expect(historyTokens(nearly)).toBeGreaterThan(contextBudget(config) * 0.6);
    expect(strategy.compact(small.slice(0, 20), config)).toHaveLength(20);
    expect(strategy.compact(nearly, config)).toBe(nearly);
    await strategy.idle();
    expect(provider.requests).toHaveLength(1);
    const [request] = provider.requests;
    expect(request?.tools).toBeUndefined();
    expect(request?.cache?.enabled).toBe(false);
    expect(strategy.compact(nearly, config)).toBe(nearly);
    const spliced = strategy.compact([...nearly, ...over.slice(nearly.length)], config);
    expect(messageText(spliced[2]!)).toBe(`${BRIEFING_PREFIX}They talked.`);
    expect(spliced.slice(0, 2)).toEqual(nearly.slice(0, 2));
    expect(spliced.at(-1)).toEqual(over.at(-1));
    expect(historyTokens(spliced)).toBeLessThanOrEqual(contextBudget(config));
    expect(historyFaults(spliced)).toEqual([]);
    expect(strategy.takeSummary()).toMatchObject({ usage: { input: 3 }, costUsd: 3 });
    expect(strategy.takeSpend()).toMatchObject({ costUsd: 3, requests: 1 });
    expect(strategy.takeSpend()).toBeUndefined();
    // The spliced history is settled: asking again changes nothing.
    expect(compactHistory(spliced, config)).toBe(spliced);
  });

  test("of a history that changed meanwhile are discarded", async () => {
    const { strategy, lines } = strategyOf({}, { text: "They talked." });
    strategy.compact(nearly, config);
    await strategy.idle();
    const rewritten = over.map((message, index) => (index === 3 ? userMessage("other", 0) : message));
    const compacted = strategy.compact(rewritten, config);
    expect(lines).toContain("briefing discarded: the history changed");
    expect(compacted.map(messageText).join()).not.toContain("They talked.");
    expect(strategy.method).toBe("tiered");
  });

  test.each([
    ["cut", { text: "half", stopReason: "length" as const, usage: { input: 1 } }],
    ["empty", { text: " ", usage: { input: 1 } }],
    ["a failure", { error: { errorClass: "auth" as const, message: "no" } }],
  ])("that are %s are not used, their place is freed and their cost counted", async (what, step) => {
    const { strategy, provider } = strategyOf({}, step, { text: "fine" });
    strategy.compact(nearly, config);
    await strategy.idle();
    expect(strategy.takeSpend()?.costUsd ?? null).toBe(what === "a failure" ? null : 1);
    strategy.compact(nearly, config);
    await strategy.idle();
    expect(provider.requests).toHaveLength(2);
  });

  test("that hang free their place after their time", async () => {
    const clock = new FakeClock();
    const { strategy, provider } = strategyOf(
      { clock, timeoutMs: 1000 },
      { text: "x", until: new Promise(() => undefined) },
      { text: "y" },
    );
    strategy.compact(nearly, config);
    await until(() => provider.requests.length === 1, { everyMs: 1 });
    strategy.compact(nearly, config);
    expect(provider.requests).toHaveLength(1);
    await clock.advance(1001);
    await strategy.idle();
    strategy.compact(nearly, config);
    await strategy.idle();
    expect(provider.requests).toHaveLength(2);
  });

  test("that would not fit themselves give way to the tiered levels, their cost still shown", async () => {
    const { strategy } = strategyOf({}, { text: "x".repeat(9000), usage: { input: 1 } });
    strategy.compact(nearly, config);
    await strategy.idle();
    const compacted = strategy.compact(over, config);
    expect(strategy.method).toBe("tiered");
    expect(strategy.takeSummary()).toMatchObject({ costUsd: 1 });
    expect(historyTokens(compacted)).toBeLessThanOrEqual(contextBudget(config));
  });

  test("that a setting makes impossible are warned of once; a short history says nothing", () => {
    const { strategy, lines } = strategyOf({ retainTokens: 5000 });
    strategy.compact(nearly.slice(0, 6), { ...config, maxTokens: 150 });
    expect(lines).toEqual([]);
    strategy.compact(nearly, config);
    strategy.compact(nearly, config);
    expect(lines).toHaveLength(1);
  });

  test("never part a call from its results, and their request is bounded", () => {
    const parts: AgentMessage[] = [userMessage("x".repeat(5000), 1)];
    expect(transcriptOf(parts).length).toBeLessThan(2100);
    const many = Array.from({ length: 1000 }, () => userMessage("y".repeat(3000), 1));
    expect(transcriptOf(many).length).toBeLessThan(481_000);
  });

  test("in a run are told as a compaction with their cost, in a bucket of their own", async () => {
    const { strategy } = strategyOf({}, () => ({ text: "Short.", usage: { input: 2 } }));
    let turn = 0;
    const provider = new ScriptedProvider(() => {
      turn += 1;
      return turn > 30 ? { text: "." } : { calls: [{ name: "t", arguments: { turn } }] };
    });
    const tool = scriptedTool("t", async () => {
      await strategy.idle();
      return "word ".repeat(30);
    });
    const run = bench(provider, { tools: [tool], compaction: strategy, context: config, limits: null });
    const { stats } = await run.start("x");
    const briefed = run.events.find((event) => event.type === "contextCompacted" && event.method === "llm");
    expect(briefed).toMatchObject({ summary: { usage: { input: 2 }, costUsd: 2 } });
    expect(stats.compaction.requests).toBeGreaterThan(0);
    expect(stats.usage.input).toBe(0);
  });
});
