import { systemClock } from "@mesh/kernel";
import fc from "fast-check";
import { expect, test } from "vitest";

import type { AgentEvent } from "./event.ts";
import { sharedHooks } from "./extension.ts";
import type { LoopConfig } from "./loop-config.ts";
import { messageText, userMessage } from "./message.ts";
import { resumeRun, type RunIo, type RunResult, startRun } from "./run.ts";
import { type RunState, readRunState } from "./run-state.ts";
import { SharedState } from "./shared-state.ts";
import {
  historyFaults,
  ScriptedProvider,
  type ScriptedStep,
  scriptedModel,
  scriptedTool,
  settlesAtOnce,
} from "./testing/index.ts";
import { transcript } from "./testing/transcript-arbitrary.ts";

const call = fc.record({
  name: fc.constantFrom("quick", "slow", "broken", "missing", "guarded"),
  arguments: fc.record({ n: fc.integer({ min: 0, max: 3 }) }),
});
const step: fc.Arbitrary<ScriptedStep> = fc.record(
  {
    text: fc.array(fc.string({ maxLength: 8 }), { minLength: 1, maxLength: 3 }),
    calls: fc.array(call, { maxLength: 4 }),
    stopReason: fc.constantFrom("stop", "length", "refusal"),
    error: fc.constantFrom(
      { errorClass: "network", message: "reset", retryAfterMs: 0 } as const,
      { errorClass: "overflow", message: "prompt is too long" } as const,
      { errorClass: "auth", message: "bad key" } as const,
    ),
  },
  { requiredKeys: ["text"] },
);
const strategy = fc.constantFrom("parallel" as const, "sequential" as const, { batch: 2 } as const);

/** Aborts at the n-th thing that happens: an event, a checkpoint, or a turn of a tool. */
class Fuse {
  readonly stop = new AbortController();
  #left: number;

  constructor(after: number) {
    this.#left = after;
  }

  readonly tick = (): void => {
    this.#left -= 1;
    if (this.#left === 0) this.stop.abort();
  };
}

function toolsWith(tick: () => void): ReturnType<typeof scriptedTool>[] {
  const slow = async (): Promise<string> => {
    for (let i = 0; i < 3; i += 1) {
      await Promise.resolve();
      tick();
    }
    return "slow";
  };
  return [
    scriptedTool("quick", (args) => JSON.stringify(args)),
    scriptedTool("slow", slow),
    scriptedTool("broken", () => Promise.reject(new Error("broken"))),
    scriptedTool("guarded", () => "guarded", { needsApproval: true }),
  ];
}

/** Starts match ends, over all segments of a run. */
function unbalanced(events: readonly AgentEvent[]): string[] {
  const count = (type: string): number => events.filter((event) => event.type === type).length;
  return ["turn", "message", "toolExecution"].filter((what) => count(`${what}Start`) !== count(`${what}End`));
}

interface Scenario {
  readonly steps: readonly ScriptedStep[];
  readonly tools: ReturnType<typeof toolsWith>;
  readonly io: RunIo;
  readonly tick: () => void;
  readonly strategy: "parallel" | "sequential" | { readonly batch: number };
  readonly onState?: (state: RunState) => void;
}

function configOf(scenario: Scenario, provider: ScriptedProvider): LoopConfig {
  return {
    model: scriptedModel(),
    provider,
    clock: systemClock,
    tools: scenario.tools,
    toolStrategy: scenario.strategy,
    retry: { maxRetries: 2, firstDelayMs: 0, maxDelayMs: 0 },
    onCheckpoint: (checkpoint) => {
      scenario.tick();
      scenario.onState?.(readRunState(JSON.stringify(checkpoint.state())));
    },
  };
}

async function runAll(scenario: Scenario): Promise<RunResult> {
  const provider = new ScriptedProvider(...scenario.steps, { text: "end" }, { text: "end" }, { text: "end" });
  const config = configOf(scenario, provider);
  let result = await startRun([userMessage("go", 1)], config, scenario.io);
  while (result.end.kind === "waiting") {
    const answers = Object.fromEntries(
      result.waiting.map((waiting, index) => [
        waiting.toolCallId,
        index % 2 === 0 ? ({ kind: "approve" } as const) : ({ kind: "deny" } as const),
      ]),
    );
    result = await resumeRun(readRunState(JSON.stringify(result.state)), answers, config, scenario.io);
  }
  expect(provider.faults).toEqual([]);
  return result;
}

test("whenever a run is cancelled, its history is sound, its events are balanced, and the next run works", async () => {
  await fc.assert(
    fc.asyncProperty(
      transcript,
      fc.array(step, { maxLength: 4 }),
      strategy,
      fc.integer({ min: 1, max: 60 }),
      async (before, steps, strategy, after) => {
        const fuse = new Fuse(after);
        const events: AgentEvent[] = [];
        const history = [...before];
        const sink = (event: AgentEvent): void => {
          events.push(event);
          fuse.tick();
        };
        const tools = toolsWith(fuse.tick);
        const io = { history, sink, signal: fuse.stop.signal };
        await runAll({ steps, tools, io, tick: fuse.tick, strategy });
        expect(historyFaults(history)).toEqual([]);
        expect(unbalanced(events)).toEqual([]);
        expect(events.at(-1)?.type).toBe("agentEnd");
        const provider = new ScriptedProvider({ text: "still here" });
        const config = { model: scriptedModel(), provider, clock: systemClock };
        await startRun([userMessage("again", 1)], config, { history, sink, signal: new AbortController().signal });
        expect(provider.faults).toEqual([]);
        expect(messageText(history.at(-1)!)).toBe("still here");
      },
    ),
    { numRuns: 300 },
  );
});

test("a run continued from any of its saved states ends with a sound history and runs no finished call twice", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 4 }),
      strategy,
      fc.nat(),
      async (steps, strategy, pick) => {
        const states: RunState[] = [];
        const signal = new AbortController().signal;
        const io = { history: [], sink: () => undefined, signal };
        const quiet = (): void => undefined;
        const tools = toolsWith(quiet);
        await runAll({ steps, tools, io, tick: quiet, strategy, onState: (state) => void states.push(state) });
        const state = states.filter((each) => each.status !== "ended")[pick % Math.max(1, states.length)];
        if (state === undefined) return;
        const finished = new Set(
          state.pending.flatMap((each) =>
            each.status === "settled" || each.status === "recorded" ? [each.call.id] : [],
          ),
        );
        const started: string[] = [];
        const history: RunIo["history"] = [];
        const provider = new ScriptedProvider({ text: "end" });
        const sink = (event: AgentEvent): void => {
          if (event.type === "toolExecutionStart") started.push(event.toolCallId);
        };
        const config = configOf({ steps, tools, io, tick: quiet, strategy }, provider);
        let result = await resumeRun(state, {}, config, { history, sink, signal });
        if (result.end.kind === "waiting") {
          const stop = new AbortController();
          stop.abort();
          result = await resumeRun(result.state, {}, config, { history, sink, signal: stop.signal });
        }
        expect(historyFaults(history)).toEqual([]);
        expect(provider.faults).toEqual([]);
        expect(started.filter((id) => finished.has(id))).toEqual([]);
        expect(result.waiting).toEqual([]);
      },
    ),
    { numRuns: 200 },
  );
});

test("over 200 turns the bytes of the request's prefix change only where a compaction says so", async () => {
  let previous = "";
  let rewrites = 0;
  let turns = 0;
  const long = scriptedTool("read", (args) => `${String(args["n"])}\n`.repeat(150));
  const provider = new ScriptedProvider((request) => {
    const prefix = JSON.stringify([request.systemPrompt, request.tools, ...request.messages]).slice(0, -1);
    if (!prefix.startsWith(previous)) rewrites += 1;
    previous = prefix;
    turns += 1;
    return turns > 200 ? { text: "done" } : { calls: [{ name: "read", arguments: { n: turns } }] };
  });
  const events: AgentEvent[] = [];
  const history: RunIo["history"] = [];
  await startRun(
    [userMessage("go", 1)],
    {
      model: scriptedModel({ contextWindow: 20_000 }),
      provider,
      clock: systemClock,
      systemPrompt: "be good",
      tools: [long],
      limits: null,
    },
    { history, sink: (event) => void events.push(event), signal: new AbortController().signal },
  );
  const compactions = events.filter((event) => event.type === "contextCompacted").length;
  expect(turns).toBe(201);
  expect(rewrites).toBe(compactions);
  expect(compactions).toBeGreaterThan(0);
  expect(compactions).toBeLessThan(20);
  expect(provider.faults).toEqual([]);
});

test("aborted at every single await of a rich run, the history is sound, the events balance, and it settles at once", async () => {
  const steps: ScriptedStep[] = [
    { text: ["a"], error: { errorClass: "network", message: "reset", retryAfterMs: 0 } },
    { text: ["b"], calls: [{ name: "slow" }, { name: "quick" }, { name: "broken" }, { name: "missing" }] },
    { text: ["c"] },
  ];
  let isOver = false;
  let ticks = 0;
  for (; !isOver; ticks += 1) {
    const stop = new AbortController();
    const events: AgentEvent[] = [];
    const history: RunIo["history"] = [];
    const followUps = [userMessage("and?", 1)];
    const running = startRun(
      [userMessage("go", 1)],
      {
        model: scriptedModel(),
        provider: new ScriptedProvider(...steps, { text: ["d"] }),
        // No timer in this run: every step of it is a microtask.
        clock: { ...systemClock, sleep: () => Promise.resolve() },
        tools: toolsWith(() => undefined),
        inputFilters: [() => Promise.resolve({ kind: "pass" })],
        middleware: [{ beforeTool: () => Promise.resolve({ kind: "allow" }) }],
        extensions: [
          sharedHooks("all", { beforeModel: async () => ({ kind: "pass" }), onStop: async () => ({ kind: "accept" }) }),
        ],
        outputStash: new SharedState(),
        onCheckpoint: () => Promise.resolve(),
        pollFollowUps: () => followUps.splice(0, 1),
      },
      { history, sink: (event) => void events.push(event), signal: stop.signal },
    );
    for (let tick = 0; tick < ticks; tick += 1) await Promise.resolve();
    isOver = events.at(-1)?.type === "agentEnd";
    expect(await settlesAtOnce(stop, running)).toBe(true);
    expect(historyFaults(history)).toEqual([]);
    expect(unbalanced(events)).toEqual([]);
    expect(events.at(-1)?.type).toBe("agentEnd");
  }
  expect(ticks).toBeGreaterThan(100);
});
