/**
 * The guides tell the truth: their programs and commands print what they say, their files load. Guides whose commands need a database
 * or a mesh are tried in `tests/spec/guide.test.ts` and `tests/e2e/mcp.test.ts`.
 */

import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

import { completeConnector, loadApp } from "@mesh/assistants";
import { connectorModel } from "@mesh/llm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { TestApp } from "../../services/runtime/src/testing/app-run.ts";
import { type LlmServer, startLlmServer } from "../llm-server/index.ts";
import { guideCommands, guideFiles, printed, runOptions } from "../spec/guide-app.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const GUIDES = ["connectors.md", "agent-loop.md"];
const PRINTS = "// → ";

let llm: LlmServer;
// Inside the repository, so that programs find its packages.
let dir: string;

beforeAll(async () => {
  llm = await startLlmServer();
  llm.default({ text: "ok" });
  dir = mkdtempSync(join(ROOT, "tests", ".guide-"));
});

afterAll(async () => {
  await llm?.stop();
  rmSync(dir, { recursive: true, force: true });
});

/** The code blocks of a guide in one language. */
function blocks(guide: string, language: string): string[] {
  const text = readFileSync(join(ROOT, "docs/guides", guide), "utf8");
  return [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].flatMap(([, name, code]) =>
    name === language && code !== undefined ? [code] : [],
  );
}

const programs = GUIDES.flatMap((guide) =>
  blocks(guide, "ts").map((code, index) => [`${guide}, program ${index + 1}`, code] as const),
);

test.each(programs)(
  "%s prints what it says",
  async (name, code) => {
    const path = join(dir, `${name.replaceAll(/\W+/g, "-")}.ts`);
    writeFileSync(path, code);
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ["--import", "tsx", "--conditions=@mesh/source", path],
      { cwd: ROOT, env: { ...process.env, LLM_URL: `${llm.url}/v1` }, timeout: 30_000 },
    );
    const promised = code.split("\n").flatMap((line) => (line.startsWith(PRINTS) ? [line.slice(PRINTS.length)] : []));
    expect(promised.length).toBeGreaterThan(0);
    expect(stdout.trimEnd().split("\n")).toEqual(promised);
  },
  40_000,
);

describe("the files of the guides", () => {
  const files = new Map(
    GUIDES.flatMap((guide) => blocks(guide, "jsonc")).map((code) => {
      const path = /^\/\/ (\S+)\n/.exec(code)?.[1] ?? "";
      return [path, new TextEncoder().encode(code)] as const;
    }),
  );

  test("load without a finding", () => {
    const { app, problems } = loadApp(files);
    expect(problems).toEqual([]);
    expect([...app.connectors.keys()].toSorted()).toEqual(["bedrock", "claude", "house", "openai.gpt-4o"]);
    expect(app.assistants.get("coder")?.options["tools"]).toContain("bash");
  });

  test("are connectors that can be called", () => {
    const { app } = loadApp(files);
    for (const [id, file] of app.connectors) {
      const { model } = connectorModel(completeConnector(id, { file }, (name) => `https://${name}.example.com`));
      expect(model).toMatchObject({ connector: id, id: file.options["model"] });
    }
  });
});

describe.each(["first-assistant.md", "hooks.md", "languages.md"])("the assistants of %s", (guide) => {
  let app: TestApp;

  beforeAll(() => {
    app = new TestApp(guideFiles(guide));
  });

  afterAll(() => app[Symbol.asyncDispose]());

  test("load without a finding", () => {
    expect(app.problems).toEqual([]);
  });

  // One after the other: a command sees what those before it left in memory.
  test.each(guideCommands(guide))("$command", async (command) => {
    expect(printed(await app.run(command.assistant, command.input, runOptions(command)))).toBe(command.prints);
  });
});
