/**
 * `yao agent eval` as a user has it: the built command, an app in a directory, no mesh. The documented command lines are taken from
 * the document itself where it is at hand.
 */

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

import { until } from "@mesh/kernel";
import { describe, expect, test } from "vitest";

import { YaoHome } from "./yao-command.ts";

const DOCUMENT = join(process.env["YAO_SHARED_DIR"] ?? resolve(import.meta.dirname, "../../../shared"), "spec/eval.md");

const hookAgent = (body: string): string => `
export function Create() { return null; }
export function Next(ctx, payload) {
  const asked = JSON.parse(payload.messages.at(-1).content);
  ${body}
}`;

const demo = (name: string): string => JSON.stringify({ name, description: `The ${name}`, connector: "demo" });
const CASES = [
  { id: "hello", input: "Hello", assert: { type: "contains", value: "Hello" } },
  { id: "json", input: '/echo {"need_search": true}', assert: { type: "json_path", path: "need_search", value: true } },
  {
    id: "hooked",
    input: "Show",
    before: "env_test.Before",
    after: "env_test.After",
    assert: { type: "regex", value: "(?i)SHOW" },
  },
  { id: "polite", input: "hi", assert: { type: "agent", use: "agents:tests.validator-agent", value: "hi" } },
  { id: "later", input: "x", skip: true },
];
const DYNAMIC = [
  {
    id: "coffee",
    input: "I want coffee",
    checkpoints: [
      { id: "order", assert: { type: "regex", value: "(?i)coffee" } },
      { id: "size", after: ["order"], assert: { type: "contains", value: "medium" } },
    ],
    simulator: { use: "tests.simulator-agent" },
    max_turns: 5,
  },
];
const jsonl = (rows: readonly object[]): string => rows.map((row) => JSON.stringify(row)).join("\n");

const EXPENSE: Readonly<Record<string, string>> = {
  "package.yao": demo("Expense"),
  "prompts.yml": "- role: system\n  content: Help.\n",
  "tests/inputs.jsonl": jsonl(CASES),
  "tests/dynamic.jsonl": jsonl(DYNAMIC),
  "tests/context.json": '{"authorized":{"user_id":"ctx-user"},"metadata":{"mode":"test"}}',
  "src/setup.ts": "export function SystemReady(ctx) { return { success: true, status: 'ready', data: [1] }; }",
  "src/setup_test.ts": `
    import { SystemReady } from "./setup";
    export function TestSystemReady(t, ctx) {
      const result = SystemReady(ctx);
      t.assert.True(result.success, "Should succeed");
      t.assert.Equal(result.status, "ready");
      t.assert.NotNil(result.data);
      t.assert.Agent("hi", "tests.validator-agent", { criteria: "hi" });
    }`,
  "src/tools_test.ts": "export function TestTool(t) { t.assert.Len([1], 1); }",
  "src/env_test.ts": `
    export function Before(ctx, testCase) { return { id: testCase.id }; }
    export function After(ctx, testCase, result, data) { if (data.id !== testCase.id) throw new Error("mixed up"); }
    export function BeforeAll(ctx, cases) { return { count: cases.length }; }
    export function AfterAll(ctx, results, data) { if (results.length !== data.count) throw new Error("not all"); }`,
};

/** An app that has every assistant the documented commands name. */
function makeApp(root: string): string {
  const app = join(root, "app");
  const files: Record<string, string> = {
    "app.yao": '{"name":"Evals"}',
    "connectors/deepseek/v3.conn.yao": '{"type":"demo","label":"DeepSeek","options":{"model":"demo"}}',
    "scripts/tests/gen.ts": "export function Generate(target) { return [{ id: 'gen', input: 'say ' + target.id }]; }",
    "assistants/tests/generator-agent/package.yao": demo("Generator"),
    "assistants/tests/generator-agent/src/index.ts": hookAgent(
      "return { data: Array.from({ length: asked.count }, (_, n) => ({ id: 'case-' + n, input: asked.target_agent.description, assert: { type: 'contains', value: 'Expense' } })) };",
    ),
    "assistants/tests/validator-agent/package.yao": demo("Validator"),
    "assistants/tests/validator-agent/src/index.ts": hookAgent(
      "return { data: { passed: asked.output.includes(asked.criteria), reason: 'looked' } };",
    ),
    "assistants/tests/simulator-agent/package.yao": demo("Simulator"),
    "assistants/tests/simulator-agent/src/index.ts": hookAgent(
      "return { data: { message: 'a medium one', goal_achieved: false } };",
    ),
  };
  for (const id of ["myagent", "keyword", "workers/system/keyword"]) {
    files[`assistants/${id}/package.yao`] = demo(id);
    files[`assistants/${id}/prompts.yml`] = "- role: system\n  content: Help.\n";
  }
  for (const [path, text] of Object.entries(EXPENSE)) {
    files[`assistants/expense/${path}`] = text;
    if (path !== "package.yao") files[`assistants/myagent/${path}`] = text;
  }
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(app, path)), { recursive: true });
    writeFileSync(join(app, path), text);
  }
  return app;
}

/** Every command line of the document, with the folder it is meant to be typed in. */
function documentedCommands(): readonly (readonly [line: string, folder: string])[] {
  if (!existsSync(DOCUMENT)) return [];
  const blocks = [...readFileSync(DOCUMENT, "utf8").matchAll(/^```(?:bash|yaml)\n([^]*?)^```/gm)].map(
    ([, block = ""]) => block.replaceAll(/\\\n\s*/g, " "),
  );
  const commands = blocks.flatMap((block) => {
    let folder = "assistants/expense";
    return block.split("\n").flatMap((line): (readonly [string, string])[] => {
      const text = line.trim();
      if (text.startsWith("cd ")) folder = text.slice(3);
      if (!text.startsWith("yao agent ")) return [];
      return [[text, text.includes("-i assistants/") ? "." : folder]];
    });
  });
  return [...new Map(commands.map((command) => [command.join("\n"), command])).values()];
}

if (!existsSync(DOCUMENT))
  console.warn(`skipped: there is no ${DOCUMENT}; set YAO_SHARED_DIR to the folder that holds it`);

describe.skipIf(!existsSync(DOCUMENT))("the documented command lines", () => {
  test("all of them run as they are written and pass", async () => {
    await using home = new YaoHome();
    const app = makeApp(home.dir);
    const commands = documentedCommands();
    expect(commands.length).toBeGreaterThanOrEqual(25);
    const failed: unknown[] = [];
    for (const [line, folder] of commands) {
      // The document names outputs of evals that were run before.
      const prepare = line.includes("agent extract")
        ? "yao agent eval -i tests/inputs.jsonl -o output.jsonl >/dev/null; cp output.jsonl output-20260127104118.jsonl;"
        : "";
      const { code, stdout, stderr } = await home.ended(
        home.shell(`cd '${join(app, folder)}' && { ${prepare} ${line}; }`),
      );
      if (code !== 0) failed.push([line, code, stdout.slice(-1500), stderr]);
    }
    expect(failed).toEqual([]);
  });
});

test("an eval says how it went: text, events, a log, an exit code", async () => {
  await using home = new YaoHome();
  const app = makeApp(home.dir);
  const expense = join(app, "assistants/expense");
  const text = await home.ended(home.shell(`cd '${expense}' && yao agent eval -i tests/inputs.jsonl`));
  expect(text.stdout).toContain("► [hello] Hello PASSED");
  expect(text.stdout).toContain("✨ ALL TESTS PASSED ✨");
  expect(readdirSync(join(expense, "tests")).filter((name) => /^output-\d{14}\.jsonl$/.test(name))).toHaveLength(1);
  const events = await home.ended(
    home.shell(`cd '${expense}' && yao agent eval expense @tests/inputs.jsonl --json -o out.json`),
  );
  const last = events.stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { readonly type: string });
  expect(last.map(({ type }) => type)).toContain("summary");
  expect(JSON.parse(readFileSync(join(expense, "out.json"), "utf8"))).toMatchObject({
    summary: { total: 5, passed: 4, skipped: 1 },
  });
  const bad = await home.ended(
    home.shell(
      `echo '{"id":"a","input":"x","assert":{"type":"contains","value":"y"}}' | (cd '${app}' && yao agent eval expense - -o bad.xml)`,
    ),
  );
  expect(bad.code).toBe(1);
  expect(readFileSync(join(app, "bad.xml"), "utf8")).toContain('failures="1"');
});

test("wrong usage, a missing file and a wrong suite are told in one go, each with its exit code", async () => {
  await using home = new YaoHome();
  const app = makeApp(home.dir);
  const run = (line: string) => home.ended(home.shell(`cd '${app}' && yao agent eval ${line}`));
  expect(await run("expense")).toMatchObject({ code: 2, stderr: expect.stringContaining("nothing to test") });
  expect(await run("expense hi there")).toMatchObject({ code: 2 });
  expect(await run("expense @none.jsonl")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("there is no file none.jsonl"),
  });
  expect(await run("nobody hi")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('there is no assistant "nobody"'),
  });
  writeFileSync(
    join(app, "bad.jsonl"),
    '{"id":"a","input":"x","assert":{"type":"regex","value":"(?=a)"}}\n{"id":"a"}\n',
  );
  const { code, stderr } = await run("expense @bad.jsonl");
  expect(code).toBe(1);
  expect(stderr).toContain("bad.jsonl:1:");
  expect(stderr).toContain("bad.jsonl:2:");
});

const SLOW = jsonl(
  Array.from({ length: 40 }, (_none, n) => ({
    id: `c${n}`,
    input: n < 5 ? "/echo x" : "/slow 200ms x",
    assert: { type: "contains", value: "x" },
  })),
);

test("an eval that is interrupted is not a success, and goes on where it was", async () => {
  await using home = new YaoHome();
  const app = makeApp(home.dir);
  writeFileSync(join(app, "slow.jsonl"), SLOW);
  const line = (more: string): string =>
    `cd '${app}' && exec '${process.execPath}' '${resolve("services/cli/dist/main.js")}' agent eval expense @slow.jsonl ${more}`;
  const first = home.shell(line("-o log.jsonl"));
  await until(() => first.stdout().includes("[c6]"), { timeoutMs: 30_000, what: "some cases" });
  first.child.kill("SIGINT");
  expect((await home.ended(first)).code).toBe(130);
  expect(first.stdout()).toContain("NOT ALL TESTS RAN");
  const second = home.shell(line("--resume log.jsonl"));
  await until(() => second.stdout().includes("[c12]"), { timeoutMs: 30_000, what: "more cases" });
  second.child.kill("SIGKILL");
  await home.ended(second);
  // What a crash leaves of a row.
  writeFileSync(join(app, "log.jsonl"), `${readFileSync(join(app, "log.jsonl"), "utf8")}{"type":"result","id":"c3`);
  const third = await home.ended(home.shell(line("--resume log.jsonl --parallel 8")));
  expect(third.code).toBe(0);
  expect(third.stdout).toMatch(/Total: +40\n +Passed: +40/);
  const ids = readFileSync(join(app, "log.jsonl"), "utf8")
    .split("\n")
    .flatMap((row) => (row.includes('"type":"result"') ? [(JSON.parse(row) as { readonly id: string }).id] : []));
  expect(ids.toSorted()).toEqual(Array.from({ length: 40 }, (_none, n) => `c${n}`).toSorted());
});

test("totals reach a reader of 10,000 cases through a pipe", async () => {
  await using home = new YaoHome();
  const app = makeApp(home.dir);
  writeFileSync(
    join(app, "many.jsonl"),
    jsonl(Array.from({ length: 10_000 }, (_none, n) => ({ id: `c${n}`, input: `/echo ${n}` }))),
  );
  const { stdout, code } = await home.ended(
    home.shell(`cd '${app}' && yao agent eval expense @many.jsonl --parallel 4 -o many.jsonl.log.jsonl | tail -12`),
    120_000,
  );
  expect(code).toBe(0);
  expect(stdout).toMatch(/Total: +10000\n +Passed: +10000/);
});

test("two logs are compared, and results become files", async () => {
  await using home = new YaoHome();
  const app = makeApp(home.dir);
  const suite = (word: string): string =>
    jsonl(
      Array.from({ length: 12 }, (_none, n) => ({
        id: `c${n}`,
        input: n < 8 ? "$ENV.none" : "hi",
        assert: { type: "script", script: "scripts.judge.Check" },
        metadata: { word },
      })),
    );
  mkdirSync(join(app, "scripts"), { recursive: true });
  writeFileSync(join(app, "suite.jsonl"), suite("same"));
  const judge = (all: boolean): void =>
    writeFileSync(
      join(app, "scripts/judge.ts"),
      `export function Check(output) { return ${all ? "true" : '!output.includes("ENV")'}; }`,
    );
  judge(true);
  await home.ended(home.shell(`cd '${app}' && yao agent eval expense @suite.jsonl -o a.jsonl`));
  judge(false);
  await home.ended(home.shell(`cd '${app}' && yao agent eval expense @suite.jsonl -o b.jsonl`));
  const { stdout, code } = await home.ended(
    home.shell(`cd '${app}' && yao agent compare a.jsonl b.jsonl --fail-on regression`),
  );
  expect(stdout).toMatch(/^regressed: 100\.0% -> 33\.3% over 12 cases/);
  expect(code).toBe(1);
  await home.ended(home.shell(`cd '${app}' && yao agent extract b.jsonl -o files`));
  expect(readdirSync(join(app, "files"))).toHaveLength(12);
});

test("data models have a private database for the time of the eval, and hooks see what the assistant sees", async () => {
  await using home = new YaoHome();
  const app = makeApp(home.dir);
  const files = {
    "models/item.mod.yao":
      '{"name":"Item","table":{"name":"item"},"columns":[{"name":"id","type":"ID"},{"name":"name","type":"string","length":80}]}',
    "assistants/stock/package.yao": '{"name":"Stock"}',
    "assistants/stock/src/index.ts": `
      export function Create() { return null; }
      export function Next() { return { data: Process("models.item.Get", {}).map((row) => row.name) }; }`,
    "assistants/stock/src/env_test.ts": `
      export function Before(ctx, test) { return Process("models.item.Create", { name: test.id }); }
      export function After(ctx, test, result, id) { Process("models.item.Destroy", id); }`,
  };
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(app, path)), { recursive: true });
    writeFileSync(join(app, path), text);
  }
  const hooks = { before: "env_test.Before", after: "env_test.After" };
  const cases = ["one", "two"].map((id) => ({ id, input: "x", ...hooks, assert: { type: "equals", value: [id] } }));
  writeFileSync(join(app, "stock.jsonl"), jsonl(cases));
  const { code, stdout, stderr } = await home.ended(
    home.shell(`cd '${app}' && yao agent eval stock @stock.jsonl`),
    120_000,
  );
  expect([code, stderr, stdout.match(/\[\w+\] x (\w+)/g)]).toEqual([0, "", ["[one] x PASSED", "[two] x PASSED"]]);
});

test("a command that a case has started ends with the case", async () => {
  await using home = new YaoHome();
  const app = makeApp(home.dir);
  const folder = join(app, "assistants/runner/src");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "../package.yao"), '{"name":"Runner"}');
  const mark = join(home.dir, "left-behind");
  writeFileSync(
    join(folder, "index.ts"),
    `export function Create(ctx) { ctx.computer.Exec(["sh", "-c", "sleep 300 & sleep 301; : ${mark}"]); return null; }`,
  );
  writeFileSync(join(app, "run.jsonl"), jsonl([{ id: "a", input: "x", timeout: "1s" }]));
  const { stdout, code } = await home.ended(home.shell(`cd '${app}' && yao agent eval runner @run.jsonl`));
  expect([code, stdout.match(/TIMEOUT/) !== null]).toEqual([1, true]);
  await until(() => !home.processes().some(({ args }) => args.includes("sleep 30") || args.includes(mark)), {
    timeoutMs: 10_000,
    what: "the command to end",
  });
});
