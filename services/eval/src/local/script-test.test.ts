import { expect, test } from "vitest";

import { EvalApp } from "../testing/eval-app.ts";

const TESTS = `
import { add } from "./sum";
export function TestAll(t, ctx) {
  const a = t.assert;
  const good = [
    a.True(true), a.False(false), a.Equal({ a: 1, b: [1, null] }, { b: [1, null], a: 1 }), a.NotEqual(1, "1"), a.Nil(null), a.Nil(undefined),
    a.NotNil(0), a.Contains("hello", "ell"), a.Contains([1, { a: 2 }], { a: 2 }), a.NotContains("hello", "z"), a.Len([1, 2], 2), a.Len("你好", 2),
    a.Greater(2, 1), a.GreaterOrEqual(2, 2), a.Less(1, 2), a.LessOrEqual(2, 2), a.Error(new Error("x")), a.NoError(null),
    a.Panic(() => { throw new Error("x") }), a.NoPanic(() => 1), a.Match("Hello", "(?i)^hello$"), a.Match("abc", /b/), a.NotMatch("abc", "z"),
    a.Type([], "array"), a.Type(null, "null"), a.Type(() => 1, "function"), a.JSONPath({ a: [{ b: 1 }] }, "$.a[0].b", 1), a.Equal(add(1, 2), 3),
  ];
  if (good.some((each) => each !== true) || t.failed) throw new Error("one of them is false: " + good);
  t.log("user", ctx.authorized.user_id, { n: 1 });
}
export function TestGoesOn(t) {
  t.assert.Equal(1, 2, "one is two");
  t.assert.True(false);
  t.log("still here", String(t.failed));
}
export function TestFatal(t) { t.fatal("stop"); t.log("never"); }
export function TestThrows() {
  const nothing = null;
  nothing.field;
}
export function TestLoops(t) { t.assert.True(true); while (true) {} }
export function TestWaits() { time.Sleep(60000); }
export async function TestAsync(t) { await null; t.assert.Equal(await Promise.resolve(1), 1); }
export function TestSkips(t) { t.skip("later"); }
export function TestJudge(t) { t.assert.Agent("hello", "judge", { criteria: "bye" }); }
export function TestNoVerdict(t) { t.assert.Agent("hello", "echo", { criteria: "x" }); }
export function TestBadPattern(t) { t.assert.Match("a", "(?=a)"); }
function helper() { return TestAll; }
`;

const FILES = {
  "assistants/echo/src/sum_test.ts": TESTS,
  "assistants/echo/src/sum.ts": "export function add(a, b) { return a + b; }",
  "assistants/judge/package.yao": '{"name":"Judge"}',
  "assistants/judge/src/index.ts": `
    export function Create() { return null; }
    export function Next(ctx, p) { const { output, criteria } = JSON.parse(p.messages.at(-1).content); return { data: { passed: output === criteria, reason: "not the same" } }; }`,
};

interface Report {
  readonly summary: object;
  readonly results: readonly {
    readonly name: string;
    readonly status: string;
    readonly error?: string;
    readonly logs?: readonly string[];
  }[];
}

test("tests of a module run with the whole of t, and each ends as it should", { timeout: 60_000 }, async () => {
  using app = new EvalApp(FILES);
  const tests = {
    input: { kind: "tests", module: "echo.sum" } as const,
    inputText: "scripts.echo.sum",
    timeoutMs: 1_000,
  };
  const { exitCode, text } = await app.run("", { ...tests, output: "tests.json", parallel: 2 });
  const report = JSON.parse(app.read("tests.json")) as Report;
  const by = new Map(report.results.map((result) => [result.name, result]));
  expect(Object.fromEntries([...by].map(([name, { status }]) => [name, status]))).toEqual({
    TestAll: "passed",
    TestGoesOn: "failed",
    TestFatal: "failed",
    TestThrows: "failed",
    TestLoops: "timeout",
    TestWaits: "timeout",
    TestAsync: "passed",
    TestSkips: "skipped",
    TestJudge: "failed",
    TestNoVerdict: "failed",
    TestBadPattern: "failed",
  });
  expect(by.get("TestAll")?.logs).toEqual(['user test-user {"n":1}']);
  expect(by.get("TestGoesOn")).toMatchObject({
    error: "Equal: one is two: expected 2, got 1",
    logs: ["still here true"],
  });
  expect(by.get("TestThrows")?.error).toContain("assistants/echo/src/sum_test.ts:23");
  expect(by.get("TestLoops")?.error).toContain("assistants/echo/src/sum_test.ts:25");
  expect(by.get("TestJudge")?.error).toContain("not the same");
  expect(by.get("TestNoVerdict")?.error).toContain("gave no verdict");
  expect(by.get("TestBadPattern")?.error).toContain("is not RE2");
  expect(report.summary).toMatchObject({ total: 11, passed: 2, skipped: 1, timeouts: 2 });
  expect(exitCode).toBe(1);
  expect(text).toContain("[TestAll]");
});

test("tests are chosen by a pattern, and a module that is not there is named", async () => {
  using app = new EvalApp(FILES);
  const run = (module: string, only?: string) =>
    app.run("", {
      input: { kind: "tests", module },
      inputText: module,
      output: "t.json",
      ...(only === undefined ? {} : { only }),
    });
  expect((await run("sum", "^TestA(ll|sync)$")).exitCode).toBe(0);
  await expect(run("none")).rejects.toThrow(
    /there are no tests behind "none"; there are assistants\/echo\/src\/sum_test.ts/,
  );
  await expect(run("echo.sum", "Nothing")).rejects.toThrow(/matches no test/);
});
