/** Files that somebody wrote to do harm, in the kinds of files beside prompts and locales. */

import * as fc from "fast-check";
import { expect, test } from "vitest";

import { loadApp } from "./load-app.ts";
import { load } from "./testing/app-of.ts";

const SERVER = { transport: "process", tools: { t: "utils.now.Date" } };
const SCHEMA = "mcps/mapping/s/schemes/t.in.yao";

function nested(depth: number): string {
  return `${'{"properties": {"a": '.repeat(depth)}{}${"}}".repeat(depth)}`;
}

test("a schema may be deep, and a deeper one is refused with its reason", () => {
  expect(load({ "mcps/s.mcp.yao": SERVER, [SCHEMA]: nested(31) }).findings).toEqual([]);
  for (const depth of [40, 5000, 40_000]) {
    const { findings } = load({ "mcps/s.mcp.yao": SERVER, [SCHEMA]: nested(depth) });
    expect(findings[0]).toMatch(/^error mcps\/mapping\/s\/schemes\/t\.in\.yao:[01] nested more than 64 levels deep$/);
  }
});

test.each<[name: string, path: string, text: string]>([
  [
    "a wide schema",
    SCHEMA,
    JSON.stringify({
      properties: Object.fromEntries(
        Array.from({ length: 15_000 }, (_, n) => [`p${n}`, { type: "string", items: [] }]),
      ),
    }),
  ],
  [
    "a schema with many alternatives",
    SCHEMA,
    JSON.stringify({ anyOf: Array.from({ length: 15_000 }, () => ({ anyOf: [true, { type: ["string"] }] })) }),
  ],
  [
    "many unknown keys",
    "mcps/s.mcp.yao",
    JSON.stringify(Object.fromEntries(Array.from({ length: 40_000 }, (_, n) => [`tool${n}`, n]))),
  ],
  [
    "many servers",
    "assistants/a/package.yao",
    JSON.stringify({ name: "A", mcp: { servers: Array.from({ length: 50_000 }, (_, n) => `s${n}`) } }),
  ],
  [
    "many tools of a server",
    "assistants/a/package.yao",
    JSON.stringify({ name: "A", mcp: { servers: [{ s: Array.from({ length: 50_000 }, (_, n) => `t${n}`) }] } }),
  ],
  ["many samples", "mcps/mapping/s/schemes/t.jsonl", `{"input": {"a": [1, 2, 3]}}\n`.repeat(1000)],
  ["many empty lines", "mcps/mapping/s/schemes/t.jsonl", "\n".repeat(1_000_000)],
  ["one line of brackets", "mcps/mapping/s/schemes/t.jsonl", "[".repeat(1_000_000)],
  ["a long name", "assistants/a/package.yao", JSON.stringify({ name: "A", ["k".repeat(900_000)]: 1 })],
])("a file of %s costs little and says little", (_name, path, text) => {
  const started = performance.now();
  const { findings } = load({ "mcps/s.mcp.yao": SERVER, [SCHEMA]: {}, [path]: text });
  // Half a second on a quiet machine; unbounded, minutes.
  expect(performance.now() - started).toBeLessThan(5000);
  expect(findings.length).toBeLessThan(600);
  for (const finding of findings) expect(finding.length).toBeLessThan(500);
});

test("servers that share one folder of descriptions, and names that almost fit, cost little", () => {
  const files: Record<string, unknown> = {};
  for (let n = 0; n < 500; n += 1) {
    files[`mcps/server-with-a-long-name-${n}.mcp.yao`] = { ...SERVER, mapping: "mapping.all" };
    files[`mcps/mapping/all/schemes/tool${n}.in.yao`] = { description: "x".repeat(1000) };
    files[`assistants/x${n}/package.yao`] = {
      name: "X",
      mcp: { servers: Array.from({ length: 300 }, (_, i) => `server-with-a-lnog-name-${i}`) },
    };
  }
  const tools = Object.fromEntries(
    Array.from({ length: 20_000 }, (_, n) => [`tool-of-some-length-${n}`, "utils.now.Date"]),
  );
  files["mcps/wide.mcp.yao"] = { transport: "process", tools };
  files["assistants/wide/package.yao"] = {
    name: "W",
    mcp: { servers: [{ wide: Object.keys(tools).map((name) => `${name}!`) }] },
  };
  const started = performance.now();
  const { app, findings } = load(files);
  // Without bounds: a gigabyte and minutes.
  expect(performance.now() - started).toBeLessThan(8000);
  expect(app.mcpServers.size).toBe(501);
  expect(findings).toHaveLength(501);
});

test("an error in a shared folder of descriptions keeps every server that uses it out", () => {
  const { app, findings } = load({
    "mcps/one.mcp.yao": { ...SERVER, mapping: "mapping.all" },
    "mcps/two.mcp.yao": { ...SERVER, mapping: "mapping.all" },
    "mcps/mapping/all/schemes/t.in.yao": "[]",
  });
  expect(findings).toEqual(["error mcps/mapping/all/schemes/t.in.yao:1 the file must hold an object"]);
  expect(app.mcpServers.size).toBe(0);
});

test("files whose names are members of objects are files like others", () => {
  const { app } = load({
    "mcps/__proto__.mcp.yao": SERVER,
    "mcps/mapping/__proto__/schemes/t.in.yao": { description: "d" },
    "mcps/mapping/__proto__/schemes/__proto__.in.yao": { description: "e" },
    "models/constructor.mod.yao": {},
    "scripts/__proto__.ts": "",
    "assistants/a/prompts/__proto__.yml": "- { role: user, content: x }",
    "assistants/a/locales/__proto__.yml": "k: v",
  });
  expect(app.mcpServers.get("__proto__")?.mapping.tools["t"]?.input).toEqual({ description: "d" });
  expect(app.models.get("constructor")?.path).toBe("models/constructor.mod.yao");
  expect(app.scripts.get("scripts.__proto__")?.path).toBe("scripts/__proto__.ts");
  expect(Object.keys(app.assistants.get("a")?.promptPresets ?? {})).toEqual(["__proto__"]);
  expect(({} as Record<string, unknown>)["description"]).toBeUndefined();
  expect(({} as Record<string, unknown>)["k"]).toBeUndefined();
});

test("a key that reaches the prototype is refused in every kind of JSON file", () => {
  for (const path of ["mcps/s.mcp.yao", SCHEMA, "models/m.mod.yao", "assistants/a/sandbox.yao"]) {
    const { findings } = load({ "mcps/s.mcp.yao": SERVER, [path]: '{"a": {\n"__proto__": {"x": 1}}}' });
    expect(findings).toContain(`error ${path}:2 the key "__proto__" is not allowed`);
  }
});

test("Windows line ends and byte order marks are read in every kind of file", () => {
  const crlf = (value: unknown): string => `\uFEFF${JSON.stringify(value, undefined, 2).replaceAll("\n", "\r\n")}\r\n`;
  const { app, findings } = load({
    "assistants/a/package.yao": crlf({ name: "A" }),
    "assistants/a/sandbox.yao": crlf({ version: "2.0" }),
    "mcps/s.mcp.yao": crlf(SERVER),
    [SCHEMA]: crlf({ type: "object" }),
    "mcps/mapping/s/schemes/t.jsonl": '\uFEFF{"name": "x"}\r\n{"name": "y"}\r\n',
    "models/m.mod.yao": crlf({ columns: [] }),
    "agent/agent.yml": "\uFEFFuses:\r\n  default: a\r\n",
  });
  expect(findings).toEqual([]);
  expect(app.mcpServers.get("s")?.mapping.tools["t"]?.samples).toEqual([{ name: "x" }, { name: "y" }]);
  expect(app.uses).toEqual({ default: "a" });
});

test("L1: nothing in any kind of file makes loading throw", () => {
  const path = fc.constantFrom(
    "assistants/a/package.yao",
    "assistants/a/sandbox.yao",
    "assistants/a/mcps/s.mcp.yao",
    "assistants/a/models/m.mod.yao",
    "mcps/s.mcp.yao",
    SCHEMA,
    "mcps/mapping/s/schemes/t.out.yao",
    "mcps/mapping/s/schemes/t.jsonl",
    "mcps/mapping/s/resources/r.res.yao",
    "mcps/mapping/s/prompts/p.pmt.yao",
    "agent/agent.yml",
    "agent/search.yml",
    "agent/kb.yml",
  );
  const key = fc.constantFrom(
    "name", "mcp", "servers", "server_id", "uses", "search", "web", "kb", "db", "models", "options", "transport", "tools",
    "resources", "mapping", "url", "timeout", "properties", "items", "type", "inputSchema", "x-process-args", "uri",
    "messages", "role", "content", "version", "computer", "ports", "prepare", "secrets", "", "__proto__", "$schema",
  ); // prettier-ignore
  const leaf = fc.oneof(
    fc.constantFrom("process", "stdio", "http", "2.0", "object", "mcp:x.y", "$ENV.X", "a", "http://x", ":x", ""),
    fc.double(),
    fc.boolean(),
    fc.constant(null),
  );
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 5 },
      leaf,
      fc.array(tie("value"), { maxLength: 4 }),
      fc.array(fc.tuple(key, tie("value")), { maxLength: 5 }).map((entries) => Object.fromEntries(entries)),
    ),
  }));
  fc.assert(
    fc.property(fc.array(fc.tuple(path, value), { maxLength: 6 }), (entries) => {
      const files = new Map(
        entries.map(([name, content]) => [name, new TextEncoder().encode(JSON.stringify(content))]),
      );
      const { problems } = loadApp(files);
      for (const { message } of problems) expect(message).not.toMatch(/undefined|\[object|NaN/);
    }),
    { numRuns: 1000 },
  );
});
