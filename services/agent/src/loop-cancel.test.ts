import { systemClock, until } from "@mesh/kernel";
import { FakeClock } from "@mesh/kernel/testing";
import type { StreamProvider } from "@mesh/llm";
import { afterEach, describe, expect, test } from "vitest";

import type { LoopConfig } from "./loop-config.ts";
import { CANCELLED_MARKER } from "./marker.ts";
import { messageText } from "./message.ts";
import { bench, ScriptedProvider, scriptedTool, settlesAtOnce, transcriptFaults } from "./testing/index.ts";
import { type AgentTool, CANCELLED_TEXT } from "./tool.ts";

afterEach(() => {
  expect(transcriptFaults()).toEqual([]);
});

const add: AgentTool = scriptedTool("add", (args) => String(Number(args["a"]) + Number(args["b"])));

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
