import type { Json } from "@mesh/kernel";
import { expect, test } from "vitest";

import { OP_ARGS } from "../op.ts";
import { ScriptHarness, SEED } from "../testing/script-harness.ts";

/** An expression of a script, the operation it becomes, and what it gives when the operation answers `answer`. */
type Row = readonly [code: string, asked: readonly Json[], answer?: Json | undefined, value?: Json | undefined];

const ROWS: readonly Row[] = [
  ['ctx.Send("hi")', ["ctx.Send", "hi", null], "M1", "M1"],
  [
    'ctx.Send({ type: "text", props: { content: "hi" } }, "B1")',
    ["ctx.Send", { type: "text", props: { content: "hi" } }, "B1"],
    "M1",
    "M1",
  ],
  ['ctx.SendStream("hi", "B1")', ["ctx.SendStream", "hi", "B1"], "M1", "M1"],
  ['ctx.Append("M1", " more")', ["ctx.Append", "M1", " more", null], "M1", "M1"],
  ['ctx.Append("M1", "x", "props.data")', ["ctx.Append", "M1", "x", "props.data"], "M1", "M1"],
  ['ctx.Replace("M1", "new")', ["ctx.Replace", "M1", "new"], "M1", "M1"],
  ['ctx.Merge("M1", { progress: 50 }, "props")', ["ctx.Merge", "M1", { progress: 50 }, "props"], "M1", "M1"],
  ['ctx.Set("M1", 5, "props.count")', ["ctx.Set", "M1", 5, "props.count"], "M1", "M1"],
  ['ctx.End("M1")', ["ctx.End", "M1", null], "M1", "M1"],
  ['ctx.End("M1", "done")', ["ctx.End", "M1", "done"], "M1", "M1"],
  ['ctx.EndBlock("B1")', ["ctx.EndBlock", "B1"], "ignored", undefined],
  ["ctx.MessageID()", ["ctx.MessageID"], "M1", "M1"],
  ["ctx.BlockID()", ["ctx.BlockID"], "B1", "B1"],
  ["ctx.ThreadID()", ["ctx.ThreadID"], "T1", "T1"],

  ['ctx.memory.user.Get("k")', ["memory.Get", "user", "k"], { a: 1 }, { a: 1 }],
  ['ctx.memory.user.Get("k")', ["memory.Get", "user", "k"], undefined, null],
  ['ctx.memory.team.Set("k", { a: 1 }, 60)', ["memory.Set", "team", "k", { a: 1 }, 60], "ignored", undefined],
  ['ctx.memory.chat.Set("k", undefined)', ["memory.Set", "chat", "k", null, null]],
  ['ctx.memory.chat.Set("k", 1, { ms: 500 })', ["memory.Set", "chat", "k", 1, 0.5]],
  ['ctx.memory.chat.Set("k", 1, { seconds: 5 })', ["memory.Set", "chat", "k", 1, 5]],
  ['ctx.memory.chat.Del("k:*")', ["memory.Del", "chat", "k:*"], null, undefined],
  ["ctx.memory.chat.Has(5)", ["memory.Has", "chat", "5"], true, true],
  ['ctx.memory.chat.GetDel("k")', ["memory.GetDel", "chat", "k"], 1, 1],
  ["ctx.memory.user.Keys()", ["memory.Keys", "user"], ["a"], ["a"]],
  ["ctx.memory.user.Len()", ["memory.Len", "user"], 3, 3],
  ["ctx.memory.user.Clear()", ["memory.Clear", "user"], null, undefined],
  ['ctx.memory.user.Incr("n")', ["memory.Incr", "user", "n", 1], 5, 5],
  ['ctx.memory.user.Decr("n", 2)', ["memory.Decr", "user", "n", 2], 3, 3],
  ['ctx.memory.chat.Push("l", [1, 2])', ["memory.Push", "chat", "l", [1, 2]], 2, 2],
  ['ctx.memory.chat.Push("l", 1, 2)', ["memory.Push", "chat", "l", [1, 2]], 2, 2],
  ['ctx.memory.chat.Pop("l")', ["memory.Pop", "chat", "l"], 2, 2],
  ['ctx.memory.chat.Pull("l", 5)', ["memory.Pull", "chat", "l", 5], [1], [1]],
  ['ctx.memory.chat.PullAll("l")', ["memory.PullAll", "chat", "l"], [1], [1]],
  ['ctx.memory.user.AddToSet("s", ["/a"])', ["memory.AddToSet", "user", "s", ["/a"]], 1, 1],
  ['ctx.memory.chat.ArrayLen("l")', ["memory.ArrayLen", "chat", "l"], 1, 1],
  ['ctx.memory.chat.ArrayGet("l", -1)', ["memory.ArrayGet", "chat", "l", -1], 1, 1],
  ['ctx.memory.chat.ArraySet("l", 0, { a: 1 })', ["memory.ArraySet", "chat", "l", 0, { a: 1 }], null, undefined],
  ['ctx.memory.chat.ArraySlice("l", -10, -1)', ["memory.ArraySlice", "chat", "l", -10, -1], [1], [1]],
  ['ctx.memory.chat.ArrayPage("l", 1, 20)', ["memory.ArrayPage", "chat", "l", 1, 20], [1], [1]],
  ['ctx.memory.chat.ArrayAll("l")', ["memory.ArrayAll", "chat", "l"], [1], [1]],

  ['ctx.trace.Add({ q: 1 }, { label: "L" }).id', ["trace.Add", null, { q: 1 }, { label: "L" }], "n1", "n1"],
  [
    'ctx.trace.Parallel([{ input: 1, option: { label: "A" } }]).map((n) => n.id)',
    ["trace.Parallel", null, [{ input: 1, option: { label: "A" } }]],
    ["n1"],
    ["n1"],
  ],
  ['ctx.trace.Info("x") === ctx.trace', ["trace.Log", null, "info", "x", []], null, true],
  [
    'ctx.trace.Error("x", { error: "e" }) === ctx.trace',
    ["trace.Log", null, "error", "x", [{ error: "e" }]],
    null,
    true,
  ],
  ["ctx.trace.SetOutput({ r: 1 }) === ctx.trace", ["trace.SetOutput", null, { r: 1 }], null, true],
  ['ctx.trace.SetMetadata("k", 1) === ctx.trace', ["trace.SetMetadata", null, "k", 1], null, true],
  ["ctx.trace.Complete() === ctx.trace", ["trace.Complete", null, []], null, true],
  ["ctx.trace.Complete(null) === ctx.trace", ["trace.Complete", null, [null]], null, true],
  ['ctx.trace.Fail(new Error("e")) === ctx.trace', ["trace.Fail", null, "e"], null, true],
  ["ctx.trace.IsComplete()", ["trace.IsComplete"], false, false],
  ["ctx.trace.MarkComplete() === ctx.trace", ["trace.MarkComplete"], null, true],
  ['ctx.trace.CreateSpace({ label: "S" }).id', ["trace.CreateSpace", { label: "S" }], "s1", "s1"],
  ['ctx.trace.GetSpace("s1").id', ["trace.GetSpace", "s1"], true, "s1"],
  ['ctx.trace.GetSpace("s2")', ["trace.GetSpace", "s2"], false, null],

  [
    'ctx.agent.Call("a", [{ role: "user" }])',
    ["agent.Call", "a", [{ role: "user" }], null, null],
    { agent_id: "a" },
    { agent_id: "a" },
  ],
  [
    'ctx.agent.Stream("a", "hi", { mode: "task" })',
    ["agent.Call", "a", [{ role: "user", content: "hi" }], { mode: "task" }, null],
    { agent_id: "a" },
    { agent_id: "a" },
  ],
  [
    'ctx.agent.All([{ agent: "a", messages: [] }])',
    ["agent.All", [{ agent: "a", messages: [] }], null],
    [{ agent_id: "a" }],
    [{ agent_id: "a" }],
  ],
  ["ctx.agent.Any([]).find((r) => !r.error).agent_id", ["agent.Any", [], null], [null, { agent_id: "b" }], "b"],
  ["ctx.agent.Race([]).find((r) => r !== null).agent_id", ["agent.Race", [], null], [null, { agent_id: "b" }], "b"],
  [
    'ctx.llm.Stream("gpt", [], { temperature: 0 })',
    ["llm.Stream", "gpt", [], { temperature: 0 }, null],
    { connector: "gpt" },
    { connector: "gpt" },
  ],
  ['ctx.llm.Call("gpt", [])', ["llm.Call", "gpt", [], null, null], { connector: "gpt" }, { connector: "gpt" }],
  ["ctx.llm.All([])", ["llm.All", [], null], [], []],
  ["ctx.llm.Any([]).length", ["llm.Any", [], null], [null, { connector: "b" }], 1],
  ["ctx.llm.Race([]).length", ["llm.Race", [], null], [null, { connector: "b" }], 2],
  [
    'ctx.llm.GenerateImage("img", "a cat", { size: "1" })',
    ["llm.GenerateImage", "img", "a cat", { size: "1" }],
    { image: "x" },
    { image: "x" },
  ],

  ['ctx.mcp.ListTools("echo", "")', ["mcp.ListTools", "echo", null], { tools: [] }, { tools: [] }],
  [
    'ctx.mcp.CallTool("echo", "ping", { n: 1 }).echo',
    ["mcp.CallTool", "echo", "ping", { n: 1 }],
    { result: { echo: "hi" } },
    "hi",
  ],
  [
    'ctx.mcp.CallTool("echo", "ping").content[0].type',
    ["mcp.CallTool", "echo", "ping", null],
    { result: { echo: "hi" }, content: [{ type: "text" }] },
    "text",
  ],
  [
    'ctx.mcp.CallTool("echo", "ping")',
    ["mcp.CallTool", "echo", "ping", null],
    { result: "plain", content: [] },
    "plain",
  ],
  [
    'ctx.mcp.CallTools("echo", [{ name: "ping" }])',
    ["mcp.CallTools", "echo", [{ name: "ping" }]],
    [{ result: 1 }, { result: { a: 2 } }],
    [1, { a: 2 }],
  ],
  ['ctx.mcp.CallToolsParallel("echo", []).results', ["mcp.CallToolsParallel", "echo", []], [{ result: 1 }], [1]],
  ["ctx.mcp.All([])", ["mcp.All", []], [{ mcp: "a", tool: "t", result: 1 }], [{ mcp: "a", tool: "t", result: 1 }]],
  ["ctx.mcp.Any([]).length", ["mcp.Any", []], [null, { mcp: "a", tool: "t" }], 1],
  ["ctx.mcp.Race([]).length", ["mcp.Race", []], [null, { mcp: "a", tool: "t" }], 2],
  ['ctx.mcp.ListResources("echo")', ["mcp.ListResources", "echo", null], { resources: [] }, { resources: [] }],
  [
    'ctx.mcp.ReadResource("echo", "echo://info")',
    ["mcp.ReadResource", "echo", "echo://info"],
    { contents: [] },
    { contents: [] },
  ],
  ['ctx.mcp.ListPrompts("echo", "c")', ["mcp.ListPrompts", "echo", "c"], { prompts: [] }, { prompts: [] }],
  [
    'ctx.mcp.GetPrompt("echo", "p", { d: "1" })',
    ["mcp.GetPrompt", "echo", "p", { d: "1" }],
    { messages: [] },
    { messages: [] },
  ],
  [
    'ctx.mcp.ListSamples("echo", "tool", "ping")',
    ["mcp.ListSamples", "echo", "tool", "ping"],
    { samples: [] },
    { samples: [] },
  ],
  [
    'ctx.mcp.GetSample("echo", "tool", "ping", 0)',
    ["mcp.GetSample", "echo", "tool", "ping", 0],
    { name: "s" },
    { name: "s" },
  ],
  ['new MCP("echo").CallTool("ping", { n: 1 })', ["mcp.CallTool", "echo", "ping", { n: 1 }], { result: 1 }, 1],

  ['ctx.search.Web("q", { limit: 1 })', ["search.Web", "q", { limit: 1 }], { items: [] }, { items: [] }],
  ['ctx.search.KB("q")', ["search.KB", "q", null], { items: [] }, { items: [] }],
  ['ctx.search.DB("q", { models: ["m"] })', ["search.DB", "q", { models: ["m"] }], { items: [] }, { items: [] }],
  ['ctx.search.All([{ type: "web", query: "q" }])', ["search.All", [{ type: "web", query: "q" }]], [{}], [{}]],
  ["ctx.search.Any([]).length", ["search.Any", []], [null, {}], 1],
  ["ctx.search.Race([]).length", ["search.Race", []], [null, {}], 2],

  ['ctx.sandbox.ReadFile("a")', ["sandbox.ReadFile", "a"], "text", "text"],
  ['ctx.sandbox.WriteFile("a", { x: 1 })', ["sandbox.WriteFile", "a", '{\n  "x": 1\n}'], null, undefined],
  ["ctx.sandbox.ListDir()", ["sandbox.ListDir", "."], [{ name: "a" }], [{ name: "a" }]],
  ['ctx.sandbox.Exec(["npm", "test"])', ["sandbox.Exec", ["npm", "test"]], "ok", "ok"],
  [
    `ctx.computer.Exec('git commit -m "a b" x')`,
    ["computer.Exec", ["git", "commit", "-m", "a b", "x"]],
    { stdout: "" },
    { stdout: "" },
  ],
  ["ctx.computer.VNC()", ["computer.VNC"], "url", "url"],
  ["ctx.computer.Proxy(3000)", ["computer.Proxy", 3000, null], "url", "url"],
  ["ctx.computer.Info()", ["computer.Info"], {}, {}],
  ['ctx.workspace.ReadFile("a")', ["workspace.ReadFile", "a"], "t", "t"],
  ['ctx.workspace.ReadFileBase64("a")', ["workspace.ReadFileBase64", "a"], "t", "t"],
  ['ctx.workspace.WriteFile("a", "t")', ["workspace.WriteFile", "a", "t"], null, undefined],
  ['ctx.workspace.WriteFileBase64("a", "t")', ["workspace.WriteFileBase64", "a", "t"], null, undefined],
  ["ctx.workspace.ReadDir()", ["workspace.ReadDir", "."], [], []],
  ['ctx.workspace.MkdirAll("a")', ["workspace.MkdirAll", "a"], null, undefined],
  ['ctx.workspace.Remove("a")', ["workspace.Remove", "a"], null, undefined],
  ['ctx.workspace.RemoveAll("a")', ["workspace.RemoveAll", "a"], null, undefined],
  ['ctx.workspace.Rename("a", "b")', ["workspace.Rename", "a", "b"], null, undefined],
  ['ctx.workspace.Copy("a", "b")', ["workspace.Copy", "a", "b"], null, undefined],
  ['ctx.workspace.Stat("a")', ["workspace.Stat", "a"], { size: 1 }, { size: 1 }],
  ['ctx.workspace.Exists("a")', ["workspace.Exists", "a"], true, true],

  ['Process("utils.now", 1, undefined)', ["process.Call", "utils.now", [1, null]], "t", "t"],
  ['All([{ process: "a", args: [1] }])', ["process.All", [{ process: "a", args: [1] }]], [{ data: 1 }], [{ data: 1 }]],
  ['Any([{ process: "a" }])', ["process.Any", [{ process: "a", args: [] }]], [{ data: 1 }], [{ data: 1 }]],
  ['Race([{ process: "a" }])', ["process.Race", [{ process: "a", args: [] }]], [{ data: 1 }], [{ data: 1 }]],
  ['time.After(100, "p", 1)', ["time.After", 100, "p", [1]], null, undefined],
  ['log.Info("a %s %v", "b", { c: 1 })', ["log.Write", "log", "info", "a b {c: 1}"], null, undefined],
  [
    'console.error("a", [1, "x"], new Map([[1, 2]]))',
    ["log.Write", "console", "error", 'a [1, "x"] Map {1 => 2}'],
    null,
    undefined,
  ],
  [
    'http.Get("http://x", { q: 1 }, { h: "1" })',
    ["http.Send", { method: "GET", url: "http://x", query: { q: 1 }, headers: { h: "1" } }],
    { status: 200 },
    { status: 200 },
  ],
  [
    'http.Post("http://x", { a: 1 }, null, null, { h: "1" })',
    ["http.Send", { method: "POST", url: "http://x", payload: { a: 1 }, headers: { h: "1" } }],
    {},
    {},
  ],
  ['http.Put("http://x", "t")', ["http.Send", { method: "PUT", url: "http://x", payload: "t" }], {}, {}],
  [
    'http.Send("OPTIONS", "http://x", 1, 2, 3, 4)',
    ["http.Send", { method: "OPTIONS", url: "http://x", payload: 1, query: 2, headers: 3, files: 4 }],
    {},
    {},
  ],
  ['http.Stream("GET", "http://x", () => 1)', ["http.Stream", { method: "GET", url: "http://x" }, 1], {}, {}],
  ['new FS("data").ReadFile("/a")', ["fs.Call", "data", "ReadFile", ["/a"]], "t", "t"],
  ['[...new FS("data").ReadFileBuffer("/a")]', ["fs.Call", "data", "ReadFileBase64", ["/a"]], "AQL/", [1, 2, 255]],
  [
    'FS("data").WriteFileBuffer("/a", new Uint8Array([1, 2, 255]))',
    ["fs.Call", "data", "WriteFileBase64", ["/a", "AQL/"]],
    3,
    3,
  ],
  ['new Store("cache").Set("k", 1, 60)', ["store.Call", "cache", "Set", ["k", 1, 60]]],
  ['new Store("cache").GetSet("k", () => 1)', ["store.Call", "cache", "Get", ["k"]], 5, 5],
  ['new Query("default").Get({ from: "$x" })', ["query.Call", "default", "Get", { from: "$x" }], [], []],
  ['$L("hello")', ["i18n.L", "hello"], "hallo", "hallo"],
  ['Use(FS, "data", (fs) => fs.Exists("/a"))', ["fs.Call", "data", "Exists", ["/a"]], true, true],
];

test("every method of the API becomes its operation, with every argument in its place", async () => {
  let answer: Json | undefined;
  const ops = Object.fromEntries(Object.keys(OP_ARGS).map((op) => [op, () => answer]));
  const script = ROWS.map(([code], index) => `function f${index}(ctx) { return ${code}; }`).join("\n");
  await using harness = new ScriptHarness(script, { ops });
  const seen: unknown[] = [];
  for (const [index, row] of ROWS.entries()) {
    answer = row[2];
    harness.asked.length = 0;
    const value = await harness.value(`f${index}`).catch((error: Error) => `failed: ${error.message}`);
    seen.push([row[0], [...harness.asked], value]);
  }
  expect(seen).toEqual(ROWS.map(([code, asked, , value]) => [code, [asked], value]));
});

test("every operation is reached by some method of the API", () => {
  const reached = new Set(ROWS.map(([, [op]]) => op));
  const nodes = [
    "trace.SpaceGet",
    "trace.SpaceSet",
    "trace.SpaceHas",
    "trace.SpaceDelete",
    "trace.SpaceClear",
    "trace.SpaceKeys",
  ];
  // Those of `t` are in test-object.test.ts.
  const left = Object.keys(OP_ARGS).filter((op) => !reached.has(op) && !op.startsWith("test."));
  expect(left).toEqual(nodes);
});

test("trace nodes and spaces are addressed by their ids, and chain", async () => {
  await using harness = new ScriptHarness(
    `
    function Create(ctx) {
      const node = ctx.trace.Add({}, { label: "P" });
      const child = node.Add({ a: 1 });
      child.Info("i").Debug("d").Warn("w").SetOutput(1).SetMetadata("k", 2).Complete({ done: true });
      node.Parallel([{ input: 1 }])[0].Fail("broken");
      const space = ctx.trace.CreateSpace({ label: "S" });
      const kept = [space.Set("k", 1).Has("k"), space.Get("k"), space.Keys()];
      space.Delete("k").Clear();
      return kept;
    }
  `,
    {
      ops: {
        "trace.Add": ([parent]) => `${(parent as string | null) ?? "root"}.child`,
        "trace.Parallel": () => ["p1"],
        "trace.CreateSpace": () => "s1",
        "trace.SpaceHas": () => true,
        "trace.SpaceKeys": () => ["k"],
      },
    },
  );
  expect(await harness.value("Create")).toEqual([true, null, ["k"]]);
  expect(harness.asked).toEqual([
    ["trace.Add", null, {}, { label: "P" }],
    ["trace.Add", "root.child", { a: 1 }, {}],
    ["trace.Log", "root.child.child", "info", "i", []],
    ["trace.Log", "root.child.child", "debug", "d", []],
    ["trace.Log", "root.child.child", "warn", "w", []],
    ["trace.SetOutput", "root.child.child", 1],
    ["trace.SetMetadata", "root.child.child", "k", 2],
    ["trace.Complete", "root.child.child", [{ done: true }]],
    ["trace.Parallel", "root.child", [{ input: 1 }]],
    ["trace.Fail", "p1", "broken"],
    ["trace.CreateSpace", { label: "S" }],
    ["trace.SpaceSet", "s1", "k", 1],
    ["trace.SpaceHas", "s1", "k"],
    ["trace.SpaceGet", "s1", "k"],
    ["trace.SpaceKeys", "s1"],
    ["trace.SpaceDelete", "s1", "k"],
    ["trace.SpaceClear", "s1"],
  ]);
});

test("ctx has the properties of its seed, and only the parts the run has", async () => {
  const script = `
    const { trace_id: _, ...rest } = {};
    function Create(ctx) {
      return {
        chat_id: ctx.chat_id, assistant_id: ctx.assistant_id, locale: ctx.locale, theme: ctx.theme, accept: ctx.accept, route: ctx.route,
        referer: ctx.referer, client: ctx.client, metadata: ctx.metadata, authorized: ctx.authorized, trace: ctx.trace.id,
        memory: ["user", "team", "chat", "context"].map((name) => ctx.memory[name] && [ctx.memory[name].id, ctx.memory[name].space]),
        parts: [typeof ctx.sandbox, typeof ctx.computer, typeof ctx.workspace], workdir: ctx.sandbox?.workdir,
        who: Authorized(), released: ctx.Release(),
      };
    }
  `;
  await using harness = new ScriptHarness(script);
  const { trace_id: trace, memory: _memory, sandbox, computer: _computer, workspace: _workspace, ...properties } = SEED;
  expect(await harness.value("Create")).toEqual({
    ...properties,
    trace,
    memory: [
      ["u1", "user"],
      ["t1", "team"],
      ["chat-1", "chat"],
      ["ctx-1", "context"],
    ],
    parts: ["object", "object", "object"],
    workdir: sandbox?.workdir,
    who: SEED.authorized,
  });
  const bare = { ...properties, trace_id: "t", memory: { user: "u1", context: "c" } };
  expect(await harness.call({ fn: "Create", args: [{ ctx: bare }] })).toMatchObject({
    value: { memory: [["u1", "user"], null, null, ["c", "context"]], parts: ["undefined", "undefined", "undefined"] },
  });
});

test("a method that does not exist is named, with those that do; asking for it is harmless", async () => {
  await using harness = new ScriptHarness(`
    function Create(ctx) { const m = ctx.search; if (m.Nothing || ctx.nothing) return "?"; m.Wbe("q"); }
    function Own() { const o = {}; o.foo(); }
  `);
  const message = await harness.run("Create").then(String, (error: Error) => error.message);
  expect(message).toContain("m.Wbe is not a function (ctx.search has Web, KB, DB, All, Any, Race) (src/index.ts:2:");
  expect(await harness.run("Own").then(String, (error: Error) => error.message)).toMatch(
    /^o\.foo is not a function \(src/,
  );
});

test("a manual context shares the call's operations and has request memory of its own", async () => {
  await using harness = new ScriptHarness(`
    function Create(ctx) {
      ctx.memory.context.Set("a", 1);
      const own = new Context({ locale: "de" });
      own.Send("x");
      own.memory.context.Set("b", 2);
      const before = own.memory.context.Keys();
      own.Release();
      const trace = new Trace();
      return [own.locale, own.chat_id, before, own.memory.context.Len(), ctx.memory.context.Keys(), trace.id];
    }
  `);
  expect(await harness.value("Create")).toEqual(["de", "chat-1", ["b"], 0, ["a"], "trace-1"]);
});

test("a store's GetSet makes and keeps what is missing", async () => {
  await using harness = new ScriptHarness(
    `
    function Create() {
      const store = new Store("cache");
      return [store.GetSet("k", (key) => "made " + key, 60), store.GetSetMulti(["a", "b"], (key) => key + "!")];
    }
  `,
    { ops: { "store.Call": ([, method]) => (method === "GetMulti" ? { a: 1 } : null) } },
  );
  expect(await harness.value("Create")).toEqual(["made k", { a: 1, b: "b!" }]);
  expect(harness.asked).toEqual([
    ["store.Call", "cache", "Get", ["k"]],
    ["store.Call", "cache", "Set", ["k", "made k", 60]],
    ["store.Call", "cache", "GetMulti", [["a", "b"]]],
    ["store.Call", "cache", "Set", ["b", "b!", null]],
  ]);
});

test("log.Fatal and log.Panic write and do not end the script", async () => {
  await using harness = new ScriptHarness(
    "function Create() { log.Fatal('f'); log.Panic('p'); console.assert(false, 'a'); console.assert(true, 'b'); return 1; }",
  );
  expect(await harness.value("Create")).toBe(1);
  expect(harness.asked.map(([, , level, text]) => [level, text])).toEqual([
    ["fatal", "f"],
    ["panic", "p"],
    ["error", "Assertion failed a"],
  ]);
});

test("console shows any value, bounded", async () => {
  await using harness = new ScriptHarness(`
    function Create() {
      const circle = { name: "c" }; circle.self = circle;
      const deep = { a: { b: { c: { d: { e: 1 } } } } };
      console.log(circle, deep, [undefined, null, 1n, () => 1], new Set([1]), Symbol("s"), new Date(0), new Error("bad").message);
      console.log(Array.from({ length: 200 }, (_, i) => i));
      console.log("x".repeat(100_000));
      console.log("%d%% of %j", 5.9, { a: 1 }, "rest");
      console.log();
    }
  `);
  await harness.value("Create");
  const [one, two, three, four, five] = harness.asked.map((asked) => asked[3] as string);
  expect(one).toBe(
    '{name: "c", self: [circular]} {a: {b: {c: {d: {…}}}}} [undefined, null, 1n, [function ]] Set {1} Symbol(s) 1970-01-01T00:00:00.000Z bad',
  );
  expect(two).toContain("99, … 100 more]");
  expect(three!.length).toBeLessThan(66_000);
  expect(four).toBe("5% of {a: 1} rest");
  expect(five).toBe("");
});

test("members that are made when they are asked for are like any others", async () => {
  await using script = new ScriptHarness(`
    function Create(ctx) {
      const names = Object.keys(ctx);
      const parts = ["memory", "space", "trace", "mcp", "agent", "llm", "search"];
      const listed = parts.every((part) => names.includes(part));
      const same = parts.every((part) => ctx[part] === ctx[part]) && log === log && ctx.memory.user === ctx.memory.user;
      const { writable, enumerable, configurable } = Object.getOwnPropertyDescriptor(ctx, "mcp");
      ctx.search = "mine";
      log = "mine";
      const hidden = Object.keys(globalThis).includes("http");
      return [listed, same, writable && enumerable && configurable, ctx.search, log, hidden, typeof { ...ctx }.llm.Call];
    }
  `);
  expect(await script.value("Create")).toEqual([true, true, true, "mine", "mine", false, "function"]);
});
