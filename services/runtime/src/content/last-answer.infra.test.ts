/** The end of a tool loop whose turns are used up, in whole runs. */

import type { ScriptedStep } from "@mesh/agent/testing";
import type { JsonObject } from "@mesh/kernel";
import { afterAll, describe, expect, test } from "vitest";

import { type AppRun, assistant, shown, TestApp } from "../testing/app-run.ts";

const open: TestApp[] = [];

afterAll(async () => {
  for (const each of open) await each[Symbol.asyncDispose]();
});

const TOOLS = {
  "assistants/a/mcps/count.mcp.yao": JSON.stringify({ transport: "process", tools: { next: "scripts.count.Next" } }),
  "assistants/a/mcps/mapping/count/schemes/next.in.yao": JSON.stringify({
    type: "object",
    properties: { n: { type: "number" } },
    "x-process-args": ["$args.n"],
  }),
  "scripts/count.ts": `export function Next(n) { return { after: n + 1 }; }`,
};

function appOf(more: JsonObject = {}, ...parts: readonly Readonly<Record<string, string>>[]): TestApp {
  const mcp = { servers: ["count"], options: { max_turn: 2 } };
  const own = assistant("a", { prompt: "count", package: { mcp, ...more } });
  const app = new TestApp(Object.assign({}, own, TOOLS, ...parts) as Record<string, string>);
  expect(app.problems.filter(({ severity }) => severity === "error")).toEqual([]);
  open.push(app);
  return app;
}

const call = (n: number): ScriptedStep => ({
  text: `step ${n}`,
  calls: [{ name: "count__next", arguments: { n } }],
  usage: { input: 10, output: 1 },
});

function texts({ messages }: AppRun): readonly unknown[] {
  return shown(messages).flatMap((message) => {
    const { type, props } = message as { readonly type: string; readonly props: JsonObject };
    return type === "text" ? [props["content"]] : [];
  });
}

describe("a model whose turns are used up", () => {
  test("is asked once more, may call nothing, and its answer is the run's", async () => {
    const run = await appOf().run("a", "go", {
      steps: [call(1), call(2), { text: "I counted to 3.", usage: { input: 10, output: 5 } }],
    });
    expect(run.error).toBeUndefined();
    expect(run.outcome).toMatchObject({ output: "I counted to 3.", finish_reason: "stopped" });
    expect(texts(run)).toEqual(["step 1", "step 2", "I counted to 3."]);
    const [first, , last] = run.provider.requests;
    expect(run.provider.requests).toHaveLength(3);
    expect([first?.toolChoice, last?.toolChoice]).toEqual([undefined, "none"]);
    // Declared all the same: some providers take no history with calls otherwise.
    expect(last?.tools).toEqual(first?.tools);
    const words = JSON.stringify(last?.messages);
    expect(words).toContain("after");
    expect(words).not.toContain("[Agent stopped");
    expect(last?.messages.at(-1)).toMatchObject({ role: "user" });
    expect(run.provider.faults).toEqual([]);
    expect(run.outcome?.usage).toMatchObject({ prompt_tokens: 30, completion_tokens: 7 });
    // The reason stays to be seen.
    expect(JSON.stringify(run.messages.at(-1))).toContain("reached 2 turns");
  });

  test("that calls a tool all the same runs nothing", async () => {
    const run = await appOf().run("a", "go", { steps: [call(1), call(2), call(7)] });
    expect(run.error).toBeUndefined();
    expect(run.outcome).toMatchObject({ finish_reason: "stopped", output: "step 2" });
    expect(JSON.stringify(run.messages)).not.toContain('"after":8');
    expect(run.provider.requests).toHaveLength(3);
  });

  test("and says nothing then ends as it would have without", async () => {
    const run = await appOf().run("a", "go", { steps: [call(1), call(2), { text: " " }] });
    expect(run.outcome).toMatchObject({ finish_reason: "stopped", output: "step 2" });
  });

  test("and fails then ends as it would have without", async () => {
    const failure = { error: { errorClass: "notFound", message: "gone", retryable: false } } as const;
    const run = await appOf().run("a", "go", { steps: [call(1), call(2), failure] });
    expect(run.error).toBeUndefined();
    expect(run.outcome).toMatchObject({ finish_reason: "stopped", output: "step 2" });
  });

  test("is not asked when it has answered in its last turn", async () => {
    const run = await appOf().run("a", "go", { steps: [call(1), { text: "done" }] });
    expect(run.outcome).toMatchObject({ finish_reason: "stop", output: "done" });
    expect(run.provider.requests).toHaveLength(2);
  });

  test("stops with the run", async () => {
    const stop = new AbortController();
    const last = (): ScriptedStep => {
      stop.abort();
      return { text: "half", until: new Promise(() => undefined) };
    };
    const steps = [call(1), call(2), last];
    expect((await appOf().run("a", "go", { steps, signal: stop.signal })).error).toMatchObject({ code: "cancelled" });
  });
});

describe("the agent of uses.loop_fallback", () => {
  const uses = { loop_fallback: "closer" };

  test("answers from the talk in place of the model", async () => {
    const closer = assistant("closer", {
      hooks: `function Create(ctx, messages) { ctx.memory.context.Set("talk", messages[0].content); }
        function Next(ctx) { return { data: ctx.memory.context.Get("talk") }; }`,
    });
    const run = await appOf({ uses, description: "Counts." }, closer).run("a", "go", { steps: [call(1), call(2)] });
    expect(run.outcome?.output).toBe(
      [
        "## Assistant Context\na: Counts.",
        "## Conversation\n**user**: go",
        "**assistant**: step 1\n(calls count__next)",
        "**assistant**: step 2\n(calls count__next)",
        '## Tool Results\n### count__next\n{"after":2}',
        '### count__next\n{"after":3}',
      ].join("\n\n"),
    );
    expect(run.outcome?.finish_reason).toBe("stopped");
    // It is the assistant that speaks.
    expect(texts(run).at(-1)).toBe(run.outcome?.output);
    expect(run.provider.requests).toHaveLength(2);
  });

  test("that fails or is not there leaves the last word to the model", async () => {
    const broken = assistant("closer", { hooks: `function Next() { throw new Error("no"); }` });
    for (const parts of [[broken], []]) {
      const run = await appOf({ uses }, ...parts).run("a", "go", { steps: [call(1), call(2), { text: "three" }] });
      expect(run.error).toBeUndefined();
      expect(run.outcome?.output).toBe("three");
    }
  });
});
