import * as fc from "fast-check";
import { expect, test } from "vitest";

import { loadApp } from "./load-app.ts";
import { filesOf, load, show } from "./testing/app-of.ts";

const PACKAGE = "assistants/a/package.yao";
const PROMPTS = "assistants/a/prompts.yml";
const CONNECTOR = "connectors/c.conn.yao";
const encoder = new TextEncoder();

test("an assistant has all its fields, prompts, presets and locales", () => {
  const { app, problems } = loadApp(
    filesOf({
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

test("two files that stand for one id are reported, and the first one counts", () => {
  const { app, problems } = loadApp(
    filesOf({
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
  const { app, problems } = loadApp(filesOf({ [CONNECTOR]: '{"type": "demo", "options": {"model": "demo"}}' }));
  expect(app.connectors.size).toBe(1);
  expect(problems.map(({ severity }) => severity)).toEqual(["warning"]);
});

test("L2: what has an error is left out, and everything else is loaded", () => {
  const { app } = loadApp(
    filesOf({
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
  const all = load({ [PROMPTS]: "- x\n- y", "agent/prompts.yml": "- z", [PACKAGE]: "{}" });
  expect(all.findings.map((finding) => finding.split(" ")[1])).toEqual([
    "agent/prompts.yml:1",
    "assistants/a/package.yao:1",
    "assistants/a/prompts.yml:1",
    "assistants/a/prompts.yml:2",
  ]);
});

test("more findings than can be read are counted instead of kept", () => {
  const files = Object.fromEntries(Array.from({ length: 600 }, (_, n) => [`connectors/c${n}.conn.yao`, "[]"]));
  const { problems } = loadApp(filesOf({ [PACKAGE]: '{"name": "A"}', ...files }));
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
    filesOf({
      [PACKAGE]: '\uFEFF{\r\n"name": "A"\r\n}',
      [PROMPTS]: "\uFEFF- role: user\r\n  content: |\r\n    one\r\n    two\r\n",
    }),
  );
  expect(problems).toEqual([]);
  expect(app.assistants.get("a")?.prompts).toEqual([{ role: "user", content: "one\ntwo\n" }]);
});

test("anchors and merge keys are followed", () => {
  expect(load({ "assistants/a/locales/en.yml": "&k name: x\nother: *k\n" }).findings).toEqual([]);
  const text = "- &base\n  role: system\n  content: one\n- <<: *base\n  content: two\n- *base\n";
  const { app } = loadApp(filesOf({ [PACKAGE]: '{"name": "A"}', [PROMPTS]: text }));
  expect(app.assistants.get("a")?.prompts.map((prompt) => prompt.content)).toEqual(["one", "two", "one"]);
});

test("a wide flow mapping is not mistaken for a deep one", () => {
  const wide = `{ ${Array.from({ length: 200 }, (_, n) => `k${n}: v`).join(", ")} }`;
  expect(load({ "assistants/a/locales/en.yml": wide }).findings).toEqual([]);
});

test("an asset line becomes the asset's text at the same indentation", () => {
  const { app, problems } = loadApp(
    filesOf({
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
  expect(load({ [PROMPTS]: `- role: system\n  content: |\n    first\n    ${asset}\n` }).findings).toEqual([
    `error assistants/a/prompts.yml:4 ${message}`,
  ]);
});

test("includes cannot multiply without end", () => {
  const line = "    @assets/big.txt\n";
  const all = load({
    [PROMPTS]: `- role: system\n  content: |\n${line.repeat(100)}`,
    "assistants/a/assets/big.txt": "x".repeat(1_000_000),
  });
  expect(all.findings).toEqual([
    "error assistants/a/prompts.yml:19 the app includes more than 16777216 characters of assets",
  ]);
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
  const all = load({ [PROMPTS]: text, "assistants/a/locales/en.yml": text });
  expect(all.findings.filter((finding) => finding.startsWith("error"))).toHaveLength(2);
  // Unbounded, each of these takes from 2 s to minutes.
  expect(performance.now() - started).toBeLessThan(2000);
});

test("many costly files are refused together", { timeout: 30_000 }, () => {
  const text = Array.from({ length: 12_000 }, (_, n) => `k${n}: v`).join("\n");
  const files = Object.fromEntries(Array.from({ length: 12 }, (_, n) => [`assistants/a/locales/l${n + 10}.yml`, text]));
  expect(load(files).findings).toContain(
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
