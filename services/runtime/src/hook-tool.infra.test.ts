/** Tools over MCP and the hooks around them, in the real script host. */

import { afterAll, describe, expect, test } from "vitest";

import { assistant, TestApp } from "./testing/app-run.ts";

const open: TestApp[] = [];

function appOf(...parts: readonly Readonly<Record<string, string>>[]): TestApp {
  const made = new TestApp(Object.assign({}, ...parts) as Record<string, string>);
  expect(made.problems.filter(({ severity }) => severity === "error")).toEqual([]);
  open.push(made);
  return made;
}

afterAll(async () => {
  for (const each of open) await each[Symbol.asyncDispose]();
});

describe("tools over MCP", () => {
  const TOOLS = {
    "mcps/math.mcp.yao":
      '{"label":"Math","transport":"process","tools":{"add":"scripts.math.Add","fail":"scripts.math.Fail"}}',
    "mapping/math/schemes/add.in.yao": JSON.stringify({
      type: "object",
      properties: { a: { type: "number" }, b: { type: "number" } },
      required: ["a", "b"],
      "x-process-args": ["$args.a", "$args.b"],
    }),
    "mapping/math/schemes/fail.in.yao": '{"type":"object"}',
    "scripts/math.ts": `
      export function Add(a: number, b: number, ctx: any) { return { sum: a + b, who: ctx.assistant_id }; }
      export function Fail() { throw new Error("cannot"); }`,
  };
  const call = (name: string, args: object): object => ({ name, arguments: args });

  test("the model calls them, Next sees what they gave, without asking the model again", async () => {
    const app = appOf(
      TOOLS,
      assistant("a", {
        prompt: "x",
        package: { mcp: { servers: [{ server_id: "math", tools: ["add"] }] } },
        hooks: `function Next(ctx, { tools }) { return { data: tools }; }`,
      }),
    );
    const steps = [{ text: "", calls: [call("math__add", { a: 1, b: 2 })] }] as never;
    const { outcome, error, provider } = await app.run("a", "x", { steps });
    expect(error).toBeUndefined();
    expect(provider.requests).toHaveLength(1);
    expect(provider.requests[0]?.tools?.map(({ name }) => name)).toContain("math__add");
    expect(outcome?.next).toMatchObject([
      { server: "math", tool: "add", arguments: { a: 1, b: 2 }, result: { sum: 3, who: "a" } },
    ]);
  });

  test("without a Next hook the results go back to the model", async () => {
    const app = appOf(TOOLS, assistant("a", { prompt: "x", package: { mcp: { servers: ["math"] } } }));
    const steps = [{ text: "", calls: [call("math__add", { a: 1, b: 2 })] }, { text: "3" }] as never;
    const { outcome, provider } = await app.run("a", "x", { steps });
    expect(outcome?.output).toBe("3");
    expect(JSON.stringify(provider.requests[1]?.messages)).toContain('{\\"sum\\":3');
  });

  test("a tool that fails is told to the model, which may try again, and to Next", async () => {
    const app = appOf(
      TOOLS,
      assistant("a", {
        prompt: "x",
        package: { mcp: { servers: ["math"] } },
        hooks: `function Next(ctx, { tools }) { return { data: tools.map((t) => t.error ?? t.result.sum) }; }`,
      }),
    );
    const steps = [
      { text: "", calls: [call("math__fail", {})] },
      { text: "", calls: [call("math__add", { a: 2, b: 2 })] },
    ] as never;
    const { outcome, provider } = await app.run("a", "x", { steps });
    expect(provider.requests).toHaveLength(2);
    expect(outcome?.next).toEqual([expect.stringContaining("cannot"), 4]);
  });

  test("a call whose arguments do not fit is told to Next like one that failed", async () => {
    const app = appOf(
      TOOLS,
      assistant("a", {
        prompt: "x",
        package: { mcp: { servers: ["math"] } },
        hooks: `function Next(ctx, { tools }) { return { data: tools.map((t) => [t.server, t.tool, !!t.error]) }; }`,
      }),
    );
    const wrong = { calls: [{ name: "math__add", arguments: { a: "x" } }] };
    const { outcome } = await app.run("a", "x", { steps: [wrong, wrong, wrong] });
    expect(outcome?.next).toEqual([
      ["math", "add", true],
      ["math", "add", true],
      ["math", "add", true],
    ]);
  });

  test("hooks use the servers themselves", async () => {
    const app = appOf(
      TOOLS,
      assistant("a", {
        hooks: `
          function Next(ctx) {
            const one = ctx.mcp.CallTool("math", "add", { a: 1, b: 1 });
            const all = ctx.mcp.All([{ mcp: "math", tool: "add", arguments: { a: 2, b: 2 } }, { mcp: "nope", tool: "x" }]);
            const names = ctx.mcp.ListTools("math").tools.map((t) => t.name);
            let wrong = "";
            try { ctx.mcp.CallTool("math", "add", { a: "x" }); } catch (e) { wrong = e.message; }
            return { data: { one: one.sum, all: all.map((r) => r.error ? "error" : r.result.sum), names, wrong } };
          }`,
      }),
    );
    const { outcome, error } = await app.run("a", "x");
    expect(error).toBeUndefined();
    expect(outcome?.next).toMatchObject({ one: 2, all: [4, "error"], names: ["add", "fail"] });
    expect(JSON.stringify(outcome?.next)).toContain("arguments of tool");
  });

  test("a run can be one tool, or the list of them", async () => {
    const app = appOf(TOOLS, assistant("a", { prompt: "x", package: { mcp: { servers: ["math"] } } }));
    const tool = (options: object): ReturnType<TestApp["run"]> =>
      app.run("a", "", { input: { options: options as never } });
    expect(
      (await tool({ tool_call: { server: "math", tool: "add", arguments: { a: 1, b: 2 } } })).outcome?.next,
    ).toEqual({ sum: 3, who: "a" });
    expect((await tool({ tool_list: true })).outcome?.next).toMatchObject([
      { server: "math", tool: "add" },
      { tool: "fail" },
    ]);
    expect((await tool({ tool_call: { server: "math", tool: "fail" } })).error?.message).toContain("cannot");
    expect((await tool({ tool_call: 7 })).error?.message).toContain("tool_call");
  });
});
