import { expect, test } from "vitest";

import type { EvalCase } from "../eval-case.ts";
import { loadCases } from "./load-cases.ts";
import { isPacked } from "./packed-case.ts";

const FIELDS = [
  "id",
  "hash",
  "messages",
  "assertions",
  "user",
  "team",
  "metadata",
  "options",
  "contextMetadata",
  "timeoutMs",
  "isSkipped",
  "raw",
  "place",
  "dialogue",
  "before",
  "after",
] as const satisfies readonly (keyof EvalCase)[];

const WRITTEN = [
  '{"id": "plain", "input": "Hello", "assert": {"type": "contains", "value": "H"}, "timeout": "3s", "user": "u", "team": "t"}',
  '{"id": 7, // a comment\n "input": [{"role": "user", "content": "a"}],\n "metadata": {"a": 1}, "options": {"metadata": {"b": 2}}, "skip": true}',
  '{"id": "hooked", "input": "x", "before": "env.Before"}',
  '{"id": "judged", "input": "x", "assert": {"type": "agent", "use": "agents:v", "value": "good"}}',
  '{"id": "scripted", "input": "x", "assert": {"type": "script", "script": "scripts.a.B"}}',
  '{"id": "elsewhere", "input": "x", "options": {"connector": "c"}}',
  '{"id": "seen", "input": {"role": "user", "content": [{"type": "text", "text": "x"}]}}',
  '[{"id": "in a list", "input": "x"}, {"id": "last", "input": "y"}]',
];
/** Comments make a file large without cases. */
const LARGE = `// ${"x".repeat(1000)}\n`.repeat(4500);

function fieldsOf(test: EvalCase): Readonly<Record<string, unknown>> {
  return Object.fromEntries(FIELDS.map((field) => [field, test[field]]));
}

test("cases of a large file are what they are in a small one", () => {
  const small = loadCases(WRITTEN.join("\n"), "cases.jsonl");
  const large = loadCases(`${WRITTEN.join("\n")}\n${LARGE}`, "cases.jsonl");
  expect([small.problems, large.problems]).toEqual([[], []]);
  expect(small.cases.filter(isPacked)).toEqual([]);
  expect(large.cases.map(fieldsOf)).toEqual(small.cases.map(fieldsOf));
  expect(large.cases.map(({ place }) => place.line)).toEqual([1, 2, 5, 6, 7, 8, 9, 10, 10]);
});

test("only cases that name nothing are kept as their text", () => {
  const { cases } = loadCases(`${WRITTEN.join("\n")}\n${LARGE}`, "cases.jsonl");
  expect(cases.filter(isPacked).map(({ id }) => id)).toEqual(["plain", "7", "in a list", "last"]);
});

test("a packed case is read once while it runs, and again when many others have run", () => {
  const lines = Array.from({ length: 200 }, (_none, n) => `{"id": "c${n}", "input": "say ${n}"}`);
  const { cases } = loadCases(`${lines.join("\n")}\n${LARGE}`, "cases.jsonl");
  const [first] = cases;
  const messages = first!.messages;
  expect(first!.messages).toBe(messages);
  for (const [n, { raw }] of cases.entries()) expect(raw).toEqual({ id: `c${n}`, input: `say ${n}` });
  expect(first!.messages).not.toBe(messages);
  expect(first!.messages).toEqual(messages);
});
