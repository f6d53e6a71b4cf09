/** The documented scripts (hooks and script tests), as they are written, in an app that has the models they use. */

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

import { describe, expect, test } from "vitest";

import { YaoHome } from "./yao-command.ts";

const DOCUMENT = join(process.env["YAO_SHARED_DIR"] ?? resolve(import.meta.dirname, "../../../shared"), "spec/eval.md");
if (!existsSync(DOCUMENT))
  console.warn(`skipped: there is no ${DOCUMENT}; set YAO_SHARED_DIR to the folder that holds it`);

/** The blocks of TypeScript that have functions in them. */
function documentedScripts(): readonly string[] {
  const blocks = [...readFileSync(DOCUMENT, "utf8").matchAll(/^```typescript\n([^]*?)^```/gm)];
  return blocks.map(([, text = ""]) => text).filter((text) => text.includes("export function"));
}

const model = (name: string, columns: readonly object[]): string =>
  JSON.stringify({
    name,
    table: { name },
    columns: [{ name: "id", type: "ID" }, ...columns],
    option: { timestamps: true },
  });

function appWith(root: string, scripts: Readonly<Record<string, string>>): string {
  const app = join(root, "app");
  const files: Readonly<Record<string, string>> = {
    "app.yao": '{"name":"Documented"}',
    "models/user.mod.yao": model("user", [
      { name: "name", type: "string", length: 80 },
      { name: "email", type: "string", length: 80, nullable: true },
    ]),
    "models/expense.mod.yao": model("expense", [
      { name: "user_id", type: "integer", nullable: true },
      { name: "amount", type: "integer", nullable: true },
    ]),
    "scripts/tests/seed.ts": 'export function LoadTestData() { Process("models.expense.Create", { amount: 7 }); }',
    "scripts/look.ts":
      'export function Counts() { return { pass: true, message: [Process("models.user.Count", {}), Process("models.expense.Count", {})].join(" ") }; }',
    "assistants/expense/package.yao": '{"name":"Expense","connector":"demo"}',
    "assistants/expense/prompts.yml": "- role: system\n  content: Help.\n",
    "assistants/expense/src/index.ts": `
      export function Create() { return null; }
      export function Next(ctx, payload) {
        const said = payload.messages.at(-1).content;
        const counts = [Process("models.user.Count", {}), Process("models.expense.Count", {})].join(" ");
        return { data: said === "counts" ? counts : "please confirm: " + said };
      }`,
    "assistants/expense/src/setup.ts":
      "export function SystemReady(ctx) { return { success: true, status: 'ready', data: { user: ctx.authorized.user_id } }; }",
    "assistants/tests/validator-agent/package.yao": '{"name":"Validator"}',
    "assistants/tests/validator-agent/src/index.ts": `
      export function Create() { return null; }
      export function Next(ctx, payload) {
        const { output, criteria } = JSON.parse(payload.messages.at(-1).content);
        return { data: { passed: output.includes("confirm") && criteria.includes("confirmation"), reason: "looked" } };
      }`,
    ...scripts,
  };
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(app, path)), { recursive: true });
    writeFileSync(join(app, path), text);
  }
  return app;
}

const src = (name: string): string => `assistants/expense/src/${name}_test.ts`;

describe.skipIf(!existsSync(DOCUMENT))("the documented scripts", () => {
  const [whole = "", database = "", byMetadata = "", logging = "", tests = "", ...more] = existsSync(DOCUMENT)
    ? documentedScripts()
    : [];

  test("hooks run as they are written: around all cases, around each, by metadata, for the log", async () => {
    expect(more).toEqual([]);
    await using home = new YaoHome();
    const app = appWith(home.dir, {
      [src("env")]: whole,
      [src("database")]: database,
      [src("by_metadata")]: byMetadata,
      [src("logging")]: logging,
    });
    const counts = (value: string): object => ({ type: "equals", value });
    const cases = [
      // Users and expenses that are there while the case runs; After takes away what Before made.
      { id: "each", input: "counts", before: "env_test.Before", after: "env_test.After", assert: counts("1 0") },
      { id: "made", input: "counts", before: "database_test.Before", assert: counts("1 1") },
      {
        id: "empty",
        input: "counts",
        before: "by_metadata_test.Before",
        metadata: { scenario: "empty_db" },
        assert: counts("1 0"),
      },
      {
        id: "seeded",
        input: "counts",
        before: "by_metadata_test.Before",
        metadata: { scenario: "with_data" },
        assert: counts("1 1"),
      },
      { id: "default", input: "counts", before: "by_metadata_test.Before", assert: counts("1 1") },
      { id: "wrong", input: "hello", after: "logging_test.After", assert: { type: "contains", value: "nope" } },
    ];
    writeFileSync(join(app, "hooks.jsonl"), cases.map((each) => JSON.stringify(each)).join("\n"));
    const { stdout, stderr, code } = await home.ended(
      home.shell(
        `cd '${app}' && yao agent eval expense @hooks.jsonl -v --before env_test.BeforeAll --after env_test.AfterAll`,
      ),
      120_000,
    );
    expect(stderr).toBe("");
    const ended = stdout.match(/► \[\w+\] \w+ \w+|warning: .*/g);
    expect(ended).toEqual([
      "► [each] counts PASSED",
      "► [made] counts PASSED",
      "► [empty] counts PASSED",
      "► [seeded] counts PASSED",
      "► [default] counts PASSED",
      "► [wrong] hello FAILED",
    ]);
    const said = stdout.match(/│ .*/g)?.map((line) => line.slice(2));
    expect(said).toEqual([
      "=== Test Failed ===",
      "Test ID: wrong",
      'Input: "hello"',
      'Output: "please confirm: hello"',
      expect.stringMatching(/^Error: .*nope/),
      "Tests completed: 5/6 passed",
    ]);
    expect(code).toBe(1);
  });

  test("script tests run as they are written; the one that uses a name nobody made fails at its line", async () => {
    await using home = new YaoHome();
    const app = appWith(home.dir, { [src("setup")]: tests });
    const { stdout, code } = await home.ended(home.shell(`cd '${app}' && yao agent eval -i scripts.expense.setup -v`));
    expect(stdout).toMatch(/\[TestSystemReady\].*PASSED/);
    expect(stdout).toMatch(/\[TestWithAgentAssertion\].*FAILED/);
    expect(stdout).toContain("messages is not defined");
    expect(stdout).toMatch(/setup_test\.ts:13/);
    expect(code).toBe(1);
    // With the messages that the example leaves out, it asks the assistant and the validator.
    const given = `const messages = [{ role: "user", content: "please confirm 500" }];\n${tests}`;
    writeFileSync(join(app, src("setup")), given);
    const whole = await home.ended(home.shell(`cd '${app}' && yao agent eval -i scripts.expense.setup -v`));
    expect(whole.stdout).toContain("ALL TESTS PASSED");
    expect(whole.code).toBe(0);
  });
});
