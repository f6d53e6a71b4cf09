/** Assertions as they are written in a file of cases, each on an answer, with the verdict it must get. */

import type { Json, JsonObject } from "@mesh/kernel";
import { expect, test } from "vitest";

import { loadCases } from "../load/load-cases.ts";
import type { AgentValidation, ToolCall } from "../result.ts";
import type { Answer } from "./answer.ts";
import { evaluate, type Judges } from "./evaluate.ts";

type Verdict = "passed" | "failed" | "error";
type Row = readonly [assert: JsonObject, output: Json, verdict: Verdict];

const NO_JUDGES: Judges = {
  script: () => Promise.reject(new Error("no script")),
  agent: () => Promise.reject(new Error("no validator")),
};

function answerOf(output: Json, toolCalls: readonly ToolCall[] = []): Answer {
  return { output, text: typeof output === "string" ? output : "", toolCalls, trace: {} };
}

async function verdictOf(assert: Json, answer: Answer, judges: Judges = NO_JUDGES): Promise<Verdict> {
  const { cases, problems } = loadCases(JSON.stringify({ id: "T", input: "x", assert }), "cases.jsonl");
  expect(problems).toEqual([]);
  const judged = { answer, input: "x", metadata: {} };
  const [result] = await evaluate(cases[0]!.assertions, judged, judges, new AbortController().signal);
  return result!.status;
}

const eq = (value: Json): JsonObject => ({ type: "equals", value });
const has = (value: string, options?: JsonObject): JsonObject => ({
  type: "contains",
  value,
  ...(options && { options }),
});
const hasNot = (value: string): JsonObject => ({ type: "not_contains", value });
const at = (path: string, value: Json): JsonObject => ({ type: "json_path", path, value });
const re = (value: string): JsonObject => ({ type: "regex", value });
const is = (value: string, path?: string): JsonObject => ({ type: "type", value, ...(path && { path }) });
const fits = (value: Json, path?: string): JsonObject => ({ type: "schema", value, ...(path && { path }) });

const ROWS: readonly Row[] = [
  // equals: by value, key order aside
  [eq("a"), "a", "passed"],
  [eq("a"), "b", "failed"],
  [eq("a"), "a ", "failed"],
  [eq("a"), "A", "failed"],
  [eq(1), 1, "passed"],
  [eq(1), 1.0, "passed"],
  [eq(0), -0, "passed"],
  [eq(1), "1", "failed"],
  [eq("1"), 1, "failed"],
  [eq(25), 5, "failed"],
  [eq(true), true, "passed"],
  [eq(true), false, "failed"],
  [eq(true), "true", "failed"],
  [eq(true), 1, "failed"],
  [eq(null), null, "passed"],
  [eq(null), "", "failed"],
  [eq(""), "", "passed"],
  [eq(""), null, "failed"],
  [eq([]), [], "passed"],
  [eq([]), {}, "failed"],
  [eq({}), {}, "passed"],
  [eq({}), [], "failed"],
  [eq([1, 2]), [1, 2], "passed"],
  [eq([1, 2]), [2, 1], "failed"],
  [eq([1, 2]), [1, 2, 3], "failed"],
  [eq([1, 2, 3]), [1, 2], "failed"],
  [eq({ a: 1, b: 2 }), { b: 2, a: 1 }, "passed"],
  [eq({ a: 1 }), { a: 1, b: 2 }, "failed"],
  [eq({ a: 1, b: 2 }), { a: 1 }, "failed"],
  [eq({ a: { b: [1, { c: null }] } }), { a: { b: [1, { c: null }] } }, "passed"],
  [eq({ a: { b: [1, { c: null }] } }), { a: { b: [1, {}] } }, "failed"],
  [eq({ a: null }), {}, "failed"],
  [eq({ key: "val" }), '{"key":"val"}', "passed"],
  [eq({ key: "val" }), '```json\n{"key": "val"}\n```', "passed"],
  [eq({ key: "val" }), "key val", "failed"],
  [eq([1]), "[1]", "passed"],
  [eq("[1]"), "[1]", "passed"],
  [eq("café"), "cafe\u0301", "failed"],
  [eq("你好"), "你好", "passed"],
  [eq("👍"), "👍", "passed"],
  [{ value: "a" }, "a", "passed"],
  [{ value: "a" }, "b", "failed"],
  // contains
  [has("b"), "abc", "passed"],
  [has("B"), "abc", "failed"],
  [has("B", { ignore_case: true }), "abc", "passed"],
  [has("abc"), "abc", "passed"],
  [has("abcd"), "abc", "failed"],
  [has(" "), "a b", "passed"],
  [has("x"), "", "failed"],
  [has("x"), null, "failed"],
  [has("null"), null, "failed"],
  [has('"a":1'), { a: 1 }, "passed"],
  [has("a.c"), "abc", "failed"],
  [has("a.c"), "a.c", "passed"],
  [has("]]>"), "a]]>b", "passed"],
  [has("1"), 12, "passed"],
  [has("true"), true, "passed"],
  [has("café"), "cafe\u0301", "failed"],
  [has("café", { normalize: "nfc" }), "cafe\u0301", "passed"],
  [has("100 USD"), "100\u00A0USD", "failed"],
  [has("100 USD", { normalize: "nfc" }), "100\u00A0USD", "failed"],
  [has("100 USD", { normalize: "nfkc" }), "100\u00A0USD", "passed"],
  [has("fi", { normalize: "nfkc" }), "\uFB01n", "passed"],
  [has("fi"), "\uFB01n", "failed"],
  [has("don't", { normalize: "loose" }), "don\u2019t", "passed"],
  [has("don't", { normalize: "nfkc" }), "don\u2019t", "failed"],
  [has("你好"), "说你好吧", "passed"],
  [hasNot("error"), "fine", "passed"],
  [hasNot("error"), "an error", "failed"],
  [hasNot("error"), "an ERROR", "passed"],
  [hasNot("error"), "", "passed"],
  [hasNot("error"), null, "passed"],
  [hasNot("x"), { x: 1 }, "failed"],
  [{ ...hasNot("error"), options: { ignore_case: true } }, "an ERROR", "failed"],
  // json_path: short form, RFC form, lists of which one may be, where the JSON is
  [at("need_search", true), '{"need_search": true}', "passed"],
  [at("need_search", true), '{"need_search": false}', "failed"],
  [at("need_search", true), '{"need_search": "true"}', "failed"],
  [at("$.need_search", true), '```json\n{"need_search": true}\n```', "passed"],
  [at("$.need_search", true), '```\n{"need_search": true}\n```', "passed"],
  [at("$.need_search", true), '~~~json\n{"need_search": true}\n~~~', "passed"],
  [at("$.need_search", true), '````json\n{"need_search": true}\n````', "passed"],
  [at("$.need_search", true), 'Sure! {"need_search": true} Done.', "passed"],
  [at("$.need_search", true), '```bash\necho {}\n```\n```json\n{"need_search": true}\n```', "passed"],
  [at("$.code", "```js\nx\n```"), JSON.stringify({ code: "```js\nx\n```" }), "passed"],
  [at("$.need_search", true), "no json here", "failed"],
  [at("$.need_search", true), "", "failed"],
  [at("$.a", 1), { a: 1 }, "passed"],
  [at("a.b.c", "x"), { a: { b: { c: "x" } } }, "passed"],
  [at("a.b.c", "x"), { a: { b: {} } }, "failed"],
  [at("a.b", null), { a: {} }, "passed"],
  [at("a.b", null), { a: { b: null } }, "passed"],
  [at("wheres[0].like", "x"), { wheres: [{ like: "x" }] }, "passed"],
  [at("wheres[1].like", "x"), { wheres: [{ like: "x" }] }, "failed"],
  [at("from", ["users", "user"]), { from: "users" }, "passed"],
  [at("from", ["users", "user"]), { from: "teams" }, "failed"],
  [at("from", ["users", "user"]), { from: ["users", "user"] }, "passed"],
  [at("from", ["users", "user"]), { from: ["user", "users"] }, "failed"],
  [at("from", [null]), {}, "failed"],
  [at("$..price", [1, 2]), { a: { price: 1 }, b: { price: 2 } }, "passed"],
  [
    at("$.items[?@.id == 2].name", "b"),
    {
      items: [
        { id: 1, name: "a" },
        { id: 2, name: "b" },
      ],
    },
    "passed",
  ],
  [at("$.items[*].id", [1, 2]), { items: [{ id: 1 }, { id: 2 }] }, "passed"],
  [at("$", { a: 1 }), { a: 1 }, "passed"],
  [at("n", 1), { n: 1.0 }, "passed"],
  [at("n", 1), { n: "1" }, "failed"],
  [at("o", { a: 1, b: 2 }), { o: { b: 2, a: 1 } }, "passed"],
  [at("length", 3), "[1,2,3]", "failed"],
  // regex; its own semantics are in pattern.test.ts
  [re("(?i)hello"), "Hello there", "passed"],
  [re("(?i)(hello|hi|help)"), "I can HELP", "passed"],
  [re("(?i)size"), "What?", "failed"],
  [re("\\d+"), "no digits", "failed"],
  [re("\\d+"), 42, "passed"],
  [re('"a":\\s*1'), { a: 1 }, "passed"],
  [re("^$"), "", "passed"],
  [re("^$"), null, "passed"],
  [re("^(a+)+$"), `${"a".repeat(40)}!`, "failed"],
  // type
  [is("string"), "x", "passed"],
  [is("string"), "", "passed"],
  [is("string"), 1, "failed"],
  [is("number"), 1, "passed"],
  [is("number"), 1.5, "passed"],
  [is("number"), "1", "failed"],
  [is("boolean"), false, "passed"],
  [is("boolean"), 0, "failed"],
  [is("array"), [], "passed"],
  [is("array"), {}, "failed"],
  [is("object"), {}, "passed"],
  [is("object"), [], "failed"],
  [is("object"), null, "failed"],
  [is("null"), null, "passed"],
  [is("null"), "", "failed"],
  [is("object"), '{"a":1}', "failed"],
  [is("string"), '{"a":1}', "passed"],
  [is("number", "a.b"), { a: { b: 3 } }, "passed"],
  [is("number", "a.b"), '{"a":{"b":3}}', "passed"],
  [is("number", "a.c"), { a: { b: 3 } }, "failed"],
  [is("null", "a.c"), { a: { b: 3 } }, "failed"],
  [is("array", "list"), { list: [1] }, "passed"],
  // schema
  [fits({ type: "object", required: ["a"] }), { a: 1 }, "passed"],
  [fits({ type: "object", required: ["a"] }), {}, "failed"],
  [fits({ type: "object", required: ["a"] }), '{"a":1}', "passed"],
  [fits({ type: "object", required: ["a"] }), '```json\n{"a":1}\n```', "passed"],
  [fits({ type: "object" }), "none", "failed"],
  [fits({ type: "integer", minimum: 2 }, "n"), { n: 2 }, "passed"],
  [fits({ type: "integer", minimum: 2 }, "n"), { n: 1 }, "failed"],
  [fits({ type: "integer" }, "m"), { n: 1 }, "failed"],
  [fits({ enum: ["a", "b"] }, "$.x"), { x: "b" }, "passed"],
  [fits({ enum: ["a", "b"] }, "$.x"), { x: "c" }, "failed"],
  [fits({ type: "array", items: { type: "string" } }), ["a", "b"], "passed"],
  [fits({ type: "array", items: { type: "string" } }), ["a", 1], "failed"],
  [fits({ type: "object", additionalProperties: false, properties: { a: {} } }), { a: 1, b: 2 }, "failed"],
  [fits({ anyOf: [{ type: "null" }, { type: "array" }] }), [], "passed"],
  [fits(true), {}, "passed"],
  [fits(false), {}, "failed"],
];

const NEGATABLE = ROWS.map(([assert, output, verdict]): Row => [
  { ...assert, negate: true },
  output,
  verdict === "passed" ? "failed" : "passed",
]);

test.each(ROWS)("%j on %j: %s", async (assert, output, verdict) => {
  expect(await verdictOf(assert, answerOf(output))).toBe(verdict);
});

test.each(NEGATABLE)("negated, %j on %j: %s", async (assert, output, verdict) => {
  expect(await verdictOf(assert, answerOf(output))).toBe(verdict);
});

test("the table has at least 300 rows with those of patterns and paths", () => {
  expect(ROWS.length + NEGATABLE.length).toBeGreaterThan(300);
});

const call = (tool: string, more: Partial<ToolCall> = {}): ToolCall => ({
  id: "c",
  server: "agents_expense_tools",
  tool,
  ...more,
});
const called = (value: Json): JsonObject => ({ type: "tool_called", value });
const gave = (value: Json): JsonObject => ({ type: "tool_result", value });

const TOOL_ROWS: readonly (readonly [JsonObject, readonly ToolCall[], Verdict])[] = [
  [called("setup"), [call("setup")], "passed"],
  [called("setup"), [call("agents_expense_tools__setup")], "passed"],
  [called("setup"), [call("tools.setup")], "passed"],
  [called("setup"), [call("tools/setup")], "passed"],
  [called("setup"), [call("tools:setup")], "passed"],
  [called("agents_expense_tools__setup"), [call("setup")], "passed"],
  [called("agents_expense_tools.setup"), [call("setup")], "passed"],
  [called("set"), [call("reset_password")], "failed"],
  [called("set"), [call("reset")], "failed"],
  [called("setup"), [call("presetup")], "failed"],
  [called("up"), [call("set_up")], "failed"],
  [called("setup"), [], "failed"],
  [called(["setup", "init"]), [call("init")], "passed"],
  [called(["setup", "init"]), [call("other")], "failed"],
  [called([{ name: "a" }, "b"]), [call("b")], "passed"],
  [
    called({ name: "setup", arguments: { action: "init" } }),
    [call("setup", { arguments: { action: "init", x: 1 } })],
    "passed",
  ],
  [
    called({ name: "setup", arguments: { action: "init" } }),
    [call("setup", { arguments: { action: "stop" } })],
    "failed",
  ],
  [
    called({ name: "setup", arguments: { action: "init" } }),
    [call("setup", { arguments: '{"action":"init"}' })],
    "passed",
  ],
  [
    called({ name: "setup", arguments: { action: "init" } }),
    [call("setup", { arguments: '{"action":"init"}"' })],
    "passed",
  ],
  [called({ name: "setup", arguments: {} }), [call("setup", { arguments: "" })], "passed"],
  [
    called({ name: "setup", arguments: { a: { b: 1 } } }),
    [call("setup", { arguments: { a: { b: 1, c: 2 } } })],
    "passed",
  ],
  [called({ name: "setup", arguments: { a: [1] } }), [call("setup", { arguments: { a: [1, 2] } })], "failed"],
  [called({ name: "setup", arguments: { a: "regex:^\\d+$" } }), [call("setup", { arguments: { a: "12" } })], "passed"],
  [called({ name: "setup", arguments: { a: "regex:^\\d+$" } }), [call("setup", { arguments: { a: 12 } })], "passed"],
  [
    called({ name: "setup", arguments: { a: 1 } }),
    [call("setup", { arguments: { a: 2 } }), call("setup", { arguments: { a: 1 } })],
    "passed",
  ],
  [{ ...called("setup"), negate: true }, [], "passed"],
  [{ ...called("setup"), negate: true }, [call("setup")], "failed"],
  [gave({ tool: "setup" }), [call("setup", { result: {} })], "passed"],
  [gave({ tool: "setup" }), [call("setup", { error: "boom" })], "failed"],
  [gave({ tool: "setup" }), [], "failed"],
  [gave("setup"), [call("setup", { result: 1 })], "passed"],
  [gave({ tool: "setup", result: { success: true } }), [call("setup", { result: { success: true, id: 5 } })], "passed"],
  [gave({ tool: "setup", result: { success: true } }), [call("setup", { result: { success: false } })], "failed"],
  [gave({ tool: "setup", result: { success: true } }), [call("setup", { result: '{"success":true}' })], "passed"],
  [
    gave({ tool: "setup", result: { success: true } }),
    [call("setup", { error: "x" }), call("setup", { result: { success: true } })],
    "passed",
  ],
  [
    gave({ tool: "setup", result: { message: "regex:(?i)setup.*complete" } }),
    [call("setup", { result: { message: "Setup is COMPLETE" } })],
    "passed",
  ],
  [
    gave({ tool: "setup", result: { message: "regex:(?i)setup.*complete" } }),
    [call("setup", { result: { message: "no" } })],
    "failed",
  ],
  [gave({ tool: "setup", result: "done" }), [call("setup", { result: "done" })], "passed"],
  [gave({ tool: "setup", result: 1 }), [call("setup", { result: 1.0 })], "passed"],
  [gave({ tool: "setup", result: { a: null } }), [call("setup", { result: {} })], "failed"],
];

test.each(TOOL_ROWS)("%j with the calls %j: %s", async (assert, calls, verdict) => {
  expect(await verdictOf(assert, answerOf("done", calls))).toBe(verdict);
});

const script: JsonObject = { type: "script", script: "scripts.t.Check" };

test.each<[Json | undefined, Verdict, Verdict]>([
  [true, "passed", "failed"],
  [false, "failed", "passed"],
  [{ pass: true }, "passed", "failed"],
  [{ passed: false, reason: "no" }, "failed", "passed"],
  [{ pass: true, score: 0.5 }, "passed", "failed"],
  // 0/0 has no JSON form.
  [{ pass: true, score: null }, "error", "error"],
  ["yes", "error", "error"],
  [1, "error", "error"],
  [null, "error", "error"],
  [undefined, "error", "error"],
  [{ pass: "true" }, "error", "error"],
])("a script that says %j: %s, negated %s", async (said, verdict, negated) => {
  const judges = { ...NO_JUDGES, script: async () => said };
  expect(await verdictOf(script, answerOf("x"), judges)).toBe(verdict);
  expect(await verdictOf({ ...script, negate: true }, answerOf("x"), judges)).toBe(negated);
});

test("an assertion that could not be judged is an error, negated or not", async () => {
  const agent = { type: "agent", use: "agents:v", value: "polite" };
  for (const assert of [script, agent]) {
    expect(await verdictOf(assert, answerOf("x"))).toBe("error");
    expect(await verdictOf({ ...assert, negate: true }, answerOf("x"))).toBe("error");
  }
});

test("a validator's verdict is the verdict, and what it was asked is kept", async () => {
  const validation: AgentValidation = { passed: false, reason: "rude", criteria: "polite", input: "x", response: {} };
  const judges = { ...NO_JUDGES, agent: async () => validation };
  const { cases } = loadCases(
    '{"id":"T","input":"x","assert":{"type":"agent","use":"agents:v","value":"polite"}}',
    "f",
  );
  const results = await evaluate(
    cases[0]!.assertions,
    { answer: answerOf("x"), input: "x", metadata: {} },
    judges,
    new AbortController().signal,
  );
  expect(results).toMatchObject([{ type: "agent", status: "failed", message: "rude", agent_validation: validation }]);
});

test("the user's message is said where an assertion does not hold, and a difference of form is named", async () => {
  const { cases } = loadCases(
    '{"id":"T","input":"x","assert":[{"type":"contains","value":"z","message":"say z"},{"type":"contains","value":"café"}]}',
    "f",
  );
  const judged = { answer: answerOf("cafe\u0301"), input: "x", metadata: {} };
  const results = await evaluate(cases[0]!.assertions, judged, NO_JUDGES, new AbortController().signal);
  expect(results[0]?.message).toBe("say z");
  expect(results[1]?.message).toContain("differs only by Unicode form");
});
