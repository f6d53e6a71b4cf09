/** The parts of an app that are located more than read: scripts, models, eval inputs, settings, and the files themselves. */

import { expect, test } from "vitest";

import { load } from "./testing/app-of.ts";

test("scripts have the ids that their functions are called by", () => {
  const { app, findings } = load({
    "assistants/tests/demo/package.yao": { name: "D" },
    "assistants/tests/demo/src/index.ts": "",
    "assistants/tests/demo/src/orders.ts": "",
    "assistants/tests/demo/src/deep/more.js": "",
    "assistants/tests/demo/src/deep/index.ts": "",
    "assistants/tests/demo/src/setup_test.ts": "",
    "assistants/tests/demo/src/types.d.ts": "",
    "assistants/tests/demo/src/notes.md": "",
    "scripts/expense/tools.ts": "",
    "scripts/tools_test.ts": "",
  });
  expect(findings).toEqual([]);
  expect(
    Object.fromEntries([...app.scripts].map(([id, { kind, path, assistantId }]) => [id, [kind, path, assistantId]])),
  ).toEqual({
    "scripts.expense.tools": ["process", "scripts/expense/tools.ts", undefined],
    "scripts.tools_test": ["test", "scripts/tools_test.ts", undefined],
    "agents.tests.demo.index": ["hooks", "assistants/tests/demo/src/index.ts", "tests.demo"],
    "agents.tests.demo.orders": ["process", "assistants/tests/demo/src/orders.ts", "tests.demo"],
    "agents.tests.demo.deep.more": ["process", "assistants/tests/demo/src/deep/more.js", "tests.demo"],
    "agents.tests.demo.deep.index": ["process", "assistants/tests/demo/src/deep/index.ts", "tests.demo"],
    "agents.tests.demo.setup_test": ["test", "assistants/tests/demo/src/setup_test.ts", "tests.demo"],
  });
  expect(app.assistants.get("tests.demo")?.hooks).toBe("assistants/tests/demo/src/index.ts");
  expect(app.assistants.get("a")?.hooks).toBeUndefined();
});

test("two scripts of one id are reported, and an odd name does not stop the app", () => {
  const { app, findings } = load({
    "assistants/a/src/b/c.ts": "",
    "assistants/a/b/package.yao": { name: "B" },
    "assistants/a/b/src/c.ts": "",
    "assistants/a/src/copy (1).ts": "",
  });
  expect(findings).toEqual([
    "warning assistants/a/src/b/c.ts:0 its id agents.a.b.c is already that of assistants/a/b/src/c.ts; rename one of them",
    'warning assistants/a/src/copy (1).ts:0 "copy (1)" cannot be an id: the names of its folders may hold letters, digits, - and _, at most 128 characters in all',
  ]);
  expect([...app.assistants.keys()]).toEqual(["a.b", "a"]);
});

test("models are found with their ids and their text as data", () => {
  const { app, findings } = load({
    "models/pet/tag.mod.yao": '{ // a comment\n"columns": [], }',
    "assistants/a/models/nested/log.mod.yao": { name: "Log", columns: [] },
    "assistants/a/models/readme.md": "",
  });
  expect(findings).toEqual([]);
  expect([...app.models.values()]).toEqual([
    { id: "pet.tag", path: "models/pet/tag.mod.yao", source: { columns: [] } },
    {
      id: "agents.a.nested.log",
      path: "assistants/a/models/nested/log.mod.yao",
      assistantId: "a",
      source: { name: "Log", columns: [] },
    },
  ]);
});

test("a broken model of an assistant keeps all of it out, a broken one of the app only itself", () => {
  const files = {
    "assistants/a/models/x.mod.yao": "[]",
    "assistants/a/models/y.mod.yao": {},
    "assistants/a/mcps/t.mcp.yao": { transport: "http", url: "http://x" },
    "assistants/a/src/index.ts": "",
    "models/x.mod.yao": "{",
    "models/y.mod.yao": {},
  };
  const { app, findings } = load(files);
  expect(findings).toEqual([
    "error assistants/a/models/x.mod.yao:1 a model file must be an object",
    "error models/x.mod.yao:1 not JSON: the file ends too early; a bracket is not closed",
  ]);
  expect([app.assistants.size, app.mcpServers.size, app.scripts.size, [...app.models.keys()]]).toEqual([
    0,
    0,
    0,
    ["y"],
  ]);
});

test("eval inputs of an assistant are located", () => {
  const { app } = load({
    "assistants/a/tests/inputs.jsonl": "not checked here",
    "assistants/a/tests/deep/dynamic.jsonl": "",
    "assistants/a/tests/context.json": "",
    "assistants/a/tests2/x.jsonl": "",
  });
  expect(app.assistants.get("a")?.evalInputs).toEqual([
    "assistants/a/tests/deep/dynamic.jsonl",
    "assistants/a/tests/inputs.jsonl",
  ]);
});

test("the settings of an app are read", () => {
  const { app, findings } = load({
    "agent/agent.yml":
      "uses:\n  default: a\n  search: builtin\n  mine: x\nsystem:\n  default: gpt\nstore:\n  max_size: 20\n  expiration: 90d\ncache: c\n",
    "agent/search.yml": "web:\n  provider: tavily\n  api_key_env:\nkb:\n  threshold: 0.7\n",
    "agent/kb.yml": "chat:\n  locale: zh-CN\n",
  });
  expect(findings).toEqual([]);
  expect(app.uses).toEqual({ default: "a", search: "builtin", mine: "x" });
  expect(app.search).toEqual({ web: { provider: "tavily" }, kb: { threshold: 0.7 } });
  expect(app.knowledge).toEqual({ chat: { locale: "zh-CN" } });
  expect(app.settings).toMatchObject({ system: { default: "gpt" }, store: { max_size: 20 } });
});

test.each<[path: string, text: string, finding: string]>([
  ["agent/agent.yml", "store:\n  max_size: many", '2 store.max_size must be a whole number of at least 0, not "many"'],
  ["agent/agent.yml", "system:\n  light: 4", "2 system.light must be text, not 4"],
  ["agent/search.yml", "- web", "1 search.yml must be a mapping"],
  ["agent/search.yml", "kb:\n  graph: maybe", '2 kb.graph must be true or false, not "maybe"'],
  ["agent/kb.yml", "chat: x", '1 chat must be an object, not "x"'],
])("%s with %j is refused", (path, text, finding) => {
  expect(load({ [path]: text }).findings).toEqual([`error ${path}:${finding}`]);
});

test("what is not read is said", () => {
  const { findings } = load({
    "assistants/a/prompts/chat.yaml": "",
    "assistants/a/locales/en.yaml": "",
    "assistants/a/tools.yao": "",
    "assistants/lost/prompts.yml": "",
    "assistants/lost/src/index.ts": "",
    "assistants/a/skills/prompts.yml": "",
  });
  expect(findings).toEqual([
    "warning assistants/a/locales/en.yaml:0 this file is not read; its name must end in .yml",
    "warning assistants/a/prompts/chat.yaml:0 this file is not read; its name must end in .yml",
    "note assistants/a/tools.yao:0 this file is not read: tools are those of the MCP servers in mcps/",
    "warning assistants/lost/prompts.yml:0 assistants/lost has no package.yao, so that it is no assistant",
    "warning assistants/lost/src/index.ts:0 assistants/lost has no package.yao, so that it is no assistant",
  ]);
});

test("two files for one preset or one locale are reported", () => {
  const { findings } = load({
    "assistants/a/prompts/chat.friendly.yml": "",
    "assistants/a/prompts/chat/friendly.yml": "",
    "assistants/a/locales/en-us.yml": "",
    "assistants/a/locales/EN_US.yml": "",
  });
  expect(findings).toEqual([
    "error assistants/a/locales/en-us.yml:0 there is already a file for en-us; keep one of them",
    "error assistants/a/prompts/chat/friendly.yml:0 there is already a preset chat.friendly; rename one of the files",
  ]);
});

test("an app gives access to its files, as text without a byte order mark and as bytes", () => {
  const { app } = load({ "scripts/x.ts": "\uFEFFexport const x = 1;\r\n", "a.bin": Uint8Array.of(0xff, 0) });
  expect(app.file("scripts/x.ts")).toBe("export const x = 1;\r\n");
  expect(app.file("a.bin")).toBeUndefined();
  expect(app.bytes("a.bin")).toEqual(Uint8Array.of(0xff, 0));
  for (const path of ["none", "../a.bin", "/a.bin", "__proto__", "constructor"]) {
    expect([app.file(path), app.bytes(path)]).toEqual([undefined, undefined]);
  }
});

test("the order in which files come changes nothing", () => {
  const files = {
    "assistants/b/package.yao": { name: "B", mcp: { servers: ["s"] } },
    "assistants/a/src/index.ts": "",
    "mcps/s.mcp.yao": { transport: "process", tools: { x: "scripts.x.Do" } },
    "mcps/mapping/s/schemes/x.in.yao": {},
    "scripts/x.ts": "",
    "models/m.mod.yao": {},
  };
  const turned = Object.fromEntries(Object.entries(files).toReversed());
  expect(load(turned)).toEqual(load(files));
  expect([...load(turned).app.scripts.keys()]).toEqual([...load(files).app.scripts.keys()]);
});

test("an app of many assistants and servers loads in a moment", () => {
  const many: Record<string, unknown> = {};
  for (let n = 0; n < 600; n += 1) {
    many[`assistants/x${n}/package.yao`] = { name: "X", mcp: { servers: ["t"] } };
    many[`assistants/x${n}/mcps/t.mcp.yao`] = { transport: "process", tools: { do: `agents.x${n}.s.Do` } };
    many[`assistants/x${n}/mcps/mapping/t/schemes/do.in.yao`] = {};
  }
  const started = performance.now();
  expect(load(many).app.mcpServers.size).toBe(600);
  expect(performance.now() - started).toBeLessThan(5000);
});
