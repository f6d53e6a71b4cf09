/** Features of assistants and of the calls between them, each through a whole run with hooks of its own. */

import type { JsonObject } from "@mesh/kernel";
import { afterAll, describe, expect, test } from "vitest";

import { assistant, shown, TestApp } from "../../services/runtime/src/testing/app-run.ts";

const open: TestApp[] = [];
afterAll(async () => {
  for (const each of open) await each[Symbol.asyncDispose]();
});

function appOf(...parts: readonly Readonly<Record<string, string>>[]): TestApp {
  const made = new TestApp(Object.assign({}, ...parts) as Record<string, string>);
  expect(made.problems.filter(({ severity }) => severity === "error")).toEqual([]);
  open.push(made);
  return made;
}

/** Data of the Next hook of an assistant `a` with this body; `prompt` makes it ask the model as well. */
async function nextOf(body: string, ...parts: readonly Readonly<Record<string, string>>[]): Promise<unknown> {
  const app = appOf(assistant("a", { hooks: `export function Next(ctx: any, payload: any) { ${body} }` }), ...parts);
  const { outcome, error } = await app.run("a", "x", { chatId: "c", steps: [() => ({ text: "said" })] });
  expect(error?.message).toBeUndefined();
  return outcome?.next;
}

const ECHO = assistant("echo", {
  prompt: "x",
  hooks: `function Next(ctx, p) { return { data: { got: p.messages.at(-1).content, metadata: ctx.metadata, referer: ctx.referer } }; }`,
});
const BAD = assistant("bad", { hooks: `function Next() { throw new Error("bad luck"); }` });
const TOOLS = {
  "mcps/t.mcp.yao": '{"label":"T","transport":"process","tools":{"ok":"scripts.t.Ok","fail":"scripts.t.Fail"}}',
  "mapping/t/schemes/ok.in.yao": '{"type":"object"}',
  "mapping/t/schemes/fail.in.yao": '{"type":"object"}',
  "mapping/t/schemes/ok.jsonl": '{"name":"one","input":{"n":1}}\n',
  "scripts/t.ts": `
    export function Ok(args: any) { return { ok: args }; }
    export function Fail() { throw new Error("cannot"); }`,
};

describe("assistant", () => {
  test("prompts: the app's, then the preset's or the assistant's, then samples, then what Create adds", async () => {
    const app = appOf(
      TOOLS,
      { "agent/prompts.yml": "- role: system\n  content: global $CTX.tier $ENV.CITY $SYS.NOPE\n" },
      { "assistants/a/prompts/task.yml": "- role: system\n  content: the task of $CTX.ASSISTANT_NAME\n" },
      assistant("a", {
        prompt: "own",
        package: { mcp: { servers: ["t"] } },
        hooks: `function Create(ctx, messages) {
          const [{ content: preset }] = messages;
          return {
            messages: [{ role: "system", content: "last" }, ...messages],
            ...(preset === "task" ? { prompt_preset: preset } : {}),
            ...(preset === "alone" ? { disable_global_prompts: true } : {}),
          };
        }`,
      }),
    );
    const asked = async (text: string, metadata: JsonObject): Promise<string | undefined> => {
      const env = (name: string): string | undefined => (name === "CITY" ? "Rome" : undefined);
      const { provider } = await app.run("a", text, { steps: [{ text: "ok" }], input: { metadata, env } });
      return provider.requests[0]?.systemPrompt;
    };
    const samples = 'Examples of tool calls:\n- t ok: {"n":1}\n\nlast';
    expect(await asked("plain", { tier: "gold" })).toBe(`global gold Rome $SYS.NOPE\n\nown\n\n${samples}`);
    expect(await asked("task", {})).toBe(`global  Rome $SYS.NOPE\n\nthe task of a\n\n${samples}`);
    expect(await asked("plain", { __prompt_preset: "task" })).toContain("the task of a");
    expect(await asked("alone", {})).toBe(`own\n\n${samples}`);
  });

  test("history: skipped when the caller says so, and then not written either", async () => {
    const hooks = "function Next(ctx, p) { return { data: p.messages.length }; }";
    const app = appOf(assistant("a", { prompt: "x", hooks }));
    const say = async (skip: boolean): Promise<unknown> => {
      const input = { options: { skip: { history: skip } } };
      return (await app.run("a", "hi", { chatId: "c", steps: [{ text: "yes" }], input })).outcome?.next;
    };
    expect([await say(true), await say(false), await say(true), await say(false)]).toEqual([1, 1, 1, 3]);
  });

  test("tools: the loop can be asked for beside a Next hook, and its turns are bounded: then the model sums up", async () => {
    const call = { calls: [{ name: "t__ok", arguments: {} }] };
    const hooks = "function Next(ctx, p) { return { data: [p.tools.length, p.completion.content] }; }";
    const mcp = (options: JsonObject): JsonObject => ({ mcp: { servers: ["t"], options } });
    const app = appOf(
      TOOLS,
      assistant("loop", { prompt: "x", hooks, package: mcp({ tool_loop: true }) }),
      assistant("once", { prompt: "x", package: mcp({ tool_loop: false }) }),
      assistant("two", { prompt: "x", package: mcp({ max_turn: 2 }) }),
    );
    expect((await app.run("loop", "x", { steps: [call, { text: "done" }] })).outcome?.next).toEqual([1, "done"]);
    expect((await app.run("once", "x", { steps: [call, { text: "done" }] })).provider.requests).toHaveLength(1);
    const two = await app.run("two", "x", { steps: [call, call, { text: "so far" }] });
    expect([two.outcome?.output, two.outcome?.finish_reason]).toEqual(["so far", "stopped"]);
    expect(two.provider.requests).toHaveLength(3);
  });

  test("options: the call's win over the assistant's, Create's over the call's", async () => {
    const hooks = "function Create(ctx, m, o) { return m[0].content === 'hot' ? { temperature: 0.9 } : null; }";
    const app = appOf(assistant("a", { prompt: "x", hooks, package: { options: { temperature: 0.1 } } }));
    const asked = async (text: string, options: JsonObject): Promise<number | undefined> =>
      (await app.run("a", text, { steps: [{ text: "" }, { text: "ok" }], input: { options } })).provider.requests[0]
        ?.temperature;
    expect([
      await asked("a", {}),
      await asked("a", { temperature: 0.5 }),
      await asked("hot", { temperature: 0.5 }),
    ]).toEqual([0.1, 0.5, 0.9]);
  });

  test("scripts: a tool's function calls another script, which calls a third", async () => {
    const scripts = {
      "scripts/one.ts": `export function Run(n: number) { return Process("scripts.two.Run", n + 1); }`,
      "scripts/two.ts": `import { Process } from "@yao/runtime";\nexport function Run(n: number) { return Process("agents.a.three.Run", n + 1); }`,
      "assistants/a/src/three.ts": "export function Run(n: number) { return n + 1; }",
    };
    expect(await nextOf(`return { data: Process("scripts.one.Run", 1) };`, scripts)).toBe(4);
  });
});

describe("caller", () => {
  test("the process agent.Call answers without a reader, and says what is missing", async () => {
    const body = `
      const call = (request) => { try { return Process("agent.Call", request); } catch (e) { return { thrown: e.message }; } };
      const messages = [{ role: "user", content: "hi" }];
      const good = call({ assistant_id: "echo", messages, metadata: { k: 1 } });
      return { data: [good.response.next, good.content, call({ messages }).thrown, call({ assistant_id: "nobody", messages }).error, call({ assistant_id: "echo", messages: "hi" })] };`;
    const [next, content, missing, unknown, wrong] = (await nextOf(body, ECHO)) as unknown[];
    expect(next).toMatchObject({ got: "hi", metadata: { k: 1 }, referer: "agent_fork" });
    expect(content).toBe("said");
    expect(missing).toContain("assistant_id");
    expect(unknown).toContain('no assistant "nobody"');
    expect(JSON.stringify(wrong)).toContain("messages must be a list");
  });

  test("several agents: no requests give no results, a wrong one is an error in its own place", async () => {
    const body = `
      const all = ctx.agent.All([{ agent: "echo", messages: [{ role: "user", content: "hi" }] }, { nonsense: 1 }, { agent: "bad", messages: [] }]);
      const fail = [{ agent: "bad", messages: [] }, { agent: "nobody", messages: [] }];
      return { data: [ctx.agent.All([]), all.map((r) => r.error ?? r.agent_id), ctx.agent.Any(fail).map((r) => r.error).length, ctx.agent.Race(fail).length] };`;
    const [none, all, any, race] = (await nextOf(body, ECHO, BAD)) as [unknown, string[], unknown, unknown];
    expect(none).toEqual([]);
    expect(all).toEqual(["echo", "request 1 must be {agent, messages}", expect.stringContaining("bad luck")]);
    expect([any, race]).toEqual([2, 1]);
  });

  test("onChunk sees what an agent says, and a number other than 0 stops it there", async () => {
    const body = `
      const seen = [];
      const one = ctx.agent.Call("echo", "hi", { onChunk: (m) => { seen.push([m.type, m.props.content]); return 1; } });
      const both = [];
      const ask = { agent: "echo", messages: [{ role: "user", content: "hi" }] };
      ctx.agent.All([ask, ask], { onChunk: (id, at, m) => { if (m.props.content) both.push(id + at); return 0; } });
      return { data: [one.content, seen, both.sort()] };`;
    expect(await nextOf(body, ECHO)).toEqual(["said", [["text", "said"]], ["echo0", "echo1"]]);
  });

  test("models: All in order, Any past a connector that does not exist, Race the first, an error as a result", async () => {
    const body = `
      const ask = (connector) => ({ connector, messages: [{ role: "user", content: "q" }] });
      const seen = [];
      const all = ctx.llm.All([ask("demo"), ask("nope")], { onChunk: (id, at, m) => { seen.push(id); return 0; } });
      return { data: [all.map((r) => r.content ?? "error"), ctx.llm.Any([ask("nope"), ask("demo")]).find((r) => !r.error).connector,
        ctx.llm.Race([ask("demo")]).length, ctx.llm.Stream("nope", "q").error, [...new Set(seen)], ctx.llm.Call("demo", "q", { onChunk: () => 1 }).content] };`;
    const [all, any, race, error, seen, stopped] = (await nextOf(body)) as unknown[];
    expect([all, any, race, seen, stopped]).toEqual([["said", "error"], "demo", 1, ["demo"], "said"]);
    expect(error).toContain('"nope"');
  });

  test("tools: All has errors in their place, Any with none left has them all, a result is parsed", async () => {
    const body = `
      const ask = (tool, mcp = "t") => ({ mcp, tool, arguments: { a: 1 } });
      const all = ctx.mcp.All([ask("ok"), ask("fail"), ask("ok", "nope")]);
      let thrown = "";
      try { ctx.mcp.CallTool("t", "nope", {}); } catch (e) { thrown = e.message; }
      return { data: [all.map((r) => [r.mcp, r.tool, r.error ? "error" : r.result]), ctx.mcp.Any([ask("fail"), ask("ok", "nope")]).length,
        ctx.mcp.Any([ask("fail"), ask("ok")]).find((r) => !r.error).result, ctx.mcp.Race([ask("ok")])[0].result, thrown] };`;
    const [all, anyFail, any, race, thrown] = (await nextOf(body, TOOLS)) as unknown[];
    expect(all).toEqual([
      ["t", "ok", { ok: { a: 1 } }],
      ["t", "fail", "error"],
      ["nope", "ok", "error"],
    ]);
    expect([anyFail, any, race]).toEqual([2, { ok: { a: 1 } }, { ok: { a: 1 } }]);
    expect(thrown).toContain("nope");
  });
});

describe("content", () => {
  test("parts of a message reach the model: texts, and an image by its data", async () => {
    const app = appOf(assistant("a", { prompt: "x" }));
    const image = { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } };
    const messages = [{ role: "user" as const, content: [{ type: "text", text: "what is this" }, image] }];
    const { provider, error } = await app.run("a", "what is this", { steps: [{ text: "ok" }], input: { messages } });
    expect(error?.message).toBeUndefined();
    expect(JSON.stringify(provider.requests[0]?.messages)).toContain("what is this");
  });
});

describe("output", () => {
  test("a model's thoughts and words are messages of their own, each with one start and one end", async () => {
    const app = appOf(assistant("a", { prompt: "x" }));
    const { messages } = await app.run("a", "x", { steps: [{ thinking: "hm", text: ["so ", "what"] }] });
    expect(shown(messages)).toEqual([
      { type: "thinking", props: { content: "hm" } },
      { type: "text", props: { content: "so what" } },
    ]);
    const said = messages.filter(({ type }) => type === "thinking" || type === "text");
    expect(said.map(({ type, props, delta }) => [type, props["content"], delta])).toEqual([
      ["thinking", "hm", true],
      ["text", "so ", true],
      ["text", "what", true],
    ]);
    const ids = (event: string): unknown[] =>
      messages.flatMap(({ props }) =>
        props["event"] === event ? [(props["data"] as { message_id?: string }).message_id] : [],
      );
    expect(ids("message_start")).toEqual([...new Set(said.map(({ message_id: id }) => id))]);
    expect(ids("message_end")).toEqual(ids("message_start"));
  });
});
