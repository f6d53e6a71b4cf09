import { expect, test } from "vitest";

import { LocalMemory } from "./local-memory.ts";

test("keys are listed, counted, deleted by pattern and cleared", () => {
  const memory = new LocalMemory(() => 0);
  for (const key of ["a:1", "a:2", "b", "__proto__"]) memory.call("Set", [key, key]);
  expect(memory.call("Keys", [])).toEqual(["a:1", "a:2", "b", "__proto__"]);
  expect(memory.call("Keys", ["a:*"])).toEqual(["a:1", "a:2"]);
  memory.call("Del", ["a:*"]);
  expect(memory.call("Len", [])).toBe(2);
  expect(memory.call("Get", ["__proto__"])).toBe("__proto__");
  memory.call("Clear", []);
  expect(memory.call("Keys", [])).toEqual([]);
});

test("what has ended is not counted and not handed on", () => {
  let now = 0;
  const memory = new LocalMemory(() => now);
  memory.call("Set", ["short", 1, 10]);
  memory.call("Set", ["long", 2]);
  const copy = new LocalMemory(() => now, memory.entries());
  now = 10_000;
  expect(copy.call("Len", [])).toBe(1);
  expect(memory.entries()).toEqual([["long", { value: 2, expiresAt: null }]]);
});

test("an unknown method is an error, also one that every object has", () => {
  const memory = new LocalMemory(() => 0);
  for (const method of ["toString", "constructor", "get"]) {
    expect(() => memory.call(method, ["k"])).toThrow(`memory has no method ${method}`);
  }
});
