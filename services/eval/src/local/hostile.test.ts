/** Inputs and scripts that would bring an eval down: each ends as documented, and the others are not harmed. */

import { existsSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";

import { EvalApp } from "../testing/eval-app.ts";

const ended = (results: readonly { readonly id: string; readonly status: string }[]): readonly string[] =>
  results.map(({ id, status }) => `${id} ${status}`).toSorted();

const SCRIPTS = {
  "scripts/t.ts": `
    export function Loop() { while (true) {} }
    export function Sleep() { time.Sleep(3600000); return true; }
    export function Grow() { const all = []; for (;;) all.push(new Array(100000).fill("x")); }
    export function Deep() { return Deep(); }
    export function Prose() { return "looks fine to me"; }
    export function Huge() { return { pass: true, message: "x".repeat(40000000) }; }
    export function Throws() { throw new Error("no such table"); }`,
  "assistants/echo/src/env_test.ts": `
    export function Never() { while (true) {} }
    export function Waits() { time.Sleep(3600000); }
    export function After(ctx, test, result) { console.log("after " + test.id + " " + result.status); }`,
};

test(
  "scripts that never end, grow, or go too deep end with their case, and the next case runs",
  { timeout: 60_000 },
  async () => {
    using app = new EvalApp(SCRIPTS);
    const script = (name: string): object => ({ type: "script", script: `scripts.t.${name}` });
    const { results } = await app.run(
      [
        { id: "loop", input: "x", timeout: "1s", assert: script("Loop") },
        { id: "sleep", input: "x", timeout: "500ms", assert: script("Sleep") },
        { id: "grow", input: "x", timeout: "20s", assert: script("Grow") },
        { id: "deep", input: "x", assert: script("Deep") },
        { id: "prose", input: "x", assert: script("Prose") },
        { id: "huge", input: "x", assert: script("Huge") },
        { id: "throws", input: "x", assert: { ...script("Throws"), negate: true } },
        { id: "next", input: "x", assert: { type: "contains", value: "x" } },
      ],
      { parallel: 2 },
    );
    expect(ended(results)).toEqual([
      "deep error",
      "grow error",
      "huge error",
      "loop timeout",
      "next passed",
      "prose error",
      "sleep timeout",
      "throws error",
    ]);
    const errorOf = (id: string): string => results.find((result) => result.id === id)?.error ?? "";
    expect(errorOf("loop")).toContain("not done within 1000 ms");
    expect(errorOf("prose")).toContain("must return true, false or {pass, message}");
    expect(errorOf("throws")).toContain("no such table");
  },
);

test(
  "a hook that never returns makes its case an error, and After runs all the same",
  { timeout: 60_000 },
  async () => {
    using app = new EvalApp(SCRIPTS);
    const { results, text } = await app.run(
      [
        { id: "loops", input: "x", timeout: "1s", before: "env_test.Never", after: "env_test.After" },
        { id: "waits", input: "x", timeout: "500ms", before: "env_test.Waits", after: "env_test.After" },
        { id: "next", input: "x" },
      ],
      { parallel: 3 },
    );
    expect(ended(results)).toEqual(["loops error", "next passed", "waits error"]);
    for (const { id, cause, error } of results.filter(({ status }) => status === "error")) {
      expect([id, cause]).toEqual([id, "hook"]);
      expect(error).toMatch(/did not return within \d+ ms and was ended/);
      expect(text).toContain(`after ${id} error`);
    }
  },
);

test("a case of 60 MB runs, and one over the bound is told with its line", { timeout: 60_000 }, async () => {
  using app = new EvalApp();
  const caseOf = (id: string, bytes: number): object => ({ id, input: `/noop ${"x".repeat(bytes)}` });
  const { results, exitCode } = await app.run([caseOf("small", 1), caseOf("big", 60_000_000)]);
  expect(ended(results)).toEqual(["big passed", "small passed"]);
  expect(exitCode).toBe(0);
  await expect(app.run([caseOf("small", 1), caseOf("over", 65 * 1024 * 1024)])).rejects.toThrow(
    /cases-2\.jsonl:2: .*64 MB/,
  );
});

test("nothing to run is no success: an empty file, comments alone, a filter that finds nothing", async () => {
  using app = new EvalApp();
  for (const text of ["", "\n\n", "// nothing yet\n", "[]"]) await expect(app.run(text)).rejects.toThrow(/no case/);
  await expect(app.run([{ id: "a", input: "x" }], { only: "^b" })).rejects.toThrow(/matches no case/);
  expect(existsSync(join(app.dir, "out-1.jsonl"))).toBe(false);
});

test("a validator that answers prose, a broken verdict, or fails, gives no verdict", { timeout: 60_000 }, async () => {
  const judge = (reply: string): string =>
    `export function Create() { return null; }\nexport function Next() { return { data: ${reply} }; }`;
  const judges = {
    prose: judge('"I think it passed."'),
    text: judge('{ passed: "true", reason: "a text" }'),
    broken: judge("'{\"passed\": tru'"),
    fails: "export function Create() { return null; }\nexport function Next() { throw new Error('the judge is ill'); }",
    fenced: judge('"Here:\\n```json\\n{\\"passed\\": true, \\"reason\\": \\"ok\\"}\\n```"'),
  };
  const files = Object.entries(judges).flatMap(([name, hooks]) => [
    [`assistants/${name}/package.yao`, JSON.stringify({ name })],
    [`assistants/${name}/src/index.ts`, hooks],
  ]);
  using app = new EvalApp(Object.fromEntries(files) as Readonly<Record<string, string>>);
  const cases = Object.keys(judges).flatMap((id) =>
    [false, true].map((negate) => ({
      id: `${id}${negate ? "-not" : ""}`,
      input: "x",
      assert: { type: "agent", use: `agents:${id}`, value: "polite", negate },
    })),
  );
  const { results } = await app.run(cases);
  expect(ended(results)).toEqual(
    [
      ...["prose", "text", "broken", "fails"].flatMap((id) => [`${id} error`, `${id}-not error`]),
      "fenced passed",
      "fenced-not failed",
    ].toSorted(),
  );
  expect(results.filter(({ status }) => status === "error").every(({ cause }) => cause === "grader")).toBe(true);
});
