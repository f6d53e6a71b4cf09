/**
 * The three assistants that help with evals, once as the document writes them and once as they come with the framework, and an
 * assistant that writes the report: each over a real connection to the scripted server.
 */

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";

import { readResults } from "@mesh/eval";
import { ConsoleReport, type EvalInput, type EvalRequest, runEval } from "@mesh/eval/local";
import { systemClock } from "@mesh/kernel";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { type LlmServer, type SeenRequest, startLlmServer } from "./index.ts";

const DOCUMENT = join(process.env["YAO_SHARED_DIR"] ?? resolve(import.meta.dirname, "../../../shared"), "spec/eval.md");
if (!existsSync(DOCUMENT))
  console.warn(`skipped in part: there is no ${DOCUMENT}; set YAO_SHARED_DIR to the folder that holds it`);

/** The package and the prompts of the three, from their sections of the document. */
function documentedAgents(): Readonly<Record<string, string>> {
  const text = readFileSync(DOCUMENT, "utf8");
  const found = [...text.matchAll(/^### .* Agent \(`tests\.([\w-]+)`\)$([^]*?)(?=^### |^## )/gm)];
  return Object.fromEntries(
    found.flatMap(([, id = "", section = ""]) => [
      [`assistants/tests/${id}/package.yao`, /^```json\n([^]*?)^```/m.exec(section)?.[1] ?? ""],
      [`assistants/tests/${id}/prompts.yml`, /^```yaml\n([^]*?)^```/m.exec(section)?.[1] ?? ""],
    ]),
  );
}

const messagesOf = ({ json }: SeenRequest): readonly { readonly role: string; readonly content: string }[] =>
  (json?.["messages"] ?? []) as readonly { readonly role: string; readonly content: string }[];
const asked = (request: SeenRequest): Record<string, unknown> =>
  JSON.parse(messagesOf(request).at(-1)?.content ?? "{}") as Record<string, unknown>;
const isFor = (word: RegExp) => (request: SeenRequest) =>
  messagesOf(request).some(({ role, content }) => role === "system" && word.test(content));

const variants = [
  ["as they come with the framework", undefined],
  ...(existsSync(DOCUMENT) ? [["as the document writes them", documentedAgents] as const] : []),
] as const;

describe.each(variants)("the three assistants, %s", (_name, agents) => {
  let llm: LlmServer;
  let dir = "";
  const seen: Record<string, Record<string, unknown>[]> = { generator: [], validator: [], simulator: [] };

  beforeAll(async () => {
    llm = await startLlmServer();
    llm.on(isFor(/test case|test cases for/i), (request) => {
      seen["generator"]?.push(asked(request));
      const cases = [1, 2].map((n) => ({
        id: `made-${n}`,
        input: `say ${n}`,
        assert: [{ type: "contains", value: `${n}` }],
      }));
      return { text: JSON.stringify(cases) };
    });
    llm.on(isFor(/response validator|judge whether/i), (request) => {
      const question = asked(request);
      seen["validator"]?.push(question);
      const passed = String(question["output"]).includes("friend");
      return {
        text: `\`\`\`json\n${JSON.stringify({ passed, reason: passed ? "it is friendly" : "it is not" })}\n\`\`\``,
      };
    });
    llm.on(isFor(/user simulator|play the user|you play a user|simulat/i), (request) => {
      const question = asked(request);
      seen["simulator"]?.push(question);
      const turn = Number(question["turn_number"]);
      return { text: JSON.stringify({ message: `message ${turn}`, goal_achieved: turn >= 3, reasoning: "next" }) };
    });
    llm.on(isFor(/write reports/i), (request) => ({
      text: `# Report of ${(asked(request)["report"] as { readonly results: readonly unknown[] }).results.length} results`,
    }));
  });

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), "yao-eval-agents-"));
    for (const list of Object.values(seen)) list.length = 0;
    const model = { type: "openai", options: { model: "gpt-4o", key: "k", host: llm.url } };
    const files: Readonly<Record<string, string>> = {
      "app.yao": '{"name":"Evals"}',
      "connectors/gpt-4o.conn.yao": JSON.stringify(model),
      "agent/agent.yml": "system:\n  default: gpt-4o\n",
      "assistants/expense/package.yao": '{"name":"Expense","description":"keeps expenses","connector":"gpt-4o"}',
      "assistants/expense/prompts.yml": "- role: system\n  content: You keep expenses.\n",
      "assistants/writer/package.yao": '{"name":"Writer","connector":"gpt-4o"}',
      "assistants/writer/prompts.yml": "- role: system\n  content: You write reports.\n",
      ...agents?.(),
    };
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(dir, path)), { recursive: true });
      writeFileSync(join(dir, path), text);
    }
  });

  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  afterAll(async () => {
    await llm.stop();
  });

  async function run(cases: readonly object[] | EvalInput, more: Partial<EvalRequest> = {}) {
    const isList = Array.isArray(cases);
    if (isList) writeFileSync(join(dir, "cases.jsonl"), cases.map((each) => JSON.stringify(each)).join("\n"));
    const scratchDir = mkdtempSync(join(dir, "scratch-"));
    const request: EvalRequest = {
      input: isList ? { kind: "file", path: "cases.jsonl" } : (cases as EvalInput),
      inputText: "cases.jsonl",
      agent: "expense",
      cwd: dir,
      timeoutMs: 20_000,
      runs: 1,
      parallel: 1,
      retries: 0,
      failFast: false,
      isDryRun: false,
      output: "out.jsonl",
      ...more,
    };
    const reporter = new ConsoleReport(() => undefined, { isVerbose: false });
    const deps = { clock: systemClock, nonce: "n", version: "0", env: {}, variables: {}, scratchDir, reporter };
    const { exitCode } = await runEval(request, deps, new AbortController().signal);
    const results = [];
    if (request.output === "out.jsonl")
      for await (const each of readResults(join(dir, "out.jsonl"))) results.push(each);
    return { exitCode, results };
  }

  test("the generator makes cases that run", async () => {
    const params = { count: 2, focus: "edge-cases" };
    const { exitCode, results } = await run({ kind: "generator", agentId: "tests.generator-agent", params });
    expect(results.map(({ id, status }) => `${id} ${status}`)).toEqual(["made-1 passed", "made-2 passed"]);
    expect(exitCode).toBe(0);
    expect(seen["generator"]).toMatchObject([
      { target_agent: { id: "expense", description: "keeps expenses" }, count: 2, focus: "edge-cases" },
    ]);
  });

  test("the validator judges, and its verdict is in the result", async () => {
    const assert = { type: "agent", use: "agents:tests.validator-agent", value: "Response should be friendly" };
    const { results } = await run([
      { id: "yes", input: "hello friend", assert },
      { id: "no", input: "hello", assert },
    ]);
    expect(results.map(({ status }) => status)).toEqual(["passed", "failed"]);
    expect(results[0]?.assertions?.[0]?.agent_validation).toMatchObject({
      passed: true,
      reason: "it is friendly",
      criteria: "Response should be friendly",
    });
    expect(seen["validator"]).toMatchObject([{ criteria: "Response should be friendly", input: "hello friend" }, {}]);
  });

  test("the simulator talks until a checkpoint is reached, and is told nothing of them", async () => {
    const dialogue = (value: string): object => ({
      id: value,
      input: "I need help",
      simulator: { use: "tests.simulator-agent", options: { metadata: { persona: "New employee", goal: "Submit" } } },
      checkpoints: [{ id: "asked", assert: { type: "contains", value } }],
    });
    const { results } = await run([dialogue("message 2"), dialogue("never")]);
    expect(results.map(({ status, metadata }) => [status, metadata?.["stop_reason"]])).toEqual([
      ["passed", "checkpoints"],
      ["failed", "goal_achieved"],
    ]);
    expect(seen["simulator"]?.[0]).toMatchObject({ persona: "New employee", goal: "Submit", turn_number: 2 });
    expect(JSON.stringify(seen["simulator"])).not.toMatch(/checkpoint|asked/);
  });

  test("an assistant writes the report", async () => {
    const cases = [1, 2, 3].map((n) => ({ id: `c${n}`, input: "x" }));
    await run(cases, { reporter: "writer", output: "report.md" });
    expect(readFileSync(join(dir, "report.md"), "utf8")).toBe("# Report of 3 results");
  });
});
