/** What a script does to `ctx.memory.context` gives what it gives in the memories the mesh keeps. */

import type { Json } from "@mesh/kernel";
import { LocalMemory } from "@mesh/memory";
import * as fc from "fast-check";
import { afterAll, expect, test } from "vitest";

import { OP_ARGS } from "../op.ts";
import { type OpAnswer, ScriptHarness, SEED } from "../testing/script-harness.ts";
import { ContextMemory } from "./context-memory.ts";

const SCRIPT = `
  const big = { text: () => "x".repeat(600_000), list: () => Array.from({ length: 60_000 }, () => 1) };
  function outcomesIn(memory, steps) {
    return steps.map(([method, ...args]) => {
      try {
        return ["gives", memory[method](...args.map((arg) => big[arg?.big]?.() ?? arg)) ?? null];
      } catch (error) {
        return [error.name, error.code ?? null, error.message.replaceAll("memory." + memory.space, "memory.SPACE")];
      }
    });
  }
  export function User(ctx, steps) { return outcomesIn(ctx.memory.user, steps); }
  export function Context(ctx, steps) { return outcomesIn(ctx.memory.context, steps); }`;

const METHODS = Object.keys(OP_ARGS).flatMap((op) => (op.startsWith("memory.") ? [op.slice("memory.".length)] : []));
const now = (): number => Date.UTC(2026);

let user = new LocalMemory(now);
const scripts = new ScriptHarness(SCRIPT, {
  ops: Object.fromEntries(
    METHODS.map((method): [string, OpAnswer] => [`memory.${method}`, ([_space, ...args]) => user.call(method, args)]),
  ),
  host: { maxWorkers: 1, minWarm: 1 },
});
afterAll(() => scripts[Symbol.asyncDispose]());

/** Does the same in both memories and gives what the script saw there, or fails where that differs. */
async function outcomesOf(steps: readonly Json[]): Promise<Json> {
  user = new LocalMemory(now);
  const contextMemory = new ContextMemory(now);
  const args = [{ ctx: SEED }, { json: steps }];
  const [inUser, inContext] = [
    await scripts.call({ fn: "User", args, contextMemory }),
    await scripts.call({ fn: "Context", args, contextMemory }),
  ];
  if (inUser.kind === "missing" || inContext.kind === "missing") throw new Error("the script has both functions");
  expect(inContext.value).toEqual(inUser.value);
  const valuesIn = (entries: readonly (readonly [string, Json])[]): Json => Object.fromEntries(entries);
  const kept = JSON.parse(contextMemory.snapshot()) as readonly (readonly [string, Json, number | null])[];
  expect(valuesIn(kept.map(([key, value]) => [key, value]))).toEqual(
    valuesIn(user.entries().map(([key, { value }]) => [key, value])),
  );
  return inContext.value ?? null;
}

test("any sequence of methods gives the same results, errors and values", { timeout: 60_000 }, async () => {
  const key = fc.oneof(
    { weight: 20, arbitrary: fc.constantFrom<Json[]>("n", "l", "a:1", "a:2") },
    { weight: 1, arbitrary: fc.constantFrom<Json[]>("a:*", "*", "", "\0", "k".repeat(513), "\ud800", null, 7) },
  );
  const number = fc.constantFrom<Json[]>(0, 1, 2, -1, -2, 3, 0.5, 10, 100_001, 1.7e308, -1.7e308, "2", null);
  const some = fc.constantFrom<Json[]>([], [1, 2, 3], [[1]], { a: 1, b: [2] }, { b: [2], a: 1 }, "text", null, true);
  const value = fc.oneof(number, some);
  const ttl = fc.constantFrom<Json[]>(null, 0, -1, 3600, 1e12, "1", { seconds: 60 }, { ms: -1 });
  const step = fc.oneof(
    { weight: 1, arbitrary: fc.tuple(fc.constant("Set"), key, value, ttl) },
    {
      weight: 8,
      arbitrary: fc
        .tuple(fc.constantFrom(...METHODS.filter((method) => method !== "Set")), key, fc.array(value, { maxLength: 3 }))
        .map(([method, name, args]): Json[] => [method, name, ...args]),
    },
  );
  await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => void (await outcomesOf(steps))));
});

test.each<[string, Json[], Json]>([
  [
    "counting what is no number",
    [
      ["Set", "k", "text"],
      ["Incr", "k"],
    ],
    ["Exception", "invalid_argument", '"k" holds a string; only a number can be counted'],
  ],
  [
    "counting to infinity",
    [
      ["Set", "k", 1.7e308],
      ["Incr", "k", 1.7e308],
    ],
    ["Exception", "invalid_argument", '"k" would be larger than a number can be'],
  ],
  [
    "a page before the first",
    [
      ["Push", "k", [1, 2]],
      ["ArrayPage", "k", 0, 1],
    ],
    ["gives", [1]],
  ],
  [
    "pages of less than nothing",
    [
      ["Push", "k", [1, 2]],
      ["ArrayPage", "k", 1, -1],
    ],
    ["Exception", "invalid_argument", "size must be 0 or more"],
  ],
  [
    "pulling less than nothing",
    [
      ["Push", "k", [1, 2]],
      ["Pull", "k", -1],
    ],
    ["Exception", "invalid_argument", "count must be 0 or more"],
  ],
  ["pulling all of nothing", [["PullAll", "k"]], ["gives", []]],
  [
    "a life shorter than none",
    [["Set", "k", 1, -1]],
    ["Exception", "invalid_argument", "a time to live is a number of seconds, at most 315360000"],
  ],
  [
    "a value without end",
    [
      ["Push", "k", { big: "text" }],
      ["Push", "k", { big: "text" }],
    ],
    ["Exception", "resource_exhausted", 'the value of "k" is larger than 1024 KiB'],
  ],
  [
    "a list without end",
    [
      ["Push", "k", { big: "list" }],
      ["Push", "k", { big: "list" }],
    ],
    ["Exception", "resource_exhausted", '"k" would hold 120000 elements; 100000 are the most'],
  ],
])("%s: the same in every memory", async (_what, steps, last) => {
  expect(((await outcomesOf(steps)) as Json[]).at(-1)).toEqual(last);
});

test("Pop takes the last element in every memory, whatever else it is given", async () => {
  expect(
    await outcomesOf([
      ["Push", "k", [1, 2]],
      ["Pop", "k", -1],
    ]),
  ).toEqual([
    ["gives", 2],
    ["gives", 2],
  ]);
});
