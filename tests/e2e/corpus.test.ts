/** Public assistants, pushed as they were published and run on a device against a scripted model server. */

import { existsSync } from "node:fs";
import { join, resolve } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { TestMesh } from "../harness/test-mesh.ts";
import { type LlmServer, startLlmServer } from "../llm-server/index.ts";

const CORPUS = join(process.env["YAO_SHARED_DIR"] ?? resolve(import.meta.dirname, "../../../shared"), "corpus");
const isMissing = !existsSync(CORPUS);
if (isMissing) console.log(`skipped: there are no public assistants at ${CORPUS} (set YAO_SHARED_DIR)`);

interface Case {
  readonly app: string;
  readonly folder: string;
  readonly assistant: string;
  /** Connector of the workspace that the assistant reaches its model by; absent when its app brings it. */
  readonly connector?: string;
  readonly model: string;
  /** Words of its prompts that the model must have seen. */
  readonly prompt: RegExp;
}

const CASES: readonly Case[] = [
  {
    app: "dev",
    folder: "yao-dev-app",
    assistant: "experts.summarizer",
    connector: "gpt-4o",
    model: "gpt-4o",
    prompt: /Timezone: \S+/,
  },
  {
    app: "starter",
    folder: "yao-init",
    assistant: "yao",
    connector: "openai.gpt-4o",
    model: "gpt-4o",
    prompt: /\S{3}/,
  },
  {
    app: "unit",
    folder: "yao-unit/agent/app",
    assistant: "tests.simple-greeting",
    model: "mock-gpt-4o-mini",
    prompt: /\S{3}/,
  },
];

describe.skipIf(isMissing)("a public assistant", () => {
  let mesh: TestMesh;
  let llm: LlmServer;

  beforeAll(async () => {
    llm = await startLlmServer();
    llm.default({ text: "Good day from the server", chunkBytes: 7 });
    // Names that apps may read on a device: for their default connector and for where their own connector leads.
    const env = { DEFAULT_LLM: "openai.gpt-4o", MOCK_LLM_HOST: llm.url };
    mesh = await TestMesh.start({ nodes: [{ name: "alpha", env }] });
  });

  afterAll(async () => {
    await Promise.all([mesh?.stop(), llm?.stop()]);
  });

  test.each(CASES)("of $folder answers on a device: $assistant", async ({ app, folder, assistant, ...expected }) => {
    await mesh.api.call("POST", "/v1/workspaces", { name: app });
    await mesh.pushApp(app, join(CORPUS, folder), app);
    if (expected.connector !== undefined) {
      await mesh.api.call("PUT", `/v1/workspaces/${app}/connectors/${expected.connector}`, {
        type: "openai",
        model: expected.model,
        host: llm.url,
        key: "k",
      });
    }
    const run = await mesh.createRun({ workspace: app, assistant, input: "Hello" });
    const events = await mesh.api.follow(run.id);
    expect(await mesh.run(run.id)).toMatchObject({
      state: "succeeded",
      output: "Good day from the server",
      node: "alpha",
    });
    expect(events.at(-1)).toMatchObject({ kind: "run.finished", data: { state: "succeeded" } });
    const pieces = events.filter(({ data }) => data["type"] === "text" && data["delta"] === true);
    expect(pieces.map(({ data }) => (data["props"] as { content: string }).content).join("")).toBe(
      "Good day from the server",
    );
    const seen = llm.requests.at(-1);
    expect(seen?.model).toBe(expected.model);
    const messages = (seen?.json?.["messages"] ?? []) as readonly { readonly role: string; readonly content: string }[];
    expect(messages.at(-1)).toEqual({ role: "user", content: "Hello" });
    const system = messages.filter(({ role }) => role === "system").map(({ content }) => content);
    expect(system.join("\n")).toMatch(expected.prompt);
    expect(JSON.stringify(messages)).not.toMatch(/\$SYS\.|\$CTX\./);
  });
});
