import { describe, expect, test } from "vitest";

import { EVENT_TYPES, readEvent } from "./event.ts";
import { LoopDetector, fingerprint } from "./loop-detector.ts";
import { loadHistory, type AgentMessage, userMessage } from "./message.ts";
import { BRIEFING_PREFIX, CANCELLED_MARKER, LIMIT_STOP_PREFIX, NUDGE_PREFIX } from "./marker.ts";
import { RetrySafeFilter } from "./retry-safe.ts";
import { compileSchema } from "./schema.ts";
import { parseSkill } from "./node/skill-file.ts";
import { skillIndex } from "./skill.ts";
import { addSpend, addStats, cacheHitRate, NO_STATS, totalSpend } from "./stats.ts";
import {
  bench,
  historyFaults,
  ScriptedProvider,
  type ScriptedStep,
  scriptedModel,
  scriptedTool,
  transcriptFaults,
} from "./testing/index.ts";
import { ContextTracker, estimateTokens, historyTokens, messageTokens } from "./token.ts";
import { checkTranscript, repairTranscript } from "./transcript.ts";
import { userRequest } from "./user-request.ts";

function keysOf(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) return value.flatMap(keysOf);
  return Object.entries(value).flatMap(([key, inner]) => [key, ...keysOf(inner)]);
}

describe("events", () => {
  test("are camelCase at every depth and survive a round trip through their archive", async () => {
    const provider = new ScriptedProvider(
      { text: "x", error: { errorClass: "network", message: "x", retryAfterMs: 0 } },
      { thinking: "hm", calls: [{ name: "t" }, { name: "t" }, { name: "t" }] },
      { text: "end" },
    );
    const run = bench(provider, { tools: [scriptedTool("t", () => "ok")] });
    await run.start("x");
    expect(transcriptFaults()).toEqual([]);
    for (const event of run.events) {
      expect(keysOf(event).filter((key) => key.includes("_"))).toEqual([]);
      expect(readEvent(JSON.stringify(event))).toEqual(JSON.parse(JSON.stringify(event)));
    }
    expect([...new Set(run.types())].every((type) => (EVENT_TYPES as readonly string[]).includes(type))).toBe(true);
  });

  test("of an archive keep unknown fields and get the stats they lack; bad ones are refused by name", () => {
    expect(readEvent('{"type":"agentEnd","messages":[],"later":1}')).toEqual({
      type: "agentEnd",
      messages: [],
      later: 1,
      stats: NO_STATS,
    });
    expect(() => readEvent('{"type":"toolExecutionEnd"}')).toThrow("lacks toolCallId, toolName, result, isError");
    expect(() => readEvent('{"type":"whatever"}')).toThrow("not known");
    expect(() => readEvent("{")).toThrow("not JSON");
  });

  test("have frozen type tags", () => {
    expect(EVENT_TYPES).toMatchInlineSnapshot(`
      [
        "agentStart",
        "agentEnd",
        "agentWaiting",
        "agentResumed",
        "turnStart",
        "turnEnd",
        "messageStart",
        "messageUpdate",
        "messageEnd",
        "toolExecutionStart",
        "toolExecutionUpdate",
        "toolExecutionEnd",
        "progressMessage",
        "inputRejected",
        "loopDetected",
        "contextCompacted",
        "providerRetry",
      ]
    `);
  });
});

describe("retry-safe events", () => {
  async function filtered(...steps: readonly ScriptedStep[]): Promise<string[]> {
    const run = bench(new ScriptedProvider(...steps), { retry: { firstDelayMs: 0, maxDelayMs: 0 } });
    await run.start("x");
    transcriptFaults();
    const filter = new RetrySafeFilter();
    const events = [...run.events.flatMap((event) => filter.push(event)), ...filter.end()];
    return events.map((event) => (event.type === "messageUpdate" ? event.delta.delta : event.type));
  }
  const failing = { text: "wrong", error: { errorClass: "network", message: "x" } } as const;

  test("hold an attempt until it stands; a repeated one vanishes but for its retry", async () => {
    expect((await filtered(failing, { text: "right" })).slice(4)).toEqual([
      "providerRetry",
      "messageStart",
      "right",
      "messageEnd",
      "turnEnd",
      "agentEnd",
    ]);
  });

  test("show a final failure as start and end without its text", async () => {
    const shown = await filtered(failing, failing, failing, failing);
    expect(shown).not.toContain("wrong");
    expect(shown.slice(-4)).toEqual(["messageStart", "messageEnd", "turnEnd", "agentEnd"]);
  });

  test("show a cancelled attempt as start and end without its text", () => {
    const filter = new RetrySafeFilter();
    const message = { ...answer(), stopReason: "aborted" as const };
    const shown = [
      { type: "messageStart" as const, message },
      { type: "messageUpdate" as const, message, delta: { type: "text" as const, delta: "half" } },
      { type: "messageEnd" as const, message },
    ].flatMap((event) => filter.push(event));
    expect(shown.map((event) => event.type)).toEqual(["messageStart", "messageEnd"]);
  });

  test("drop an attempt that was never closed", () => {
    const filter = new RetrySafeFilter();
    const message = { ...answer(), content: [] };
    filter.push({ type: "messageStart", message });
    filter.push({ type: "messageUpdate", message, delta: { type: "text", delta: "x" } });
    expect(filter.end()).toEqual([]);
  });
});

function answer(...ids: string[]): Extract<AgentMessage, { role: "assistant" }> {
  return {
    role: "assistant",
    content: ids.map((id) => ({ type: "toolCall", id, name: "t", arguments: {} })),
    stopReason: "toolUse",
    model: "m",
    provider: "p",
    usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 },
    timestamp: 1,
  };
}
function result(id: string): AgentMessage {
  return { role: "toolResult", toolCallId: id, toolName: "t", content: [], isError: false, timestamp: 1 };
}
const user = (text: string): AgentMessage => userMessage(text, 1);

describe("the transcript validator", () => {
  test.each([
    ["T1", [user("x"), answer("a"), user("y")]],
    ["T1", [user("x"), answer("a", "b"), result("a")]],
    ["T2", [user("x"), result("a")]],
    ["T2", [user("x"), answer("a"), result("a"), result("a")]],
    ["T3", [user("x"), answer("a"), result("a"), answer("a"), result("a")]],
    ["T4", [answer("a"), result("a")]],
    ["T5", [user("x"), { ...answer("a"), stopReason: "aborted" as const }, result("a")]],
  ])("finds a breach of %s, and the repair removes it", (rule, history) => {
    expect(checkTranscript(history).map((fault) => fault.rule)).toContain(rule);
    expect(checkTranscript(repairTranscript(history, 1)).filter((fault) => fault.rule !== "T4")).toEqual([]);
  });

  test("leaves a sound history as it is, pending calls allowed where a run waits", () => {
    const history = [user("x"), answer("a"), result("a"), user("y")];
    expect(repairTranscript(history, 1)).toBe(history);
    expect(checkTranscript([user("x"), answer("a")], new Set(["a"]))).toEqual([]);
  });
});

test("snake_case histories of older versions load", () => {
  const old = [
    { role: "user", content: "hi", timestamp: 1 },
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "", redacted: "x", redacted_protocol: "anthropic-messages" },
        { type: "tool_call", id: "a", name: "t", arguments: { x: 1 }, provider_metadata: null },
      ],
      stop_reason: "tool_use",
      usage: { input: 1, output: 2, cache_read: 3, cache_write: 4, total_tokens: 10 },
      error_message: null,
    },
    {
      role: "tool_result",
      tool_call_id: "a",
      tool_name: "t",
      content: [{ type: "image", data: "", mime_type: "i/p" }],
      is_error: true,
    },
    { role: "extension", kind: "k", data: null },
  ];
  const history = loadHistory(JSON.stringify(old));
  expect(history[1]).toMatchObject({ stopReason: "toolUse", usage: { cacheRead: 3, cacheWrite: 4 } });
  expect(history[2]).toMatchObject({ toolCallId: "a", isError: true, content: [{ mimeType: "i/p" }] });
  expect(historyFaults(history)).toEqual([]);
  expect(() => loadHistory("{}")).toThrow("not an array");
  expect(() => loadHistory('[{"role":"robot"}]')).toThrow("robot");
});

describe("the person's request", () => {
  const prompts = ["the task"];
  test.each([
    ["the latest message of a person", [user("a"), answer(), user("b")], "b", "conversation"],
    [
      "not what the loop wrote",
      [user("a"), user(`${NUDGE_PREFIX}x`), user(CANCELLED_MARKER), user(`${LIMIT_STOP_PREFIX}x`)],
      "a",
      "conversation",
    ],
    ["the prompts when only a briefing is left", [user(`${BRIEFING_PREFIX}x`), answer()], "the task", "runPrompts"],
    ["never behind a briefing", [user("old"), user(`${BRIEFING_PREFIX}x`)], "the task", "runPrompts"],
    [
      "never behind a message of images",
      [user("old"), { ...user("x"), content: [{ type: "image", data: "", mimeType: "i" }] } as AgentMessage],
      "the task",
      "runPrompts",
    ],
  ])("is %s", (_what, history, latest, source) => {
    expect(userRequest(history, prompts)).toMatchObject({ latest, source });
  });

  test("of a short reply brings the question it answers, unless that question is code or the reply is long", () => {
    const asked = (text: string): AgentMessage => ({ ...answer(), content: [{ type: "text", text }] });
    expect(userRequest([user("delete it"), asked("All of it?"), user("yes")], prompts).reply).toEqual({
      question: "All of it?",
      earlierRequest: "delete it",
    });
    expect(userRequest([user("a"), asked("run `x?`"), user("yes")], prompts).reply).toBeUndefined();
    expect(userRequest([user("a"), asked("Why?"), user("because ".repeat(9))], prompts).reply).toBeUndefined();
  });
});

describe("loop detection", () => {
  const call = (n: number): { name: string; arguments: { n: number } } => ({ name: "t", arguments: { n } });
  const kinds = (detector: LoopDetector, batches: number[][]): string[] =>
    batches.map((batch) => detector.observe(batch.map(call)).kind);

  test.each([
    ["the third call in a row trips, the next one stops", [[1], [1], [1], [1]], ["fine", "fine", "nudge", "stop"]],
    ["a batch counts, and is nudged before it is stopped", [[1, 1, 1, 1], [1]], ["nudge", "stop"]],
    ["another call resets", [[1], [1], [2], [1], [1]], ["fine", "fine", "fine", "fine", "fine"]],
    ["two calls in turn are no loop", [[1], [2], [1], [2], [1], [2]], Array.from({ length: 6 }, () => "fine")],
    [
      "a nudged call that comes back later needs a full repetition",
      [[1, 1, 1], [2], [1], [1], [1]],
      ["nudge", "fine", "fine", "fine", "stop"],
    ],
  ])("%s", (_what, batches, expected) => {
    expect(kinds(new LoopDetector(3), batches)).toEqual(expected);
  });

  test("key order disguises nothing, zero switches it off, and the memory survives saving", () => {
    const detector = new LoopDetector(2);
    detector.observe([{ name: "t", arguments: { a: 1, b: 2 } }]);
    const other = new LoopDetector(2, JSON.parse(JSON.stringify(detector.state())));
    expect(other.observe([{ name: "t", arguments: { b: 2, a: 1 } }]).kind).toBe("nudge");
    expect(kinds(new LoopDetector(0), [[1], [1], [1], [1]])).toEqual(["fine", "fine", "fine", "fine"]);
  });

  test("fingerprints are FNV-1a of 64 bits", () => {
    expect(["", "a", "foobar"].map(fingerprint)).toEqual(["cbf29ce484222325", "af63dc4c8601ec8c", "85944171f73967e8"]);
  });
});

describe("figures", () => {
  const usage = { input: 10, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 };

  test("unknown prices make a sum unknown and stay; nothing used is nothing spent", () => {
    const priced = { usage, costUsd: 1 };
    const unknown = { usage, costUsd: null };
    expect(addSpend(priced, NO_STATS).costUsd).toBe(1);
    expect(addSpend(addSpend(priced, unknown), priced).costUsd).toBeNull();
    expect(
      totalSpend(addStats({ ...NO_STATS, ...priced }, { ...NO_STATS, subAgents: { ...unknown, runs: 1 } })).costUsd,
    ).toBeNull();
    expect(totalSpend(NO_STATS).costUsd).toBeNull();
    expect(cacheHitRate(NO_STATS.usage)).toBe(0);
    expect(cacheHitRate({ ...usage, cacheRead: 30 })).toBe(0.75);
  });

  test("of a run price each answer at its tier and stay null without rates", async () => {
    const cost = {
      input: 1,
      output: 0,
      cacheRead: 0,
      cacheWrite: 0,
      tiers: [{ above: 100, rates: { input: 2, output: 0, cacheRead: 0, cacheWrite: 0 } }],
    };
    const step = (input: number): object => ({ text: ".", usage: { input, totalTokens: 999 } });
    const at = async (input: number, model = scriptedModel({ cost })): Promise<number | null> =>
      (await bench(new ScriptedProvider(step(input)), { model }).start("x")).stats.costUsd;
    expect([await at(100), await at(101), await at(5, scriptedModel())]).toEqual([100 / 1e6, 202 / 1e6, null]);
    const { stats } = await bench(new ScriptedProvider(step(1))).start("x");
    expect(stats.usage.totalTokens).toBe(0);
    expect(transcriptFaults()).toEqual([]);
  });

  test("of tokens use real usage where there is some, and estimates after it", () => {
    const history = [user("x".repeat(400)), answer(), user("y".repeat(400))];
    const tracker = new ContextTracker();
    expect(tracker.used(history)).toBe(historyTokens(history));
    tracker.record({ ...usage, input: 5000, cacheRead: 1000 }, 2);
    expect(tracker.used(history)).toBe(6000 + messageTokens(history[2]!));
    tracker.record({ ...usage, input: 0 }, 3);
    expect(tracker.used(history)).toBe(6000 + messageTokens(history[2]!));
    expect(tracker.overhead(history)).toBeGreaterThan(5000);
    tracker.reset();
    expect(tracker.overhead(history)).toBe(0);
    expect(estimateTokens("abcd")).toBe(1);
    expect(estimateTokens("你好世界")).toBeLessThan(4);
  });
});

describe("schemas", () => {
  test.each([
    [{ type: "thing" }],
    [{ properties: [] }],
    [{ properties: { a: 1 } }],
    [{ required: "a" }],
    [{ anyOf: {} }],
    [{ $ref: "#/nowhere" }],
    [{ pattern: "(", type: "string" }],
  ])("%j is not taken silently", (schema) => {
    const check = (): readonly string[] => compileSchema(schema as never, "t").check("pattern" in schema ? "x" : {});
    let faults: readonly string[] = [];
    try {
      faults = check();
    } catch (error) {
      faults = [String(error)];
    }
    expect(faults).not.toEqual([]);
  });

  test("faults name the place, few of them, and nothing is coerced", () => {
    const schema = {
      type: "object",
      properties: { a: { type: "array", items: { type: "number" } } },
      required: ["b"],
    } as const;
    const faults = compileSchema(schema, "t").check({ a: Array.from({ length: 99 }, () => "1") });
    expect(faults.length).toBeLessThanOrEqual(8);
    expect(faults.join()).toContain("/a/0");
  });
});

describe("skills", () => {
  test("are read from real YAML; the folder's name wins; what is missing is named", () => {
    const skill = parseSkill(
      "---\r\nname: other\r\ndescription: >\r\n  two\r\n  lines\r\nlicense: MIT\r\n---\r\nbody",
      "mine",
      "/p",
    );
    expect(skill).toMatchObject({ name: "mine", description: "two lines", metadata: { license: "MIT" } });
    expect(parseSkill("---\nname: \"a\"\ndescription: 'b'\n---\n", "a", "/p").description).toBe("b");
    for (const [text, what] of [
      ["no", "frontmatter"],
      ["---\nname: a\n---\n", '"description"'],
      ["---\ndescription: a\n---\n", '"name"'],
      ["---\n: : :\n  - [\n---\n", "not YAML"],
    ] as const) {
      expect(() => parseSkill(text, "a", "/p/SKILL.md")).toThrow(what);
    }
    expect(skillIndex([])).toBe("");
  });
});
