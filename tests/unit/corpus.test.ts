/** Public apps that nobody here wrote: every file of theirs loads, or is refused for a reason that stands here. */

import { existsSync } from "node:fs";
import { join, resolve } from "node:path";

import {
  bundleApp,
  loadApp,
  localizeAssistant,
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
}

/** What is said about each file is reviewed beside the loader: services/assistants/testdata/corpus.json. */
const EXPECTED: readonly Expected[] = [
  { app: "yao-dev-app", assistants: 88, connectors: 25 },
  { app: "yao-init", assistants: 3, connectors: 49 },
  { app: "yao-unit/agent/app", assistants: 41, connectors: 18 },
];

describe.skipIf(!isPresent).each(EXPECTED)("the public app $app", ({ app: folder, ...expected }) => {
  test("loads whole, without an error", async () => {
    const { app, problems } = loadApp(await readAppDirectory(join(corpus, folder)));
    expect(problems.filter(({ severity }) => severity === "error")).toEqual([]);
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
