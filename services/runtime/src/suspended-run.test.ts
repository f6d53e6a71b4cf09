/** Runs that wait for a person, in two processes: what crosses is text. */

import { type AgentTool, textOutput } from "@mesh/agent";
import { ScriptedProvider, type ScriptedStep, transcriptFaults } from "@mesh/agent/testing";
import { loadApp } from "@mesh/assistants";
import { type Json, type JsonObject, MeshError } from "@mesh/kernel";
import { FakeClock } from "@mesh/kernel/testing";
import { createProviders } from "@mesh/llm";
import { afterEach, describe, expect, test } from "vitest";

import type { OutputMessage, RunOutcome, SuspendedRun } from "./message.ts";
import type { ItemAnswer } from "./pending.ts";
import { runAssistant } from "./run-assistant.ts";
import type { RunInput } from "./run-input.ts";
import type { ScriptPort } from "./script-port.ts";

const START = 1_700_000_000_000;

const FILES: Readonly<Record<string, string>> = {
  "assistants/handy/package.yao":
    '{"name": "Handy", "options": {"tools": ["act", "read", "ask_user"], "approve": ["act"]}}',
  "assistants/handy/prompts.yml": "- role: system\n  content: x\n",
};
const { app } = loadApp(new Map(Object.entries(FILES).map(([path, text]) => [path, new TextEncoder().encode(text)])));

afterEach(() => {
  expect(transcriptFaults()).toEqual([]);
});

interface Segment {
  readonly result: RunOutcome | SuspendedRun;
  readonly messages: OutputMessage[];
  readonly ran: JsonObject[];
  readonly provider: ScriptedProvider;
}

interface Place {
  readonly tools?: readonly AgentTool[];
  readonly signal?: AbortSignal;
  readonly scripts?: ScriptPort;
  /** Gets what is said, also when the run fails. */
  readonly messages?: OutputMessage[];
}

/** One process: nothing of it is left but what it returned. */
async function segment(
  steps: readonly ScriptedStep[],
  more: Partial<RunInput> = {},
  place: Place = {},
): Promise<Segment> {
  const provider = new ScriptedProvider(...steps);
  const clock = new FakeClock(START);
  const providers = createProviders({ clock, env: {} });
  providers.register(provider);
  const ran: JsonObject[] = [];
  const tool = (name: string): AgentTool => ({
    name,
    description: name,
    parameters: { type: "object", properties: { n: { type: "number" } } },
    execute: async (args) => {
      ran.push(args);
      return textOutput(`${name} did ${JSON.stringify(args)}`);
    },
  });
  const { tools = [tool("act"), tool("read")], signal = new AbortController().signal, messages = [] } = place;
  const input: RunInput = {
    app,
    assistantId: "handy",
    input: "go",
    options: {},
    metadata: {},
    context: { runId: "run_1", workspaceId: "ws_1", userId: "user_1", timezone: "UTC" },
    connectors: new Map(),
    env: () => undefined,
    ...more,
  };
  const ports = {
    clock,
    providers,
    tools: async () => tools,
    ...(place.scripts === undefined ? {} : { scripts: place.scripts }),
  };
  const result = await runAssistant(input, ports, (message) => void messages.push(message), signal);
  return { result, messages, ran, provider };
}

function suspended({ result }: Segment): SuspendedRun {
  if (!("pending" in result)) throw new Error("the run has ended");
  return result;
}

function resumed(
  first: Segment,
  answers: readonly ItemAnswer[],
  steps: readonly ScriptedStep[] = [{ text: "done" }],
): Promise<Segment> {
  return segment(steps, { resume: { state: suspended(first).state, answers } });
}

/** The stream as one line each. */
function lines(messages: readonly OutputMessage[]): string[] {
  return messages.map(({ type, props, message_id, chunk_id, delta }) => {
    const { event, status = "whole" } = props as { readonly event?: string; readonly status?: string };
    const data = (props["data"] ?? {}) as { readonly message_id?: string; readonly status?: string };
    if (type === "event") return [event, data.message_id ?? "", data.status ?? ""].join(" ").trim();
    return [type, message_id, delta === true ? chunk_id : status].join(" ");
  });
}

const ACT: ScriptedStep = {
  text: "I act.",
  calls: [{ name: "act", arguments: { n: 1 } }],
  usage: { input: 10, output: 5 },
};

describe("an approved call", () => {
  test("splits the run into two segments of one stream: one start, one end, ids that count on", async () => {
    const first = await segment([ACT]);
    expect(suspended(first).pending).toEqual([
      { id: "call_1", kind: "approval", tool: "act", arguments: { n: 1 }, text: "act needs your approval" },
    ]);
    expect(first.ran).toEqual([]);
    const second = await resumed(first, [{ call_id: "call_1", decision: "approve" }]);
    expect(second.ran).toEqual([{ n: 1 }]);
    expect(lines(first.messages)).toEqual([
      "stream_start",
      "message_start M1",
      "text M1 C1",
      "message_end M1 completed",
      "message_start M2",
      "tool_call M2 C2",
      "message_end M2 completed",
    ]);
    expect(lines(second.messages)).toEqual([
      "execute M3 running",
      "execute M3 completed",
      "message_start M4",
      "text M4 C3",
      "message_end M4 completed",
      "stream_end  completed",
    ]);
  });

  test("is billed once, and the usage of the end is that of the whole run", async () => {
    const first = await segment([ACT]);
    const second = await resumed(
      first,
      [{ call_id: "call_1", decision: "approve" }],
      [{ text: "done", usage: { input: 20, output: 7 } }],
    );
    expect([first.provider.requests.length, second.provider.requests.length]).toEqual([1, 1]);
    const usage = { prompt_tokens: 30, completion_tokens: 12, total_tokens: 42 };
    expect(second.result).toMatchObject({ output: "done", finish_reason: "stop", usage });
    expect(second.messages.at(-1)?.props["data"]).toMatchObject({ usage });
  });

  test("may wait more than once", async () => {
    const first = await segment([ACT]);
    const approve = [{ call_id: "call_1", decision: "approve" }];
    const second = await resumed(first, approve, [{ calls: [{ id: "call_2", name: "act", arguments: { n: 2 } }] }]);
    expect(suspended(second).pending).toMatchObject([{ id: "call_2", arguments: { n: 2 } }]);
    const third = await resumed(second, [{ call_id: "call_2", decision: "deny", text: "enough" }]);
    expect([first.ran, second.ran, third.ran]).toEqual([[], [{ n: 1 }], []]);
    const ids = [first, second, third].flatMap(({ messages }) => messages.map(({ message_id }) => message_id));
    const begun = [...new Set(ids.filter((id) => id !== undefined))];
    expect(begun).toEqual(begun.map((_, i) => `M${i + 1}`));
    expect(third.messages.filter(({ props }) => props["event"] === "stream_end")).toHaveLength(1);
  });
});

test("calls beside it that need no approval run at once, and never again", async () => {
  const first = await segment([
    {
      calls: [
        { name: "act", arguments: { n: 1 } },
        { name: "read", arguments: { n: 2 } },
      ],
    },
  ]);
  expect(first.ran).toEqual([{ n: 2 }]);
  const second = await resumed(first, [{ call_id: "call_1", decision: "edit", arguments: { n: 3 } }]);
  expect(second.ran).toEqual([{ n: 3 }]);
});

test("a question comes with its choices, and its answer is the result the model reads", async () => {
  const question = { question: "Which one?", choices: ["red", "blue"] };
  const first = await segment([{ calls: [{ name: "ask_user", arguments: question }] }]);
  expect(suspended(first).pending).toEqual([
    {
      id: "call_1",
      kind: "question",
      tool: "ask_user",
      arguments: question,
      text: "Which one?",
      choices: ["red", "blue"],
    },
  ]);
  const second = await resumed(first, [{ call_id: "call_1", decision: "answer", text: "green" }]);
  expect(second.provider.requests[0]?.messages.at(-1)).toMatchObject({
    role: "toolResult",
    content: [{ type: "text", text: "green" }],
    isError: false,
  });
});

describe("approvals", () => {
  const call = (name: string): ScriptedStep => ({ calls: [{ name, arguments: { n: 1 } }] });

  test.each<[string, JsonObject, string]>([
    ["of the assistant hold when the call names none", { approve: [] }, "act"],
    ["of the assistant hold when the call names others", { approve: ["read"] }, "act"],
    ["of the call come on top", { approve: ["read"] }, "read"],
    ["of the assistant hold when the call takes the option away", { approve: null }, "act"],
  ])("%s", async (_what, options, name) => {
    const run = await segment([call(name)], { options });
    expect(suspended(run).pending).toMatchObject([{ tool: name }]);
  });

  test("of a tool that is not there are refused: a misspelt name would guard nothing", async () => {
    const run = segment([call("act")], { options: { approve: ["actt"] } });
    await expect(run).rejects.toThrow('there is no tool "actt", which the option "approve" names');
  });
});

describe("an agent with hooks, or one that another hands over to", () => {
  const files = {
    "assistants/lead/package.yao": '{"name": "Lead"}',
    "assistants/lead/prompts.yml": "- role: system\n  content: x\n",
    "assistants/lead/src/index.ts": "export function Create() {}",
    "assistants/aide/package.yao": '{"name": "Aide", "options": {"tools": ["act", "read"]}}',
    "assistants/aide/prompts.yml": "- role: system\n  content: x\n",
    "assistants/aide/src/index.ts": "export function Next() {}",
  };
  const hooked = loadApp(
    new Map(Object.entries(files).map(([path, text]) => [path, new TextEncoder().encode(text)])),
  ).app;

  /** Hooks by assistant and name; what they were called with. */
  function scripts(hooks: Readonly<Record<string, Json>>): {
    readonly port: ScriptPort;
    readonly calls: [string, Json][];
  } {
    const calls: [string, Json][] = [];
    const names = (path: string): string[] =>
      Object.keys(hooks).flatMap((key) => (path.includes(`/${key.split(" ")[0]}/`) ? [key.split(" ")[1] ?? ""] : []));
    const port: Pick<ScriptPort, "program" | "call"> = {
      program: async (path) => ({ path, functions: names(path) }) as never,
      call: async ({ label, args }) => {
        calls.push([label, (args[1] as { readonly json: Json }).json]);
        return { kind: "returned", value: hooks[label] ?? null } as never;
      },
    };
    return { port: port as ScriptPort, calls };
  }

  test("runs each hook once, and Next is told what every tool has done before and after the person answered", async () => {
    const delegate = { agent_id: "aide", messages: [] };
    const { port, calls } = scripts({ "lead Create": { delegate }, "aide Next": { data: { ok: true } } });
    // The delegate's own options name no approval: the caller's hold for it.
    const over = { app: hooked, assistantId: "lead", options: { approve: ["act"] } };
    const place: Place = { scripts: port };
    const asks: ScriptedStep = {
      calls: [
        { name: "read", arguments: { n: 1 } },
        { name: "act", arguments: { n: 2 } },
      ],
    };
    const first = await segment([asks], over, place);
    expect(suspended(first).pending).toMatchObject([{ id: "call_2", tool: "act" }]);
    expect(calls.map(([label]) => label)).toEqual(["lead Create"]);
    const resume = { state: suspended(first).state, answers: [{ call_id: "call_2", decision: "approve" }] };
    const second = await segment([{ text: "done" }], { ...over, resume }, place);
    expect(second.result).toMatchObject({ next: { ok: true } });
    expect(calls.map(([label]) => label)).toEqual(["lead Create", "aide Next"]);
    expect(calls[1]?.[1]).toMatchObject({
      tools: [
        { tool: "read", arguments: { n: 1 } },
        { tool: "act", arguments: { n: 2 } },
      ],
    });
  });
});

describe("what is saved", () => {
  test("holds what of a long output did not fit the history", async () => {
    const output = Array.from({ length: 5_000 }, (_, i) => `line ${i}`).join("\n");
    const place: Place = {
      tools: ["act", "read"].map((name) => ({
        name,
        description: name,
        parameters: { type: "object" },
        execute: async () => textOutput(output),
      })),
    };
    const first = await segment([{ calls: [{ name: "read" }, { name: "act" }] }], {}, place);
    const stored = { name: "shared_state", arguments: { action: "list" } };
    const resume = { state: suspended(first).state, answers: [{ call_id: "call_2", decision: "approve" }] };
    const { provider } = await segment([{ calls: [stored] }, { text: "ok" }], { resume }, place);
    const listed = JSON.stringify(provider.requests.at(-1)?.messages.at(-1));
    for (const id of ["call_1", "call_2"]) expect(listed).toContain(id);
  });

  test("is bounded: a run with too long a history fails, and says why", async () => {
    const run = segment([ACT], { input: "x".repeat(17 * 1024 * 1024) });
    await expect(run).rejects.toMatchObject({
      code: "resource_exhausted",
      message: expect.stringMatching(/^the run cannot wait for an answer: its history has \d+\.\d MB, .* may have 16;/),
    });
  });

  test.each([
    ["no JSON", "{"],
    ["another thing", "[]"],
    ["a state of a newer program", '{"version": 2}'],
    ["half a state", '{"version": 1, "output": {"messages": 1, "chunks": -1}, "stash": []}'],
    ["a loop of nothing", '{"version": 1, "output": {"messages": 1, "chunks": 1}, "stash": [], "agent": {}}'],
  ])("is refused without a word in the stream when it is %s", async (_what, state) => {
    const messages: OutputMessage[] = [];
    await expect(segment([], { resume: { state, answers: [] } }, { messages })).rejects.toBeInstanceOf(MeshError);
    expect(messages).toEqual([]);
  });
});

test("arguments too long to be shown are shown in part, and run whole", async () => {
  const big = "y".repeat(300_000);
  const first = await segment([{ calls: [{ name: "act", arguments: { n: 1, big } }] }]);
  const [item] = suspended(first).pending;
  expect(item?.arguments_cut).toBe(true);
  expect(JSON.stringify(item).length).toBeLessThan(10_000);
  const second = await resumed(first, [{ call_id: "call_1", decision: "approve" }]);
  expect(second.ran).toEqual([{ n: 1, big }]);
});

test("more questions at once than anybody answers make the run fail", async () => {
  const calls = Array.from({ length: 257 }, () => ({ name: "act", arguments: { n: 1 } }));
  await expect(segment([{ calls }])).rejects.toThrow("asks 257 things at once");
});

test("a run that is cancelled before it goes on ends as cancelled, and runs nothing", async () => {
  const first = await segment([ACT]);
  const messages: OutputMessage[] = [];
  const resume = { state: suspended(first).state, answers: [{ call_id: "call_1", decision: "approve" }] };
  const run = segment([], { resume }, { messages, signal: AbortSignal.abort() });
  await expect(run).rejects.toMatchObject({ code: "cancelled" });
  expect(lines(messages)).toEqual(["stream_end  cancelled"]);
});
