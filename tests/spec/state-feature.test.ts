/** Features of what a hook has at hand: messages, memory, stores, languages, searches. */

import { afterAll, describe, expect, test } from "vitest";

import { assistant, shown, TestApp } from "../../services/runtime/src/testing/app-run.ts";

const open: TestApp[] = [];
afterAll(async () => {
  for (const each of open) await each[Symbol.asyncDispose]();
});

function appOf(body: string, ...parts: readonly Readonly<Record<string, string>>[]): TestApp {
  const hooks = `export function Next(ctx: any, payload: any) { ${body} }`;
  const made = new TestApp(Object.assign(assistant("a", { hooks }), ...parts) as Record<string, string>, {
    search: async (_scope, method, [request]) => [{ title: method, content: JSON.stringify(request), score: 1 }],
  });
  expect(made.problems.filter(({ severity }) => severity === "error")).toEqual([]);
  open.push(made);
  return made;
}

async function nextOf(app: TestApp, more: Parameters<TestApp["run"]>[2] = {}): Promise<unknown> {
  const { outcome, error } = await app.run("a", "x", { chatId: "c", ...more });
  expect(error?.message).toBeUndefined();
  return outcome?.next;
}

describe("context: messages", () => {
  test("pieces keep the block of their message, several messages grow at once, ids count up", async () => {
    const app = appOf(`
      const block = ctx.BlockID();
      const [one, two] = [ctx.SendStream("1", block), ctx.SendStream({ type: "text", props: { content: "2" }, block_id: "B9" }, block)];
      ctx.Append(two, "b"); ctx.Append(one, "a"); ctx.End(two); ctx.End(one);
      return { data: [block, one, two, ctx.MessageID(), ctx.ThreadID()] };`);
    const { messages, outcome } = await app.run("a", "x");
    expect(outcome?.next).toEqual(["B1", "M1", "M2", "M3", "T1"]);
    expect(shown(messages)).toEqual(["2b", "1a"].toReversed().map((content) => ({ type: "text", props: { content } })));
    const blocks = messages
      .filter(({ delta }) => delta === true)
      .map(({ message_id: id, block_id: block }) => [id, block]);
    expect(blocks).toEqual([
      ["M2", "B9"],
      ["M1", "B1"],
    ]);
  });

  test("what is no message, no id, or ended already is an error that says so", async () => {
    const app = appOf(`
      const tries = [() => ctx.Send(7), () => ctx.Send({ props: {} }), () => ctx.Append(5, "x"), () => ctx.Set(ctx.SendStream("x"), 1),
        () => ctx.Append(ctx.Send("x"), "y"), () => ctx.Merge(ctx.SendStream("x"), 5)];
      return { data: tries.map((t) => { try { t(); return "done"; } catch (e) { return e.message; } }) };`);
    const wanted = [
      /must be a string, or an object/,
      /"type"/,
      /message_id must be a string/,
      /path/,
      /not open/,
      /object/,
    ];
    const said = (await nextOf(app)) as string[];
    for (const [index, pattern] of wanted.entries()) expect(said[index]).toMatch(pattern);
    expect(said).toHaveLength(wanted.length);
  });

  test("Release in finally, as manual contexts need it, harms nothing", async () => {
    const app = appOf(`
      const own = new Context({});
      try { own.memory.context.Set("k", 1); ctx.trace.Info("x"); } finally { own.Release(); ctx.trace.Release(); ctx.Release(); }
      ctx.Send("still here");
      return { data: [own.memory.context.Get("k"), ctx.memory.context.Get("k")] };`);
    expect(await nextOf(app)).toEqual([null, null]);
  });
});

describe("memory", () => {
  test("lists and sets of every namespace", async () => {
    const app = appOf(`
      const of = (m) => [m.Push("l", [1, 2]), m.Push("l", 3, 4), m.Pop("l"), m.Pull("l", 2), m.PullAll("l"), m.Pop("l"), m.AddToSet("s", ["a", "b", "a"]),
        m.AddToSet("s", ["b", { x: 1 }, { x: 1 }]), m.ArrayLen("s"), m.ArrayAll("s"), m.ArrayPage("s", 2, 2), m.ArrayGet("s", 1), m.ArrayLen("none")];
      return { data: ["user", "team", "chat", "context"].map((name) => of(ctx.memory[name])) };`);
    const all = (await nextOf(app)) as unknown[];
    const one = [2, 4, 4, [2, 3], [1], null, 2, 3, 3, ["a", "b", { x: 1 }], [{ x: 1 }], "b", 0];
    expect(all).toEqual([one, one, one, one]);
  });

  test("a value lives as many seconds as it is given, in every namespace", async () => {
    const app = appOf(`
      const all = ["user", "team", "chat", "context"].map((name) => ctx.memory[name]);
      for (const m of all) { m.Set("short", 1, 0.02); m.Set("long", 1, 100); }
      time.Sleep(40);
      return { data: all.map((m) => [m.Get("short"), m.Has("short"), m.Get("long")]) };`);
    expect(await nextOf(app)).toEqual(Array.from({ length: 4 }, () => [null, false, 1]));
  });

  test("keys, length, wildcards and Clear concern one namespace of one owner", async () => {
    const app = appOf(`
      const { user, chat } = ctx.memory;
      user.Set("a:1", 1); user.Set("a:2", 2); user.Set("b", 3); chat.Set("a:1", 4);
      user.Del("a:*");
      const left = [user.Keys(), user.Len(), chat.Keys(), user.GetDel("b"), user.Len(), user.Decr("n", 2)];
      user.Clear();
      return { data: [...left, user.Len(), chat.Len()] };`);
    expect(await nextOf(app)).toEqual([["b"], 1, ["a:1"], 3, 0, -2, 0, 1]);
  });

  test("a run without a chat has no chat memory; an agent that is called has request memory of its own", async () => {
    const child = assistant("child", {
      hooks: `function Next(ctx) { return { data: [ctx.memory.context.Get("k"), ctx.memory.user.Get("k")] }; }`,
    });
    const app = appOf(
      `ctx.memory.context.Set("k", 1); ctx.memory.user.Set("k", 2);
       return { data: [ctx.memory.chat === undefined, ctx.agent.Call("child", "hi").response.next] };`,
      child,
    );
    expect((await app.run("a", "x")).outcome?.next).toEqual([true, [null, 2]]);
  });

  test("two people, two chats and two workspaces with equal names see nothing of each other", async () => {
    const app = appOf(`
      const was = ["user", "team", "chat"].map((name) => ctx.memory[name].Get("k"));
      for (const name of ["user", "team", "chat"]) ctx.memory[name].Set("k", 1);
      return { data: [...was, Process("stores.s.Incr", "k")] };`);
    expect(await nextOf(app)).toEqual([null, null, null, 1]);
    expect(await nextOf(app, { userId: "other" })).toEqual([null, 1, null, 2]);
    expect(await nextOf(app, { chatId: "other" })).toEqual([1, 1, null, 3]);
    expect(await nextOf(app, { workspaceId: "other" })).toEqual([null, null, null, 1]);
  });
});

describe("stores", () => {
  test("processes and the object do the same, also on many keys and on lists", async () => {
    const app = appOf(`
      const s = new Store("cache");
      s.Set("a", { x: 1 }); Process("stores.cache.SetMulti", { b: 2, c: 3 });
      s.Push("l", 1, 2, 3);
      return { data: [s.Get("a"), s.GetMulti(["a", "b", "none"]), s.Has("c"), s.GetSet("d", (key) => key + "!"), s.Get("d"),
        Process("stores.cache.Pop", "l", 1), s.ArrayAll("l"), s.ArraySlice("l", 0, 1), s.GetDel("a"), s.Get("a"), s.Keys().sort()] };`);
    expect(await nextOf(app)).toMatchObject([
      { x: 1 },
      { a: { x: 1 }, b: 2 },
      true,
      "d!",
      "d!",
      3,
      [1, 2],
      [1],
      { x: 1 },
      null,
      ["b", "c", "d", "l"],
    ]);
  });
});

describe("i18n", () => {
  test("$L says a text in the run's language, falls back to en-us, then to the key", async () => {
    const locales = {
      "assistants/a/locales/en-us.yml": "hello: Hello\nonly: Only here\n",
      "assistants/a/locales/zh-cn.yml": "hello: 你好\n",
      "agent/locales/zh-cn.yml": "shared: 共享\n",
    };
    const app = appOf(`return { data: ["hello", "only", "shared", "none"].map((key) => $L(key)) };`, locales);
    expect(await nextOf(app, { locale: "zh-cn" })).toEqual(["你好", "Only here", "共享", "none"]);
    expect(await nextOf(app, { locale: "zh-tw" })).toEqual(["你好", "Only here", "共享", "none"]);
    expect(await nextOf(app, { locale: "en-us" })).toEqual(["Hello", "Only here", "shared", "none"]);
  });
});

describe("search", () => {
  const FINDER = assistant("finder", {
    hooks: `function Next(ctx, p) { const asked = JSON.parse(p.messages[0].content); return { data: { items: [{ title: asked.query, content: "" }] } }; }`,
  });
  const web = { "agent/agent.yml": "uses:\n  search: finder\n" };

  test("every item of a run has a citation of its own, its kind, source and weight", async () => {
    const app = appOf(
      `const results = [ctx.search.Web("one"), ...ctx.search.All([{ type: "kb", query: "two" }, { type: "web", query: "three" }])];
       return { data: results.map((r) => [r.type, r.query, r.source, r.error ?? null, r.items.map((i) => [i.title, i.weight, i.citation_id])]) };`,
      FINDER,
      web,
    );
    const results = (await nextOf(app)) as [string, string, string, null, [string, number, string][]][];
    expect(results.map(([type, query, source, error]) => [type, query, source, error])).toEqual([
      ["web", "one", "hook", null],
      ["kb", "two", "hook", null],
      ["web", "three", "hook", null],
    ]);
    const items = results.flatMap(([, , , , found]) => found);
    expect(items.map(([title, weight]) => [title, weight])).toEqual([
      ["one", 0.8],
      ["KB", 0.8],
      ["three", 0.8],
    ]);
    expect(items.map(([, , id]) => id).toSorted()).toEqual(["1", "2", "3"]);
  });

  test("what goes wrong stands in the result: no provider, a server that is not there, a wrong request", async () => {
    const body = `return { data: [ctx.search.Web("q").error, ctx.search.All([{ type: "moon", query: "q" }])[0].error, ctx.search.DB("").error] };`;
    const none = (await nextOf(appOf(body))) as string[];
    expect(none[0]).toContain("uses.search");
    expect(none[1]).toContain('"web" | "kb" | "db"');
    expect(none[2]).toContain("empty");
    const wrong = (await nextOf(appOf(body, { "agent/agent.yml": "uses:\n  search: mcp:nowhere.find\n" }))) as string[];
    expect(wrong[0]).toContain("nowhere");
  });

  test("Any gives the first that works, Race the first, and both only what came in", async () => {
    const app = appOf(
      `const asks = [{ type: "moon", query: "q" }, { type: "kb", query: "q" }];
       return { data: [ctx.search.Any(asks).find((r) => !r.error).type, ctx.search.Race([asks[1]]).length] };`,
    );
    expect(await nextOf(app)).toEqual(["kb", 1]);
  });
});
