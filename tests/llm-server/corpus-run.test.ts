/** Public assistants, each run from its app directory over a real connection to the scripted server. */

import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

import { type App, loadApp, readAppDirectory } from "@mesh/assistants";
import { MeshError, systemClock } from "@mesh/kernel";
import { createProviders } from "@mesh/llm";
import { type OutputMessage, runAssistant, type RunInput, type RunOutcome } from "@mesh/runtime";
import { Workbench } from "@mesh/runtime/node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { type LlmServer, startLlmServer } from "./index.ts";

const CORPUS = join(process.env["YAO_SHARED_DIR"] ?? resolve(import.meta.dirname, "../../../shared"), "corpus");
const isMissing = !existsSync(CORPUS);
if (isMissing) console.log(`skipped: there are no public assistants at ${CORPUS} (set YAO_SHARED_DIR)`);

interface Case {
  readonly folder: string;
  readonly assistantId: string;
  readonly model: string;
  readonly prompt: RegExp;
  readonly connectors?: (url: string) => RunInput["connectors"];
  readonly env?: (url: string) => Readonly<Record<string, string>>;
}

const CASES: readonly Case[] = [
  {
    folder: "yao-dev-app",
    assistantId: "experts.summarizer",
    model: "gpt-4o",
    prompt: /Timezone: UTC/,
    connectors: (host) => new Map([["gpt-4o", { type: "openai", model: "gpt-4o", host, key: "k" }]]),
  },
  {
    folder: "yao-unit/agent/app",
    assistantId: "tests.simple-greeting",
    model: "mock-gpt-4o-mini",
    prompt: /\S/,
    env: (url) => ({ MOCK_LLM_HOST: url }),
  },
  {
    folder: "yao-init",
    assistantId: "yao",
    model: "gpt-4o",
    prompt: /\S/,
    connectors: (host) => new Map([["openai.gpt-4o", { host, key: "k" }]]),
    env: () => ({ DEFAULT_LLM: "openai.gpt-4o" }),
  },
];

describe.skipIf(isMissing)("a public assistant", () => {
  let llm: LlmServer;

  beforeAll(async () => {
    llm = await startLlmServer();
    llm.default({ text: "Good day from the server", chunkBytes: 7 });
  });

  afterAll(() => llm.stop());

  test.each(CASES)("of $folder answers: $assistantId", async (given) => {
    const { app } = loadApp(await readAppDirectory(join(CORPUS, given.folder)));
    const messages: OutputMessage[] = [];
    const outcome = await run(
      {
        app,
        assistantId: given.assistantId,
        connectors: given.connectors?.(llm.url) ?? new Map(),
        env: (name) => given.env?.(llm.url)[name],
      },
      (message) => messages.push(message),
    );
    expect(outcome).toMatchObject({ output: "Good day from the server", finish_reason: "stop" });
    const seen = llm.requests.at(-1);
    expect(seen?.model).toBe(given.model);
    const sent = (seen?.json?.["messages"] ?? []) as readonly { readonly role: string; readonly content: string }[];
    expect(sent.at(-1)).toEqual({ role: "user", content: "Hello" });
    expect(
      sent
        .filter((one) => one.role === "system")
        .map((one) => one.content)
        .join("\n"),
    ).toMatch(given.prompt);
    expect(JSON.stringify(sent)).not.toContain("$SYS.");
    expect(
      messages
        .filter((one) => one.type === "text")
        .map((one) => one.props["content"] as string)
        .join(""),
    ).toBe(outcome.output);
  });

  test("that has no prompts and no MCP servers reaches no model", async () => {
    const { app } = loadApp(await readAppDirectory(join(CORPUS, "yao-unit/agent/app")));
    const before = llm.requests.length;
    const outcome = await run(
      { app, assistantId: "tests.no-prompt", connectors: new Map(), env: () => llm.url },
      () => undefined,
    );
    expect(outcome.finish_reason).toBe("skipped");
    expect(llm.requests).toHaveLength(before);
  });
});

/** What comes of the assistants of each app: how many answer, who asks no model as it lives by its hooks, who lacks what. */
const OUTCOMES = [
  {
    folder: "yao-dev-app",
    answering: 75,
    silent: [
      "tests.keyword-agent",
      "tests.messages",
      "tests.querydsl-agent-retry",
      "tests.querydsl-agent",
      "tests.rerank-agent",
      "tests.sandbox-v2.computer-filter",
      "tests.sandbox-v2.hooks-only",
      "tests.sandbox-v2.jsapi-v2",
      "tests.sandbox.hook-only",
      "tests.search-jsapi",
      "tests.web-agent",
    ],
    lacking: {
      "yaoagents.analytics": 'there is no MCP server "yaoagents.registry-mcp"',
      "yaoagents.registry-agent": 'there is no MCP server "yaoagents.registry-mcp"',
    },
  },
  { folder: "yao-init", answering: 2, silent: ["messages"], lacking: {} },
  {
    folder: "yao-unit/agent/app",
    answering: 31,
    silent: [
      "tests.attachment-handler",
      "tests.create",
      "tests.hook-disable-global-prompts",
      "tests.i18n-multilang",
      "tests.no-prompt",
      "tests.sandbox-v2.jsapi-v2",
      "tests.search-disabled",
      "tests.search-hook",
      "tests.search-jsapi",
      "tests.search-web",
    ],
    lacking: {},
  },
];

test("132 public assistants are accounted for", () => {
  const count = ({ answering, silent, lacking }: (typeof OUTCOMES)[number]): number =>
    answering + silent.length + Object.keys(lacking).length;
  expect(OUTCOMES.reduce((sum, each) => sum + count(each), 0)).toBe(132);
});

describe.skipIf(isMissing)("every public assistant", () => {
  let llm: LlmServer;
  let dir: string;

  beforeAll(async () => {
    llm = await startLlmServer();
    llm.default({ text: "Good day from the server" });
    dir = mkdtempSync(join(tmpdir(), "yao-corpus-"));
  });

  afterAll(async () => {
    await llm.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  test.each(OUTCOMES)("of $folder runs, or says what its app lacks", async ({ folder, ...expected }) => {
    const { app } = loadApp(await readAppDirectory(join(CORPUS, folder)));
    await using bench = new Workbench({ clock: systemClock, dir, env: {}, version: "0", log: () => undefined });
    const [silent, lacking]: [string[], Record<string, string>] = [[], {}];
    let answering = 0;
    for (const assistantId of app.assistants.keys()) {
      const outcome = await outcomeOf(app, assistantId, { bench, url: llm.url });
      if (outcome === "Good day from the server") answering += 1;
      else if (outcome === "skipped") silent.push(assistantId);
      else lacking[assistantId] = outcome.split(";")[0] ?? "";
    }
    expect({ answering, silent, lacking }).toEqual(expected);
  });
});

/** What an assistant answers, `skipped` when it asks no model, or what its run failed with. */
async function outcomeOf(
  app: App,
  assistantId: string,
  on: { readonly bench: Workbench; readonly url: string },
): Promise<string> {
  const ready = { type: "openai", model: "stand-in", host: on.url, key: "k" };
  const { connector = "" } = app.assistants.get(assistantId) ?? {};
  const named = [connector, "openai.gpt-4o", "deepseek.v3"].filter((id) => id !== "" && !id.startsWith("use::"));
  const connectors = new Map([...named, ...app.connectors.keys()].map((id) => [id, ready]));
  const state = { call: () => Promise.reject(new MeshError("failed_precondition", "there is no state here")) };
  const env = (name: string): string => (name === "DEFAULT_LLM" ? "openai.gpt-4o" : "stand-in");
  const shared = on.bench.portsOf({ app, state, variables: {}, commandEnv: {} });
  try {
    const ended = await run({ app, assistantId, connectors, env }, () => undefined, shared);
    return ended.finish_reason === "skipped" ? "skipped" : ended.output;
  } catch (error) {
    return MeshError.from(error).message;
  }
}

async function run(
  given: Pick<RunInput, "app" | "assistantId" | "connectors" | "env">,
  emit: (message: OutputMessage) => void,
  ports: Partial<ReturnType<Workbench["portsOf"]>> = {},
): Promise<RunOutcome> {
  const context = { runId: "run_1", workspaceId: "ws_1", userId: "user_1", locale: "en-us", timezone: "UTC" };
  const ended = await runAssistant(
    { ...given, input: "Hello", options: {}, metadata: {}, context },
    { clock: systemClock, providers: createProviders({ clock: systemClock }), ...ports },
    emit,
    new AbortController().signal,
  );
  if ("pending" in ended) throw new Error("the run waits");
  return ended;
}
