import { systemClock, until } from "@mesh/kernel";
import { ProviderRegistry } from "@mesh/llm";
import { afterEach, describe, expect, test } from "vitest";

import { Agent, type AgentOptions } from "./agent.ts";
import { DENIED_PREFIX } from "./middleware.ts";
import { loadHistory, messageText } from "./message.ts";
import { MemoryBackend, SharedState } from "./shared-state.ts";
import { StructuredOutputError } from "./structured.ts";
import { historyFaults, ScriptedProvider, scriptedModel, scriptedTool } from "./testing/index.ts";

const agents: [Agent, ScriptedProvider][] = [];

function agentOf(provider: ScriptedProvider, change: Partial<AgentOptions> = {}): Agent {
  const agent = new Agent({ model: scriptedModel(), provider, clock: systemClock, ...change });
  agents.push([agent, provider]);
  return agent;
}

afterEach(() => {
  for (const [agent, provider] of agents.splice(0)) {
    if (agent.waiting.length === 0) expect(historyFaults(agent.messages)).toEqual([]);
    expect(provider.faults).toEqual([]);
  }
});

describe("runs", () => {
  test("a prompt gives its events at once and its result at the end", async () => {
    const agent = agentOf(new ScriptedProvider({ text: ["a", "b"] }));
    const handle = agent.prompt("hi");
    expect(agent.isRunning).toBe(true);
    const types: string[] = [];
    for await (const event of handle) types.push(event.type);
    expect(types.at(0)).toBe("agentStart");
    expect(types.at(-1)).toBe("agentEnd");
    expect((await handle.result).end.kind).toBe("completed");
    expect(agent.messages).toHaveLength(2);
  });

  test("a second prompt while one runs is refused with what to do instead", async () => {
    const agent = agentOf(new ScriptedProvider({ text: "a" }));
    const first = agent.prompt("hi");
    expect(() => agent.prompt("again")).toThrow("steer()");
    await first.result;
  });

  test("leaving the events early cancels the run, and the next prompt works", async () => {
    const agent = agentOf(new ScriptedProvider({ text: ["a"], until: new Promise(() => undefined) }, { text: "b" }));
    for await (const event of agent.prompt("hi")) if (event.type === "messageUpdate") break;
    const left = await agent.finish();
    expect(left?.end.kind ?? "cancelled").toBe("cancelled");
    await agent.prompt("again").result;
    expect(messageText(agent.messages.at(-1)!)).toBe("b");
  });

  test("close cancels, tells the tool, and still tells the end", async () => {
    let isTold = false;
    const tool = scriptedTool("t", async (_args, signal) => {
      await systemClock.sleep(60_000, signal);
      isTold = signal.aborted;
      return "";
    });
    const types: string[] = [];
    {
      await using agent = agentOf(new ScriptedProvider({ calls: [{ name: "t" }] }), { tools: [tool] });
      void agent.promptInto("hi", (event) => void types.push(event.type));
      await until(() => types.includes("toolExecutionStart"), { everyMs: 1 });
    }
    expect(types.at(-1)).toBe("agentEnd");
    expect(isTold).toBe(true);
  });

  test("deltas that nobody reads are joined, so what waits does not grow with their number", async () => {
    const agent = agentOf(new ScriptedProvider({ text: Array.from({ length: 10_000 }, () => "x") }));
    const handle = agent.prompt("hi");
    await handle.result;
    const events = [];
    for await (const event of handle) events.push(event);
    expect(events.length).toBeLessThan(20);
    expect(
      events.flatMap((event) => (event.type === "messageUpdate" ? [event.delta.delta] : [])).join(""),
    ).toHaveLength(10_000);
  });

  test("reset forgets history, queues and figures", async () => {
    const agent = agentOf(new ScriptedProvider({ text: "a", usage: { input: 5 } }));
    await agent.prompt("hi").result;
    agent.followUp("later");
    await agent.reset();
    expect([agent.messages.length, agent.followUps.length, agent.stats.turns]).toEqual([0, 0, 0]);
  });
});

describe("queues", () => {
  test("steering is read before the next request, follow-ups when the run would end, one at a time", async () => {
    const provider = new ScriptedProvider({ calls: [{ name: "t" }] }, { text: "1" }, { text: "2" }, { text: "3" });
    const agent: Agent = agentOf(provider, {
      tools: [scriptedTool("t", () => (agent.steer("turn left"), "ok"))],
    });
    agent.followUpAll(["and then?", "and after that?"]);
    await agent.prompt("go").result;
    const said = agent.messages.filter((message) => message.role === "user").map(messageText);
    expect(said).toEqual(["go", "turn left", "and then?", "and after that?"]);
    expect(provider.requests.map((request) => messageText(request.messages.at(-1)!))).toEqual([
      "go",
      "turn left",
      "and then?",
      "and after that?",
    ]);
  });

  test("what was left over is delivered when the next run starts; taking and putting back keeps the order", async () => {
    const agent = agentOf(new ScriptedProvider({ text: "1" }), { steeringMode: "all" });
    agent.steerAll(["a", "b"]);
    const taken = agent.steering.take();
    agent.steer("c");
    agent.steering.putBack(taken);
    expect(agent.steering.snapshot().map(messageText)).toEqual(["a", "b", "c"]);
    await agent.prompt("go").result;
    expect(agent.messages.slice(1, 4).map(messageText)).toEqual(["a", "b", "c"]);
  });

  test("a message taken from its queue by a run that then fails is not lost", async () => {
    const agent: Agent = agentOf(new ScriptedProvider({ calls: [{ name: "t" }, { name: "t" }] }), {
      toolStrategy: "sequential",
      tools: [scriptedTool("t", () => (agent.steer("wait"), "ok"))],
      afterTurn: () => {
        throw new Error("boom");
      },
    });
    agent.followUp("later");
    expect((await agent.prompt("go").result).end.kind).toBe("failed");
    expect(agent.steering.snapshot().map(messageText)).toEqual(["wait"]);
    expect(agent.followUps.length).toBe(1);
  });

  test("queued messages pass the filters where the agent asks for it", async () => {
    const agent = agentOf(new ScriptedProvider({ text: "1" }), {
      filterQueued: true,
      inputFilters: [(text) => (text.includes("bad") ? { kind: "reject", reason: "no" } : { kind: "pass" })],
    });
    agent.followUp("bad idea");
    await agent.prompt("go").result;
    expect(agent.messages).toHaveLength(2);
  });
});

describe("input filters", () => {
  test("a rejection stores nothing, asks nothing, and is told by three events", async () => {
    const provider = new ScriptedProvider();
    const agent = agentOf(provider, {
      inputFilters: [() => ({ kind: "warn", text: "w" }), () => ({ kind: "reject", reason: "no" })],
    });
    const events: unknown[] = [];
    await agent.promptInto("go", (event) => void events.push(event));
    expect(events).toMatchObject([
      { type: "agentStart" },
      { type: "inputRejected", reason: "no" },
      { type: "agentEnd", messages: [] },
    ]);
    expect(agent.messages).toEqual([]);
    expect(provider.requests).toEqual([]);
  });

  test("warnings are one more text of the last prompt; a filter that throws rejects", async () => {
    const agent = agentOf(new ScriptedProvider({ text: "." }), {
      inputFilters: [() => ({ kind: "warn", text: "one" }), () => ({ kind: "warn", text: "two" })],
    });
    await agent.prompt("go").result;
    expect(agent.messages[0]).toMatchObject({ content: [{ text: "go" }, { text: "one\ntwo" }] });
    const broken = agentOf(new ScriptedProvider(), { inputFilters: [() => Promise.reject(new Error("x"))] });
    expect((await broken.prompt("go").result).end).toMatchObject({ kind: "rejected" });
  });
});

describe("construction", () => {
  test("provider and key follow from the model; an explicit key stays when the model changes", () => {
    const registry = new ProviderRegistry([new ScriptedProvider()]);
    const model = scriptedModel({ api: "anthropic-messages", provider: "anthropic" });
    expect(() => Agent.fromModel(model, { registry, clock: systemClock })).toThrow("anthropic-messages");
    const agent = Agent.fromModel(scriptedModel(), { registry, clock: systemClock, apiKey: "k" });
    agent.setModel(scriptedModel({ id: "other" }));
    expect(agent.model.id).toBe("other");
    expect(() => agent.setModel(model)).toThrow("no provider");
    expect(agent.model.id).toBe("other");
  });

  test("a missing key is said once", () => {
    const lines: string[] = [];
    const registry = new ProviderRegistry().register(new ScriptedProvider(), "openai-completions");
    const model = scriptedModel({ api: "openai-completions", provider: "openai" });
    const log = (_level: unknown, message: string): void => void lines.push(message);
    Agent.fromModel(model, { registry, clock: systemClock, env: {}, log });
    Agent.fromModel(model, { registry, clock: systemClock, env: { OPENAI_API_KEY: "k" }, log });
    expect(lines).toEqual(["no key for the provider"]);
  });
});

describe("persistence", () => {
  test("a history survives a round trip byte for byte", async () => {
    const agent = agentOf(new ScriptedProvider({ thinking: "hm", text: "a", calls: [{ name: "t" }] }, { text: "." }), {
      tools: [scriptedTool("t", () => "x")],
    });
    await agent.prompt("hi").result;
    const saved = agent.save();
    const other = agentOf(new ScriptedProvider({ text: "." }));
    other.restore(saved);
    expect(other.save()).toBe(saved);
    expect(loadHistory(saved)).toEqual(agent.messages);
  });

  test("a waiting run moves to another agent with its queues", async () => {
    const tools = [scriptedTool("guarded", () => "done", { needsApproval: true })];
    const first = agentOf(new ScriptedProvider({ calls: [{ name: "guarded" }] }), { tools });
    first.followUp("what next?");
    await first.prompt("go").result;
    expect(first.waiting).toHaveLength(1);
    expect(() => first.prompt("hello?")).toThrow("resume()");
    const second = agentOf(new ScriptedProvider({ text: "ok" }, { text: "nothing" }), { tools });
    second.loadRun(first.saveRun());
    await second.resume({ call_1: { kind: "approve" } }).result;
    expect(second.messages.map(messageText)).toEqual(["go", "", "done", "ok", "what next?", "nothing"]);
    await first.cancelWaiting();
    expect(first.waiting).toEqual([]);
    expect(historyFaults(first.messages)).toEqual([]);
  });
});

describe("structured answers", () => {
  const shape = {
    name: "point",
    schema: { type: "object", properties: { x: { type: "number" } }, required: ["x"], additionalProperties: false },
  };

  test("are parsed, also out of a fence, and the schema belongs to that call only", async () => {
    const provider = new ScriptedProvider({ text: '```json\n{"x":1}\n```' }, { text: "hi" });
    const agent = agentOf(provider);
    expect(await agent.promptStructured("where?", shape)).toEqual({ x: 1 });
    await agent.prompt("hello").result;
    expect(provider.requests.map((request) => request.responseFormat?.name)).toEqual(["point", undefined]);
  });

  test.each([
    [{ text: "no json" }, "parse"],
    [{ text: '{"x":"1"}' }, "parse"],
    [{ error: { errorClass: "auth", message: "bad key" } }, "provider"],
    [{ text: '{"x":1}', stopReason: "refusal", errorMessage: "policy" }, "provider"],
    [{ thinking: "hm" }, "noOutput"],
  ] as const)("%j fails as %s, and an older answer is never taken", async (step, reason) => {
    const agent = agentOf(new ScriptedProvider({ text: '{"x":7}' }, step));
    await agent.prompt("first").result;
    const failure = await agent.promptStructured("where?", shape).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(StructuredOutputError);
    expect(failure).toMatchObject({ reason });
  });

  test("a wrong answer may be repaired by asking again", async () => {
    const provider = new ScriptedProvider({ text: "{}" }, { text: '{"x":2}' });
    expect(await agentOf(provider).promptStructured("where?", { ...shape, repairTurns: 1 })).toEqual({ x: 2 });
    expect(messageText(provider.requests[1]!.messages.at(-1)!)).toContain("could not be used");
  });
});

test("a cut result is kept whole in the shared state, under the key that its marker names", async () => {
  const state = new SharedState(new MemoryBackend());
  const text = Array.from({ length: 500 }, (_, index) => `line ${index}`).join("\n");
  const agent = agentOf(new ScriptedProvider({ calls: [{ name: "t" }] }, { text: "." }), {
    tools: [scriptedTool("t", () => text)],
    sharedState: state,
  });
  await agent.prompt("go").result;
  const key = /under "([^"]+)"/.exec(messageText(agent.messages[2]!))?.[1];
  expect(key).toMatch(/^tool-out-call_1-[0-9a-f]{16}-b0$/);
  expect(await state.get(key!)).toBe(text);
});

test("an agent whose tool is denied goes on", async () => {
  const agent = agentOf(new ScriptedProvider({ calls: [{ name: "t" }] }, { text: "." }), {
    tools: [scriptedTool("t", () => "ran")],
    middleware: [{ beforeTool: () => ({ kind: "deny", reason: "no" }) }],
  });
  expect((await agent.prompt("go").result).end.kind).toBe("completed");
  expect(messageText(agent.messages[2]!)).toBe(`${DENIED_PREFIX}no`);
});
