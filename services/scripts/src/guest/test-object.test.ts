import type { Json } from "@mesh/kernel";
import { expect, test } from "vitest";

import { ScriptHarness } from "../testing/script-harness.ts";

const ARGS = [{ test: { name: "TestIt" } }] as const;

async function asked(
  body: string,
  ops: ConstructorParameters<typeof ScriptHarness>[1] = {},
): Promise<readonly Json[][]> {
  await using harness = new ScriptHarness(`export function TestIt(t) { ${body} }`, ops);
  await harness.call({ fn: "TestIt", args: ARGS }).catch(() => undefined);
  return harness.asked.map((each) => [...each]);
}

test("the first claim that holds is told once, one that does not at once", async () => {
  expect(
    await asked(
      "t.assert.True(true); t.assert.Equal(1, 1); t.assert.Equal({ a: 1 }, 2, 'two'); t.assert.Nil(undefined);",
    ),
  ).toEqual([
    ["test.Record", "held", null],
    ["test.Record", "failed", { type: "Equal", actual: { a: 1 }, expected: 2, message: "two" }],
  ]);
});

test("patterns, paths and validators are asked of the host", async () => {
  const ops = {
    ops: {
      "test.Match": () => true,
      "test.JSONPath": () => [5],
      "test.Agent": () => ({ passed: false, reason: "rude" }),
    },
  };
  const body =
    "t.assert.Match('a', 'b'); t.assert.JSONPath({ a: 5 }, 'a', 5); t.assert.Agent('x', 'judge', { criteria: 'polite' });";
  expect(await asked(body, ops)).toEqual([
    ["test.Match", "a", "b"],
    ["test.Record", "held", null],
    ["test.JSONPath", { a: 5 }, "a"],
    ["test.Agent", "x", "judge", { criteria: "polite" }],
    ["test.Record", "failed", { type: "Agent", actual: "x", expected: "polite", reason: "rude" }],
  ]);
});

test("skip, log, error and fail go on; fatal ends the test", async () => {
  expect(
    await asked("t.skip('later'); t.log('a', { b: 1 }); t.error('e'); t.fail(); t.fatal('stop'); t.log('never');"),
  ).toEqual([
    ["test.Record", "skip", "later"],
    ["test.Record", "log", 'a {"b":1}'],
    ["test.Record", "failed", { type: "error", message: "e" }],
    ["test.Record", "failed", { type: "fail", message: "the test failed itself" }],
    ["test.Record", "failed", { type: "fatal", message: "stop" }],
  ]);
});

test("values that have no JSON form are shown, and never break the test", async () => {
  const body = `
    const round = {}; round.self = round;
    t.assert.Equal(round, 1); t.assert.Equal(NaN, 1); t.assert.Equal(() => 1, 1); t.assert.Nil(10n); t.log(Symbol("s"));`;
  const told = await asked(body);
  expect(told).toHaveLength(5);
  expect(told[1]).toEqual(["test.Record", "failed", { type: "Equal", actual: "NaN", expected: 1 }]);
});

test("a wrong method of t is explained", async () => {
  await using harness = new ScriptHarness("export function TestIt(t) { t.assert.Equals(1, 1); }");
  await expect(harness.call({ fn: "TestIt", args: ARGS })).rejects.toThrow(/t\.assert has .*Equal, NotEqual/);
});

test("an argument that is absent is undefined in the script", async () => {
  await using harness = new ScriptHarness("export function TestIt(a) { return String(a); }");
  expect(await harness.call({ fn: "TestIt", args: [{ absent: true }] })).toMatchObject({ value: "undefined" });
});
