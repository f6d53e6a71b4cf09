import * as fc from "fast-check";
import { expect, test } from "vitest";

import type { AppFiles, Problem } from "./app.ts";
import { loadApp } from "./load-app.ts";

const encoder = new TextEncoder();
const PACKAGE = "assistants/a/package.yao";
const PROMPTS = "assistants/a/prompts.yml";
const CONNECTOR = "connectors/c.conn.yao";

function appOf(files: Readonly<Record<string, string>>): AppFiles {
  return new Map(Object.entries(files).map(([path, text]) => [path, encoder.encode(text)]));
}

/** Findings as `severity file:line message`, of an app that has a good assistant besides. */
function findings(files: Readonly<Record<string, string>>): string[] {
  const { problems } = loadApp(appOf({ [PACKAGE]: '{"name": "A"}', ...files }));
  return problems.map(show);
}

function show({ severity, file, line, message }: Problem): string {
  return `${severity} ${file}:${line} ${message}`;
}

test("an assistant has all its fields, prompts, presets and locales", () => {
  const { app, problems } = loadApp(
    appOf({
      "assistants/tests/mcpload/package.yao": `{
        // a comment
        "name": "{{ name }}",
        "description": "D",
        "connector": "$ENV.LLM",
        "avatar": "/a.png",
        "tags": ["x", "y"],
        "options": { "temperature": 0.5, },
        "disable_global_prompts": true,
        "public": true, "readonly": true, "mentionable": true, "automated": true,
        "sort": 3,
        "modes": ["chat"],
      }`,
      "assistants/tests/mcpload/prompts.yml": "- role: system\n  name: base\n  content: |\n    Hello\n",
      "assistants/tests/mcpload/prompts/chat/friendly.yml": "- { role: user, content: Hi }\n",
      "assistants/tests/mcpload/locales/EN-us.yml": "name: Loader\nchat:\n  prompts: [one, 2]\n  on: true\n  none:\n",
      "assistants/tests/mcpload/src/index.ts": "export function Create() {",
      "assistants/tests/mcpload/notes.yao": "{ not json",
      "agent/prompts.yml": "- role: system\n  content: Global\n",
      "agent/locales/zh-cn.yml": "hello: 你好\n",
      "agent/agent.yml": "system:\n  default: openai.gpt-4o\n",
      "connectors/openai/gpt-4o.conn.yao":
        '{"type":"openai","label":"GPT","auth_mode":"bearer","options":{"model":"gpt-4o","key":"$ENV.K","x":1}}',
      "connectors/ollama/qwen.yao": '{"type":"openai","options":{"model":"qwen","key":"ollama"}}',
    }),
  );
  expect(problems).toEqual([]);
  expect(app.assistants.get("tests.mcpload")).toMatchObject({
    id: "tests.mcpload",
    name: "{{ name }}",
    description: "D",
    type: "assistant",
    connector: "$ENV.LLM",
    avatar: "/a.png",
    tags: ["x", "y"],
    options: { temperature: 0.5 },
    disableGlobalPrompts: true,
    isPublic: true,
    readonly: true,
    mentionable: true,
    automated: true,
    sort: 3,
    modes: ["chat"],
    prompts: [{ role: "system", name: "base", content: "Hello\n" }],
    promptPresets: { "chat.friendly": [{ role: "user", content: "Hi" }] },
    locales: {
      "en-us": { name: "Loader", "chat.prompts.0": "one", "chat.prompts.1": "2", "chat.on": "true", "chat.none": "" },
    },
  });
  expect(app.globalPrompts).toEqual([{ role: "system", content: "Global" }]);
  expect(app.globalLocales).toEqual({ "zh-cn": { hello: "你好" } });
  expect(app.settings).toEqual({ system: { default: "openai.gpt-4o" } });
  expect([...app.connectors.keys()]).toEqual(["ollama.qwen", "openai.gpt-4o"]);
  expect(app.connectors.get("openai.gpt-4o")).toEqual({
    id: "openai.gpt-4o",
    type: "openai",
    label: "GPT",
    options: { auth_mode: "bearer", model: "gpt-4o", key: "$ENV.K", x: 1 },
  });
});

test.each<[name: string, file: string, text: string, expected: string[]]>([
  ["an empty package", PACKAGE, "", ["error assistants/a/package.yao:1 the file is empty"]],
  [
    "a missing comma",
    PACKAGE,
    '{\n  "name": "A"\n  "sort": 1\n}',
    ["error assistants/a/package.yao:3 not JSON: a comma is missing before this"],
  ],
  [
    "an unclosed object",
    PACKAGE,
    '{\n  "name": "A",\n',
    ["error assistants/a/package.yao:3 not JSON: the file ends too early; a bracket is not closed"],
  ],
  [
    "an unclosed string",
    PACKAGE,
    '{\n  "name": "A,\n}',
    ["error assistants/a/package.yao:2 not JSON: a string is not closed on its line"],
  ],
  [
    "a key without quotes",
    PACKAGE,
    "{\n  name: 1\n}",
    [
      "error assistants/a/package.yao:2 not JSON: text that is neither a string in double quotes, a number, true, false nor null",
    ],
  ],
  ["a list as a package", PACKAGE, "\n[]", ["error assistants/a/package.yao:2 package.yao must be an object"]],
  ["no name", PACKAGE, "{\n}", ["error assistants/a/package.yao:1 name is missing: it must be text"]],
  [
    "an empty name",
    PACKAGE,
    '{\n"name": " "}',
    ["error assistants/a/package.yao:2 name is empty: say what people shall call this assistant"],
  ],
  [
    "tags that are text",
    PACKAGE,
    '{"name": "A",\n"tags": "x"}',
    ['error assistants/a/package.yao:2 tags must be a list of strings, not "x"'],
  ],
  [
    "a tag that is a number",
    PACKAGE,
    '{"name": "A",\n"tags": [\n"x",\n2]}',
    ["error assistants/a/package.yao:4 tags must be a list of strings: item 2 is 2"],
  ],
  [
    "a sort that is text",
    PACKAGE,
    '{"name": "A", "sort": "1"}',
    ['error assistants/a/package.yao:1 sort must be a number, not "1"'],
  ],
  [
    "a flag that is text",
    PACKAGE,
    '{"name": "A", "public": "yes"}',
    ['error assistants/a/package.yao:1 public must be true or false, not "yes"'],
  ],
  [
    "a share that does not exist",
    PACKAGE,
    '{"name": "A", "share": "all"}',
    ['error assistants/a/package.yao:1 share must be "private" or "team", not "all"'],
  ],
  [
    "options that are a list",
    PACKAGE,
    '{"name": "A", "options": []}',
    ["error assistants/a/package.yao:1 options must be an object, not a list"],
  ],
  [
    "a wrong type inside a field",
    PACKAGE,
    '{"name": "A", "placeholder": {\n"prompts": true}}',
    ["error assistants/a/package.yao:2 placeholder.prompts must be a list of strings, not true"],
  ],
  [
    "a use that is not text",
    PACKAGE,
    '{"name": "A", "uses": {"search": 1}}',
    ["error assistants/a/package.yao:1 uses.search must be text, not 1"],
  ],
  [
    "a server that is neither text nor object",
    PACKAGE,
    '{"name": "A", "mcp": {"servers": ["x", 1]}}',
    ["error assistants/a/package.yao:1 mcp.servers must be a list of strings or objects: item 2 is 1"],
  ],
  [
    "several errors at once",
    PACKAGE,
    '{"sort": true,\n"tags": 1}',
    [
      "error assistants/a/package.yao:1 name is missing: it must be text",
      "error assistants/a/package.yao:1 sort must be a number, not true",
      "error assistants/a/package.yao:2 tags must be a list of strings, not 1",
    ],
  ],
  [
    "a slip of the hand",
    PACKAGE,
    '{"name": "A",\n"tag": []}',
    ["warning assistants/a/package.yao:2 unknown key tag; did you mean tags?"],
  ],
  [
    "an unknown key",
    PACKAGE,
    '{"name": "A",\n"colour": 1}',
    ["warning assistants/a/package.yao:2 unknown key colour; it is ignored"],
  ],
  [
    "an unknown key inside a field",
    PACKAGE,
    '{"name": "A", "placeholder": {"titel": ""}}',
    ["warning assistants/a/package.yao:1 unknown key placeholder.titel; did you mean placeholder.title?"],
  ],
  [
    "old keys",
    PACKAGE,
    '{"name": "A", "db": [],\n"hooks": 1,\n"option": {},\n"version": 2}',
    [
      'note assistants/a/package.yao:1 db is a list, which is not read: write {"models": […]}',
      "note assistants/a/package.yao:2 hooks is not read: hooks are the functions of src/index.ts",
      "warning assistants/a/package.yao:3 unknown key option; did you mean options?",
      "note assistants/a/package.yao:4 version is not read: versions are counted when an app is pushed",
    ],
  ],
  [
    "a key set twice",
    PACKAGE,
    '{"name": "A",\n"name": "B"}',
    ['warning assistants/a/package.yao:2 "name" is set twice; the last one is used'],
  ],
  [
    "a key that reaches the prototype",
    PACKAGE,
    '{"name": "A",\n"__proto__": {"public": true}}',
    ['error assistants/a/package.yao:2 the key "__proto__" is not allowed'],
  ],
  [
    "JSON nested too deep",
    PACKAGE,
    `{"name": "A",\n"options": ${'{"a":'.repeat(70)}1${"}".repeat(70)}}`,
    ["error assistants/a/package.yao:2 nested more than 64 levels deep"],
  ],
  [
    "prompts that are a mapping",
    PROMPTS,
    "role: system",
    ["error assistants/a/prompts.yml:1 prompts must be a list: start each one with “- role: system”"],
  ],
  [
    "a prompt that is text",
    PROMPTS,
    "- role: user\n  content: x\n- hello",
    ["error assistants/a/prompts.yml:3 prompt 2 must be a mapping with role and content"],
  ],
  [
    "a prompt without a role",
    PROMPTS,
    "- content: x",
    ['error assistants/a/prompts.yml:1 prompt 1: role is missing: it must be "system" or "user" or "assistant"'],
  ],
  [
    "a role that does not exist",
    PROMPTS,
    "- role: robot\n  content: x",
    ['error assistants/a/prompts.yml:1 prompt 1: role must be "system" or "user" or "assistant", not "robot"'],
  ],
  [
    "a prompt without content",
    PROMPTS,
    "- role: user\n  content:\n",
    ["error assistants/a/prompts.yml:1 prompt 1: content is missing: it must be text"],
  ],
  [
    "a content that is a number",
    PROMPTS,
    "- role: user\n  content: 5",
    ["error assistants/a/prompts.yml:2 prompt 1: content must be text, not 5"],
  ],
  [
    "a slip in a prompt",
    PROMPTS,
    "- role: user\n  content: x\n  nmae: y",
    ["warning assistants/a/prompts.yml:3 unknown key prompt 1: nmae; did you mean prompt 1: name?"],
  ],
  [
    "a tab",
    PROMPTS,
    "- role: user\n\tcontent: x",
    ["error assistants/a/prompts.yml:2 not YAML: indented with a tab; use spaces"],
  ],
  [
    "an unclosed quote",
    PROMPTS,
    '- role: "user\n  content: x\n',
    [
      "error assistants/a/prompts.yml:3 not YAML: something is missing here, such as a colon after a key, a closing quote or a closing bracket",
    ],
  ],
  [
    "a colon in plain text",
    PROMPTS,
    "- role: user\n  content: say: hello",
    [
      "error assistants/a/prompts.yml:2 not YAML: a mapping cannot start here; put it on a line of its own, or quote text that holds a colon",
    ],
  ],
  [
    "a YAML key set twice",
    PROMPTS,
    "- role: user\n  content: x\n  role: system",
    ['error assistants/a/prompts.yml:3 "role" is set twice in the same mapping'],
  ],
  [
    "an alias of nothing",
    PROMPTS,
    "- *none",
    ["error assistants/a/prompts.yml:1 *none stands for nothing: there is no &none before it"],
  ],
  ["an alias of itself", PROMPTS, "&a [*a]", ["error assistants/a/prompts.yml:1 nested more than 64 levels deep"]],
  [
    "two documents",
    PROMPTS,
    "- role: user\n  content: x\n---\n- role: user\n  content: y",
    ['error assistants/a/prompts.yml:3 not YAML: more than one document; remove the "---" line'],
  ],
  [
    "a YAML prototype key",
    PROMPTS,
    "- role: user\n  content: x\n  __proto__: 1",
    ['error assistants/a/prompts.yml:3 the key "__proto__" is not allowed'],
  ],
  [
    "YAML nested too deep",
    PROMPTS,
    "[".repeat(100),
    ["error assistants/a/prompts.yml:1 nested more than 64 levels deep"],
  ],
  [
    "a prompts file with the other ending",
    "assistants/a/prompts.yaml",
    "",
    ["warning assistants/a/prompts.yaml:0 this file is not read; rename it to prompts.yml"],
  ],
  [
    "a broken preset",
    "assistants/a/prompts/x.yml",
    "5",
    ["error assistants/a/prompts/x.yml:1 prompts must be a list: start each one with “- role: system”"],
  ],
  [
    "a locale that is a list",
    "assistants/a/locales/en.yml",
    "- a",
    ["error assistants/a/locales/en.yml:1 a locale file must be a mapping of keys to texts"],
  ],
  ["settings that are a list", "agent/agent.yml", "- a", ["error agent/agent.yml:1 agent.yml must be a mapping"]],
  [
    "a setting of the wrong type",
    "agent/agent.yml",
    "uses:\n  vision: [a]",
    ["error agent/agent.yml:2 uses.vision must be text, not a list"],
  ],
  ["a connector that is a list", CONNECTOR, "[]", ["error connectors/c.conn.yao:1 a connector file must be an object"]],
  [
    "a connector without anything",
    CONNECTOR,
    "{}",
    [
      "error connectors/c.conn.yao:1 options is missing: it must be an object",
      "error connectors/c.conn.yao:1 type is missing: it must be text",
    ],
  ],
  [
    "a connector without a model",
    CONNECTOR,
    '{"type": "openai",\n"options": {"key": "$ENV.K"}}',
    ["error connectors/c.conn.yao:2 options.model is missing: it must be text"],
  ],
  [
    "a model that is a number",
    CONNECTOR,
    '{"type": "openai", "options": {\n"model": 4}}',
    ["error connectors/c.conn.yao:2 options.model must be text, not 4"],
  ],
  [
    "a key in the file",
    CONNECTOR,
    '{"type": "openai", "options": {"model": "m",\n"key": "sk-secret"}}',
    [
      "warning connectors/c.conn.yao:2 options.key is written in the file; put it in $ENV.NAME or use “yao connector add c”",
    ],
  ],
  [
    "a database",
    CONNECTOR,
    '{"type": "mysql", "options": {"db": "x"}}',
    ['note connectors/c.conn.yao:1 type "mysql" is a database, which no assistant can be run with; it is ignored'],
  ],
  [
    "a name that cannot be an id",
    "connectors/a b.conn.yao",
    "{}",
    [
      'error connectors/a b.conn.yao:0 "a b" cannot be an id: the names of its folders may hold letters, digits, - and _, at most 128 characters in all',
    ],
  ],
])("%s is reported with file, line and reason", (_name, file, text, expected) => {
  expect(findings({ [file]: text })).toEqual(expected);
});

test("two files that stand for one id are reported, and the first one counts", () => {
  const { app, problems } = loadApp(
    appOf({
      "assistants/x/y/package.yao": '{"name": "Second"}',
      "assistants/x.y/package.yao": '{"name": "First"}',
    }),
  );
  expect(problems.map(show)).toEqual([
    "error assistants/x/y/package.yao:0 its id x.y is already that of assistants/x.y/package.yao; rename one of them",
  ]);
  expect(app.assistants.get("x.y")?.name).toBe("First");
});

test("an app without assistants says what is expected", () => {
  expect(loadApp(new Map()).problems.map(show)).toEqual([
    "error assistants:0 no assistant found: an app has files such as assistants/hello/package.yao",
  ]);
});

test("connectors alone are an app", () => {
  const { app, problems } = loadApp(appOf({ [CONNECTOR]: '{"type": "demo", "options": {"model": "demo"}}' }));
  expect(app.connectors.size).toBe(1);
  expect(problems.map(({ severity }) => severity)).toEqual(["warning"]);
});

test("L2: what has an error is left out, and everything else is loaded", () => {
  const { app } = loadApp(
    appOf({
      "assistants/good/package.yao": '{"name": "Good"}',
      "assistants/bad/package.yao": '{"name": "Bad"}',
      "assistants/bad/prompts.yml": "[",
      "connectors/good.conn.yao": '{"type": "demo", "options": {"model": "demo"}}',
      "connectors/bad.conn.yao": '{"type": "demo"}',
    }),
  );
  expect([...app.assistants.keys()]).toEqual(["good"]);
  expect([...app.connectors.keys()]).toEqual(["good"]);
});

test("findings are sorted by file and line", () => {
  const all = findings({ [PROMPTS]: "- x\n- y", "agent/prompts.yml": "- z", [PACKAGE]: "{}" });
  expect(all.map((finding) => finding.split(" ")[1])).toEqual([
    "agent/prompts.yml:1",
    "assistants/a/package.yao:1",
    "assistants/a/prompts.yml:1",
    "assistants/a/prompts.yml:2",
  ]);
});

test("more findings than can be read are counted instead of kept", () => {
  const files = Object.fromEntries(Array.from({ length: 600 }, (_, n) => [`connectors/c${n}.conn.yao`, "[]"]));
  const { problems } = loadApp(appOf({ [PACKAGE]: '{"name": "A"}', ...files }));
  expect(problems).toHaveLength(501);
  expect(problems.at(-1)).toEqual({ file: "", line: 0, message: "100 more errors are not shown", severity: "error" });
});

test("a file that is not UTF-8 or too large is reported", () => {
  const { problems } = loadApp(
    new Map([
      [PACKAGE, Uint8Array.of(0xff, 0xfe)],
      [PROMPTS, new Uint8Array(1024 * 1024 + 1)],
    ]),
  );
  expect(problems.map(show)).toEqual([
    "error assistants/a/package.yao:0 the file is not UTF-8 text; save it as UTF-8",
    "error assistants/a/prompts.yml:0 the file has 1048577 bytes; at most 1048576 are read, split it",
  ]);
});

test("a byte order mark and Windows line ends are read", () => {
  const { app, problems } = loadApp(
    appOf({
      [PACKAGE]: '\uFEFF{\r\n"name": "A"\r\n}',
      [PROMPTS]: "\uFEFF- role: user\r\n  content: |\r\n    one\r\n    two\r\n",
    }),
  );
  expect(problems).toEqual([]);
  expect(app.assistants.get("a")?.prompts).toEqual([{ role: "user", content: "one\ntwo\n" }]);
});

test("anchors and merge keys are followed", () => {
  expect(findings({ "assistants/a/locales/en.yml": "&k name: x\nother: *k\n" })).toEqual([]);
  const text = "- &base\n  role: system\n  content: one\n- <<: *base\n  content: two\n- *base\n";
  const { app } = loadApp(appOf({ [PACKAGE]: '{"name": "A"}', [PROMPTS]: text }));
  expect(app.assistants.get("a")?.prompts.map((prompt) => prompt.content)).toEqual(["one", "two", "one"]);
});

test("a wide flow mapping is not mistaken for a deep one", () => {
  const wide = `{ ${Array.from({ length: 200 }, (_, n) => `k${n}: v`).join(", ")} }`;
  expect(findings({ "assistants/a/locales/en.yml": wide })).toEqual([]);
});

test("an asset line becomes the asset's text at the same indentation", () => {
  const { app, problems } = loadApp(
    appOf({
      [PACKAGE]: '{"name": "A"}',
      [PROMPTS]:
        "- role: system\n  content: |\n    Rules:\n      @assets/sub/rules.md\n    See @assets/sub/rules.md there.\n- role: user\n  content: '@assets/x.json'\n",
      "assistants/a/assets/sub/rules.md": "- one\r\n\r\n- @assets/x.json\r\n",
      "assistants/a/assets/x.json": "{}",
      "agent/prompts.yml": "- role: system\n  content: '@assets/g.txt'\n",
      "agent/assets/g.txt": "global\n",
    }),
  );
  expect(problems).toEqual([]);
  expect(app.assistants.get("a")?.prompts.map((prompt) => prompt.content)).toEqual([
    "Rules:\n  - one\n\n  - @assets/x.json\nSee @assets/sub/rules.md there.\n",
    "{}",
  ]);
  expect(app.globalPrompts[0]?.content).toBe("global");
});

test.each([
  ["@assets/none.md", "@assets/none.md: there is no file assistants/a/assets/none.md"],
  ["@assets/../package.yao", '@assets/../package.yao: the path holds ".."'],
  ["@assets//etc/x.md", "@assets//etc/x.md: the path is absolute"],
  ["@assets/x.exe", "@assets/x.exe: only md, yml, yaml, json, txt files can be included"],
])("the asset line %s is refused with its line", (asset, message) => {
  expect(findings({ [PROMPTS]: `- role: system\n  content: |\n    first\n    ${asset}\n` })).toEqual([
    `error assistants/a/prompts.yml:4 ${message}`,
  ]);
});

test("includes cannot multiply without end", () => {
  const line = "    @assets/big.txt\n";
  const all = findings({
    [PROMPTS]: `- role: system\n  content: |\n${line.repeat(100)}`,
    "assistants/a/assets/big.txt": "x".repeat(1_000_000),
  });
  expect(all).toEqual(["error assistants/a/prompts.yml:19 the app includes more than 16777216 characters of assets"]);
});

test.each([
  ["nested brackets", "[".repeat(1_000_000)],
  ["nested dashes", "- ".repeat(500_000)],
  ["commas", `[${",".repeat(1_000_000)}`],
  ["aliases", `- &a x\n${"- *a\n".repeat(180_000)}`],
  ["quotes", '"'.repeat(1_000_000)],
  [
    "an alias bomb",
    ["a0: &a0 [x, x, x]", ...Array.from({ length: 40 }, (_, n) => `a${n + 1}: &a${n + 1} [*a${n}, *a${n}]`)].join("\n"),
  ],
])("a hostile file of %s is refused quickly", (_name, text) => {
  const started = performance.now();
  const all = findings({ [PROMPTS]: text, "assistants/a/locales/en.yml": text });
  expect(all.filter((finding) => finding.startsWith("error"))).toHaveLength(2);
  // Unbounded, each of these takes from 2 s to minutes.
  expect(performance.now() - started).toBeLessThan(2000);
});

test("many costly files are refused together", { timeout: 30_000 }, () => {
  const text = Array.from({ length: 12_000 }, (_, n) => `k${n}: v`).join("\n");
  const files = Object.fromEntries(Array.from({ length: 12 }, (_, n) => [`assistants/a/locales/l${n + 10}.yml`, text]));
  expect(findings(files)).toContain(
    "error assistants/a/locales/l21.yml:0 not read: the configuration files of this app are too large together; split the app",
  );
});

test("L1: no text in any file makes loading throw", () => {
  const path = fc.constantFrom(
    PACKAGE,
    PROMPTS,
    CONNECTOR,
    "agent/agent.yml",
    "agent/prompts.yml",
    "assistants/a/locales/en.yml",
  );
  const piece = fc.constantFrom(
    "{", "}", "[", "]", ":", ",", "- ", "\n", "  ", '"', "'", "|", ">", "*a", "&a ", "<<: ", "!!set ", "? ", "%", "@assets/", "..",
    "__proto__", "name", "role: system", "content: ", "null", "1e999", ".inf", "\u0000", "\ud800",
  ); // prettier-ignore
  const content = fc.oneof(
    fc.array(piece, { maxLength: 40 }).map((pieces) => encoder.encode(pieces.join(""))),
    fc.uint8Array({ maxLength: 60 }),
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(path, content), { maxLength: 5 }), (entries) => {
      const { problems } = loadApp(new Map([[PACKAGE, encoder.encode('{"name":"A"}')], ...entries]));
      for (const problem of problems) expect(problem.message).not.toMatch(/undefined|\[object|stack/);
    }),
    { numRuns: 500 },
  );
});
