/** Public apps that nobody here wrote: every file of theirs loads, or is refused for a reason that stands here. */

import { existsSync } from "node:fs";
import { join, resolve } from "node:path";

import {
  bundleApp,
  loadApp,
  localizeAssistant,
  type Problem,
  readAppDirectory,
  readBundle,
  renderPrompts,
  resolveConnector,
} from "@mesh/assistants";
import { describe, expect, test } from "vitest";

const shared = process.env["YAO_SHARED_DIR"] ?? resolve(import.meta.dirname, "../../../shared");
const corpus = join(shared, "corpus");
const isPresent = existsSync(corpus);
if (!isPresent) {
  console.warn(
    `skipped: the corpus of public apps is not at ${corpus}; set YAO_SHARED_DIR to the folder that holds it`,
  );
}

interface Expected {
  readonly app: string;
  readonly assistants: number;
  readonly connectors: number;
  /** Files that are refused, each with its reason. */
  readonly refused: readonly string[];
  /** What is ignored in files that load. */
  readonly warned: readonly string[];
}

const EXPECTED: readonly Expected[] = [
  {
    app: "yao-dev-app",
    assistants: 88,
    connectors: 25,
    refused: [],
    warned: [
      "assistants/experts/web-reader/package.yao:22 hooks is not read: hooks are the functions of src/index.ts",
      "assistants/tests/fullfields/package.yao:12 capabilities is not read here: a connector says what its model can do",
      "assistants/tests/fullfields/package.yao:45 workflow is not read",
      "assistants/tests/fullfields/package.yao:51 sandbox is not read",
      "assistants/tests/fullfields/package.yao:114 dependencies is not read",
      "assistants/tests/keyword-agent/package.yao:8 hooks is not read: hooks are the functions of src/index.ts",
      "assistants/tests/mcptest-hook/package.yao:18 hooks is not read: hooks are the functions of src/index.ts",
      "assistants/tests/querydsl-agent-retry/package.yao:11 hooks is not read: hooks are the functions of src/index.ts",
      "assistants/tests/querydsl-agent/package.yao:8 hooks is not read: hooks are the functions of src/index.ts",
      "assistants/tests/sandbox/basic/package.yao:8 sandbox is not read",
      "assistants/tests/sandbox/claude-cli/package.yao:8 sandbox is not read",
      "assistants/tests/sandbox/e2e-test/package.yao:8 sandbox is not read",
      "assistants/tests/sandbox/full/package.yao:16 sandbox is not read",
      "assistants/tests/sandbox/hook-only/package.yao:8 sandbox is not read",
      "assistants/tests/sandbox/hooks/package.yao:8 sandbox is not read",
      "assistants/tests/web-agent/package.yao:17 option is not read; did you mean options?",
      "assistants/tests/web-serpapi/package.yao:4 version is not read",
      "assistants/tests/web-serpapi/package.yao:6 option is not read; did you mean options?",
      "connectors/deepseek.conn.yao:6 options.key is written in the file; put it in $ENV.NAME or use “yao connector add deepseek”",
      'connectors/mongo.conn.yao:5 type "mongo" is a database, which no assistant can be run with; it is ignored',
      'connectors/mysql.conn.yao:5 type "mysql" is a database, which no assistant can be run with; it is ignored',
      'connectors/redis.conn.yao:5 type "redis" is a database, which no assistant can be run with; it is ignored',
      'connectors/sqlite.conn.yao:5 type "sqlite3" is a database, which no assistant can be run with; it is ignored',
    ],
  },
  {
    app: "yao-init",
    assistants: 3,
    connectors: 49,
    refused: [],
    warned: [
      'assistants/llms/package.yao:8 db is a list, which is not read: write {"models": […]}',
      'assistants/yao/package.yao:20 db is a list, which is not read: write {"models": […]}',
    ],
  },
  {
    app: "yao-unit/agent/app",
    assistants: 41,
    connectors: 18,
    refused: [],
    warned: [
      "assistants/experts/data-analyst/package.yao:5 capabilities is not read here: a connector says what its model can do",
      "assistants/experts/text-writer/package.yao:5 capabilities is not read here: a connector says what its model can do",
      "connectors/anthropic/mock.conn.yao:7 options.key is written in the file; put it in $ENV.NAME or use “yao connector add anthropic.mock”",
      "connectors/deepseek/mock-think.conn.yao:7 options.key is written in the file; put it in $ENV.NAME or use “yao connector add deepseek.mock-think”",
      "connectors/deepseek/mock.conn.yao:7 options.key is written in the file; put it in $ENV.NAME or use “yao connector add deepseek.mock”",
      "connectors/openai/mock-generator.conn.yao:7 options.key is written in the file; put it in $ENV.NAME or use “yao connector add openai.mock-generator”",
      "connectors/openai/mock-slow.conn.yao:7 options.key is written in the file; put it in $ENV.NAME or use “yao connector add openai.mock-slow”",
      "connectors/openai/mock-validator.conn.yao:7 options.key is written in the file; put it in $ENV.NAME or use “yao connector add openai.mock-validator”",
      "connectors/openai/mock.conn.yao:7 options.key is written in the file; put it in $ENV.NAME or use “yao connector add openai.mock”",
    ],
  },
];

function lines(problems: readonly Problem[], severity: Problem["severity"]): string[] {
  const chosen = problems.filter((problem) => problem.severity === severity);
  return chosen.map(({ file, line, message }) => `${file}:${line} ${message}`);
}

describe.skipIf(!isPresent).each(EXPECTED)("the public app $app", ({ app: folder, ...expected }) => {
  test("loads, and the refusals and warnings are exactly these", async () => {
    const { app, problems } = loadApp(await readAppDirectory(join(corpus, folder)));
    expect(lines(problems, "error")).toEqual(expected.refused);
    expect(lines(problems, "warning")).toEqual(expected.warned);
    expect(app.assistants.size).toBe(expected.assistants);
    expect(app.connectors.size).toBe(expected.connectors);
  });

  test("has no assistant or connector file that is neither loaded nor refused", async () => {
    const files = await readAppDirectory(join(corpus, folder));
    const { app, problems } = loadApp(files);
    const named = new Set(problems.map((problem) => problem.file));
    for (const path of files.keys()) {
      const match = /^(assistants|connectors)\/(.+?)(?:\/package|\.conn|)\.yao$/.exec(path);
      if (match === null || (match[1] === "assistants" && !path.endsWith("/package.yao"))) continue;
      const id = (match[2] ?? "").replaceAll("/", ".");
      const isLoaded = match[1] === "assistants" ? app.assistants.has(id) : app.connectors.has(id);
      expect(isLoaded || named.has(path), path).toBe(true);
    }
  });

  test("survives bundling, and every assistant renders and finds a model", async () => {
    const files = await readAppDirectory(join(corpus, folder));
    const { app } = loadApp(readBundle(bundleApp(files).bytes));
    const direct = loadApp(files);
    expect(app).toEqual(direct.app);
    // Every variable has a value, and every connector that is named but not in the app is added to the workspace.
    const env = (): string => "stand-in";
    const ready = { type: "openai", model: "stand-in", host: "http://127.0.0.1:1/v1", key: "stand-in" };
    const named = [...app.assistants.values()].map((assistant) => assistant.connector ?? "");
    const missing = named.filter((id) => id !== "" && !id.startsWith("use::") && !app.connectors.has(id));
    const defaults = ["stand-in", "deepseek.v3", "openai.mock"].filter((id) => !app.connectors.has(id));
    const workspaceConnectors = new Map([...missing, ...defaults].map((id) => [id, ready]));
    for (const assistant of app.assistants.values()) {
      const sys = { now: new Date(0), timezone: "UTC" };
      for (const preset of [undefined, ...Object.keys(assistant.promptPresets)]) {
        const chosen = preset === undefined ? {} : { preset };
        const prompts = renderPrompts({ app, assistant, ...chosen, sys, env, ctx: { X: "y" }, locale: "zh-cn" });
        for (const { content } of prompts) expect(content).not.toMatch(/\$(ENV|CTX)\.|\$SYS\.(DATE|TIME)/);
      }
      expect(localizeAssistant(assistant, "en-us", app).name).not.toMatch(/\{\{/);
      expect(resolveConnector({ app, workspaceConnectors, assistant, env }).model).not.toBe("");
    }
  });
});
