import { afterEach, describe, expect, test } from "vitest";

import type { AgentEvent } from "./event.ts";
import { bench, ScriptedProvider, scriptedTool, transcriptFaults } from "./testing/index.ts";

afterEach(() => {
  expect(transcriptFaults()).toEqual([]);
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
