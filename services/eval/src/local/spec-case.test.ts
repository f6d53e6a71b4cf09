/**
 * The documented cases, run as they are written against an app that has the assistants they name: an assistant that answers well
 * passes them, one that answers badly fails every claim. Skipped where the document is not at hand.
 */

import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { describe, expect, test } from "vitest";

import { EvalApp } from "../testing/eval-app.ts";

const DOCUMENT = join(
  process.env["YAO_SHARED_DIR"] ?? resolve(import.meta.dirname, "../../../../../shared"),
  "spec/eval.md",
);
if (!existsSync(DOCUMENT))
  console.warn(`skipped: there is no ${DOCUMENT}; set YAO_SHARED_DIR to the folder that holds it`);

/** What a good assistant says to what the document asks. */
const REPLIES: Readonly<Record<string, string>> = {
  Hello: 'Hi, {"status":"ok"}',
  "Extract keywords from: AI and machine learning": "AI, machine learning",
  "What's the weather?": '```json\n{"need_search": true}\n```',
  "Submit $500 travel expense": "Your expense was submitted",
  "Yes, confirm": "The expense was created",
  "Analyze this receipt": "The amount is 500",
  "How do I reset my password?": "Open the settings, then choose reset",
  "Query users": '{"from": "users", "limit": 10}',
  "Show my expenses": "You have one expense",
  "I want to order coffee": "Hello! How can I help you?",
  "a medium one": "What size? Let me confirm: medium, please confirm",
  "I need help": "Hello, what type of help?",
  "Submit expense": "What type of expense? Its category?",
};

const GOOD = `
const REPLIES = ${JSON.stringify(REPLIES)};
const textOf = ({ content }) => typeof content === "string" ? content : content.map((part) => part.text ?? "").join("");
const saidIn = (messages) => textOf(messages.findLast(({ role }) => role === "user"));
export function Create(ctx, messages) {
  // The demo model calls the tool that it is told to call.
  if (saidIn(messages) !== "Set up my expense system") return null;
  return { messages: [{ role: "user", content: '/tool agents_expense_tools__setup {"action": "init"}' }] };
}
export function Next(ctx, payload) {
  const tool = payload.tools?.[0]?.result?.message;
  const said = saidIn(payload.messages).split("\\n")[0];
  return { data: tool ?? REPLIES[said] ?? "fine" };
}`;

const BAD = `
export function Create() { return { messages: [{ role: "user", content: "/echo an error" }] }; }
export function Next() { return { data: "an error" }; }`;

const judge = (verdict: string): string => `
export function Create() { return null; }
export function Next(ctx, payload) {
  const { output, criteria } = JSON.parse(payload.messages.at(-1).content);
  return { data: { passed: ${verdict}, reason: "judged: " + criteria } };
}`;

/** The app; a `bad` assistant answers everything with an error. */
function appOf(isGood: boolean): EvalApp {
  const hooks = isGood ? GOOD : BAD;
  return new EvalApp({
    "connectors/deepseek/v3.conn.yao": '{"type":"demo","label":"DeepSeek","options":{"model":"demo"}}',
    "scripts/test.ts":
      "export function Validate(output) { return { pass: output === 'fine', message: 'must be fine' }; }",
    "scripts/tools.ts": `
      export function Setup({ action }) { return { success: action === "init", message: "Setup is complete: hello, type, size, confirm" }; }`,
    "assistants/expense/mcps/tools.mcp.yao":
      '{"label":"Tools","transport":"process","tools":{"setup":"scripts.tools.Setup"}}',
    "assistants/expense/package.yao": JSON.stringify({
      name: "Expense",
      connector: "demo",
      mcp: { servers: ["agents.expense.tools"] },
    }),
    "assistants/expense/prompts.yml": "- role: system\n  content: Help.\n",
    "assistants/expense/src/index.ts": hooks,
    "assistants/expense/src/env_test.ts": `
      export function Before(ctx, testCase) { return { id: testCase.id }; }
      export function After(ctx, testCase, result, data) { if (data.id !== testCase.id) throw new Error("mixed up"); }`,
    "assistants/tests/validator-agent/package.yao": '{"name":"Validator"}',
    "assistants/tests/validator-agent/src/index.ts": judge('output !== "an error"'),
    "assistants/tests/simulator-agent/package.yao": '{"name":"Simulator"}',
    "assistants/tests/simulator-agent/src/index.ts": `
      export function Create() { return null; }
      export function Next() { return { data: { message: "a medium one", goal_achieved: false } }; }`,
    // The document's cases lie beside their fixtures.
    "fixtures/receipt.jpg": "\u00FF\u00D8\u00FF",
  });
}

/** Blocks by the line they begin at; where a block shows assertions alone, each is put into a case. */
function blocks(): readonly (readonly [line: number, text: string])[] {
  if (!existsSync(DOCUMENT)) return [];
  const text = readFileSync(DOCUMENT, "utf8");
  return [...text.matchAll(/^```jsonl\n([^]*?)^```/gm)].map((match) => [
    text.slice(0, match.index).split("\n").length,
    (match[1] ?? "").replaceAll(
      /^(\{"type": "(?:tool_called|tool_result)".*\})$/gm,
      (_all, assert: string, at: number) => `{"id":"at-${at}","input":"Set up my expense system","assert":${assert}}`,
    ),
  ]);
}

/** Cases that claim nothing pass whatever is answered; a skipped one is skipped. */
const CLAIMLESS = /^(greeting-basic|greeting-chinese|fast-model)$/;

describe.skipIf(!existsSync(DOCUMENT))("the documented cases", () => {
  test.each(blocks())(
    "line %i: a good assistant passes, and one that answers with an error fails",
    { timeout: 60_000 },
    async (_line, text) => {
      using good = appOf(true);
      const { results } = await good.run(text, { agent: "expense" });
      expect(results.length).toBeGreaterThan(0);
      for (const { id, status, error, warnings } of results)
        expect([id, status, error, warnings]).toEqual([
          id,
          id === "wip-feature" ? "skipped" : "passed",
          undefined,
          undefined,
        ]);
      using bad = appOf(false);
      const failed = await bad.run(text, { agent: "expense" });
      for (const { id, status, assertions, metadata } of failed.results) {
        const claims = assertions !== undefined || metadata !== undefined;
        const wanted = id === "wip-feature" ? "skipped" : CLAIMLESS.test(id) || !claims ? "passed" : "failed";
        expect([id, status]).toEqual([id, wanted]);
      }
      expect(failed.exitCode).toBe(failed.results.some(({ status }) => status === "failed") ? 1 : 0);
    },
  );
});
