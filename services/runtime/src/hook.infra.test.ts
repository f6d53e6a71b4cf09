/** Hooks of assistants in the real script host. */

import { afterAll, describe, expect, test } from "vitest";

import { assistant, events, shown, TestApp } from "./testing/app-run.ts";

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

describe("the order of a run", () => {
  test("Create sees the input, the model what Create made of it, Next the answer; its data is the result", async () => {
    const app = appOf(
      assistant("a", {
        prompt: "be kind",
        hooks: `
          function Create(ctx, messages) {
            ctx.memory.context.Set("asked", messages[0].content);
            return { messages: [{ role: "system", content: "in short" }, { role: "user", content: messages[0].content.toUpperCase() }], temperature: 0.5 };
          }
          function Next(ctx, { messages, completion, tools, error }) {
            return { data: { asked: ctx.memory.context.Get("asked"), said: completion.content, count: messages.length, tools: tools ?? null, error: error ?? null } };
          }`,
      }),
    );
    const { outcome, error, provider } = await app.run("a", "hello", { steps: [{ text: "HI" }] });
    expect(error).toBeUndefined();
    expect(provider.requests[0]).toMatchObject({ systemPrompt: "be kind\n\nin short", temperature: 0.5 });
    expect(JSON.stringify(provider.requests[0]?.messages)).toContain("HELLO");
    expect(outcome?.next).toEqual({ asked: "hello", said: "HI", count: 2, tools: null, error: null });
    expect(outcome?.output).toBe("HI");
  });

  test("an assistant without prompts asks no model, and its hooks run all the same", async () => {
    const app = appOf(
      assistant("a", {
        hooks: `
          export function Create(ctx: any, messages: any[]) { ctx.Send("one"); return null; }
          export function Next(ctx: any, payload: any) { ctx.Send("two"); return { data: { has: "completion" in payload } }; }`,
      }),
    );
    const { outcome, messages, provider } = await app.run("a", "hello");
    expect(provider.requests).toEqual([]);
    expect(shown(messages).map((message) => JSON.stringify(message))).toEqual([
      '{"type":"text","props":{"content":"one"}}',
      '{"type":"text","props":{"content":"two"}}',
    ]);
    expect(outcome).toMatchObject({ output: "one\n\ntwo", next: { has: false } });
    expect(events(messages)).toEqual([
      "stream_start",
      "message_start",
      "message_end",
      "message_start",
      "message_end",
      "stream_end",
    ]);
  });

  test("async hooks are awaited, null means the standard response", async () => {
    const app = appOf(
      assistant("a", {
        prompt: "x",
        hooks: `
          async function Create(ctx, messages) { await null; return { messages: [{ role: "user", content: "changed" }] }; }
          async function Next() { return null; }`,
      }),
    );
    const { outcome, provider } = await app.run("a", "hello", { steps: [{ text: "ok" }] });
    expect(JSON.stringify(provider.requests[0]?.messages)).toContain("changed");
    expect(outcome).toMatchObject({ output: "ok" });
    expect(outcome).not.toHaveProperty("next");
  });

  test("Create delegates: the target answers in the same stream, Next of the first is not asked", async () => {
    const app = appOf(
      assistant("front", {
        prompt: "x",
        hooks: `
          function Create(ctx, messages) { return { delegate: { agent_id: "back", messages, options: { metadata: { from: "front" } } } }; }
          function Next() { throw new Error("not here"); }`,
      }),
      assistant("back", {
        hooks: `function Next(ctx) { ctx.Send("from back"); return { data: { referer: ctx.referer, from: ctx.metadata.from, id: ctx.assistant_id } }; }`,
      }),
    );
    const { outcome, messages, provider } = await app.run("front", "hello");
    expect(provider.requests).toEqual([]);
    expect(outcome?.next).toEqual({ referer: "agent", from: "front", id: "back" });
    expect(shown(messages)).toEqual([{ type: "text", props: { content: "from back" } }]);
    expect(messages.every((message) => message.thread_id === undefined)).toBe(true);
  });

  test("agents that hand over in a circle end with an error", async () => {
    const hand = (to: string): string =>
      `function Create(ctx, messages) { return { delegate: { agent_id: "${to}", messages } }; }`;
    const app = appOf(assistant("a", { hooks: hand("b") }), assistant("b", { hooks: hand("a") }));
    const { error } = await app.run("a", "hello");
    expect(error).toMatchObject({ code: "failed_precondition" });
    expect(error?.message).toContain("handed over 16 times");
  });

  test("Next recovers from a model that failed, or lets the failure stand", async () => {
    const next = (value: string): Readonly<Record<string, string>> =>
      assistant("a", { prompt: "x", hooks: `function Next(ctx, payload) { return ${value}; }` });
    const fail = {
      steps: [{ error: { errorClass: "notFound", message: "no such model", retryable: false } }],
    } as const;
    const recovered = await appOf(next("payload.error ? { data: { saved: payload.error } } : null")).run(
      "a",
      "hello",
      fail,
    );
    expect(recovered.error).toBeUndefined();
    expect(JSON.stringify(recovered.outcome?.next)).toContain("no such model");
    const failed = await appOf(next("null")).run("a", "hello", fail);
    expect(failed.error?.message).toContain("no such model");
  });

  test("what a hook returns is checked: the error names the hook and the field", async () => {
    for (const [value, words] of [
      ["7", "what Create returns"],
      ['{ temperature: "hot" }', 'Create returned "temperature"'],
      ["{ messages: [{ role: 'planet' }] }", "messages[0].role"],
      ["{ delegate: {} }", "delegate.agent_id"],
    ] as const) {
      const app = appOf(assistant("a", { prompt: "x", hooks: `function Create() { return ${value}; }` }));
      expect((await app.run("a", "hello")).error?.message).toContain(words);
    }
  });

  test("an error in a hook fails the run with file and line; a typo is not taken for a missing hook", async () => {
    const app = appOf(
      assistant("a", { hooks: `function Create(ctx: any) {\n  const x: number = 1;\n  return nope(x);\n}` }),
      assistant("b", { hooks: `function Next() { throw new Exception("broken", 418); }` }),
    );
    const typo = await app.run("a", "hello");
    expect(typo.error?.message).toContain("nope is not defined");
    expect(typo.error?.message).toContain("assistants/a/src/index.ts:3");
    expect((await app.run("b", "hello")).error?.message).toContain("broken");
  });
});

describe("messages", () => {
  test("a message grows, changes and ends; blocks are told", async () => {
    const app = appOf(
      assistant("a", {
        hooks: `
          function Create(ctx) {
            const block = ctx.BlockID();
            const id = ctx.SendStream("Hello", block);
            ctx.Append(id, " World");
            ctx.End(id, "!");
            ctx.EndBlock(block);
            const card = ctx.SendStream({ type: "status", props: { progress: 0 } });
            ctx.Merge(card, { progress: 50 }, "props");
            ctx.Set(card, { ms: 3 }, "props.data.deep");
            ctx.Replace(card, { type: "done", props: { progress: 100 } });
            ctx.Set(card, "ok", "props.status");
            ctx.End(card);
            return null;
          }
          function Next(ctx) { try { ctx.Append("M1", "late"); } catch (e) { return { data: e.message }; } }`,
      }),
    );
    const { messages, outcome, error } = await app.run("a", "x");
    expect(error).toBeUndefined();
    expect(shown(messages)).toEqual([
      { type: "text", props: { content: "Hello World!" } },
      { type: "done", props: { progress: 100, status: "ok" } },
    ]);
    expect(messages.find(({ message_id: id, delta }) => id === "M1" && delta === true)).toMatchObject({
      props: { content: " World" },
      block_id: "B1",
    });
    expect(events(messages)).toContain("block_start");
    expect(events(messages)).toContain("block_end");
    expect(outcome?.next).toContain("M1 is not open");
  });

  test("what a hook leaves open is ended with it", async () => {
    const app = appOf(assistant("a", { hooks: `function Create(ctx) { ctx.SendStream("half"); }` }));
    const { messages } = await app.run("a", "x");
    expect(shown(messages)).toEqual([{ type: "text", props: { content: "half" } }]);
  });
});

describe("memory and chats", () => {
  test("users, teams and chats remember over runs, a context does not", async () => {
    const app = appOf(
      assistant("a", {
        hooks: `
          function Next(ctx) {
            const m = ctx.memory;
            const now = [m.user.Incr("n"), m.team.Incr("n"), m.chat ? m.chat.Incr("n") : null, m.context.Incr("n")];
            return { data: now };
          }`,
      }),
    );
    const next = async (userId: string, chatId?: string): Promise<unknown> => {
      const chat = chatId === undefined ? {} : { chatId };
      return (await app.run("a", "x", { userId, ...chat })).outcome?.next;
    };
    expect(await next("ann", "c1")).toEqual([1, 1, 1, 1]);
    expect(await next("ann", "c2")).toEqual([2, 2, 1, 1]);
    expect(await next("bob")).toEqual([1, 3, null, 1]);
  });

  test("a chat goes on where it was left, and what the caller sends again is not said twice", async () => {
    const app = appOf(
      assistant("a", {
        prompt: "x",
        hooks: `function Next(ctx, p) { return { data: p.messages.map(m => m.content) }; }`,
      }),
    );
    const say = (input: string, text: string): ReturnType<TestApp["run"]> =>
      app.run("a", input, { chatId: "c", steps: [{ text }] });
    await say("one", "two");
    expect((await say("three", "four")).outcome?.next).toEqual(["one", "two", "three"]);
  });
});

describe("agents and models that a hook calls", () => {
  const ECHO = assistant("echo", {
    hooks: `function Next(ctx, payload) { ctx.Send("echo " + payload.messages[0].content); return { data: { got: payload.messages[0].content, thread: !!ctx.referer } }; }`,
  });

  test("Call gives the answer of another agent, whose messages stand in a thread of their own", async () => {
    const app = appOf(
      ECHO,
      assistant("a", {
        hooks: `
          function Next(ctx) {
            const seen = [];
            const r = ctx.agent.Call("echo", [{ role: "user", content: "hi" }], { onChunk: (m) => { seen.push(m.type); return 0; } });
            const none = ctx.agent.Call("nobody", [{ role: "user", content: "hi" }]);
            return { data: { next: r.response.next, seen, error: none.error } };
          }`,
      }),
    );
    const { outcome, messages, error } = await app.run("a", "x");
    expect(error).toBeUndefined();
    expect(outcome?.next).toMatchObject({ next: { got: "hi", thread: true }, seen: ["text"] });
    expect(JSON.stringify(outcome?.next)).toContain('there is no assistant \\"nobody\\"');
    expect(messages.filter(({ type }) => type === "text")).toMatchObject([
      { thread_id: "T1", props: { content: "echo hi" } },
    ]);
  });

  test("All keeps the order, Any and Race give the first, nothing of theirs reaches the stream", async () => {
    const app = appOf(
      ECHO,
      assistant("bad", { hooks: `function Next() { throw new Error("bad luck"); }` }),
      assistant("a", {
        hooks: `
          function Next(ctx) {
            const ask = (agent) => ({ agent, messages: [{ role: "user", content: agent }] });
            const all = ctx.agent.All([ask("echo"), ask("bad"), ask("echo")]);
            const any = ctx.agent.Any([ask("bad"), ask("echo")]);
            const race = ctx.agent.Race([ask("echo"), ask("echo")]);
            return { data: { all: all.map((r) => r.error ? "error" : r.response.next.got), any: any.find((r) => !r.error).agent_id, race: race.find((r) => r !== null).agent_id } };
          }`,
      }),
    );
    const { outcome, messages, error } = await app.run("a", "x");
    expect(error).toBeUndefined();
    expect(outcome?.next).toEqual({ all: ["echo", "error", "echo"], any: "echo", race: "echo" });
    expect(messages.filter(({ type }) => type === "text")).toEqual([]);
  });

  test("a model is asked past prompts and hooks; a chunk callback can stop it", async () => {
    const app = appOf(
      assistant("a", {
        hooks: `
          function Next(ctx) {
            const r = ctx.llm.Stream("demo", [{ role: "system", content: "s" }, { role: "user", content: "q" }], { temperature: 0 });
            return { data: { content: r.content, error: r.error ?? null } };
          }`,
      }),
    );
    const { outcome, messages, provider } = await app.run("a", "x", { steps: [{ text: "answer" }] });
    expect(outcome?.next).toEqual({ content: "answer", error: null });
    expect(provider.requests[0]).toMatchObject({ systemPrompt: "s", temperature: 0 });
    expect(shown(messages)).toEqual([{ type: "text", props: { content: "answer" } }]);
  });

  test("agents that call each other in a circle end with an error, not with the device", async () => {
    const app = appOf(
      assistant("a", {
        hooks: `function Next(ctx) { const r = ctx.agent.Call("a", [{ role: "user", content: "again" }]); return { data: r.error ?? r.response.next }; }`,
      }),
    );
    expect((await app.run("a", "x")).outcome?.next).toContain("deep");
  });
});

describe("the trace", () => {
  test("steps follow each other, logs and spaces are events, what is open ends with the run", async () => {
    const app = appOf(
      assistant("a", {
        hooks: `
          function Create(ctx) {
            const node = ctx.trace.Add({ q: 1 }, { label: "First", type: "search" });
            node.Info("working").SetMetadata("k", "v").Complete({ ok: true });
            const both = ctx.trace.Parallel([{ input: 1, option: { label: "L" } }, { input: 2, option: { label: "R" } }]);
            both[0].Fail("broken");
            const space = ctx.trace.CreateSpace({ label: "Results" });
            return null;
          }`,
      }),
    );
    const { messages, error } = await app.run("a", "x");
    expect(error).toBeUndefined();
    const trace = messages.filter(({ type }) => type === "trace").map(({ props }) => props["type"] as string);
    expect(trace.join(" ")).toBe(
      "node_start log_added node_updated node_complete node_start node_start node_failed space_created node_complete complete",
    );
  });
});

describe("processes and files", () => {
  test("scripts call each other, helpers and the workspace's folder", async () => {
    const app = appOf(
      {
        "scripts/text.ts": `import { shout } from "./voice";\nexport function Loud(s: string) { return shout(s); }`,
        "scripts/voice.ts": `export const shout = (s: string) => s.toUpperCase() + "!";`,
      },
      assistant("a", {
        hooks: `
          import { Process } from "@yao/runtime";
          export function Next(ctx: any) {
            ctx.workspace.WriteFile("notes/a.txt", "hi");
            return { data: {
              loud: Process("scripts.text.Loud", "hey"),
              md5: Process("crypto.Hash", "MD5", "a").length,
              file: ctx.workspace.ReadFile("notes/a.txt"),
              out: ctx.computer.Exec(["cat", "notes/a.txt"]).stdout,
              escape: (() => { try { return ctx.workspace.ReadFile("../../etc/passwd"); } catch (e) { return e.message; } })(),
            } };
          }`,
      }),
    );
    const { outcome, error } = await app.run("a", "x");
    expect(error).toBeUndefined();
    expect(outcome?.next).toMatchObject({ loud: "HEY!", md5: 32, file: "hi", out: "hi" });
    expect(JSON.stringify(outcome?.next)).toContain("outside");
  });
});
