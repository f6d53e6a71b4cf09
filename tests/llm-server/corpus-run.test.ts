/** Public assistants, each run from its app directory over a real connection to the scripted server. */

import { existsSync } from "node:fs";
import { join, resolve } from "node:path";

import { loadApp, readAppDirectory } from "@mesh/assistants";
import { systemClock } from "@mesh/kernel";
import { createProviders } from "@mesh/llm";
import { type OutputMessage, runAssistant, type RunInput, type RunOutcome } from "@mesh/runtime";
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

async function run(
  given: Pick<RunInput, "app" | "assistantId" | "connectors" | "env">,
  emit: (message: OutputMessage) => void,
): Promise<RunOutcome> {
  const context = { runId: "run_1", workspaceId: "ws_1", userId: "user_1", locale: "en-us", timezone: "UTC" };
  const ended = await runAssistant(
    { ...given, input: "Hello", options: {}, metadata: {}, context },
    { clock: systemClock, providers: createProviders({ clock: systemClock }) },
    emit,
    new AbortController().signal,
  );
  if ("pending" in ended) throw new Error("the run waits");
  return ended;
}
